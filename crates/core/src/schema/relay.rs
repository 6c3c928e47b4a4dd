//! Tables of the outbox relay.

use crate::relay::{FailedPublication, FailedPublicationId, Partition, Relay};

use crate::schema::column::Type;
use crate::schema::list::{Filter, List};
use crate::schema::value::{FromValue, ToValue, Value};

crate::tables! {
    /// Tables of the relay.
    {
        relays: Table<Partition, Relay> => durable cached {
            table "outbox_relay";
            key partition_no;
            changing { sent_up_to, leased_by, leased_until };
        },
        failed_publications: Table<FailedPublicationId, FailedPublication> => durable cached {
            table "outbox_trouble";
            key { event as outbox_id };
            fixed { partition as partition_no };
            changing { retries as retry_count, next_try_at, failed };
        },
    }
}

impl ToValue for Partition {
    fn to_value(&self) -> Value<'_> {
        self.get().into()
    }
}

impl FromValue for Partition {
    const TYPE: Type = Type::Int;

    fn from_value(value: Value<'_>) -> Option<Self> {
        Self::new(u32::from_value(value)?)
    }
}

/// Lists failed and waiting events in order of number: all, dead letters only, or others only.
pub fn failed_publications(failed: Option<bool>, after: Option<FailedPublicationId>, limit: usize) -> List {
    let mut list = List::of::<FailedPublication>(after.as_ref(), limit);
    list.filters.extend(failed.map(|failed| Filter::Is("failed", Value::Bool(failed))));
    list
}
