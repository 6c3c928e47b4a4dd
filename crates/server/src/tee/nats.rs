//! NATS as the bus: what the outbox has is published, and the services of this process act on what arrives. A message is
//! acknowledged after the commit of what it caused, so it may arrive again; the services know it by its id.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdfast_bus::{Connection, Delivery, HeaderMap, Publication, Verdict};
use holdfast_core::Timestamp;
use holdfast_core::tee::import::ImportBookingEvent;
use holdfast_core::tee::inbox::Receive;
use holdfast_core::tee::{MessageKey, Service, Subject};
use holdfast_engine::Refused;
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::trace::{self, Trace};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::services::{self, Services};
use crate::app::App;
use crate::relay::{Address, Bus, Message as Envelope};
use crate::roles::Role;
use crate::wire::event::cloud_event;
use crate::wire::message;

/// How often, and how soon, what cannot be told at present is tried again before it loses its place.
const IMPORT_TRIES_MAX: u32 = 10;
const IMPORT_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A message about something that is not there is tried so often, in about three seconds: it might come before its cause. Kept
/// for good, a few hundred of them would leave no room for others.
const REFUSED_TRIES_MAX: u64 = 5;

/// Publishes what the outbox has.
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

    fn can_be_away(&self) -> bool {
        true
    }

    fn away(&self) -> Option<String> {
        self.connection.check().err().map(|error| error.to_string())
    }

    async fn hand_on(&self, envelope: &Envelope) -> Result<(), String> {
        let Envelope { address, record } = envelope;
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

/// Acts on the messages for a service until the app stops.
pub async fn consume(app: App, connection: Connection, services: Arc<Services>, service: Service) {
    let handle = move |delivery: Delivery| {
        let services = services.clone();
        async move { receive(&services, service, delivery).await }
    };
    connection.consume(service.as_str(), handle, app.stopped()).await;
}

async fn receive(services: &Services, service: Service, delivery: Delivery) -> Verdict {
    let Some(subject) = Subject::parse(&delivery.subject) else { return unreadable(&delivery) };
    if subject.consumer() != Some(service) {
        // It is in this stream for others.
        return Verdict::Done;
    }
    let read = CloudEvent::read(&delivery).and_then(|event| {
        let message = message::parse(subject, event.data.get())?;
        Some((Receive { key: event.key()?, message }, event.trace()))
    });
    let Some((received, trace)) = read else { return unreadable(&delivery) };
    verdict(&delivery, services.receive(received, trace).await)
}

/// Tells those who listen here what a booking service elsewhere tells, until the app stops. Several servers share the work.
pub async fn import(app: App, connection: Connection) {
    let importing = app.clone();
    let handle = move |delivery: Delivery| {
        let app = importing.clone();
        async move { import_one(&app, delivery).await }
    };
    connection.consume(Role::Api.as_str(), handle, app.stopped()).await;
}

async fn import_one(app: &App, delivery: Delivery) -> Verdict {
    let read = Subject::parse(&delivery.subject).zip(CloudEvent::read(&delivery)).and_then(|(subject, event)| {
        let told = message::parse_told(subject, event.data.get(), event.at())?;
        Some((ImportBookingEvent { key: event.key()?, told }, event.trace()))
    });
    let Some((import, trace)) = read else { return unreadable(&delivery) };
    let mut tries = 0;
    loop {
        tries += 1;
        let trace = trace.map(|trace| trace.child(app.ids().number()));
        match trace::within(trace, app.engine().run(import.clone(), None)).await {
            Ok(_) => return Verdict::Done,
            // What comes after it about the same booking waits meanwhile: it is told in order.
            Err(error) if tries < IMPORT_TRIES_MAX && !app.is_stopping() => {
                tracing::debug!(%error, subject = delivery.subject, "[Bus] not told yet; trying again");
                tokio::time::sleep(IMPORT_AGAIN_AFTER).await;
            }
            Err(error) => return verdict(&delivery, Err(error)),
        }
    }
}

fn verdict(delivery: &Delivery, acted: Result<(), Refused>) -> Verdict {
    let Delivery { subject, tries, .. } = delivery;
    if *tries > 1 {
        metrics::counter!("holdfast_bus_redelivered_total").increment(1);
    }
    match acted {
        Ok(()) => Verdict::Done,
        Err(Refused::Rejected(rejection)) if *tries >= REFUSED_TRIES_MAX => {
            tracing::error!(subject, ?rejection, "[Bus] a message that no service can act on is thrown away");
            metrics::counter!("holdfast_bus_unreadable_total").increment(1);
            Verdict::Hopeless
        }
        Err(error) => {
            tracing::warn!(subject, tries, %error, "[Bus] not acted on; it comes again");
            Verdict::Again
        }
    }
}

fn unreadable(delivery: &Delivery) -> Verdict {
    tracing::error!(subject = delivery.subject, "[Bus] a message that cannot be read is thrown away");
    metrics::counter!("holdfast_bus_unreadable_total").increment(1);
    Verdict::Hopeless
}

/// A message as it came, from us or from a program that knows no more than the contract. What it is about its subject says.
#[derive(Deserialize)]
struct CloudEvent<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow)]
    time: Option<Cow<'a, str>>,
    #[serde(borrow)]
    traceparent: Option<Cow<'a, str>>,
}

impl<'a> CloudEvent<'a> {
    fn read(delivery: &'a Delivery) -> Option<Self> {
        serde_json::from_slice(&delivery.payload).ok()
    }

    fn key(&self) -> Option<MessageKey> {
        MessageKey::parse(&self.id)
    }

    fn at(&self) -> Option<Timestamp> {
        let time: jiff::Timestamp = self.time.as_ref()?.parse().ok()?;
        Some(Timestamp::from_millis(time.as_millisecond()))
    }

    fn trace(&self) -> Option<Trace> {
        self.traceparent.as_ref().and_then(|text| Trace::parse(text))
    }
}
