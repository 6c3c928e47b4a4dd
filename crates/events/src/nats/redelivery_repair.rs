//! Redelivery repair. A killed NATS may forget which messages it had delivered without acknowledgement: it stores them,
//! and never delivers them again (2.9 nearly always). They are published again; at worst they arrive twice.

use std::ops::RangeInclusive;
use std::time::Duration;

use async_nats::jetstream::consumer::Info;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use futures_util::TryStreamExt as _;

use crate::nats::BusError;
use crate::nats::connection::Connection;

/// Timeout. Remaining messages are published by the next repair.
const REPAIR_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of checks: under load, counters read one after another may differ by chance, but not in every check.
const LOOKS: usize = 3;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);
const ANY_SUBJECT: &str = ">";

impl Connection {
    /// Publishes again the messages that a consumer was delivered, if some seem forgotten. Called before it requests
    /// more.
    pub(crate) async fn redelivery_repair(&self, stream: &str, consumer: &str) -> Result<(), BusError> {
        let stream = self.jetstream.get_stream(stream).await.map_err(refused)?;
        let Some(undelivered) = undelivered(&stream, consumer).await? else { return Ok(()) };
        let publishing = tokio::time::timeout(REPAIR_TIMEOUT, self.publish_all_anew(&stream, undelivered));
        let revived = publishing.await.map_err(|_| BusError::TimedOut)??;
        tracing::info!(consumer, revived, "[Bus] published messages again that NATS may have forgotten");
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

    /// Publishes under a new id; NATS would drop the old one as a duplicate.
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

/// Returns the range with messages that were delivered to a consumer and will never be redelivered.
async fn undelivered(stream: &Stream, consumer: &str) -> Result<Option<RangeInclusive<u64>>, BusError> {
    let mut suspected = None;
    for _ in 0..LOOKS {
        let before = consumers(stream).await?;
        let state = stream.get_info().await.map_err(refused)?.state;
        let after = consumers(stream).await?;
        let Some(own) = before.iter().find(|info| info.name == consumer) else { return Ok(None) };
        let delivered = own.delivered.stream_sequence;
        if has_lost_deliveries(own) {
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

/// The consumer has acknowledged only part of the delivered messages, but none is pending.
fn has_lost_deliveries(info: &Info) -> bool {
    info.num_ack_pending == 0 && info.ack_floor.stream_sequence < info.delivered.stream_sequence
}

/// Upper bound of the messages in a stream with nothing forgotten: each is still to be delivered or unacknowledged.
fn known(consumers: &[Info]) -> u64 {
    consumers.iter().map(|info| info.num_pending + info.num_ack_pending as u64).sum()
}

fn refused(error: impl std::fmt::Display) -> BusError {
    BusError::Refused(error.to_string())
}
