//! Destination of committed events. The engine knows neither their encoding nor their consumers.

use holdfast_core::id::UserId;
use holdfast_core::{Event, Timestamp};

use crate::store::OutboxRecord;
use crate::trace::Trace;

/// A durable event, encoded for the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub event_type: &'static str,
    /// User whom the event concerns, if any.
    pub owner: Option<UserId>,
    pub at: Timestamp,
    /// JSON data of the event.
    pub data: String,
    /// Request that caused the event; set by the engine.
    pub trace: Option<Trace>,
    /// An event of another store, which this store does not publish to the bus.
    pub imported: bool,
}

impl OutboxEntry {
    /// Returns the outbox record with this number.
    pub(crate) fn recorded(self, id: u64) -> OutboxRecord {
        let Self { event_type, owner, at, data, trace, imported } = self;
        OutboxRecord { id, event_type: event_type.into(), owner, at, data, trace, imported }
    }
}

/// A committed event.
#[derive(Clone, Debug)]
pub struct Published {
    pub event: Event,
    /// Outbox record of a durable event.
    pub recorded: Option<OutboxRecord>,
    pub at: Timestamp,
}

pub trait EventSink: Send + Sync + 'static {
    /// Encodes a durable event for the outbox.
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry;

    /// Publishes committed events, in order. Must not block.
    fn publish(&self, events: Vec<Published>);
}

/// A sink without consumers, for tools and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl EventSink for NoSink {
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry {
        OutboxEntry {
            event_type: "unnamed",
            owner: event.owner().cloned(),
            at,
            data: String::new(),
            trace: None,
            imported: matches!(event, Event::BookingPublished(_)),
        }
    }

    fn publish(&self, _events: Vec<Published>) {}
}
