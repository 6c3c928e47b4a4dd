//! What a relay hands events on to.

use std::sync::Arc;

use async_trait::async_trait;
use holdfast_engine::store::OutboxRecord;

/// What a bus has to know of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The same each time it is sent.
    pub id: String,
    /// What it is about.
    pub key: u64,
    /// Who it is for: events about one thing for the same one are handed on in order.
    pub to: &'static str,
    /// The booking it is about, for the log.
    pub booking: Option<u64>,
}

impl Address {
    pub(super) fn line(&self) -> Line {
        (self.key, self.to)
    }
}

/// What keeps its order.
pub(super) type Line = (u64, &'static str);

/// An event on its way to whoever it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub address: Address,
    pub record: Arc<OutboxRecord>,
}

/// Takes events for those they are for.
#[async_trait]
pub trait Bus: Send + Sync + 'static {
    /// Whom an event is for; `None` if it is for nobody.
    fn address(&self, record: &OutboxRecord) -> Option<Address>;

    /// Why nothing can be handed on at present, whatever it is. What is tried meanwhile fails as it would for any other
    /// reason, and is tried again as soon as this is over.
    fn away(&self) -> Option<String> {
        None
    }

    /// Whether it can be away at all, so that events may have been given up for no fault of theirs.
    fn can_be_away(&self) -> bool {
        false
    }

    /// Returns when the event can no longer be lost; an error says why it could not be taken.
    async fn hand_on(&self, message: &Message) -> Result<(), String>;
}
