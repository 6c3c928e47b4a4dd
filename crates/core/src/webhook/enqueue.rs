//! Fan-out of an event to deliveries, one per subscribed webhook, in one commit with the position in the outbox. An
//! event that was fanned out before gets no further deliveries.

use std::sync::Arc;

use super::ENQUEUED_MAX;
use super::delivery::{self, Delivery, DeliveryId, DeliveryState};
use super::subscription::{Webhook, active};
use crate::command::{Command, Context, Decision, writes};
use crate::id::Sequence;
use crate::rejection::Rejection;
use crate::relay::{LEASE, Partition, Relay};
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Identifier of an event: its `id` on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(pub Arc<str>);

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An event with deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedEvent {
    pub event_type: Arc<str>,
    pub at: Timestamp,
    /// JSON data of the event.
    pub data: Arc<str>,
    /// Number of deliveries that are kept. The event is removed with the last one.
    pub deliveries: u32,
}

impl Row for QueuedEvent {}

/// An event to fan out.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub name: EventName,
    pub event_type: Arc<str>,
    pub at: Timestamp,
    pub data: Arc<str>,
    /// Number in the outbox; `None` for an ephemeral event, which goes only to webhooks that name its type.
    pub number: Option<u64>,
}

impl Candidate {
    pub fn is_for(&self, webhook: &Webhook) -> bool {
        match self.number {
            Some(number) => webhook.types.include(&self.event_type) && number > webhook.told_after,
            None => webhook.types.name(&self.event_type),
        }
    }
}

/// Position up to which a server has read the outbox.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub server: u64,
    pub up_to: u64,
}

/// Creates the deliveries of events.
#[derive(Clone, Debug)]
pub struct EnqueueDeliveries {
    pub events: Vec<Candidate>,
    /// Recorded in the same commit. Rejected if another server has the lease on the outbox by now.
    pub mark: Option<Mark>,
}

impl Command for EnqueueDeliveries {
    /// Number of deliveries created.
    type Outcome = usize;
    const NAME: &'static str = "webhook.offer";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<usize> {
        assert!(self.events.len() <= ENQUEUED_MAX, "the number of events is bounded");
        rows.relay.relays.request(&Partition::WEBHOOKS);
        rows.ids.request(&Sequence::WebhookDelivery);
        for event in &self.events {
            rows.webhook.events.request(&event.name);
        }
        let webhooks = active(rows)?;
        let fanned_out_up_to = self.advance(rows, at)?;
        let mut created = 0;
        for event in &self.events {
            if event.number.is_some_and(|number| number <= fanned_out_up_to) {
                continue;
            }
            created += fan_out(rows, at, event, &webhooks)?;
        }
        Ok(created)
    }

    fn weight(&self) -> usize {
        1 + self.events.len()
    }
}

impl EnqueueDeliveries {
    /// Advances the recorded position, and returns the previous one.
    fn advance(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<u64> {
        let Some(mark) = self.mark else { return Ok(0) };
        let relay = rows.relay.relays.get(&Partition::WEBHOOKS)?.copied().unwrap_or_default();
        if relay.leased_by != mark.server {
            return Err(Rejection::LeaseLost.into());
        }
        let (sent_up_to, leased_until) = (mark.up_to.max(relay.sent_up_to), at.now + LEASE);
        rows.relay.relays.put(Partition::WEBHOOKS, Relay { sent_up_to, leased_until, ..relay });
        Ok(relay.sent_up_to)
    }
}

fn fan_out(rows: &mut WorkingSet, at: &Context<'_>, event: &Candidate, webhooks: &[Webhook]) -> Decision<usize> {
    let subscribed: Vec<_> = webhooks.iter().filter(|webhook| event.is_for(webhook)).collect();
    if rows.webhook.events.get(&event.name)?.is_some() || subscribed.is_empty() {
        return Ok(0);
    }
    let queued = QueuedEvent {
        event_type: event.event_type.clone(),
        at: event.at,
        data: event.data.clone(),
        deliveries: subscribed.len() as u32,
    };
    rows.webhook.events.put(event.name.clone(), queued);
    let first = rows.next_ids(Sequence::WebhookDelivery, subscribed.len())?;
    for (number, webhook) in (first..).zip(&subscribed) {
        let id = DeliveryId::new(number).expect("sequence numbers are valid ids");
        let delivery = Delivery {
            id,
            webhook: webhook.id,
            event: event.name.clone(),
            event_type: event.event_type.clone(),
            state: DeliveryState::Pending { next_attempt_at: at.now },
            attempts: 0,
            attempts_before: 0,
            last_status: None,
            last_error: None,
            created_at: at.now,
        };
        delivery::insert(rows, delivery);
    }
    Ok(subscribed.len())
}
