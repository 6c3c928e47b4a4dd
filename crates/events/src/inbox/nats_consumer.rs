//! Consumers of NATS: pass received messages to the services of this process. A message is acknowledged after its effects
//! are committed. It may therefore arrive again; the services deduplicate it by its id.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use holdfast_core::Timestamp;
use holdfast_core::tee::import::ImportBookingEvent;
use holdfast_core::tee::inbox::Receive;
use holdfast_core::tee::{MessageKey, Service, Subject};
use holdfast_engine::Refused;
use holdfast_engine::trace::{self, Trace};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::services::Services;
use crate::Context;
use crate::nats::{Connection, Delivery, Verdict};
use crate::wire::message;

/// Maximum number of attempts to import an event before it is redelivered, and so loses its order.
const IMPORT_ATTEMPTS_MAX: u32 = 10;
/// Wait between these attempts.
const IMPORT_RETRY_AFTER: Duration = Duration::from_millis(200);

/// Maximum number of deliveries of a message that the rules reject, within about three seconds: it may arrive before
/// its cause. Without a bound, a few hundred such messages would block the consumer.
const REJECTED_DELIVERIES_MAX: u64 = 5;

/// Acts on the messages for a service until the server stops.
pub async fn consume(context: Context, connection: Connection, services: Arc<Services>, service: Service) {
    let handle = move |delivery: Delivery| {
        let services = services.clone();
        async move { receive(&services, service, delivery).await }
    };
    connection.consume(service.as_str(), handle, context.stopped()).await;
}

async fn receive(services: &Services, service: Service, delivery: Delivery) -> Verdict {
    let Some(subject) = Subject::parse(&delivery.subject) else { return unreadable(&delivery) };
    if subject.consumer() != Some(service) {
        // Published for other subscribers of the stream.
        return Verdict::Processed;
    }
    let read = CloudEvent::read(&delivery).and_then(|event| {
        let message = message::parse(subject, event.data.get())?;
        Some((Receive { key: event.key()?, message }, event.trace()))
    });
    let Some((received, trace)) = read else { return unreadable(&delivery) };
    verdict(&delivery, services.receive(received, trace).await)
}

/// Imports the events of a booking service in another process for the subscribers of this one, until the server stops.
/// Servers with the same consumer share the work.
pub async fn import(context: Context, connection: Connection, consumer: &str) {
    let importing = context.clone();
    let handle = move |delivery: Delivery| {
        let context = importing.clone();
        async move { import_one(&context, delivery).await }
    };
    connection.consume(consumer, handle, context.stopped()).await;
}

async fn import_one(context: &Context, delivery: Delivery) -> Verdict {
    let read = Subject::parse(&delivery.subject).zip(CloudEvent::read(&delivery)).and_then(|(subject, event)| {
        let published = message::parse_told(subject, event.data.get(), event.at())?;
        Some((ImportBookingEvent { key: event.key()?, published }, event.trace()))
    });
    let Some((import, trace)) = read else { return unreadable(&delivery) };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let trace = trace.map(|trace| trace.child(context.ids().number()));
        match trace::within(trace, context.engine().run(import.clone(), None)).await {
            Ok(_) => return Verdict::Processed,
            // Later events of the same booking wait meanwhile, so that they stay in order.
            Err(error) if attempts < IMPORT_ATTEMPTS_MAX && !context.is_stopping() => {
                tracing::debug!(%error, subject = delivery.subject, "[Bus] an event could not be imported; it is retried");
                tokio::time::sleep(IMPORT_RETRY_AFTER).await;
            }
            Err(error) => return verdict(&delivery, Err(error)),
        }
    }
}

fn verdict(delivery: &Delivery, acted: Result<(), Refused>) -> Verdict {
    let Delivery { subject, deliveries, .. } = delivery;
    if *deliveries > 1 {
        metrics::counter!("holdfast_bus_redeliveries_total").increment(1);
    }
    match acted {
        Ok(()) => Verdict::Processed,
        Err(Refused::Rejected(rejection)) if *deliveries >= REJECTED_DELIVERIES_MAX => {
            tracing::error!(
                subject,
                ?rejection,
                "[Bus] a message was discarded: the rules reject it at every delivery"
            );
            metrics::counter!("holdfast_bus_messages_discarded_total").increment(1);
            Verdict::Discard
        }
        Err(error) => {
            tracing::warn!(subject, deliveries, %error, "[Bus] processing of a message failed; it is redelivered");
            Verdict::Retry
        }
    }
}

fn unreadable(delivery: &Delivery) -> Verdict {
    tracing::error!(subject = delivery.subject, "[Bus] a malformed message was discarded");
    metrics::counter!("holdfast_bus_messages_discarded_total").increment(1);
    Verdict::Discard
}

/// A received message, from Holdfast or from any program that follows the contract. Its subject tells its type.
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
