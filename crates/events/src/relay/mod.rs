//! Outbox relay: publishes durable events from the outbox to the bus. A commit of this server wakes it at once. A poll
//! finds commits of other servers, and failed events that are due for a retry.
//!
//! Delivery is at least once: events published since the last committed position are published again after a crash.
//! Receivers deduplicate them by id.

mod bus;
pub mod dead_letters;
mod failures;
mod in_flight;
mod lease;
mod nats_bus;
mod position;
mod publisher;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use holdfast_core::relay::Partition;
use holdfast_engine::Refused;
use holdfast_engine::store::OutboxRecord;

pub use self::bus::{Address, Bus, OutboxMessage};
pub use self::in_flight::InFlight;
pub use self::lease::{Lease, Leases};
pub use self::nats_bus::NatsBus;
use self::position::{COMMIT_EVERY, Held};
use self::publisher::Advanced;
use crate::Context;

/// Number of events read from the outbox at once, with or without a destination.
const PAGE: usize = 500;
/// Delay between publishing and committing the position: one commit covers all events published meanwhile. After a
/// crash they are published again, and deduplicated by id.
const COMMIT_AFTER: Duration = Duration::from_millis(50);
/// Pause after a failed round.
const ERROR_PAUSE: Duration = Duration::from_millis(500);
/// Interval at which an unavailable bus is checked.
const BUS_CHECK_EVERY: Duration = Duration::from_millis(50);
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
    let mut is_unavailable = false;
    loop {
        let outage = worker.bus.outage();
        if outage.is_some() {
            worker.outage_seen_at = Some(Instant::now());
        }
        match outage {
            Some(why) if !is_unavailable => {
                tracing::warn!(why, "[Outbox] the bus is unavailable; events are not published");
                (is_unavailable, worker.must_retry_all) = (true, true);
            }
            None if is_unavailable => {
                tracing::info!("[Outbox] the bus is available again; events are published");
                is_unavailable = false;
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
        if more && !is_unavailable && !worker.context.is_stopping() {
            continue;
        }
        let pause = settings.poll.min(worker.commit_at.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = worker.context.stopped() => {
                worker.release().await;
                return;
            }
            _ = committed.changed(), if !is_unavailable => {}
            _ = leases_changed.changed() => {}
            () = until_available(&*worker.bus), if is_unavailable => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn until_available(bus: &dyn Bus) {
    while bus.outage().is_some() {
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
    known: HashMap<u64, OutboxMessage>,
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

impl Worker {
    /// Publishes one round of events. Returns whether there may be more.
    async fn step(&mut self) -> Result<bool, Refused> {
        self.lease().await?;
        if self.must_retry_all && self.bus.outage().is_none() {
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
        let mut fresh: BTreeMap<Partition, Vec<OutboxMessage>> = BTreeMap::new();
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

    fn message(&self, record: Arc<OutboxRecord>) -> Option<OutboxMessage> {
        let address = self.bus.address(&record)?;
        Some(OutboxMessage { address, record })
    }
}
