//! Tables of webhooks and their deliveries.

use crate::Timestamp;
use crate::webhook::{
    AllWebhooks, Delivery, DeliveryId, DeliveryState, DeliveryStatus, Due, DueId, EventName, EventTypes, QueuedEvent,
    Secrets, Webhook, WebhookId,
};

use crate::schema::column::{ColumnType, Columns, nullable, type_of};
use crate::schema::list::{Filter, List};
use crate::schema::value::{Value, ValueReader, Values, number_id, text};

crate::tables! {
    /// Tables of webhooks. All are durable, and belong to the notify service.
    {
        webhooks: Table<WebhookId, Webhook, AllWebhooks> => durable cached {
            table "webhook";
            key id => id;
            fixed { url, types, created_at, told_after };
            changing { secrets as secret, disabled_at };
            audit |_, row, audit| audit.webhook.webhook(row);
        },
        /// Events with deliveries; an event is kept as long as its last delivery.
        events: Table<EventName, QueuedEvent> => durable uncached {
            table "webhook_event";
            key event_id;
            fixed { event_type, at, data };
            changing { deliveries };
            audit |key, row, audit| audit.webhook.event(key, row);
        },
        deliveries: Table<DeliveryId, Delivery> => durable cached {
            table "webhook_delivery";
            key id => id;
            fixed { webhook as webhook_id, event as event_id, event_type, created_at };
            changing {
                state as (status, next_attempt_at, ended_at), attempts, attempts_before, last_status, last_error,
            };
            audit |_, row, audit| audit.webhook.delivery(row);
        },
        /// Index of pending deliveries, by webhook and time.
        due: Table<DueId, Due> => durable cached {
            table "webhook_due";
            key { webhook as webhook_id, at as due_at, delivery as delivery_id };
            audit |key, _, audit| audit.webhook.due(*key);
        },
    }
}

number_id!(WebhookId, DeliveryId);
text!(EventName, |name| (&*name.0).into(), |text| Some(EventName(text.into())));
text!(EventTypes, |types| types.to_string().into(), |text| Some(EventTypes::parse(text)));
text!(Secrets, |secrets| secrets.written().into(), Secrets::parse);
text!(DeliveryStatus, |status| status.as_str().into(), DeliveryStatus::parse);

impl Columns for DeliveryState {
    const TYPES: &'static [ColumnType] =
        &[type_of::<DeliveryStatus>(), nullable::<Timestamp>(), nullable::<Timestamp>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        values.add_value(self.status().as_str());
        match self {
            Self::Pending { next_attempt_at } => values.add(next_attempt_at).add_value(Value::Null),
            Self::Delivered { at } | Self::Failed { at } => values.add_value(Value::Null).add(at),
        };
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        let (status, next, ended): (_, Option<Timestamp>, Option<Timestamp>) =
            (values.take()?, values.take()?, values.take()?);
        Some(match status {
            DeliveryStatus::Pending => Self::Pending { next_attempt_at: next? },
            DeliveryStatus::Delivered => Self::Delivered { at: ended? },
            DeliveryStatus::Failed => Self::Failed { at: ended? },
        })
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
