//! The three services of tee times in this process; each processes its own messages. Within one process the bus is a
//! function call: a published message has been processed.

use std::time::Duration;

use async_trait::async_trait;
use holdfast_core::tee::Subject;
use holdfast_core::tee::inbox::{Handled, Receive};
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::trace::{self, Trace};
use holdfast_engine::{Answer, Refused};

use super::log;
use crate::Context;
use crate::relay::{Address, Bus, OutboxMessage};
use crate::wire::message;

/// Maximum number of commands for a message that is processed in several parts.
const ROUNDS_MAX: usize = 10_000;
/// Backoff added per retry of a message that was refused for contention or overload.
const LOCK_RETRY_AFTER: Duration = Duration::from_millis(50);

/// The services of this process.
#[derive(Debug)]
pub struct Services {
    context: Context,
    lock_retries_max: u32,
}

impl Services {
    pub fn new(context: Context, lock_retries_max: u32) -> Self {
        Self { context, lock_retries_max }
    }

    /// Processes a message exactly once, within the trace that caused it.
    pub async fn receive(&self, received: Receive, trace: Option<Trace>) -> Result<(), Refused> {
        let trace = trace.map(|trace| trace.child(self.context.ids().number()));
        trace::within(trace, self.process(received)).await
    }

    async fn process(&self, receive: Receive) -> Result<(), Refused> {
        let received = &receive.message;
        log::received(received);
        let mut retries = 0;
        for _ in 0..ROUNDS_MAX {
            match self.context.engine().run(receive.clone(), None).await {
                Ok(Answer::Fresh(Handled::More)) => {}
                // Contention or overload: back off and retry.
                Err(Refused::LockTimeout | Refused::Overloaded) if retries < self.lock_retries_max => {
                    retries += 1;
                    tokio::time::sleep(LOCK_RETRY_AFTER * retries).await;
                }
                Ok(handled) => {
                    log::handled(received, &handled);
                    return Ok(());
                }
                Err(error) => {
                    log::failed(received, &error);
                    return Err(error);
                }
            }
        }
        tracing::error!(subject = %received.subject(), "a message was not finished within the maximum number of commands");
        Err(Refused::Internal)
    }
}

/// Returns the destination of an event. `None` if it has none, or was imported and is published by another store. Over
/// NATS, events for subscribers have a destination too.
pub fn address(record: &OutboxRecord, is_over_nats: bool) -> Option<Address> {
    let subject = Subject::parse(&record.event_type).filter(|_| !record.imported)?;
    let to = if is_over_nats { subject.stream() } else { subject.consumer()? };
    let message = message::parse(subject, &record.data)?;
    Some(Address {
        id: message.id().to_string(),
        key: message::key_of(&message),
        to: to.as_str(),
        booking: log::booking_of(&message),
    })
}

#[async_trait]
impl Bus for Services {
    fn address(&self, record: &OutboxRecord) -> Option<Address> {
        address(record, false)
    }

    async fn publish_event(&self, outbox_message: &OutboxMessage) -> Result<(), String> {
        let record = &outbox_message.record;
        let subject = Subject::parse(&record.event_type);
        let parsed = subject.and_then(|subject| message::parse(subject, &record.data));
        match parsed {
            Some(message) => self.receive(Receive::new(message), record.trace).await.map_err(|error| error.to_string()),
            None => Err("the event is malformed".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use holdfast_core::id::UserId;

    use super::*;

    #[test]
    fn nats_addresses_subscribers_but_no_imports() {
        let record = |event_type: &str, imported: bool| OutboxRecord {
            id: 1,
            event_type: event_type.into(),
            owner: UserId::new(7),
            at: holdfast_core::Timestamp::default(),
            data: r#"{"bookingId": 15, "gameTimeSlotId": 848, "playerCount": 2, "userId": 7}"#.into(),
            trace: None,
            imported,
        };
        let to = |event_type: &str, imported, is_over_nats| {
            address(&record(event_type, imported), is_over_nats).map(|address| (address.id, address.to))
        };
        assert_eq!(to("booking.created", false, false), None, "no service consumes it");
        assert_eq!(to("booking.created", false, true), Some(("booking.created:15".into(), "notify")));
        assert_eq!(to("slot.reserve", false, false), Some(("slot.reserve:15".into(), "course")));
        assert_eq!((to("booking.confirmed", true, true), to("booking.confirmed", true, false)), (None, None));
        assert_eq!(to("order.paid", false, true), None);
    }
}
