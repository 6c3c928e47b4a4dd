//! Inbox and import records, by which repeated messages are recognized.

use crate::audit::Audit;
use crate::tee::{Imported, InboxId, MessageKey, Received, Service};

use crate::schema::record::Record;
use crate::schema::table::{TableSchema, moment, text};
use crate::schema::value::{ValueReader, Values, text as text_cell};

text_cell!(Service, |service| service.as_str().into(), Service::parse);
text_cell!(MessageKey, |key| key.as_str().into(), MessageKey::parse);

impl Record for Received {
    type Key = InboxId;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "message_inbox",
        key: &[text("service"), text("message_id")],
        fixed: &[moment("received_at")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a InboxId, values: &mut Values<'a>) {
        values.add(&key.service).add(&key.message);
    }

    fn put<'a>(&'a self, _key: &'a InboxId, values: &mut Values<'a>) {
        values.add(&self.at);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(InboxId, Self)> {
        let key = InboxId { service: values.take()?, message: values.take()? };
        Some((key, Self { at: values.take()? }))
    }

    fn show(_key: &InboxId, _row: &Self, _audit: &mut Audit) {}
}

impl Record for Imported {
    type Key = MessageKey;

    const SCHEMA: &'static TableSchema = &TableSchema {
        table: "imported_event",
        key: &[text("message_id")],
        fixed: &[moment("imported_at")],
        changing: &[],
        child_rows: None,
    };

    fn put_key<'a>(key: &'a MessageKey, values: &mut Values<'a>) {
        values.add(key);
    }

    fn put<'a>(&'a self, _key: &'a MessageKey, values: &mut Values<'a>) {
        values.add(&self.at);
    }

    fn take(values: &mut ValueReader<'_>, _lines: Vec<ValueReader<'_>>) -> Option<(MessageKey, Self)> {
        let key = values.take()?;
        Some((key, Self { at: values.take()? }))
    }

    fn show(_key: &MessageKey, _row: &Self, _audit: &mut Audit) {}
}
