//! Webhook fan-out: reads the outbox and creates a delivery for each subscribed webhook. One server at a time does so,
//! under a lease. Its position moves in the commit of the deliveries. Without webhooks, only the number of the last
//! event is polled.

use std::time::Duration;

use holdfast_core::Rejection;
use holdfast_core::relay::Partition;
use holdfast_core::webhook::enqueue::{Candidate, EnqueueDeliveries, Mark};
use holdfast_core::webhook::{ENQUEUED_MAX, EventName, Webhook, subscription};
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{Answer, Refused};

use crate::Context;
use crate::wire::event::is_public;

/// Pause after an error.
const ERROR_PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of events without a subscriber before the position is committed.
const SKIPPED_MAX: u64 = 10_000;

/// Runs until the server stops.
pub async fn run(context: Context, poll: Duration) {
    let (mut committed, mut leases_changed) = (context.stream().committed(), context.leases().changed());
    let mut fan_out = FanOut { context, term: None, read_up_to: 0, position: 0, found: Found::Idle, is_due: true };
    loop {
        fan_out.found = match fan_out.step().await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(
                    %error,
                    "[Webhook] the fan-out failed; trying again"
                );
                tokio::time::sleep(ERROR_PAUSE).await;
                Found::Idle
            }
        };
        if fan_out.found == Found::More && !fan_out.context.is_stopping() {
            continue;
        }
        tokio::select! {
            () = fan_out.context.stopped() => {
                fan_out.release().await;
                return;
            }
            _ = committed.changed(), if fan_out.found != Found::Idle => {}
            _ = leases_changed.changed() => {}
            // A webhook was created: the next commit must wake this loop.
            () = fan_out.context.webhooks().fan_out.notified() => fan_out.found = Found::CaughtUp,
            () = tokio::time::sleep(poll) => fan_out.is_due = true,
        }
    }
}

/// Enqueues deliveries of events from outside of this outbox, at most [`ENQUEUED_MAX`] at once. An event that was
/// enqueued before gets none. Event names must not be plain numbers, which belong to this outbox. Returns the number of
/// deliveries.
pub async fn offer(context: &Context, events: Vec<Candidate>) -> Result<usize, Refused> {
    create(context, events, None).await
}

/// Returns the event of an outbox record for webhooks; `None` if it is not public.
pub fn candidate(record: &OutboxRecord) -> Option<Candidate> {
    is_public(&record.event_type).then(|| Candidate {
        name: EventName(record.id.to_string().into()),
        event_type: (&*record.event_type).into(),
        at: record.at,
        data: (&*record.data).into(),
        number: Some(record.id),
    })
}

async fn create(context: &Context, events: Vec<Candidate>, mark: Option<Mark>) -> Result<usize, Refused> {
    let made = match context.engine().run(EnqueueDeliveries { events, mark }, None).await? {
        Answer::Fresh(made) => made,
        Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
    };
    if made > 0 {
        context.webhooks().delivery_worker.notify_one();
    }
    Ok(made)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// There is no active webhook, or another server has the lease.
    Idle,
    /// The outbox was read to its end.
    CaughtUp,
    /// The outbox may have further events.
    More,
}

struct FanOut {
    context: Context,
    /// Term of the lease on the outbox, if this server has it.
    term: Option<u64>,
    /// Number of the last event that was read.
    read_up_to: u64,
    /// Committed position.
    position: u64,
    /// Result of the previous step.
    found: Found,
    /// Whether the next step reads the last number from the store: a commit with an unknown outcome is not announced.
    is_due: bool,
}

impl FanOut {
    async fn step(&mut self) -> Result<Found, Refused> {
        // Read before the webhooks: each webhook that was created before this last event is then visible.
        let last = if self.is_due {
            self.context.store().outbox_last().await?
        } else {
            self.context.stream().last_committed(self.context.store()).await?
        };
        self.is_due = false;
        if last <= self.read_up_to {
            return Ok(if self.found == Found::Idle { Found::Idle } else { Found::CaughtUp });
        }
        let webhooks = self.context.query(|rows, _| subscription::active(rows)).await?;
        let Some(begin) = webhooks.iter().map(|webhook| webhook.told_after).min() else {
            self.skip(last).await?;
            return Ok(Found::Idle);
        };
        if !self.has_lease().await? {
            return Ok(Found::Idle);
        }
        self.read_up_to = self.read_up_to.max(begin);
        self.read(&webhooks).await
    }

    /// Skips events up to `last`, because there is no webhook. The position is committed if the partition exists: the
    /// purge of the outbox keeps events after it.
    async fn skip(&mut self, last: u64) -> Result<(), Refused> {
        let has_begun =
            self.context.query(|rows, _| Ok(rows.relay.relays.get(&Partition::WEBHOOKS)?.is_some())).await?;
        if has_begun && self.has_lease().await? {
            self.commit_deliveries(Vec::new(), last).await?;
        }
        self.read_up_to = last;
        Ok(())
    }

    /// Whether this server has the lease on the outbox. Requests it from now on.
    async fn has_lease(&mut self) -> Result<bool, Refused> {
        self.context.leases().want(&self.context, &[Partition::WEBHOOKS]).await?;
        let lease = self.context.leases().lease(Partition::WEBHOOKS);
        let term = lease.map(|lease| lease.term);
        if let Some(lease) = lease.filter(|_| term != self.term) {
            self.position = lease.relay.sent_up_to;
            self.read_up_to = self.read_up_to.max(lease.relay.sent_up_to);
        }
        self.term = term;
        Ok(term.is_some())
    }

    /// Releases the lease, if this server has it.
    async fn release(&self) {
        let held = self.context.leases().lease(Partition::WEBHOOKS).map(|_| (Partition::WEBHOOKS, self.position));
        if let Some(held) = held
            && let Err(error) = self.context.leases().release(&self.context, vec![held]).await
        {
            tracing::warn!(%error, "[Webhook] the lease could not be released; it expires");
        }
    }

    async fn read(&mut self, webhooks: &[Webhook]) -> Result<Found, Refused> {
        let page = self.context.stream().outbox_after(self.context.store(), self.read_up_to, ENQUEUED_MAX).await?;
        let Some(up_to) = page.last().map(|record| record.id) else { return Ok(Found::CaughtUp) };
        let is_full = page.len() == ENQUEUED_MAX;
        let mut events: Vec<Candidate> = page.iter().filter_map(|record| candidate(record)).collect();
        events.retain(|event| webhooks.iter().any(|webhook| event.is_for(webhook)));
        if !events.is_empty() || up_to > self.position + SKIPPED_MAX {
            self.commit_deliveries(events, up_to).await?;
        }
        self.read_up_to = up_to;
        Ok(if is_full { Found::More } else { Found::CaughtUp })
    }

    /// Creates deliveries, and commits the position.
    async fn commit_deliveries(&mut self, events: Vec<Candidate>, up_to: u64) -> Result<(), Refused> {
        let made = create(&self.context, events, Some(Mark { server: self.context.leases().server(), up_to })).await;
        if let Err(error) = made {
            // Another server may have moved the position; it is read with the next lease.
            self.term = None;
            if error == Refused::Rejected(Rejection::LeaseLost) {
                self.context.leases().lost(Partition::WEBHOOKS);
            }
            return Err(error);
        }
        self.position = up_to;
        Ok(())
    }
}
