//! Trying a delivery: claiming it, so that nobody else tries it at the same time, and saying how it went.

use std::sync::Arc;

use super::delivery::{self, Delivery, DeliveryId, DeliveryState, DeliveryStatus, DueId};
use super::offer::OfferedEvent;
use super::subscription::{Webhook, WebhookId};
use super::{AT_ONCE_MAX, ERROR_CHARS_MAX};
use crate::command::{Command, Context, Decision, Writes};
use crate::rows::Rows;
use crate::time::{Span, Timestamp};

/// How much longer than said a try may be put off, in thousandths, so that not all come back at once.
pub const JITTER_MAX: u32 = 200;
/// The longest wait that a receiver can ask for; a longer one counts as this.
pub const RETRY_AFTER_MAX: Span = Span::from_hours(24);

/// Takes deliveries that are due, for a while. Those of a webhook that is gone are dropped, those of a disabled one given up.
#[derive(Clone, Debug)]
pub struct ClaimDeliveries {
    pub due: Vec<DueId>,
    /// If nothing is heard of them for so long, they are due again.
    pub lease: Span,
}

/// What was taken.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Claims {
    pub now: Timestamp,
    pub ready: Vec<Claimed>,
    /// How many will never be delivered.
    pub dropped: usize,
}

/// A delivery that is to be tried now, by whoever claimed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub delivery: DeliveryId,
    /// Which try this is.
    pub attempt: u32,
    pub webhook: Webhook,
    pub name: Arc<str>,
    pub event: OfferedEvent,
}

impl Command for ClaimDeliveries {
    type Outcome = Claims;
    const NAME: &'static str = "webhook.delivery.claim";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Claims> {
        assert!(self.due.len() <= AT_ONCE_MAX, "a step is bounded");
        for due in &self.due {
            rows.webhook.due.want(due);
            rows.webhook.deliveries.want(&due.delivery);
            rows.webhook.webhooks.want(&due.webhook);
        }
        let mut found = Vec::new();
        for due in &self.due {
            // Somebody else may have been first.
            let is_due = due.at <= at.now && rows.webhook.due.get(due)?.is_some();
            let delivery = rows.webhook.deliveries.get(&due.delivery)?.filter(|_| is_due).cloned();
            found.extend(delivery.filter(|delivery| delivery.due() == Some(*due)));
        }
        for delivery in &found {
            rows.webhook.events.want(&delivery.event);
        }
        let mut claims = Claims { now: at.now, ..Claims::default() };
        for delivery in found {
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
    fn claim(&self, rows: &mut Rows, at: &Context<'_>, before: &Delivery) -> Decision<Option<Claimed>> {
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

/// How a try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The receiver has it.
    Accepted { status: u16 },
    /// The receiver did not take it, or could not be reached. `retry_after` is the wait that its answer asked for.
    Failed { status: Option<u16>, error: String, retry_after: Option<Span> },
    /// The receiver wants nothing more.
    Gone { status: u16 },
}

/// Says how a try ended. Ignored if the claim has run out and somebody else tries it by now.
#[derive(Clone, Debug)]
pub struct ReportAttempt {
    pub delivery: DeliveryId,
    pub attempt: u32,
    pub tried: Tried,
    /// From 0 to [`JITTER_MAX`].
    pub jitter: u32,
}

impl Command for ReportAttempt {
    /// What the delivery is now; `None` if nothing was changed.
    type Outcome = Option<DeliveryStatus>;
    const NAME: &'static str = "webhook.delivery.report";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Option<DeliveryStatus>> {
        let Some(before) = rows.webhook.deliveries.get(&self.delivery)?.cloned() else { return Ok(None) };
        if before.status() != DeliveryStatus::Pending || before.attempts != self.attempt {
            return Ok(None);
        }
        let (state, last_status, last_error) = match &self.tried {
            Tried::Accepted { status } => (DeliveryState::Delivered { at: at.now }, Some(*status), None),
            Tried::Failed { status, error, retry_after } => {
                (self.after_failure(at, &before, *retry_after), *status, Some(shortened(error)))
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

fn disable(rows: &mut Rows, at: &Context<'_>, id: WebhookId) -> Decision<()> {
    if let Some(webhook) = rows.webhook.webhooks.get(&id)?.filter(|webhook| webhook.disabled_at.is_none()).cloned() {
        rows.webhook.webhooks.put(id, Webhook { disabled_at: Some(at.now), ..webhook });
    }
    Ok(())
}

/// Without what no log should hold.
fn shortened(error: &str) -> Arc<str> {
    error.chars().filter(|char| !char.is_control()).take(ERROR_CHARS_MAX).collect::<String>().into()
}
