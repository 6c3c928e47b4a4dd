//! What NATS has forgotten. One that was killed may not know which messages it had delivered and nobody had acted on: it keeps
//! them, and never delivers them again (so does 2.9, nearly always). They are published anew, and arrive a second time at
//! worst.

use std::ops::RangeInclusive;
use std::time::Duration;

use async_nats::jetstream::consumer::Info;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use futures_util::TryStreamExt as _;

use crate::BusError;
use crate::connection::Connection;

/// How long it may take. What is left then is published anew the next time.
const REVIVE_WITHIN: Duration = Duration::from_secs(10);
/// While others publish and act, numbers that were read one after another may differ for no reason; but not each time.
const LOOKS: usize = 3;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);
const ANY_SUBJECT: &str = ">";

impl Connection {
    /// Publishes anew what a consumer has been given, if some of that seems to be forgotten. Called before it asks for more.
    pub(crate) async fn revive(&self, stream: &str, consumer: &str) -> Result<(), BusError> {
        let stream = self.jetstream.get_stream(stream).await.map_err(refused)?;
        let Some(forgotten) = forgotten(&stream, consumer).await? else { return Ok(()) };
        let publishing = tokio::time::timeout(REVIVE_WITHIN, self.publish_all_anew(&stream, forgotten));
        let revived = publishing.await.map_err(|_| BusError::TimedOut)??;
        tracing::info!(consumer, revived, "[Bus] published anew what NATS may have forgotten");
        Ok(())
    }

    async fn publish_all_anew(&self, stream: &Stream, sequences: RangeInclusive<u64>) -> Result<usize, BusError> {
        let (mut next, mut revived) = (*sequences.start(), 0);
        loop {
            let found = match stream.get_first_raw_message_by_subject(ANY_SUBJECT, next).await {
                Ok(found) if sequences.contains(&found.sequence) => found,
                Err(error) if error.kind() != RawMessageErrorKind::NoMessageFound => return Err(refused(error)),
                _ => return Ok(revived),
            };
            next = found.sequence + 1;
            self.publish_anew(&found).await?;
            stream.delete_message(found.sequence).await.map_err(refused)?;
            revived += 1;
        }
    }

    /// Under a new id, or NATS would take it for the message that it has.
    async fn publish_anew(&self, found: &StreamMessage) -> Result<(), BusError> {
        let id = found.headers.get(async_nats::header::NATS_MESSAGE_ID).map_or("", |id| id.as_str());
        let id = format!("{id}+{}", found.sequence);
        let message =
            PublishMessage::build().payload(found.payload.clone()).headers(found.headers.clone()).message_id(id);
        let sent = self.jetstream.send_publish(found.subject.clone(), message).await.map_err(refused)?;
        sent.await.map_err(refused)?;
        Ok(())
    }
}

/// Among which messages there are some that a consumer has been given and will never be given again.
async fn forgotten(stream: &Stream, consumer: &str) -> Result<Option<RangeInclusive<u64>>, BusError> {
    let mut suspected = None;
    for _ in 0..LOOKS {
        let before = consumers(stream).await?;
        let state = stream.get_info().await.map_err(refused)?.state;
        let after = consumers(stream).await?;
        let Some(own) = before.iter().find(|info| info.name == consumer) else { return Ok(None) };
        let delivered = own.delivered.stream_sequence;
        if has_lost_its_place(own) {
            return Ok(Some(own.ack_floor.stream_sequence + 1..=delivered));
        }
        if state.messages <= known(&before) && state.messages <= known(&after) {
            return Ok(None);
        }
        suspected = Some(state.first_sequence..=delivered);
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
    Ok(suspected)
}

async fn consumers(stream: &Stream) -> Result<Vec<Info>, BusError> {
    stream.consumers().try_collect().await.map_err(refused)
}

/// It has acted on some of what it has been given, is not acting on any, and yet there is a rest.
fn has_lost_its_place(info: &Info) -> bool {
    info.num_ack_pending == 0 && info.ack_floor.stream_sequence < info.delivered.stream_sequence
}

/// At least as many messages as a stream holds of which nothing is forgotten: each is still to be given to somebody, or is being
/// acted on.
fn known(consumers: &[Info]) -> u64 {
    consumers.iter().map(|info| info.num_pending + info.num_ack_pending as u64).sum()
}

fn refused(error: impl std::fmt::Display) -> BusError {
    BusError::Refused(error.to_string())
}
