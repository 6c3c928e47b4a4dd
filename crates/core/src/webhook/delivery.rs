//! Deliveries of events to webhooks, which stay as a log afterwards.

use std::sync::Arc;

use super::AT_ONCE_MAX;
use super::enqueue::{EventName, QueuedEvent};
use super::subscription::{self, WebhookId};
use crate::command::{Command, Context, Decision, writes};
use crate::id::number_id;
use crate::rejection::WebhookRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a delivery.
    DeliveryId
);

/// Delivery of one event to one webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub webhook: WebhookId,
    pub event: EventName,
    pub event_type: Arc<str>,
    pub state: DeliveryState,
    /// Number of attempts in total.
    pub attempts: u32,
    /// Number of attempts before the latest manual retry.
    pub attempts_before: u32,
    /// HTTP status of the last response.
    pub last_status: Option<u16>,
    /// Error of the last attempt.
    pub last_error: Option<Arc<str>>,
    pub created_at: Timestamp,
}

impl Row for Delivery {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Due at this time. During an attempt it is the end of the claim.
    Pending {
        next_attempt_at: Timestamp,
    },
    Delivered {
        at: Timestamp,
    },
    /// All attempts failed. An operator may retry it.
    Failed {
        at: Timestamp,
    },
}

/// State of a delivery without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    Pending,
    Delivered,
    Failed,
}

impl DeliveryStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Delivered => "DELIVERED",
            Self::Failed => "FAILED",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pending, Self::Delivered, Self::Failed].into_iter().find(|status| status.as_str() == text)
    }
}

impl DeliveryState {
    pub fn status(self) -> DeliveryStatus {
        match self {
            Self::Pending { .. } => DeliveryStatus::Pending,
            Self::Delivered { .. } => DeliveryStatus::Delivered,
            Self::Failed { .. } => DeliveryStatus::Failed,
        }
    }
}

impl Delivery {
    pub fn status(&self) -> DeliveryStatus {
        self.state.status()
    }

    pub fn next_attempt_at(&self) -> Option<Timestamp> {
        match self.state {
            DeliveryState::Pending { next_attempt_at } => Some(next_attempt_at),
            DeliveryState::Delivered { .. } | DeliveryState::Failed { .. } => None,
        }
    }

    /// Returns the entry in the due index; `None` unless pending.
    pub fn due(&self) -> Option<DueId> {
        self.next_attempt_at().map(|at| DueId { webhook: self.webhook, at, delivery: self.id })
    }
}

/// Key of the due index: pending deliveries, by webhook and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueId {
    pub webhook: WebhookId,
    pub at: Timestamp,
    pub delivery: DeliveryId,
}

/// Entry of the due index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due;

impl Row for Due {}

/// Inserts a new delivery, and its entry in the due index.
pub(super) fn insert(rows: &mut WorkingSet, delivery: Delivery) {
    if let Some(due) = delivery.due() {
        rows.webhook.due.insert(due, Due);
    }
    rows.webhook.deliveries.insert(delivery.id, delivery);
}

/// Replaces the delivery `before`, and its entry in the due index.
pub(super) fn update(rows: &mut WorkingSet, before: &Delivery, after: Delivery) -> Decision<()> {
    let (old, new) = (before.due(), after.due());
    if old != new {
        if let Some(due) = old
            && rows.webhook.due.get(&due)?.is_some()
        {
            rows.webhook.due.delete(due);
        }
        if let Some(due) = new {
            // A delivery has one due time, so no entry exists under this key.
            rows.webhook.due.insert(due, Due);
        }
    }
    rows.webhook.deliveries.put(after.id, after);
    Ok(())
}

/// Removes a delivery, and its event with the last delivery.
pub(super) fn remove(rows: &mut WorkingSet, delivery: &Delivery) -> Decision<()> {
    if let Some(due) = delivery.due()
        && rows.webhook.due.get(&due)?.is_some()
    {
        rows.webhook.due.delete(due);
    }
    if let Some(event) = rows.webhook.events.get(&delivery.event)?.cloned() {
        let deliveries = event.deliveries.saturating_sub(1);
        match deliveries {
            0 => rows.webhook.events.delete(delivery.event.clone()),
            _ => rows.webhook.events.put(delivery.event.clone(), QueuedEvent { deliveries, ..event }),
        }
    }
    rows.webhook.deliveries.delete(delivery.id);
    Ok(())
}

/// Retries a failed delivery, with all its attempts.
#[derive(Clone, Copy, Debug)]
pub struct RetryDelivery {
    pub webhook: WebhookId,
    pub id: DeliveryId,
}

impl Command for RetryDelivery {
    type Outcome = Delivery;
    const NAME: &'static str = "webhook.delivery.retry";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Delivery> {
        rows.webhook.deliveries.request(&self.id);
        let webhook = subscription::find(rows, self.webhook)?;
        let found = rows.webhook.deliveries.get(&self.id)?.cloned();
        let before =
            found.filter(|found| found.webhook == self.webhook).ok_or(WebhookRejection::WebhookDeliveryNotFound)?;
        if before.status() != DeliveryStatus::Failed {
            return Err(WebhookRejection::WebhookDeliveryNotFailed { status: before.status() }.into());
        }
        if webhook.disabled_at.is_some() {
            return Err(WebhookRejection::WebhookDisabled.into());
        }
        let state = DeliveryState::Pending { next_attempt_at: at.now };
        let after = Delivery { state, attempts_before: before.attempts, ..before.clone() };
        update(rows, &before, after.clone())?;
        Ok(after)
    }
}

/// Purges deliveries that were created before `created_before` and are not pending.
#[derive(Clone, Debug)]
pub struct ForgetDeliveries {
    pub ids: Vec<DeliveryId>,
    pub created_before: Timestamp,
}

impl Command for ForgetDeliveries {
    /// Number of purged deliveries.
    type Outcome = usize;
    const NAME: &'static str = "webhook.delivery.forget";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<usize> {
        assert!(self.ids.len() <= AT_ONCE_MAX, "the number of purged deliveries is bounded");
        for id in &self.ids {
            rows.webhook.deliveries.request(id);
        }
        let mut old = Vec::new();
        for id in &self.ids {
            let found = rows.webhook.deliveries.get(id)?.filter(|delivery| {
                delivery.created_at < self.created_before && delivery.status() != DeliveryStatus::Pending
            });
            old.extend(found.cloned());
        }
        for delivery in &old {
            rows.webhook.events.request(&delivery.event);
        }
        for delivery in &old {
            remove(rows, delivery)?;
        }
        Ok(old.len())
    }

    fn weight(&self) -> usize {
        1 + self.ids.len() / 4
    }
}
