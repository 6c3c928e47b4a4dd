//! Schema of webhooks and their deliveries.

use std::sync::Arc;

use crate::Timestamp;
use crate::audit::Audit;
use crate::webhook::{
    Delivery, DeliveryId, DeliveryState, DeliveryStatus, Due, DueId, EventName, EventTypes, QueuedEvent, Secrets,
    Webhook, WebhookId,
};

use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{TableSchema, big, int, moment, text};
use crate::schema::value::{Value, ValueReader, Values, number_id, text as text_cell};

number_id!(WebhookId, DeliveryId);
text_cell!(EventName, |name| (&*name.0).into(), |text| Some(EventName(text.into())));
text_cell!(EventTypes, |types| types.to_string().into(), |text| Some(EventTypes::parse(text)));
text_cell!(Secrets, |secrets| secrets.written().into(), Secrets::parse);
text_cell!(DeliveryStatus, |status| status.as_str().into(), DeliveryStatus::parse);

impl Record for Webhook {
    type Key = WebhookId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "webhook",
        key: &[big("id")],
        fixed: &[text("url"), text("types"), moment("created_at"), big("told_after")],
        changing: &[text("secret"), moment("disabled_at")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a WebhookId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a WebhookId, values: &mut Values<'a>) {
        values.add(&self.url).add(&self.types).add(&self.created_at);
        values.add(&self.told_after).add(&self.secrets).add(&self.disabled_at);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(WebhookId, Self)> {
        let id = values.take()?;
        let webhook = Self {
            id,
            url: values.take()?,
            types: values.take()?,
            created_at: values.take()?,
            told_after: values.take()?,
            secrets: values.take()?,
            disabled_at: values.take()?,
        };
        Some((id, webhook))
    }

    fn show(_key: &WebhookId, row: &Self, audit: &mut Audit) {
        audit.webhook.webhook(row);
    }
}

impl Record for QueuedEvent {
    type Key = EventName;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "webhook_event",
        key: &[text("event_id")],
        fixed: &[text("event_type"), moment("at"), text("data")],
        changing: &[int("deliveries")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a EventName, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a EventName, values: &mut Values<'a>) {
        values.add(&self.event_type).add(&self.at).add(&self.data).add(&self.deliveries);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(EventName, Self)> {
        let name = values.take()?;
        let event =
            Self { event_type: values.take()?, at: values.take()?, data: values.take()?, deliveries: values.take()? };
        Some((name, event))
    }

    fn show(key: &EventName, row: &Self, audit: &mut Audit) {
        audit.webhook.event(key, row);
    }
}

impl Record for Delivery {
    type Key = DeliveryId;

    const SCHEMA: &'static TableSchema = &TableSchema {
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
        child_rows: None,
    };

    fn put_key<'a>(key: &'a DeliveryId, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a DeliveryId, values: &mut Values<'a>) {
        values.add(&self.webhook).add(&self.event).add(&self.event_type).add(&self.created_at);
        values.add_value(self.status().as_str());
        match &self.state {
            DeliveryState::Pending { next_attempt_at } => values.add(next_attempt_at).add_value(Value::Null),
            DeliveryState::Delivered { at } | DeliveryState::Failed { at } => values.add_value(Value::Null).add(at),
        };
        values.add(&self.attempts).add(&self.attempts_before).add(&self.last_status).add(&self.last_error);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(DeliveryId, Self)> {
        let id = values.take()?;
        let (webhook, event, event_type, created_at) = (values.take()?, values.take()?, values.take()?, values.take()?);
        let (status, next, ended): (DeliveryStatus, Option<Timestamp>, Option<Timestamp>) =
            (values.take()?, values.take()?, values.take()?);
        let state = match status {
            DeliveryStatus::Pending => DeliveryState::Pending { next_attempt_at: next? },
            DeliveryStatus::Delivered => DeliveryState::Delivered { at: ended? },
            DeliveryStatus::Failed => DeliveryState::Failed { at: ended? },
        };
        let (attempts, attempts_before, last_status) = (values.take()?, values.take()?, values.take()?);
        let last_error: Option<Arc<str>> = values.take()?;
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

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "webhook_due",
        key: &[big("webhook_id"), moment("due_at"), big("delivery_id")],
        fixed: &[],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a DueId, values: &mut Values<'a>) {
        values.add(&key.webhook).add(&key.at).add(&key.delivery);
    }

    fn put<'a>(&'a self, _key: &'a DueId, _cells: &mut Values<'a>) {}

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(DueId, Self)> {
        Some((DueId { webhook: values.take()?, at: values.take()?, delivery: values.take()? }, Self))
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
