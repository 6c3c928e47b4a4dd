//! Acting on messages. Those about one thing are acted on in order, in one of a number of lanes; a message that fails comes
//! again later and loses its place. It is acknowledged only when whoever acted on it says so.

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

/// The header that says what a message is about.
pub(crate) const KEY: &str = "Holdfast-Key";
const LANES: usize = 64;
/// A connection that says nothing for longer is taken for dead.
const HEARTBEAT: Duration = Duration::from_secs(1);
const ASK_FOR: Duration = Duration::from_secs(10);
/// After a failure nothing is tried for so long.
const AGAIN_AFTER: Duration = Duration::from_millis(200);
/// When to look again for what NATS has forgotten, if that failed.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How long to wait before a message is delivered again, longer each time, and at most.
const REDELIVER_AFTER: Duration = Duration::from_millis(100);
const REDELIVER_AFTER_MAX: Duration = Duration::from_secs(5);

/// A message as it arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Without the prefix.
    pub subject: String,
    pub headers: HeaderMap,
    pub payload: Bytes,
    /// The how-manieth time this is.
    pub tries: u64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has been acted on, for good.
    Done,
    /// Not now.
    Again,
    /// Never: it cannot be read.
    Hopeless,
}

/// A message in its lane.
struct Dealt {
    message: jetstream::Message,
    at: Instant,
}

impl Connection {
    /// Acts on the messages for a durable consumer until `stop` resolves; what is under way then is finished. Several processes
    /// share them.
    pub async fn consume<H, F>(&self, name: &str, handle: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Delivery) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Verdict> + Send,
    {
        let options = self.options.clone();
        let has_it = |stream: &&StreamOptions| stream.consumers().any(|consumer| consumer == name);
        let stream = options.streams.iter().find(has_it).expect("a consumer there is");
        let mut workers = JoinSet::new();
        let lanes: Vec<_> = (0..LANES)
            .map(|_| {
                let (sender, mut receiver) = mpsc::channel::<Dealt>(ACKS_PENDING_MAX / LANES);
                let (connection, handle) = (self.clone(), handle.clone());
                workers.spawn(async move {
                    while let Some(Dealt { message, at }) = receiver.recv().await {
                        // One that stood in its lane for so long is on its way again; acting on both would only make the lanes
                        // longer.
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
                    tracing::debug!(%error, consumer = name, "[Bus] no messages at present; trying again");
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

    /// Deals messages into lanes until something breaks.
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
            tracing::warn!(%error, consumer = name, "[Bus] what NATS may have forgotten was not all published anew");
        }
        let asking = consumer.stream().max_messages_per_batch(ACKS_PENDING_MAX).expires(ASK_FOR).heartbeat(HEARTBEAT);
        let mut messages = asking.messages().await.map_err(|error| refused(&error))?;
        let mut look_again = std::pin::pin!(tokio::time::sleep(LOOK_AGAIN_AFTER));
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                // It may be another NATS, or one that was killed.
                _ = connected.changed() => return Ok(()),
                () = &mut look_again, if revived.is_err() => return Ok(()),
            };
            let Some(message) = message else { return Ok(()) };
            let message = message.map_err(|error| refused(&error))?;
            let lane = &lanes[(key_of(&message) % LANES as u64) as usize];
            // Fails only when we are about to end; then it is delivered again.
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
        // If it does not get through, the message comes again and is known by its id.
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
