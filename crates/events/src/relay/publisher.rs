//! One round of publishing: the events of a partition, in order per line.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use holdfast_core::relay::{Partition, PublishOutcome};
use holdfast_engine::Refused;

use super::bus::Line;
use super::position::Held;
use super::{OutboxMessage, Worker};

/// Time after an outage of the bus during which failures are attributed to it.
const OUTAGE_GRACE: Duration = Duration::from_secs(5);
/// Maximum random delay added to a retry, in milliseconds.
const JITTER_MILLIS: u32 = 500;

/// Progress of a partition in one round.
#[derive(Clone, Copy)]
pub(super) struct Advanced {
    pub(super) partition: Partition,
    pub(super) sent_up_to: u64,
    /// Whether events were left for the next round.
    pub(super) is_short: bool,
    /// Whether events were published.
    pub(super) was_busy: bool,
    /// Whether there were failed events before or after the round.
    pub(super) had_trouble: bool,
}

impl Worker {
    /// Publishes the events of a partition, in order per line. Failures are committed at once. Returns `None` if the
    /// lease has ended meanwhile: the position does not advance, and the next lease holder publishes these events
    /// again.
    pub(super) async fn advance(
        &self,
        held: Held,
        mut fresh: Vec<OutboxMessage>,
        due: Vec<OutboxMessage>,
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
        let mut lines: BTreeMap<Line, Vec<OutboxMessage>> = BTreeMap::new();
        for message in due.into_iter().chain(fresh) {
            lines.entry(message.address.line()).or_default().push(message);
        }
        let tried: Vec<u64> = lines
            .iter()
            .filter(|(line, _)| !blocked.contains(*line))
            .flat_map(|(_, them)| them)
            .map(|message| message.record.id)
            .collect();
        self.context.in_flight().add(partition, tried.into_iter());
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
        self.context.in_flight().retain(|_, other| other != partition);
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
        messages: Vec<OutboxMessage>,
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
                    if is_recovering || self.bus.outage().is_some() {
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
