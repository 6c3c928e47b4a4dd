//! Schema of webhooks and their deliveries.

use std::sync::Arc;

use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::webhook::{
    Delivery, DeliveryId, DeliveryState, DeliveryStatus, Due, DueId, EventName, EventTypes, OfferedEvent, Secrets,
    Webhook, WebhookId,
};

use crate::cell::{Cells, Taken, Value, number_id, text as text_cell};
use crate::layout::{Layout, big, int, moment, text};
use crate::list::{Filter, List};
use crate::record::Record;

number_id!(WebhookId, DeliveryId);
text_cell!(EventName, |name| (&*name.0).into(), |text| Some(EventName(text.into())));
text_cell!(EventTypes, |types| types.to_string().into(), |text| Some(EventTypes::parse(text)));
text_cell!(Secrets, |secrets| secrets.written().into(), Secrets::parse);
text_cell!(DeliveryStatus, |status| status.as_str().into(), DeliveryStatus::parse);

impl Record for Webhook {
    type Key = WebhookId;

    const LAYOUT: &'static Layout = &Layout {
        table: "webhook",
        key: &[big("id")],
        fixed: &[text("url"), text("types"), moment("created_at"), big("told_after")],
        changing: &[text("secret"), moment("disabled_at")],
        parts: None,
    };

    fn put_key<'a>(key: &'a WebhookId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a WebhookId, cells: &mut Cells<'a>) {
        cells.add(&self.url).add(&self.types).add(&self.created_at);
        cells.add(&self.told_after).add(&self.secrets).add(&self.disabled_at);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(WebhookId, Self)> {
        let id = cells.take()?;
        let webhook = Self {
            id,
            url: cells.take()?,
            types: cells.take()?,
            created_at: cells.take()?,
            told_after: cells.take()?,
            secrets: cells.take()?,
            disabled_at: cells.take()?,
        };
        Some((id, webhook))
    }

    fn show(_key: &WebhookId, row: &Self, audit: &mut Audit) {
        audit.webhook.webhook(row);
    }
}

impl Record for OfferedEvent {
    type Key = EventName;

    const LAYOUT: &'static Layout = &Layout {
        table: "webhook_event",
        key: &[text("event_id")],
        fixed: &[text("event_type"), moment("at"), text("data")],
        changing: &[int("deliveries")],
        parts: None,
    };

    fn put_key<'a>(key: &'a EventName, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventName, cells: &mut Cells<'a>) {
        cells.add(&self.event_type).add(&self.at).add(&self.data).add(&self.deliveries);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(EventName, Self)> {
        let name = cells.take()?;
        let event =
            Self { event_type: cells.take()?, at: cells.take()?, data: cells.take()?, deliveries: cells.take()? };
        Some((name, event))
    }

    fn show(key: &EventName, row: &Self, audit: &mut Audit) {
        audit.webhook.event(key, row);
    }
}

impl Record for Delivery {
    type Key = DeliveryId;

    const LAYOUT: &'static Layout = &Layout {
        table: "webhook_delivery",
        key: &[big("id")],
        fixed: &[big("webhook_id"), text("event_id"), text("event_type"), moment("created_at")],
        changing: &[
            text("status"),
            moment("next_attempt_at"),
            moment("ended_at"),
            int("attempts"),
            int("attempts_before"),
            int("last_status"),
            text("last_error"),
        ],
        parts: None,
    };

    fn put_key<'a>(key: &'a DeliveryId, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a DeliveryId, cells: &mut Cells<'a>) {
        cells.add(&self.webhook).add(&self.event).add(&self.event_type).add(&self.created_at);
        cells.add_value(self.status().as_str());
        match &self.state {
            DeliveryState::Pending { next_attempt_at } => cells.add(next_attempt_at).add_value(Value::Null),
            DeliveryState::Delivered { at } | DeliveryState::Failed { at } => cells.add_value(Value::Null).add(at),
        };
        cells.add(&self.attempts).add(&self.attempts_before).add(&self.last_status).add(&self.last_error);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(DeliveryId, Self)> {
        let id = cells.take()?;
        let (webhook, event, event_type, created_at) = (cells.take()?, cells.take()?, cells.take()?, cells.take()?);
        let (status, next, ended): (DeliveryStatus, Option<Timestamp>, Option<Timestamp>) =
            (cells.take()?, cells.take()?, cells.take()?);
        let state = match status {
            DeliveryStatus::Pending => DeliveryState::Pending { next_attempt_at: next? },
            DeliveryStatus::Delivered => DeliveryState::Delivered { at: ended? },
            DeliveryStatus::Failed => DeliveryState::Failed { at: ended? },
        };
        let (attempts, attempts_before, last_status) = (cells.take()?, cells.take()?, cells.take()?);
        let last_error: Option<Arc<str>> = cells.take()?;
        let delivery = Self {
            id,
            webhook,
            event,
            event_type,
            state,
            attempts,
            attempts_before,
            last_status,
            last_error,
            created_at,
        };
        Some((id, delivery))
    }

    fn show(_key: &DeliveryId, row: &Self, audit: &mut Audit) {
        audit.webhook.delivery(row);
    }
}

impl Record for Due {
    type Key = DueId;

    const LAYOUT: &'static Layout = &Layout {
        table: "webhook_due",
        key: &[big("webhook_id"), moment("due_at"), big("delivery_id")],
        fixed: &[],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a DueId, cells: &mut Cells<'a>) {
        cells.add(&key.webhook).add(&key.at).add(&key.delivery);
    }

    fn put<'a>(&'a self, _key: &'a DueId, _cells: &mut Cells<'a>) {}

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(DueId, Self)> {
        Some((DueId { webhook: cells.take()?, at: cells.take()?, delivery: cells.take()? }, Self))
    }

    fn show(key: &DueId, _row: &Self, audit: &mut Audit) {
        audit.webhook.due(*key);
    }
}

/// Lists the deliveries of a webhook, in order of number.
pub fn deliveries(webhook: WebhookId, status: Option<DeliveryStatus>, after: Option<DeliveryId>, limit: usize) -> List {
    let mut list = List::of::<Delivery>(after.as_ref(), limit).by("webhook_id", webhook.get());
    list.filters.extend(status.map(|status| Filter::Is("status", status.as_str().into())));
    list
}

/// Lists deliveries that are not pending, in order of number.
pub fn ended_deliveries(limit: usize) -> List {
    List::of::<Delivery>(None, limit).filter(Filter::IsNotNull("ended_at"))
}

/// Lists entries of the due index after `after`, in order of webhook and time.
pub fn due(after: Option<&DueId>, limit: usize) -> List {
    List::of::<Due>(after, limit)
}
