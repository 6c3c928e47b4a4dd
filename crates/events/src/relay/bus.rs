//! Port of the relay: a bus that accepts events.

use std::sync::Arc;

use async_trait::async_trait;
use holdfast_engine::store::OutboxRecord;

/// Routing data of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Id for deduplication, the same at each attempt.
    pub id: String,
    /// Ordering key: the object that the event concerns.
    pub key: u64,
    /// Destination. Events with the same key and destination are published in order.
    pub to: &'static str,
    /// Booking that the event concerns, for the log.
    pub booking: Option<u64>,
}

impl Address {
    pub(super) fn line(&self) -> Line {
        (self.key, self.to)
    }
}

/// Ordering key and destination: events of a line are published in order.
pub(super) type Line = (u64, &'static str);

/// An event with its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxMessage {
    pub address: Address,
    pub record: Arc<OutboxRecord>,
}

/// Accepts events for their destinations.
#[async_trait]
pub trait Bus: Send + Sync + 'static {
    /// Returns the destination of an event; `None` if it has none.
    fn address(&self, record: &OutboxRecord) -> Option<Address>;

    /// Reason why the bus is unavailable; `None` if it is available. Attempts meanwhile fail as they would for any
    /// other reason, and are retried once the bus is available again.
    fn outage(&self) -> Option<String> {
        None
    }

    /// Whether the bus can be unavailable at all, so that events may be dead letters because of an outage.
    fn has_outages(&self) -> bool {
        false
    }

    /// Publishes an event. Returns once it is durable; an error tells why the bus did not accept it.
    async fn publish_event(&self, message: &OutboxMessage) -> Result<(), String>;
}
