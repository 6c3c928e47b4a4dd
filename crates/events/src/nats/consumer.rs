//! Consumer of messages. Messages with the same key are processed in order, in one of a fixed number of lanes; a failed
//! message is redelivered later and loses its place. It is acknowledged only when its handler succeeds.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::message::Acker;
use async_nats::jetstream::{self, AckKind};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::nats::BusError;
use crate::nats::connection::Connection;
use crate::nats::headers::Headers;
use crate::nats::options::{ACKS_PENDING_MAX, StreamOptions};
use crate::nats::streams::consumer_config;

/// Header with the ordering key of a message.
pub(crate) const KEY: &str = "Holdfast-Key";
const LANES: usize = 64;
/// Time after which a request for messages ends. Until then NATS also delivers to a process that is paused or cut off.
const PULL_EXPIRES: Duration = Duration::from_secs(1);
/// Pause of the consumer after a failure.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// Delay before a failed redelivery repair is attempted again.
const REPAIR_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Delay before a redelivery, growing with each up to a maximum.
const REDELIVER_AFTER: Duration = Duration::from_millis(100);
const REDELIVER_AFTER_MAX: Duration = Duration::from_secs(5);
/// Reports of progress per ack wait: some may come late or get lost.
const REPORTS_PER_ACK_WAIT: u32 = 4;
/// Time limit for sending the last acknowledgements when a consumer stops.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Delivered message.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Without the prefix.
    pub subject: String,
    pub headers: Headers,
    pub payload: Bytes,
    /// Number of deliveries so far, this one included.
    pub deliveries: u64,
}

/// Outcome of processing a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Processed; acknowledge.
    Processed,
    /// Failed; redeliver later.
    Retry,
    /// Malformed or rejected; never redeliver.
    Discard,
}

/// Message in its lane.
struct LaneMessage {
    delivery: Delivery,
    message: MessageInProgress,
}

/// Messages that were delivered to this process and are not acknowledged: those in lanes, and those being processed.
#[derive(Clone, Default)]
struct InProgress(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    next: u64,
    messages: HashMap<u64, Entry>,
}

struct Entry {
    acker: Arc<Acker>,
    since: Instant,
    /// Time of the last progress report to NATS.
    reported: Instant,
}

/// A message that is reported to be in progress until this is dropped.
struct MessageInProgress {
    number: u64,
    acker: Arc<Acker>,
    all: InProgress,
}

impl InProgress {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock()
    }

    fn add(&self, acker: Acker) -> MessageInProgress {
        let (mut entries, acker, now) = (self.entries(), Arc::new(acker), Instant::now());
        let number = entries.next;
        entries.next += 1;
        entries.messages.insert(number, Entry { acker: acker.clone(), since: now, reported: now });
        MessageInProgress { number, acker, all: self.clone() }
    }

    /// Extends the ack wait of all messages in progress that are not older than `work_max`.
    async fn report(self, ack_wait: Duration, work_max: Duration) {
        let interval = ack_wait / REPORTS_PER_ACK_WAIT;
        loop {
            tokio::time::sleep(interval).await;
            let now = Instant::now();
            let mut due = Vec::new();
            for entry in self.entries().messages.values_mut() {
                // A message whose ack wait has passed, as while this process was paused, is delivered elsewhere.
                if now - entry.since < work_max && now - entry.reported < ack_wait {
                    entry.reported = now;
                    due.push(entry.acker.clone());
                }
            }
            for acker in due {
                acker.ack_with(AckKind::Progress).await.ok();
            }
        }
    }
}

impl MessageInProgress {
    /// Whether the ack wait has not passed: NATS has not delivered the message to another consumer.
    fn is_ours(&self, ack_wait: Duration) -> bool {
        self.all.entries().messages.get(&self.number).is_some_and(|entry| entry.reported.elapsed() < ack_wait)
    }

    async fn finish(self, kind: AckKind) {
        let acker = self.acker.clone();
        drop(self);
        // If this is lost, the message is redelivered, and deduplicated by its id.
        acker.ack_with(kind).await.ok();
    }
}

impl Drop for MessageInProgress {
    fn drop(&mut self) {
        self.all.entries().messages.remove(&self.number);
    }
}

impl Connection {
    /// Processes the messages for a durable consumer until `stop` resolves. Messages in progress are then finished, and those in
    /// the lanes are returned to NATS. Several processes share the messages.
    pub async fn consume<H, F>(&self, name: &str, handle: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Delivery) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Verdict> + Send,
    {
        let options = self.options.clone();
        let has_consumer = |stream: &&StreamOptions| stream.consumers().any(|consumer| consumer == name);
        let stream = options.streams.iter().find(has_consumer).expect("the consumer is configured");
        let (stopping, is_stopping) = watch::channel(false);
        let (returning, is_returning) = watch::channel(false);
        let (in_progress, ack_wait) = (InProgress::default(), options.ack_wait());
        let (mut reporting, mut workers) = (JoinSet::new(), JoinSet::new());
        reporting.spawn(in_progress.clone().report(ack_wait, options.timeout));
        let lanes: Vec<_> = (0..LANES)
            .map(|_| {
                // Room for all messages in flight: one that waits for its lane is reported as in progress.
                let (sender, receiver) = mpsc::channel::<LaneMessage>(ACKS_PENDING_MAX);
                let (is_returning, handle) = (is_returning.clone(), handle.clone());
                workers.spawn(async move { serve_lane(receiver, is_returning, ack_wait, handle).await });
                sender
            })
            .collect();
        let receiving = async {
            while !*is_stopping.borrow() {
                if let Err(error) = self.receive(stream, name, &lanes, &in_progress, is_stopping.clone()).await {
                    tracing::debug!(%error, consumer = name, "[Bus] no messages at present; trying again");
                }
                let mut is_stopping = is_stopping.clone();
                tokio::time::timeout(RETRY_AFTER, is_stopping.wait_for(|stop| *stop)).await.ok();
            }
        };
        tokio::join!(receiving, async {
            stop.await;
            stopping.send_replace(true);
        });
        // Not earlier: a returned message would be delivered to this process again while it requests messages.
        returning.send_replace(true);
        drop(lanes);
        workers.join_all().await;
        drop(reporting);
        tokio::time::timeout(FLUSH_TIMEOUT, self.client.flush()).await.ok();
    }

    /// Distributes messages to lanes until the connection fails or the consumer stops.
    async fn receive(
        &self,
        stream: &StreamOptions,
        name: &str,
        lanes: &[mpsc::Sender<LaneMessage>],
        in_progress: &InProgress,
        mut is_stopping: watch::Receiver<bool>,
    ) -> Result<(), BusError> {
        let mut connected = self.connected.clone();
        connected.mark_unchanged();
        let (mut messages, is_repaired) = tokio::select! {
            pulling = self.pull(stream, name) => pulling?,
            _ = is_stopping.wait_for(|stop| *stop) => return Ok(()),
        };
        let mut repair_retry = pin!(tokio::time::sleep(REPAIR_RETRY_AFTER));
        let last = loop {
            let message = tokio::select! {
                message = messages.next() => message,
                // The new connection may be to another NATS, or to one that was killed.
                _ = connected.changed() => return Ok(()),
                () = &mut repair_retry, if !is_repaired => return Ok(()),
                _ = is_stopping.wait_for(|stop| *stop) => break None,
            };
            let Some(message) = message else { return Ok(()) };
            let message = message.map_err(|error| refused(&error))?;
            let (delivery, acker) = self.delivery(message);
            let lane = &lanes[(key_of(&delivery.headers) % LANES as u64) as usize];
            let lane_message = LaneMessage { delivery, message: in_progress.add(acker) };
            let free = tokio::select! {
                free = lane.reserve() => free.ok(),
                _ = is_stopping.wait_for(|stop| *stop) => None,
            };
            match free {
                Some(free) => free.send(lane_message),
                None => break Some(lane_message.message),
            }
        };
        // Messages that have arrived and are in no lane are returned once no more are requested.
        let mut rest = Vec::new();
        while let Some(Some(Ok(message))) = messages.next().now_or_never() {
            rest.push(in_progress.add(message.split().1));
        }
        drop(messages);
        for message in last.into_iter().chain(rest) {
            message.finish(AckKind::Nak(None)).await;
        }
        Ok(())
    }

    /// Opens a durable consumer. Also returns whether the redelivery repair is complete.
    async fn pull(&self, stream: &StreamOptions, name: &str) -> Result<(pull::Stream, bool), BusError> {
        self.check()?;
        self.streams.ensure(self).await?;
        let config = consumer_config(&self.options, stream, name);
        let stream = self.options.stream(&stream.service);
        let consumer: jetstream::consumer::Consumer<pull::Config> =
            match self.jetstream.create_consumer_on_stream(config, &stream).await {
                Ok(consumer) => consumer,
                Err(error) => {
                    self.streams.invalidate();
                    return Err(refused(&error));
                }
            };
        let repaired = self.redelivery_repair(&stream, name).await;
        if let Err(error) = &repaired {
            tracing::warn!(%error, consumer = name, "[Bus] redelivery repair is incomplete; it will be retried");
        }
        let request = consumer.stream().max_messages_per_batch(ACKS_PENDING_MAX).expires(PULL_EXPIRES);
        let messages = request.messages().await.map_err(|error| refused(&error))?;
        Ok((messages, repaired.is_ok()))
    }

    fn delivery(&self, message: jetstream::Message) -> (Delivery, Acker) {
        let deliveries = message.info().map_or(1, |info| info.delivered.unsigned_abs());
        let (message, acker) = message.split();
        let delivery = Delivery {
            subject: self.options.name_of(&message.subject).to_owned(),
            headers: message.headers.unwrap_or_default().into(),
            payload: message.payload,
            deliveries,
        };
        (delivery, acker)
    }
}

/// Processes the messages of a lane in order until the lane is closed. When the consumer stops, the queued messages are returned
/// to NATS while the handler still runs, so that another process need not wait for it.
async fn serve_lane<H, F>(
    mut lane: mpsc::Receiver<LaneMessage>,
    mut is_returning: watch::Receiver<bool>,
    ack_wait: Duration,
    handle: H,
) where
    H: Fn(Delivery) -> F,
    F: Future<Output = Verdict>,
{
    while let Some(LaneMessage { delivery, message }) = lane.recv().await {
        if *is_returning.borrow() {
            message.finish(AckKind::Nak(None)).await;
        } else if message.is_ours(ack_wait) {
            let mut processing = pin!(process(delivery, message, &handle));
            tokio::select! {
                () = &mut processing => continue,
                _ = is_returning.wait_for(|returning| *returning) => {}
            }
            let return_queued = async {
                while let Some(LaneMessage { message, .. }) = lane.recv().await {
                    message.finish(AckKind::Nak(None)).await;
                }
            };
            tokio::join!(processing, return_queued);
        }
    }
}

async fn process<H, F>(delivery: Delivery, message: MessageInProgress, handle: &H)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Verdict>,
{
    let deliveries = delivery.deliveries;
    let kind = match handle(delivery).await {
        Verdict::Processed => AckKind::Ack,
        Verdict::Retry => AckKind::Nak(Some(redeliver_after(deliveries))),
        Verdict::Discard => AckKind::Term,
    };
    message.finish(kind).await;
}

fn refused(error: &dyn std::fmt::Display) -> BusError {
    BusError::Refused(error.to_string())
}

fn key_of(headers: &Headers) -> u64 {
    headers.get(KEY).and_then(|key| key.parse().ok()).unwrap_or_default()
}

fn redeliver_after(deliveries: u64) -> Duration {
    REDELIVER_AFTER.saturating_mul(1 << deliveries.min(16)).min(REDELIVER_AFTER_MAX)
}
