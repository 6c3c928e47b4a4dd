//! An event becomes deliveries: one for each webhook that wants it, in one commit with the note that it was offered. An event
//! that is offered again makes none.

use std::sync::Arc;

use super::OFFERED_MAX;
use super::delivery::{self, Delivery, DeliveryId, DeliveryState};
use super::subscription::{Webhook, active};
use crate::command::{Command, Context, Decision, Writes};
use crate::id::Sequence;
use crate::rejection::Rejection;
use crate::relay::{LEASE, Partition, Relay};
use crate::rows::Rows;
use crate::table::Row;
use crate::time::Timestamp;

/// What tells events apart: the `id` they have on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(pub Arc<str>);

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An event that somebody is to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedEvent {
    pub event_type: Arc<str>,
    pub at: Timestamp,
    /// What is told about it.
    pub data: Arc<str>,
    /// How many deliveries of it are kept. The last one takes it along.
    pub deliveries: u32,
}

impl Row for OfferedEvent {}

/// An event that may be of interest.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub name: EventName,
    pub event_type: Arc<str>,
    pub at: Timestamp,
    pub data: Arc<str>,
    /// Its number in the outbox, if it is read from there. One that is not is for those only who name its type.
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

/// How far the outbox was read, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub server: u64,
    pub up_to: u64,
}

/// Makes deliveries of events.
#[derive(Clone, Debug)]
pub struct Offer {
    pub events: Vec<Candidate>,
    /// Written down in the same commit. Refused if somebody else reads the outbox by now.
    pub mark: Option<Mark>,
}

impl Command for Offer {
    /// How many deliveries were made.
    type Outcome = usize;
    const NAME: &'static str = "webhook.offer";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<usize> {
        assert!(self.events.len() <= OFFERED_MAX, "an offer is bounded");
        rows.relay.relays.want(&Partition::WEBHOOKS);
        rows.ids.want(&Sequence::WebhookDelivery);
        for event in &self.events {
            rows.webhook.events.want(&event.name);
        }
        let webhooks = active(rows)?;
        let told_up_to = self.advance(rows, at)?;
        let mut made = 0;
        for event in &self.events {
            if event.number.is_some_and(|number| number <= told_up_to) {
                continue;
            }
            made += offer(rows, at, event, &webhooks)?;
        }
        Ok(made)
    }

    fn weight(&self) -> usize {
        1 + self.events.len()
    }
}

impl Offer {
    /// Moves the mark; gives back where it was.
    fn advance(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<u64> {
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

fn offer(rows: &mut Rows, at: &Context<'_>, event: &Candidate, webhooks: &[Webhook]) -> Decision<usize> {
    let wanted: Vec<_> = webhooks.iter().filter(|webhook| event.is_for(webhook)).collect();
    if rows.webhook.events.get(&event.name)?.is_some() || wanted.is_empty() {
        return Ok(0);
    }
    let offered = OfferedEvent {
        event_type: event.event_type.clone(),
        at: event.at,
        data: event.data.clone(),
        deliveries: wanted.len() as u32,
    };
    rows.webhook.events.put(event.name.clone(), offered);
    let first = rows.next_ids(Sequence::WebhookDelivery, wanted.len())?;
    for (number, webhook) in (first..).zip(&wanted) {
        let id = DeliveryId::new(number).expect("sequences give ids");
        let made = Delivery {
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
        delivery::insert(rows, made);
    }
    Ok(wanted.len())
}
