//! Schema of the outbox relay.

use crate::audit::Audit;
use crate::relay::{FailedPublication, FailedPublicationId, Partition, Relay};

use crate::schema::list::{Filter, List};
use crate::schema::record::Record;
use crate::schema::table::{TableSchema, big, boolean, int, moment};
use crate::schema::value::{FromValue, ToValue, Value, ValueReader, Values};

impl ToValue for Partition {
    fn to_value(&self) -> Value<'_> {
        self.get().into()
    }
}

impl FromValue for Partition {
    fn from_value(value: Value<'_>) -> Option<Self> {
        Self::new(u32::from_value(value)?)
    }
}

impl Record for Relay {
    type Key = Partition;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "outbox_relay",
        key: &[int("partition_no")],
        fixed: &[],
        changing: &[big("sent_up_to"), big("leased_by"), moment("leased_until")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a Partition, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a Partition, values: &mut Values<'a>) {
        values.add(&self.sent_up_to).add(&self.leased_by).add(&self.leased_until);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(Partition, Self)> {
        let key = values.take()?;
        Some((key, Self { sent_up_to: values.take()?, leased_by: values.take()?, leased_until: values.take()? }))
    }

    fn show(_key: &Partition, _row: &Self, _audit: &mut Audit) {}
}

impl Record for FailedPublication {
    type Key = FailedPublicationId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "outbox_trouble",
        key: &[big("outbox_id")],
        fixed: &[int("partition_no")],
        changing: &[int("retry_count"), moment("next_try_at"), boolean("failed")],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a FailedPublicationId, values: &mut Values<'a>) {
        values.add(&key.event);
    }

    fn put<'a>(&'a self, _key: &'a FailedPublicationId, values: &mut Values<'a>) {
        values.add(&self.partition).add(&self.retries).add(&self.next_try_at).add(&self.failed);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(FailedPublicationId, Self)> {
        let key = FailedPublicationId { event: values.take()? };
        let trouble = Self {
            partition: values.take()?,
            retries: values.take()?,
            next_try_at: values.take()?,
            failed: values.take()?,
        };
        Some((key, trouble))
    }

    fn show(_key: &FailedPublicationId, _row: &Self, _audit: &mut Audit) {}
}

/// Lists failed and waiting events in order of number: all, dead letters only, or others only.
pub fn failed_publications(failed: Option<bool>, after: Option<FailedPublicationId>, limit: usize) -> List {
    let mut list = List::of::<FailedPublication>(after.as_ref(), limit);
    list.filters.extend(failed.map(|failed| Filter::Is("failed", Value::Bool(failed))));
    list
}
