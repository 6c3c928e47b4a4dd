//! Where committed events go. The engine knows neither how an event is written nor who listens.

use holdfast_core::id::UserId;
use holdfast_core::{Event, Timestamp};

use crate::store::OutboxRecord;
use crate::trace::Trace;

/// A durable event, ready for the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub event_type: &'static str,
    /// Whose event this is, if anybody's.
    pub owner: Option<u64>,
    pub at: Timestamp,
    /// The event's data as it will be told.
    pub data: String,
    /// The request that caused it; the engine knows.
    pub trace: Option<Trace>,
    /// Somebody else's event, told here too: it is not handed on from here.
    pub imported: bool,
}

impl OutboxEntry {
    /// As it stands in the outbox under this number.
    pub(crate) fn recorded(self, id: u64) -> OutboxRecord {
        let Self { event_type, owner, at, data, trace, imported } = self;
        OutboxRecord { id, event_type: event_type.into(), owner, at, data, trace, imported }
    }
}

/// A committed event.
#[derive(Clone, Debug)]
pub struct Published {
    pub event: Event,
    /// What the outbox has of it, for events that are durable.
    pub recorded: Option<OutboxRecord>,
    pub at: Timestamp,
}

pub trait EventSink: Send + Sync + 'static {
    /// Writes a durable event down for the outbox.
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry;

    /// Tells listeners what was committed, in order. Must not block.
    fn publish(&self, events: Vec<Published>);
}

/// For those who do not listen: tools and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl EventSink for NoSink {
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry {
        OutboxEntry {
            event_type: "unnamed",
            owner: event.owner().map(UserId::get),
            at,
            data: String::new(),
            trace: None,
            imported: matches!(event, Event::BookingTold(_)),
        }
    }

    fn publish(&self, _events: Vec<Published>) {}
}
