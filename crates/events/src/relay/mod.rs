//! Outbox relay: publishes durable events from the outbox to the bus. A commit of this server wakes it at once. A poll
//! finds commits of other servers, and failed events that are due for a retry.
//!
//! Delivery is at least once: events published since the last committed position are published again after a crash.
//! Receivers deduplicate them by id.

mod bus;
pub mod dead_letters;
mod in_flight;
mod lease;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use holdfast_core::Rejection;
use holdfast_core::relay::{
    AdvanceRelay, FailedPublication, FailedPublicationId, Partition, PublishOutcome, REPORTED_MAX, RetryEvent,
};
use holdfast_core::schema::relay::failed_publications;
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{Answer, Refused};

use self::bus::Line;
pub use self::bus::{Address, Bus, Message};
pub use self::in_flight::InFlight;
pub use self::lease::{Lease, Leases};
use crate::Context;

/// Number of events read from the outbox at once, with or without a destination.
const PAGE: usize = 500;
/// Delay between publishing and committing the position: one commit covers all events published meanwhile. After a
/// crash they are published again, and deduplicated by id.
const COMMIT_AFTER: Duration = Duration::from_millis(50);
/// Interval at which positions of idle partitions are committed: that of the outbox purge, which depends on them.
const COMMIT_EVERY: Duration = Duration::from_mins(1);
/// Time after an outage of the bus during which failures are attributed to it.
const OUTAGE_GRACE: Duration = Duration::from_secs(5);
/// Pause after a failed round.
const ERROR_PAUSE: Duration = Duration::from_millis(500);
/// Interval at which an unavailable bus is checked.
const BUS_CHECK_EVERY: Duration = Duration::from_millis(50);
/// Maximum number of failed events read at once.
const FAILED_PUBLICATIONS_MAX: usize = REPORTED_MAX / 2;
/// Maximum random delay added to a retry, in milliseconds.
const JITTER_MILLIS: u32 = 500;

/// Settings of the relay.
#[derive(Clone, Copy, Debug)]
pub struct RelaySettings {
    /// Interval of polls without a wake-up.
    pub poll: Duration,
    /// Maximum number of events of a partition published per round.
    pub batch: usize,
}

/// Runs until the server stops.
pub async fn run(context: Context, bus: Arc<dyn Bus>, settings: RelaySettings) {
    let mut worker = Worker {
        context,
        bus,
        settings,
        leased: BTreeMap::new(),
        positions: BTreeMap::new(),
        is_leasing: false,
        commit_at: Instant::now() + COMMIT_EVERY,
        committed_positions: BTreeMap::new(),
        known: HashMap::new(),
        scan_at: None,
        must_retry_all: false,
        had_outage: AtomicBool::new(false),
        outage_seen_at: None,
    };
    let mut committed = worker.context.stream().committed();
    let mut leases_changed = worker.context.leases().changed();
    let mut is_away = false;
    loop {
        let away = worker.bus.away();
        if away.is_some() {
            worker.outage_seen_at = Some(Instant::now());
        }
        match away {
            Some(why) if !is_away => {
                tracing::warn!(why, "[Outbox] the bus is unavailable; events are not published");
                (is_away, worker.must_retry_all) = (true, true);
            }
            None if is_away => {
                tracing::info!("[Outbox] the bus is available again; events are published");
                is_away = false;
            }
            _ => {}
        }
        let more = match worker.step().await {
            Ok(more) => more,
            Err(error) => {
                worker.scan_at = None;
                tracing::warn!(%error, "[Outbox] a round of the relay failed; it is repeated");
                tokio::time::sleep(ERROR_PAUSE).await;
                false
            }
        };
        // While the bus is unavailable, the poll interval is enough.
        if more && !is_away && !worker.context.is_stopping() {
            continue;
        }
        let pause = settings.poll.min(worker.commit_at.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = worker.context.stopped() => {
                worker.release().await;
                return;
            }
            _ = committed.changed(), if !is_away => {}
            _ = leases_changed.changed() => {}
            () = until_available(&*worker.bus), if is_away => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn until_available(bus: &dyn Bus) {
    while bus.away().is_some() {
        tokio::time::sleep(BUS_CHECK_EVERY).await;
    }
}

struct Worker {
    context: Context,
    bus: Arc<dyn Bus>,
    settings: RelaySettings,
    /// Partitions leased by this server, and the terms of their leases.
    leased: BTreeMap<Partition, u64>,
    /// Positions of partitions that this server leases or has leased: each event up to there is published, or recorded
    /// as failed.
    positions: BTreeMap<Partition, u64>,
    /// Whether the partitions were requested.
    is_leasing: bool,
    /// Time of the next commit of positions.
    commit_at: Instant,
    /// Committed positions.
    committed_positions: BTreeMap<Partition, u64>,
    /// Failed events, as read from the outbox.
    known: HashMap<u64, Message>,
    /// Time of the next search for failed events; `None` if unread ones may exist. Only the lease holder of a partition
    /// records failures there. Any server can request a retry.
    scan_at: Option<Instant>,
    /// Whether to retry all failed events first, dead letters included: they may have failed because the bus was
    /// unavailable, here or at the previous lease holder.
    must_retry_all: bool,
    /// Whether an attempt has failed because the bus was unavailable.
    had_outage: AtomicBool,
    /// Time at which the bus was last found unavailable.
    outage_seen_at: Option<Instant>,
}

/// A partition and the lease under which it is advanced.
#[derive(Clone, Copy)]
struct Held {
    partition: Partition,
    term: u64,
}

/// Progress of a partition in one round.
#[derive(Clone, Copy)]
struct Advanced {
    partition: Partition,
    sent_up_to: u64,
    /// Whether events were left for the next round.
    is_short: bool,
    /// Whether events were published.
    was_busy: bool,
    /// Whether there were failed events before or after the round.
    had_trouble: bool,
}

/// Failed events, by what can be done about them now.
#[derive(Default)]
struct FailedEvents {
    due: BTreeMap<Partition, Vec<Message>>,
    /// Lines whose earliest failed event is not due yet.
    blocked: HashSet<Line>,
    /// Whether there may be more failed events than were read.
    is_full: bool,
}

impl Worker {
    /// Publishes one round of events. Returns whether there may be more.
    async fn step(&mut self) -> Result<bool, Refused> {
        self.lease().await?;
        if self.must_retry_all && self.bus.away().is_none() {
            self.retry_all().await?;
        }
        let Some(after) = self.leased.keys().map(|partition| self.position(*partition)).min() else { return Ok(false) };
        let page = self.context.stream().outbox_after(self.context.store(), after, PAGE).await?;
        let (mut is_full, mut last) = (page.len() == PAGE, page.last().map_or(after, |record| record.id));
        let mut failed = self.failed_events().await?;
        let mut page = page;
        if failed.is_full {
            // Failed events first: not all of them were read, and no later event of their lines may overtake them.
            (is_full, last) = (false, after);
            page.clear();
        }
        let mut fresh: BTreeMap<Partition, Vec<Message>> = BTreeMap::new();
        for message in page.into_iter().filter_map(|record| self.message(record)) {
            fresh.entry(Partition::of(message.address.key)).or_default().push(message);
        }
        let partitions: Vec<_> =
            self.leased.iter().map(|(partition, term)| Held { partition: *partition, term: *term }).collect();
        let worker = &*self;
        let steps = partitions.into_iter().map(|held| {
            let (partition, position) = (held.partition, worker.position(held.partition));
            let mut fresh = fresh.remove(&partition).unwrap_or_default();
            fresh.retain(|message| message.record.id > position);
            worker.advance(held, fresh, failed.due.remove(&partition).unwrap_or_default(), &failed.blocked, last)
        });
        let done = join_all(steps.collect::<Vec<_>>()).await;
        self.must_retry_all |= self.had_outage.swap(false, Ordering::Relaxed);
        let mut more = is_full;
        for done in done {
            let Some(Advanced { partition, sent_up_to, is_short, was_busy, had_trouble }) = done? else { continue };
            more |= is_short;
            if had_trouble {
                self.scan_at = None;
            }
            if was_busy {
                self.commit_at = self.commit_at.min(Instant::now() + COMMIT_AFTER);
            }
            self.reached(partition, sent_up_to);
        }
        if Instant::now() >= self.commit_at {
            self.commit_positions().await?;
        }
        Ok(more)
    }

    /// Commits the positions of partitions. Events before all of them may be purged.
    async fn commit_positions(&mut self) -> Result<(), Refused> {
        self.commit_at = Instant::now() + COMMIT_EVERY;
        let due = self.leased.keys().map(|partition| (*partition, self.position(*partition)));
        let due: Vec<_> =
            due.filter(|(partition, position)| self.committed_positions.get(partition) != Some(position)).collect();
        let worker = &*self;
        let marks = due.into_iter().map(|(partition, position)| async move {
            Ok(worker.report(partition, position, Vec::new()).await?.map(|_| (partition, position)))
        });
        let marked: Result<Vec<_>, Refused> = join_all(marks).await.into_iter().collect();
        self.committed_positions.extend(marked?.into_iter().flatten());
        let committed = &self.committed_positions;
        let is_beyond = |event, partition| committed.get(&partition).is_some_and(|position| event > *position);
        self.context.in_flight().keep(is_beyond);
        Ok(())
    }

    /// Makes all failed events due at once, dead letters included.
    async fn retry_all(&mut self) -> Result<(), Refused> {
        let (mut after, mut count) = (None, 0_usize);
        loop {
            let page = self.context.store().list(failed_publications(None, after, FAILED_PUBLICATIONS_MAX)).await?;
            let is_last = page.len() < FAILED_PUBLICATIONS_MAX;
            let found: Vec<_> =
                page.into_iter().filter_map(holdfast_core::schema::Listed::read::<FailedPublication>).collect();
            after = found.last().map(|(id, _)| *id);
            let ours =
                found.iter().filter(|(_, failed_publication)| self.leased.contains_key(&failed_publication.partition));
            let again = ours.map(|(id, _)| self.context.engine().run(RetryEvent { event: id.event }, None));
            for tried in join_all(again.collect::<Vec<_>>()).await {
                tried?;
                count += 1;
            }
            if is_last {
                break;
            }
        }
        if count > 0 {
            tracing::info!(count, "[Outbox] failed events are retried after an outage of the bus");
        }
        self.must_retry_all = false;
        self.scan_at = None;
        Ok(())
    }

    fn message(&self, record: Arc<OutboxRecord>) -> Option<Message> {
        let address = self.bus.address(&record)?;
        Some(Message { address, record })
    }

    fn position(&self, partition: Partition) -> u64 {
        self.positions.get(&partition).copied().unwrap_or_default()
    }

    fn reached(&mut self, partition: Partition, sent_up_to: u64) {
        let position = self.positions.entry(partition).or_default();
        *position = sent_up_to.max(*position);
    }

    /// Updates the partitions that this server leases.
    async fn lease(&mut self) -> Result<(), Refused> {
        if !self.is_leasing {
            self.context.leases().want(&self.context, &Partition::all().collect::<Vec<_>>()).await?;
            self.is_leasing = true;
        }
        let mut held = self.context.leases().held();
        held.remove(&Partition::WEBHOOKS);
        let terms: BTreeMap<_, _> = held.iter().map(|(partition, lease)| (*partition, lease.term)).collect();
        if terms == self.leased {
            return Ok(());
        }
        let has_more = terms.iter().any(|(partition, term)| self.leased.get(partition) != Some(term));
        for (partition, lease) in held {
            // Kept if it is ahead: the position of recent events may not be committed yet.
            self.reached(partition, lease.relay.sent_up_to);
        }
        self.leased = terms;
        if has_more {
            self.scan_at = None;
        }
        self.must_retry_all |= has_more && self.bus.can_be_away();
        self.context.in_flight().keep(|_, partition| self.leased.contains_key(&partition));
        Ok(())
    }

    /// Whether this server still holds the lease. The process may have been paused since the last check.
    fn has(&self, held: Held) -> bool {
        self.context.leases().lease(held.partition).is_some_and(|lease| lease.term == held.term)
    }

    /// Releases all partitions with their positions. If that fails, another server takes them when the leases end, and
    /// publishes the events after the committed position again.
    async fn release(&self) {
        let positions = self.leased.keys().map(|partition| (*partition, self.position(*partition)));
        if let Err(error) = self.context.leases().release(&self.context, positions.collect()).await {
            tracing::warn!(%error, "[Outbox] leases could not be released; they expire");
        }
    }

    /// Commits the position and failures of a partition. Returns the events that became dead letters; `None` if the
    /// lease is lost.
    async fn report(
        &self,
        partition: Partition,
        sent_up_to: u64,
        outcomes: Vec<(u64, PublishOutcome)>,
    ) -> Result<Option<Vec<u64>>, Refused> {
        let command = AdvanceRelay { server: self.context.leases().server(), partition, sent_up_to, outcomes };
        match self.context.engine().run(command, None).await {
            Ok(Answer::Fresh(dead_letters)) => Ok(Some(dead_letters)),
            Ok(Answer::Recorded(_) | Answer::Replayed(_)) => unreachable!("nothing is kept without a key"),
            Err(Refused::Rejected(Rejection::LeaseLost)) => {
                self.context.leases().lost(partition);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads failed events that are not dead letters. The earliest event of each line decides: if it is due, all events
    /// of the line are retried in order; if not, all wait for it.
    async fn failed_events(&mut self) -> Result<FailedEvents, Refused> {
        if self.scan_at.is_some_and(|at| Instant::now() < at) {
            return Ok(FailedEvents::default());
        }
        let listed = self.context.store().list(failed_publications(Some(false), None, FAILED_PUBLICATIONS_MAX)).await?;
        let mut failed = FailedEvents { is_full: listed.len() == FAILED_PUBLICATIONS_MAX, ..FailedEvents::default() };
        if listed.is_empty() {
            self.known.clear();
            self.scan_at = Some(Instant::now() + self.settings.poll);
            return Ok(failed);
        }
        self.scan_at = None;
        let now = self.context.query(|_, at| Ok(at.now)).await.unwrap_or_default();
        let (mut seen, mut looked_at) = (HashSet::new(), HashSet::new());
        for row in listed {
            let Some((FailedPublicationId { event }, failed_publication)) = row.read::<FailedPublication>() else {
                continue;
            };
            if !self.leased.contains_key(&failed_publication.partition) {
                continue;
            }
            let Some(message) = self.look_up(event).await? else { continue };
            looked_at.insert(event);
            let line = message.address.line();
            if seen.insert(line) && failed_publication.next_try_at > now {
                failed.blocked.insert(line);
            }
            if !failed.blocked.contains(&line) {
                failed.due.entry(failed_publication.partition).or_default().push(message);
            }
        }
        self.known.retain(|event, _| looked_at.contains(event));
        Ok(failed)
    }

    async fn look_up(&mut self, event: u64) -> Result<Option<Message>, Refused> {
        if let Some(message) = self.known.get(&event) {
            return Ok(Some(message.clone()));
        }
        let found = self.context.store().outbox_after(event - 1, 1).await?.pop().filter(|record| record.id == event);
        let message = found.and_then(|record| self.message(Arc::new(record)));
        self.known.extend(message.clone().map(|message| (event, message)));
        Ok(message)
    }

    /// Publishes the events of a partition, in order per line. Failures are committed at once. Returns `None` if the
    /// lease has ended meanwhile: the position does not advance, and the next lease holder publishes these events
    /// again.
    async fn advance(
        &self,
        held: Held,
        mut fresh: Vec<Message>,
        due: Vec<Message>,
        blocked: &HashSet<Line>,
        last: u64,
    ) -> Result<Option<Advanced>, Refused> {
        let partition = held.partition;
        let is_short = fresh.len() > self.settings.batch;
        fresh.truncate(self.settings.batch);
        let sent_up_to = if is_short { fresh.last().map_or(last, |message| message.record.id) } else { last };
        let advanced = Advanced { partition, sent_up_to, is_short, was_busy: true, had_trouble: false };
        if fresh.is_empty() && due.is_empty() {
            return Ok(Some(Advanced { was_busy: false, ..advanced }));
        }
        let in_trouble: HashSet<u64> = due.iter().map(|message| message.record.id).collect();
        let mut lines: BTreeMap<Line, Vec<Message>> = BTreeMap::new();
        for message in due.into_iter().chain(fresh) {
            lines.entry(message.address.line()).or_default().push(message);
        }
        let tried: Vec<u64> = lines
            .iter()
            .filter(|(line, _)| !blocked.contains(*line))
            .flat_map(|(_, them)| them)
            .map(|message| message.record.id)
            .collect();
        self.context.in_flight().take(partition, tried.into_iter());
        let publish_event = |(line, messages)| self.publish_event(held, messages, blocked.contains(&line));
        let outcomes: Option<Vec<_>> = join_all(lines.into_iter().map(publish_event)).await.into_iter().collect();
        let Some(outcomes) = outcomes else { return Ok(None) };
        let mut outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
        outcomes.retain(|(event, how)| *how != PublishOutcome::Sent || in_trouble.contains(event));
        if outcomes.is_empty() {
            return Ok(Some(advanced));
        }
        let Some(dead_letters) = self.report(partition, sent_up_to, outcomes).await? else { return Ok(None) };
        for event in dead_letters {
            tracing::error!(event, "[Outbox] the event is a dead letter (FAILED); retry it at /v1/admin/outbox");
            metrics::counter!("holdfast_outbox_dead_letters_total").increment(1);
        }
        self.context.in_flight().keep(|_, other| other != partition);
        Ok(Some(Advanced { had_trouble: true, ..advanced }))
    }

    /// Whether the bus was unavailable within [`OUTAGE_GRACE`]. It may be reachable and not accept events yet.
    fn is_recovering(&self) -> bool {
        self.outage_seen_at.is_some_and(|at| at.elapsed() < OUTAGE_GRACE)
    }

    /// Publishes the events of one line, one after another. After a failure the rest of the line waits. Returns `None`
    /// if the lease has ended.
    async fn publish_event(
        &self,
        held: Held,
        messages: Vec<Message>,
        mut is_blocked: bool,
    ) -> Option<Vec<(u64, PublishOutcome)>> {
        let mut outcomes = Vec::with_capacity(messages.len());
        for message in messages {
            let id = message.record.id;
            if is_blocked {
                outcomes.push((id, PublishOutcome::Behind));
                continue;
            }
            if !self.has(held) {
                return None;
            }
            let record = &message.record;
            let (subject, trace) = (&record.event_type, record.trace.map(|trace| trace.id().to_string()));
            let booking = message.address.booking;
            match booking {
                Some(booking) => {
                    tracing::info!(event = id, subject, bookingId = booking, traceId = trace, "[Outbox] publishing");
                }
                None => tracing::debug!(event = id, subject, traceId = trace, "[Outbox] publishing"),
            }
            let is_recovering = self.is_recovering();
            match self.bus.publish_event(&message).await {
                Ok(()) => outcomes.push((id, PublishOutcome::Sent)),
                Err(error) => {
                    // An outage is logged once, not for each event.
                    if is_recovering || self.bus.away().is_some() {
                        self.had_outage.store(true, Ordering::Relaxed);
                    } else {
                        tracing::warn!(
                            event = id,
                            subject,
                            bookingId = booking,
                            error,
                            "[Outbox] an event could not be published; it is retried"
                        );
                    }
                    metrics::counter!("holdfast_outbox_publish_failures_total").increment(1);
                    outcomes.push((
                        id,
                        PublishOutcome::Failed { jitter: self.context.ids().number() as u32 % JITTER_MILLIS },
                    ));
                    is_blocked = true;
                }
            }
        }
        Some(outcomes)
    }
}
