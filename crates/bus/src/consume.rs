//! Consumer of messages. Messages with the same key are processed in order, in one of a fixed number of lanes; a failed
//! message is redelivered later and loses its place. It is acknowledged only when its handler succeeds.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{self, AckKind};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::BusError;
use crate::connection::Connection;
use crate::options::{ACKS_PENDING_MAX, StreamOptions};
use crate::streams::consumer;

/// Header with the ordering key of a message.
pub(crate) const KEY: &str = "Holdfast-Key";
const LANES: usize = 64;
/// Interval of heartbeats; without one, a connection counts as dead.
const HEARTBEAT: Duration = Duration::from_secs(1);
const ASK_FOR: Duration = Duration::from_secs(10);
/// Delay after a failure.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// Delay before a failed redelivery repair is attempted again.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// Delay before a redelivery, growing with each up to a maximum.
const REDELIVER_AFTER: Duration = Duration::from_millis(100);
const REDELIVER_AFTER_MAX: Duration = Duration::from_secs(5);

/// Delivered message.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Without the prefix.
    pub subject: String,
    pub headers: HeaderMap,
    pub payload: Bytes,
    /// Number of this delivery, from 1.
    pub tries: u64,
}

/// Outcome of processing a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Processed for good.
    Done,
    /// Failed; redeliver later.
    Again,
    /// Unreadable; never deliver again.
    Hopeless,
}

/// Message in its lane.
struct Dealt {
    message: jetstream::Message,
    at: Instant,
}

impl Connection {
    /// Processes the messages of a durable consumer until `stop` resolves, then finishes those in progress. Several
    /// processes share them.
    pub async fn consume<H, F>(&self, name: &str, handle: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Delivery) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Verdict> + Send,
    {
        let options = self.options.clone();
        let has_it = |stream: &&StreamOptions| stream.consumers().any(|consumer| consumer == name);
        let stream = options.streams.iter().find(has_it).expect("the consumer belongs to a stream");
        let mut workers = JoinSet::new();
        let lanes: Vec<_> = (0..LANES)
            .map(|_| {
                let (sender, mut receiver) = mpsc::channel::<Dealt>(ACKS_PENDING_MAX / LANES);
                let (connection, handle) = (self.clone(), handle.clone());
                workers.spawn(async move {
                    while let Some(Dealt { message, at }) = receiver.recv().await {
                        // A message that waited this long in its lane is being redelivered; processing both would only
                        // lengthen the lanes.
                        if at.elapsed() < connection.options.timeout {
                            connection.act(message, &handle).await;
                        }
                    }
                });
                sender
            })
            .collect();
        let receiving = async {
            loop {
                if let Err(error) = self.receive(stream, name, &lanes).await {
                    tracing::debug!(%error, consumer = name, "[Bus] receiving failed; retrying");
                }
                tokio::time::sleep(AGAIN_AFTER).await;
            }
        };
        tokio::select! {
            () = receiving => {}
            () = stop => {}
        }
        drop(lanes);
        workers.join_all().await;
    }

    /// Distributes messages to lanes until an error.
    async fn receive(&self, stream: &StreamOptions, name: &str, lanes: &[mpsc::Sender<Dealt>]) -> Result<(), BusError> {
        let refused = |error: &dyn std::fmt::Display| BusError::Refused(error.to_string());
        let mut connected = self.connected.clone();
        connected.mark_unchanged();
        self.check()?;
        self.streams.ensure(self).await?;
        let config = consumer(&self.options, stream, name);
        let stream = self.options.stream(&stream.service);
        let consumer: jetstream::consumer::Consumer<pull::Config> =
            match self.jetstream.create_consumer_on_stream(config, &stream).await {
                Ok(consumer) => consumer,
                Err(error) => {
                    self.streams.forget();
                    return Err(refused(&error));
                }
            };
        let revived = self.revive(&stream, name).await;
        if let Err(error) = &revived {
            tracing::warn!(%error, consumer = name, "[Bus] redelivery repair is incomplete; it will be retried");
        }
        let asking = consumer.stream().max_messages_per_batch(ACKS_PENDING_MAX).expires(ASK_FOR).heartbeat(HEARTBEAT);
        let mut messages = asking.messages().await.map_err(|error| refused(&error))?;
        let mut look_again = std::pin::pin!(tokio::time::sleep(LOOK_AGAIN_AFTER));
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                // It may be another NATS server, or a restarted one.
                _ = connected.changed() => return Ok(()),
                () = &mut look_again, if revived.is_err() => return Ok(()),
            };
            let Some(message) = message else { return Ok(()) };
            let message = message.map_err(|error| refused(&error))?;
            let lane = &lanes[(key_of(&message) % LANES as u64) as usize];
            // Fails only on shutdown; the message is then redelivered.
            lane.send(Dealt { message, at: Instant::now() }).await.ok();
        }
    }

    async fn act<H, F>(&self, message: jetstream::Message, handle: &H)
    where
        H: Fn(Delivery) -> F,
        F: Future<Output = Verdict>,
    {
        let tries = message.info().map_or(1, |info| info.delivered.unsigned_abs());
        let (message, acker) = message.split();
        let delivery = Delivery {
            subject: self.options.name_of(&message.subject).to_owned(),
            headers: message.headers.unwrap_or_default(),
            payload: message.payload,
            tries,
        };
        let verdict = handle(delivery).await;
        let kind = match verdict {
            Verdict::Done => AckKind::Ack,
            Verdict::Again => AckKind::Nak(Some(redeliver_after(tries))),
            Verdict::Hopeless => AckKind::Term,
        };
        // If the acknowledgement is lost, the message is redelivered and recognised by its id.
        acker.ack_with(kind).await.ok();
    }
}

fn key_of(message: &jetstream::Message) -> u64 {
    let header = message.headers.as_ref().and_then(|headers| headers.get(KEY));
    header.and_then(|key| key.as_str().parse().ok()).unwrap_or_default()
}

fn redeliver_after(tries: u64) -> Duration {
    REDELIVER_AFTER.saturating_mul(1 << tries.min(16)).min(REDELIVER_AFTER_MAX)
}
