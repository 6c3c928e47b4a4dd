//! Delivery attempts: claiming due deliveries, so that only one server attempts them, and reporting the results.

use std::sync::Arc;

use super::delivery::{self, Delivery, DeliveryId, DeliveryState, DeliveryStatus, DueId};
use super::enqueue::QueuedEvent;
use super::subscription::{Webhook, WebhookId};
use super::{AT_ONCE_MAX, ERROR_CHARS_MAX};
use crate::command::{Command, Context, Decision, writes};
use crate::time::{Span, Timestamp};
use crate::working_set::WorkingSet;

/// Maximum random addition to a retry delay, in thousandths of it, so that retries do not coincide.
pub const JITTER_MAX: u32 = 200;
/// The longest wait that a receiver can ask for; a longer one counts as this.
pub const RETRY_AFTER_MAX: Span = Span::from_hours(24);

/// Claims due deliveries for the time of a lease. Deliveries of a deleted webhook are removed, those of a disabled one
/// become failed.
#[derive(Clone, Debug)]
pub struct ClaimDeliveries {
    pub due: Vec<DueId>,
    /// Time after which a claimed delivery without a report is due again.
    pub lease: Span,
}

/// Claimed deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Claims {
    pub now: Timestamp,
    pub ready: Vec<Claimed>,
    /// Number of deliveries that were removed or failed instead.
    pub dropped: usize,
}

/// A delivery that the claiming server attempts now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub delivery: DeliveryId,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    pub webhook: Webhook,
    pub name: Arc<str>,
    pub event: QueuedEvent,
}

impl Command for ClaimDeliveries {
    type Outcome = Claims;
    const NAME: &'static str = "webhook.delivery.claim";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Claims> {
        assert!(self.due.len() <= AT_ONCE_MAX, "the number of claimed deliveries is bounded");
        for due in &self.due {
            rows.webhook.due.request(due);
            rows.webhook.deliveries.request(&due.delivery);
            rows.webhook.webhooks.request(&due.webhook);
        }
        let mut due_deliveries = Vec::new();
        for due in &self.due {
            // Another server may have claimed it first.
            let is_due = due.at <= at.now && rows.webhook.due.get(due)?.is_some();
            let delivery = rows.webhook.deliveries.get(&due.delivery)?.filter(|_| is_due).cloned();
            due_deliveries.extend(delivery.filter(|delivery| delivery.due() == Some(*due)));
        }
        for delivery in &due_deliveries {
            rows.webhook.events.request(&delivery.event);
        }
        let mut claims = Claims { now: at.now, ..Claims::default() };
        for delivery in due_deliveries {
            match self.claim(rows, at, &delivery)? {
                Some(claimed) => claims.ready.push(claimed),
                None => claims.dropped += 1,
            }
        }
        Ok(claims)
    }

    fn weight(&self) -> usize {
        1 + self.due.len() / 4
    }
}

impl ClaimDeliveries {
    fn claim(&self, rows: &mut WorkingSet, at: &Context<'_>, before: &Delivery) -> Decision<Option<Claimed>> {
        let event = rows.webhook.events.get(&before.event)?.cloned();
        let (Some(webhook), Some(event)) = (rows.webhook.webhooks.get(&before.webhook)?.cloned(), event) else {
            delivery::remove(rows, before)?;
            return Ok(None);
        };
        if webhook.disabled_at.is_some() {
            let last_error = Some("the webhook is disabled".into());
            let after = Delivery { state: DeliveryState::Failed { at: at.now }, last_error, ..before.clone() };
            delivery::update(rows, before, after)?;
            return Ok(None);
        }
        let state = DeliveryState::Pending { next_attempt_at: at.now + self.lease };
        let attempt = before.attempts + 1;
        delivery::update(rows, before, Delivery { state, attempts: attempt, ..before.clone() })?;
        Ok(Some(Claimed { delivery: before.id, attempt, webhook, name: before.event.0.clone(), event }))
    }
}

/// Result of a delivery attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The receiver accepted the event.
    Accepted { status: u16 },
    /// The receiver did not take it, or could not be reached. `retry_after` is the wait that its answer asked for.
    Failed { status: Option<u16>, error: String, retry_after: Option<Span> },
    /// The receiver wants nothing more.
    Gone { status: u16 },
}

/// Reports the result of an attempt. Ignored if the claim has ended and another attempt has begun.
#[derive(Clone, Debug)]
pub struct ReportAttempt {
    pub delivery: DeliveryId,
    pub attempt: u32,
    pub tried: Tried,
    /// Random number from 0 to [`JITTER_MAX`].
    pub jitter: u32,
}

impl Command for ReportAttempt {
    /// New status of the delivery; `None` if the report was ignored.
    type Outcome = Option<DeliveryStatus>;
    const NAME: &'static str = "webhook.delivery.report";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Option<DeliveryStatus>> {
        let Some(before) = rows.webhook.deliveries.get(&self.delivery)?.cloned() else { return Ok(None) };
        if before.status() != DeliveryStatus::Pending || before.attempts != self.attempt {
            return Ok(None);
        }
        let (state, last_status, last_error) = match &self.tried {
            Tried::Accepted { status } => (DeliveryState::Delivered { at: at.now }, Some(*status), None),
            Tried::Failed { status, error, retry_after } => {
                (self.after_failure(at, &before, *retry_after), *status, Some(sanitized(error)))
            }
            Tried::Gone { status } => {
                disable(rows, at, before.webhook)?;
                let error = "the receiver is gone; the webhook is disabled".into();
                (DeliveryState::Failed { at: at.now }, Some(*status), Some(error))
            }
        };
        let after = Delivery { state, last_status, last_error, ..before.clone() };
        let status = after.status();
        delivery::update(rows, &before, after)?;
        Ok(Some(status))
    }
}

impl ReportAttempt {
    /// Schedules the next attempt for the later of the schedule's wait and the one that the receiver asked for.
    fn after_failure(&self, at: &Context<'_>, delivery: &Delivery, retry_after: Option<Span>) -> DeliveryState {
        let failures = (delivery.attempts - delivery.attempts_before) as usize;
        match at.limits.webhook.retry_after.get(failures - 1) {
            Some(wait) => {
                let longer = wait.as_millis() * i64::from(self.jitter.min(JITTER_MAX)) / 1_000;
                let scheduled = *wait + Span::from_millis(longer);
                let wait = retry_after.map_or(scheduled, |asked| asked.min(RETRY_AFTER_MAX).max(scheduled));
                DeliveryState::Pending { next_attempt_at: at.now + wait }
            }
            None => DeliveryState::Failed { at: at.now },
        }
    }
}

fn disable(rows: &mut WorkingSet, at: &Context<'_>, id: WebhookId) -> Decision<()> {
    if let Some(webhook) = rows.webhook.webhooks.get(&id)?.filter(|webhook| webhook.disabled_at.is_none()).cloned() {
        rows.webhook.webhooks.put(id, Webhook { disabled_at: Some(at.now), ..webhook });
    }
    Ok(())
}

/// Removes control characters, and truncates to [`ERROR_CHARS_MAX`] characters.
fn sanitized(error: &str) -> Arc<str> {
    error.chars().filter(|char| !char.is_control()).take(ERROR_CHARS_MAX).collect::<String>().into()
}
