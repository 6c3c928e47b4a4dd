//! NATS as the bus: what the outbox has is published, and the services of this process act on what arrives. A message is
//! acknowledged after the commit of what it caused, so it may arrive again; the services know it by its id.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use holdfast_bus::{Connection, Delivery, HeaderMap, Publication, Verdict};
use holdfast_core::tee::{Message, Service, Subject};
use holdfast_engine::Trace;
use holdfast_engine::store::OutboxRecord;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::services::{self, Services};
use crate::app::App;
use crate::relay::{Address, Bus, Message as Envelope};
use crate::wire::event::cloud_event;
use crate::wire::message;

/// Publishes what the outbox has.
#[derive(Debug)]
pub struct NatsBus {
    connection: Connection,
}

impl NatsBus {
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }
}

#[async_trait]
impl Bus for NatsBus {
    fn address(&self, record: &OutboxRecord) -> Option<Address> {
        services::address(record)
    }

    fn away(&self) -> Option<String> {
        self.connection.check().err().map(|error| error.to_string())
    }

    async fn hand_on(&self, envelope: &Envelope) -> Result<(), String> {
        let Envelope { address, record } = envelope;
        let event = cloud_event(&address.id, &record.event_type, record.at, &record.data, record.trace);
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

/// Acts on the messages for a service until the app stops.
pub async fn consume(app: App, connection: Connection, services: Arc<Services>, service: Service) {
    let handle = move |delivery: Delivery| {
        let services = services.clone();
        async move { receive(&services, service, delivery).await }
    };
    connection.consume(service.as_str(), handle, app.stopped()).await;
}

async fn receive(services: &Services, service: Service, delivery: Delivery) -> Verdict {
    let Some((message, trace)) = read(service, &delivery) else {
        tracing::error!(subject = delivery.subject, %service, "[Bus] a message that cannot be read is thrown away");
        metrics::counter!("holdfast_bus_unreadable_total").increment(1);
        return Verdict::Hopeless;
    };
    if delivery.tries > 1 {
        metrics::counter!("holdfast_bus_redelivered_total").increment(1);
    }
    match services.receive(message, trace).await {
        Ok(()) => Verdict::Done,
        Err(error) => {
            tracing::warn!(
                subject = delivery.subject,
                tries = delivery.tries,
                error,
                "[Bus] not acted on; it comes again"
            );
            Verdict::Again
        }
    }
}

/// A message, if it is one for this service and is what it says it is.
fn read(service: Service, delivery: &Delivery) -> Option<(Message, Option<Trace>)> {
    #[derive(Deserialize)]
    struct CloudEvent<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        #[serde(borrow)]
        data: &'a RawValue,
        #[serde(borrow)]
        traceparent: Option<Cow<'a, str>>,
    }
    let event: CloudEvent<'_> = serde_json::from_slice(&delivery.payload).ok()?;
    let subject = Subject::parse(&delivery.subject).filter(|subject| subject.consumer() == Some(service))?;
    let message = message::parse(subject, event.data.get())?;
    let trace = event.traceparent.and_then(|text| Trace::parse(&text));
    (event.r#type == delivery.subject && event.id == message.id().to_string()).then_some((message, trace))
}
