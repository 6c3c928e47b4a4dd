//! NATS as the bus: publishes events of the outbox.

use async_trait::async_trait;
use holdfast_engine::store::OutboxRecord;

use super::{Address, Bus, OutboxMessage};
use crate::inbox::services;
use crate::nats::{Connection, HeaderMap, Publication};
use crate::wire::event::cloud_event;

/// Publishes events of the outbox to NATS.
#[derive(Debug)]
pub struct NatsBus {
    connection: Connection,
    /// `source` of every `CloudEvent`.
    source: String,
}

impl NatsBus {
    pub fn new(connection: Connection, source: String) -> Self {
        Self { connection, source }
    }
}

#[async_trait]
impl Bus for NatsBus {
    fn address(&self, record: &OutboxRecord) -> Option<Address> {
        services::address(record, true)
    }

    fn has_outages(&self) -> bool {
        true
    }

    fn outage(&self) -> Option<String> {
        self.connection.check().err().map(|error| error.to_string())
    }

    async fn publish_event(&self, message: &OutboxMessage) -> Result<(), String> {
        let OutboxMessage { address, record } = message;
        let event = cloud_event(&self.source, &address.id, &record.event_type, record.at, &record.data, record.trace);
        let mut headers = HeaderMap::new();
        headers.insert("Content-Type", "application/cloudevents+json");
        if let Some(trace) = record.trace {
            headers.insert("traceparent", trace.to_string());
        }
        let publication = Publication {
            subject: &record.event_type,
            id: &address.id,
            key: address.key,
            headers,
            payload: event.into(),
        };
        self.connection.publish(&publication).await.map_err(|error| error.to_string())
    }
}
