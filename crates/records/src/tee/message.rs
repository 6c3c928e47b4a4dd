//! Inbox and import records, by which repeated messages are recognized.

use holdfast_core::audit::Audit;
use holdfast_core::tee::{Imported, InboxId, MessageKey, Received, Service};

use crate::cell::{Cells, Taken, text as text_cell};
use crate::layout::{Layout, moment, text};
use crate::record::Record;

text_cell!(Service, |service| service.as_str().into(), Service::parse);
text_cell!(MessageKey, |key| key.as_str().into(), MessageKey::parse);

impl Record for Received {
    type Key = InboxId;

    const LAYOUT: &'static Layout = &Layout {
        table: "message_inbox",
        key: &[text("service"), text("message_id")],
        fixed: &[moment("received_at")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a InboxId, cells: &mut Cells<'a>) {
        cells.add(&key.service).add(&key.message);
    }

    fn put<'a>(&'a self, _key: &'a InboxId, cells: &mut Cells<'a>) {
        cells.add(&self.at);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(InboxId, Self)> {
        let key = InboxId { service: cells.take()?, message: cells.take()? };
        Some((key, Self { at: cells.take()? }))
    }

    fn show(_key: &InboxId, _row: &Self, _audit: &mut Audit) {}
}

impl Record for Imported {
    type Key = MessageKey;

    const LAYOUT: &'static Layout = &Layout {
        table: "imported_event",
        key: &[text("message_id")],
        fixed: &[moment("imported_at")],
        changing: &[],
        parts: None,
    };

    fn put_key<'a>(key: &'a MessageKey, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a MessageKey, cells: &mut Cells<'a>) {
        cells.add(&self.at);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(MessageKey, Self)> {
        let key = cells.take()?;
        Some((key, Self { at: cells.take()? }))
    }

    fn show(_key: &MessageKey, _row: &Self, _audit: &mut Audit) {}
}
