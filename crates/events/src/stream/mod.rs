//! Server-sent events: one `CloudEvents` 1.0 JSON per change.
//!
//! Durable events come from the outbox and are never lost: a client that reconnects with `Last-Event-ID`, or falls
//! behind, gets them from the store (`Replays`). Hold events are ephemeral: only clients connected at that moment get
//! them.
//!
//! A stream ends when its server cannot read the outbox for [`CUT_OFF_AFTER`], so that its client connects to another
//! server.

mod outbox_cache;
mod replay;
mod subscription;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use holdfast_core::id::UserId;
use holdfast_core::{Event, Timestamp};
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{EventSink, OutboxEntry, Published, Store, StoreError};
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until};

use self::outbox_cache::OutboxCache;
use self::replay::Replays;
pub use self::subscription::{Filter, Subscription};
use crate::Context;
use crate::activity::ActivityCounters;
use crate::wire::event::{cloud_event, data_of, time_of, type_of};

/// Maximum number of events that a slow client may lag behind before it catches up from the outbox.
const LAG_MAX: usize = 4_096;
/// Events per read of the outbox.
const OUTBOX_PAGE: usize = 500;
/// Interval at which the outbox is read: for events that other servers committed, or only to see whether it is readable.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
const FOLLOW_OWN_EVERY: Duration = Duration::from_secs(1);
/// Time without a successful read of the outbox after which streams end.
pub const CUT_OFF_AFTER: Duration = Duration::from_secs(5);
/// Default source of events.
const SOURCE: &str = "/holdfast";
/// Default retention of replays.
const KEEP: Duration = Duration::from_hours(24);

/// Publishes committed events to subscribers.
#[derive(Debug)]
pub struct Stream {
    published: broadcast::Sender<Arc<PublishedEvent>>,
    /// Number of the last committed durable event.
    last_durable: AtomicU64,
    /// Number of the next ephemeral event. It starts at a random number, so that ids differ between servers and
    /// restarts.
    next_ephemeral: AtomicU64,
    /// Whether other servers commit too. Durable events are then published as they are found in the outbox.
    is_shared: bool,
    /// Signals durable events.
    committed: watch::Sender<()>,
    /// Time of the last successful read of the outbox.
    followed_at: watch::Sender<Instant>,
    outbox_cache: OutboxCache,
    replays: Replays,
    activity: ActivityCounters,
    /// `source` of every `CloudEvent`.
    source: String,
}

/// An event as subscribers receive it.
#[derive(Debug)]
pub struct PublishedEvent {
    /// `12` is the twelfth durable event, and `12.7` an ephemeral one after it.
    pub id: String,
    pub durable: Option<u64>,
    pub event_type: String,
    pub at: Timestamp,
    /// JSON data of the event.
    pub data: String,
    /// Encoded event, shared by all clients.
    pub(crate) frame: Bytes,
    owner: Option<UserId>,
}

impl Stream {
    pub fn new(last_durable: u64, first_ephemeral: u64, shared: bool) -> Self {
        let published = broadcast::Sender::new(LAG_MAX);
        let last_durable = AtomicU64::new(last_durable);
        Self {
            published,
            last_durable,
            next_ephemeral: AtomicU64::new(first_ephemeral),
            is_shared: shared,
            committed: watch::Sender::new(()),
            followed_at: watch::Sender::new(Instant::now()),
            outbox_cache: OutboxCache::default(),
            replays: Replays::new(KEEP),
            activity: ActivityCounters::default(),
            source: SOURCE.to_owned(),
        }
    }

    /// Sets the source of events and the retention of replays.
    #[must_use]
    pub fn with_settings(self, source: &str, keep: Duration) -> Self {
        Self { source: source.to_owned(), replays: Replays::new(keep), ..self }
    }

    /// Returns the `source` of every `CloudEvent`.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the outbox has not been read for [`CUT_OFF_AFTER`].
    pub fn is_cut_off(&self) -> bool {
        self.followed_at.borrow().elapsed() >= CUT_OFF_AFTER
    }

    /// Resolves when the outbox has not been read for [`CUT_OFF_AFTER`].
    async fn cut_off(&self) {
        while !self.is_cut_off() {
            let until = *self.followed_at.borrow() + CUT_OFF_AFTER;
            sleep_until(until).await;
        }
    }

    pub fn activity(&self) -> &ActivityCounters {
        &self.activity
    }

    /// Subscribes to events from now on. Events are published only while there is a subscriber.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<PublishedEvent>> {
        self.published.subscribe()
    }

    /// Returns a signal that fires when this server has committed durable events, or found those of another server.
    pub fn committed(&self) -> watch::Receiver<()> {
        self.committed.subscribe()
    }

    /// Returns durable events after the one with this number, in order.
    pub async fn outbox_after(
        &self,
        store: &dyn Store,
        id: u64,
        limit: usize,
    ) -> Result<Vec<Arc<OutboxRecord>>, StoreError> {
        if let Some(cached) = self.outbox_cache.after(id, limit) {
            return Ok(cached);
        }
        Ok(store.outbox_after(id, limit).await?.into_iter().map(Arc::new).collect())
    }

    /// Returns the number of the last durable event.
    pub async fn last_committed(&self, store: &dyn Store) -> Result<u64, StoreError> {
        if self.is_shared { store.outbox_last().await } else { Ok(self.last_durable.load(Ordering::Relaxed)) }
    }

    /// Publishes new events of the outbox, and records that it could be read. Must not run concurrently.
    pub async fn follow(&self, store: &dyn Store) -> Result<(), StoreError> {
        // Read first, because long lists of other callers delay a page, but not this number.
        let last = store.outbox_last().await?;
        // The only server of a store has published its own commits already.
        while self.is_shared && self.last_durable.load(Ordering::Relaxed) < last {
            let page = store.outbox_after(self.last_durable.load(Ordering::Relaxed), OUTBOX_PAGE).await?;
            self.followed_at.send_replace(Instant::now());
            let (is_last, is_empty) = (page.len() < OUTBOX_PAGE, page.is_empty());
            for record in page {
                self.last_durable.store(record.id, Ordering::Relaxed);
                self.activity.changed(&record.event_type);
                self.published.send(Arc::new(PublishedEvent::of(&record, &self.source))).ok();
            }
            if !is_empty {
                // Wakes the relay and the webhook fan-out before their next poll.
                self.committed.send_replace(());
            }
            if is_last {
                break;
            }
        }
        self.followed_at.send_replace(Instant::now());
        Ok(())
    }

    /// Publishes an ephemeral event.
    fn publish_ephemeral(&self, event: &Event, at: Timestamp) {
        let number = self.next_ephemeral.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}.{number}", self.last_durable.load(Ordering::Relaxed));
        let (event_type, data) = (type_of(event), data_of(event, at));
        let json = cloud_event(&self.source, &id, event_type, time_of(event, at), &data, None);
        let (owner, frame) = (event.owner().cloned(), encode_frame(&id, event_type, &json));
        let published = PublishedEvent { id, durable: None, event_type: event_type.into(), at, data, frame, owner };
        // The only error is that there is no subscriber.
        self.published.send(Arc::new(published)).ok();
    }
}

/// Publishes events of all servers to the subscribers of this one, in the order of the outbox, until the server stops.
pub async fn follow_outbox(context: Context) {
    let mut committed = context.stream().committed();
    let is_shared = context.store().is_split();
    let every = if is_shared { FOLLOW_EVERY } else { FOLLOW_OWN_EVERY };
    loop {
        tokio::select! {
            () = context.stopped() => return,
            _ = committed.changed(), if is_shared => {}
            () = tokio::time::sleep(every) => {}
        }
        if let Err(error) = context.stream().follow(context.store()).await {
            tracing::warn!(%error, "cannot read the outbox; retrying");
        }
    }
}

impl EventSink for Stream {
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry {
        OutboxEntry {
            event_type: type_of(event),
            owner: event.owner().cloned(),
            at: time_of(event, at),
            data: data_of(event, at),
            trace: None,
            imported: matches!(event, Event::BookingPublished(_)),
        }
    }

    fn publish(&self, events: Vec<Published>) {
        let has_subscribers = || self.published.receiver_count() > 0;
        let mut durable = Vec::new();
        for Published { event, recorded, at } in events {
            self.activity.count(&event, at);
            match recorded {
                Some(record) => {
                    if !self.is_shared {
                        // Stored before the check for subscribers: a new one sees this number, or receives the event.
                        self.last_durable.store(record.id, Ordering::Relaxed);
                        if has_subscribers() {
                            self.published.send(Arc::new(PublishedEvent::of(&record, &self.source))).ok();
                        }
                    }
                    durable.push(Arc::new(record));
                }
                None if has_subscribers() => self.publish_ephemeral(&event, at),
                None => {}
            }
        }
        if durable.is_empty() {
            return;
        }
        if !self.is_shared {
            self.outbox_cache.keep(durable);
        }
        self.committed.send_replace(());
    }
}

impl PublishedEvent {
    pub(crate) fn of(record: &OutboxRecord, source: &str) -> Self {
        let id = record.id.to_string();
        let json = cloud_event(source, &id, &record.event_type, record.at, &record.data, None);
        let frame = encode_frame(&id, &record.event_type, &json);
        let (event_type, data) = (record.event_type.clone(), record.data.clone());
        Self { id, durable: Some(record.id), event_type, at: record.at, data, frame, owner: record.owner.clone() }
    }
}

/// Encodes a server-sent event. Line breaks in JSON are white space, because strings escape them.
fn encode_frame(id: &str, event_type: &str, json: &str) -> Bytes {
    format!("id: {id}\nevent: {event_type}\ndata: {}\n\n", json.replace(['\r', '\n'], " ")).into()
}

/// Encodes an event without data. Clients ignore it, and send its id as `Last-Event-ID` when they reconnect.
fn encode_position(id: u64) -> Bytes {
    format!("id: {id}\n\n").into()
}
