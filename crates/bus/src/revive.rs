//! What NATS has forgotten. One that was killed may not know which messages it had delivered and nobody had acted on: it keeps
//! them, and never delivers them again (so does 2.9, nearly always). They are published anew, and arrive a second time at
//! worst.

use async_nats::jetstream;
use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::RawMessageErrorKind;

use crate::BusError;
use crate::connection::Connection;

/// The most messages that are published anew at once. The rest is, when the connection breaks the next time.
const REVIVED_MAX: usize = 10_000;
const ANY_SUBJECT: &str = ">";

impl Connection {
    /// Publishes anew what `consumer` has been given, if some of that seems to be forgotten.
    pub(crate) async fn revive(&self, stream: &str, consumer: &mut Consumer<pull::Config>) -> Result<(), BusError> {
        let before = Standing::of(consumer).await?;
        let stream = self.jetstream.get_stream(stream).await.map_err(refused)?;
        let after = Standing::of(consumer).await?;
        let state = &stream.cached_info().state;
        // Meanwhile others may have published, or acted on some: only one of the two would hide what is forgotten.
        if state.messages <= before.known && state.messages <= after.known {
            return Ok(());
        }
        let (mut next, mut revived) = (state.first_sequence, 0);
        while revived < REVIVED_MAX {
            let found = match stream.get_first_raw_message_by_subject(ANY_SUBJECT, next).await {
                Ok(found) if found.sequence <= before.delivered => found,
                Err(error) if error.kind() != RawMessageErrorKind::NoMessageFound => return Err(refused(error)),
                _ => break,
            };
            next = found.sequence + 1;
            self.publish_anew(&found).await?;
            // If this fails, it will be published once more; that is all.
            stream.delete_message(found.sequence).await.ok();
            revived += 1;
        }
        tracing::info!(
            consumer = consumer.cached_info().name,
            revived,
            "[Bus] published anew what NATS may have forgotten"
        );
        Ok(())
    }

    /// Under a new id, or NATS would take it for the message that it has.
    async fn publish_anew(&self, found: &jetstream::message::StreamMessage) -> Result<(), BusError> {
        let id = found.headers.get(async_nats::header::NATS_MESSAGE_ID).map_or("", |id| id.as_str());
        let id = format!("{id}+{}", found.sequence);
        let message =
            PublishMessage::build().payload(found.payload.clone()).headers(found.headers.clone()).message_id(id);
        let sent = self.jetstream.send_publish(found.subject.clone(), message).await.map_err(refused)?;
        sent.await.map_err(refused)?;
        Ok(())
    }
}

/// How a consumer stands.
struct Standing {
    /// How many messages it will be given, or has and has not acted on yet.
    known: u64,
    /// The last one it has been given.
    delivered: u64,
}

impl Standing {
    async fn of(consumer: &mut Consumer<pull::Config>) -> Result<Self, BusError> {
        let info = consumer.info().await.map_err(refused)?;
        Ok(Self { known: info.num_pending + info.num_ack_pending as u64, delivered: info.delivered.stream_sequence })
    }
}

fn refused(error: impl std::fmt::Display) -> BusError {
    BusError::Refused(error.to_string())
}
