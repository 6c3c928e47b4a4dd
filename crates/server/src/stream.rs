//! Server-sent events: one `CloudEvents` 1.0 JSON per change.
//!
//! Durable events come from the outbox and are never lost: a client that reconnects with `Last-Event-ID`, or falls
//! behind, gets them from the store (`Replays`). Hold events are ephemeral: only clients connected at that moment get
//! them.
//!
//! A stream ends when its server cannot read the outbox for [`CUT_OFF_AFTER`], so that its client connects to another
//! server.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use holdfast_api::params::{LastEventHeader, StreamQuery};
use holdfast_core::id::UserId;
use holdfast_core::webhook::EventTypes;
use holdfast_core::webhook::types::TYPES_MAX;
use holdfast_core::{Event, Fault, Timestamp};
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{EventSink, OutboxEntry, Published, Refused, Store, StoreError};
use http::{HeaderMap, HeaderValue, header};
use serde_json::json;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until};

use crate::activity::ActivityCounters;
use crate::app::App;
use crate::caller::Caller;
use crate::outbox_cache::OutboxCache;
use crate::problem::Problem;
use crate::replay::{Gap, Replays};
use crate::request::{Params, decimal};
use crate::wire::event::{cloud_event, data_of, is_public, time_of, type_of};

/// Maximum number of events that a slow client may lag behind before it catches up from the outbox.
const BACKLOG: usize = 4_096;
/// Events per read of the outbox.
const OUTBOX_PAGE: usize = 500;
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Time without a successful read of the outbox after which streams end.
pub const CUT_OFF_AFTER: Duration = Duration::from_secs(5);
/// Default source of events.
const SOURCE: &str = "/holdfast";
/// Default retention of replays.
const KEEP: Duration = Duration::from_hours(24);
/// Type of the first event of a stream that resumes from before the retention.
const GAP: &str = "stream.gap";

/// Publishes committed events to subscribers.
#[derive(Debug)]
pub struct Stream {
    published: broadcast::Sender<Arc<PublishedBooking>>,
    /// Number of the last committed durable event.
    last_durable: AtomicU64,
    /// Number of the next ephemeral event. It starts at a random number, so that ids differ between servers and
    /// restarts.
    next_ephemeral: AtomicU64,
    /// Whether other servers commit too. Durable events are then published as they are found in the outbox.
    shared: bool,
    /// Signals durable events.
    committed: watch::Sender<()>,
    /// Time of the last successful read of the outbox.
    followed_at: watch::Sender<Instant>,
    recent: OutboxCache,
    replays: Replays,
    activity: ActivityCounters,
    /// `source` of every `CloudEvent`.
    source: String,
}

/// An event as subscribers receive it.
#[derive(Debug)]
pub struct PublishedBooking {
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
        let published = broadcast::Sender::new(BACKLOG);
        let last_durable = AtomicU64::new(last_durable);
        Self {
            published,
            last_durable,
            next_ephemeral: AtomicU64::new(first_ephemeral),
            shared,
            committed: watch::Sender::new(()),
            followed_at: watch::Sender::new(Instant::now()),
            recent: OutboxCache::default(),
            replays: Replays::new(KEEP),
            activity: ActivityCounters::default(),
            source: SOURCE.to_owned(),
        }
    }

    /// Sets the source of events and the retention of replays.
    #[must_use]
    pub fn configured(self, source: &str, keep: Duration) -> Self {
        Self { source: source.to_owned(), replays: Replays::new(keep), ..self }
    }

    /// Returns the `source` of every `CloudEvent`.
    pub fn source(&self) -> &str {
        &self.source
    }

    fn is_cut_off(&self) -> bool {
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
    pub fn listen(&self) -> broadcast::Receiver<Arc<PublishedBooking>> {
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
        if let Some(recent) = self.recent.after(id, limit) {
            return Ok(recent);
        }
        Ok(store.outbox_after(id, limit).await?.into_iter().map(Arc::new).collect())
    }

    /// Returns the number of the last durable event.
    pub async fn last_committed(&self, store: &dyn Store) -> Result<u64, StoreError> {
        if self.shared { store.outbox_last().await } else { Ok(self.last_durable.load(Ordering::Relaxed)) }
    }

    /// Publishes new events of the outbox, and records that it could be read. Must not run concurrently.
    pub async fn follow(&self, store: &dyn Store) -> Result<(), StoreError> {
        // Read first, because long lists of other callers delay a page, but not this number.
        let last = store.outbox_last().await?;
        // The only server of a store has published its own commits already.
        while self.shared && self.last_durable.load(Ordering::Relaxed) < last {
            let page = store.outbox_after(self.last_durable.load(Ordering::Relaxed), OUTBOX_PAGE).await?;
            self.followed_at.send_replace(Instant::now());
            let (is_last, is_empty) = (page.len() < OUTBOX_PAGE, page.is_empty());
            for record in page {
                self.last_durable.store(record.id, Ordering::Relaxed);
                self.activity.changed(&record.event_type);
                self.published.send(Arc::new(PublishedBooking::of(&record, &self.source))).ok();
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
        let (owner, frame) = (event.owner().cloned(), frame(&id, event_type, &json));
        let published = PublishedBooking { id, durable: None, event_type: event_type.into(), at, data, frame, owner };
        // The only error is that there is no subscriber.
        self.published.send(Arc::new(published)).ok();
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
        let is_listened_to = || self.published.receiver_count() > 0;
        let mut durable = Vec::new();
        for Published { event, recorded, at } in events {
            self.activity.count(&event, at);
            match recorded {
                Some(record) => {
                    if !self.shared {
                        // Stored before the check for subscribers: a new one sees this number, or receives the event.
                        self.last_durable.store(record.id, Ordering::Relaxed);
                        if is_listened_to() {
                            self.published.send(Arc::new(PublishedBooking::of(&record, &self.source))).ok();
                        }
                    }
                    durable.push(Arc::new(record));
                }
                None if is_listened_to() => self.publish_ephemeral(&event, at),
                None => {}
            }
        }
        if durable.is_empty() {
            return;
        }
        if !self.shared {
            self.recent.keep(durable);
        }
        self.committed.send_replace(());
    }
}

impl PublishedBooking {
    pub(crate) fn of(record: &OutboxRecord, source: &str) -> Self {
        let id = record.id.to_string();
        let json = cloud_event(source, &id, &record.event_type, record.at, &record.data, None);
        let frame = frame(&id, &record.event_type, &json);
        let (event_type, data) = (record.event_type.clone(), record.data.clone());
        Self { id, durable: Some(record.id), event_type, at: record.at, data, frame, owner: record.owner.clone() }
    }
}

/// Encodes a server-sent event. Line breaks in JSON are white space, because strings escape them.
fn frame(id: &str, event_type: &str, json: &str) -> Bytes {
    format!("id: {id}\nevent: {event_type}\ndata: {}\n\n", json.replace(['\r', '\n'], " ")).into()
}

/// Encodes an event without data. Clients ignore it, and send its id as `Last-Event-ID` when they reconnect.
fn position(id: u64) -> Bytes {
    format!("id: {id}\n\n").into()
}

/// Streams changes as they happen. A user receives only their own, an admin all.
#[utoipa::path(get, path = "/v1/stream", tag = "events",
    params(StreamQuery, LastEventHeader),
    responses((status = 200, body = String, content_type = "text/event-stream"),
        (status = 503, description = "`STORE_UNAVAILABLE`")))]
pub async fn listen(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stream = app.stream();
    if stream.is_cut_off() {
        return Err(Refused::StoreUnavailable("the outbox cannot be read".into()).into());
    }
    let published = stream.listen();
    let last = stream.last_committed(app.store()).await.map_err(Refused::from)?;
    // A client that is ahead of this store has read another one.
    let seen = resume_point(&headers)?.unwrap_or(u64::MAX).min(last);
    let listener = Listener {
        published,
        filter: Filter { owner: caller.listing(params.user()?)?, types: types(&params.read::<StreamQuery>()?)? },
        seen,
        missed_until: last,
        is_resuming: seen < last,
        waiting: VecDeque::from([position(seen)]),
        keep_alive_at: Instant::now(),
        over: Box::pin(over(&app, &headers)),
        app,
    };
    let events = stream::unfold(listener, |mut listener| async move {
        let frame = listener.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), listener))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Waits until the server stops or the client's token expires. The client reconnects with a new token and resumes.
pub(crate) fn over(app: &App, headers: &HeaderMap) -> impl Future<Output = ()> + Send + use<> {
    let (app, valid_for) = (app.clone(), app.auth().valid_for(headers));
    async move {
        match valid_for {
            Some(valid_for) => {
                tokio::time::timeout(valid_for, app.stopped()).await.ok();
            }
            None => app.stopped().await,
        }
    }
}

/// Stream of one client.
struct Listener {
    app: App,
    published: broadcast::Receiver<Arc<PublishedBooking>>,
    filter: Filter,
    /// Number of the last durable event that was sent or filtered out.
    seen: u64,
    /// Number of the last durable event to read from the outbox. Later ones come from the subscription, in order with
    /// the ephemeral ones.
    missed_until: u64,
    /// Whether the resume point was not compared with the retention yet.
    is_resuming: bool,
    /// Encoded events to send next.
    waiting: VecDeque<Bytes>,
    keep_alive_at: Instant,
    /// Resolves when the stream must end.
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

struct Filter {
    owner: Option<UserId>,
    types: EventTypes,
}

impl Listener {
    /// Returns the next bytes for this client; `None` when the stream ends or the store is unavailable.
    async fn next(&mut self) -> Option<Bytes> {
        let frame = self.next_frame().await?;
        self.keep_alive_at = Instant::now() + KEEP_ALIVE_EVERY;
        Some(frame)
    }

    async fn next_frame(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Some(frame);
            }
            if self.seen < self.missed_until {
                self.catch_up().await?;
                continue;
            }
            let published = tokio::select! {
                () = &mut self.over => return None,
                () = self.app.stream().cut_off() => return None,
                // A client whose filter lets little through resumes from here, not from its last event.
                () = sleep_until(self.keep_alive_at) => return Some(position(self.seen)),
                published = self.published.recv() => published,
            };
            match published {
                Ok(published) if published.durable.is_some_and(|id| id <= self.seen) => {}
                // Gap: the outcome of an earlier commit was unknown, so its event was not published.
                Ok(published) if published.durable.is_some_and(|id| id > self.seen + 1) => {
                    self.missed_until = published.durable.unwrap_or_default();
                }
                Ok(published) => {
                    self.seen = published.durable.unwrap_or(self.seen);
                    if self.filter.passes(&published.event_type, published.owner.as_ref()) {
                        return Some(published.frame.clone());
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    self.missed_until = self.app.stream().last_committed(self.app.store()).await.ok()?;
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Reads the next page of the outbox. The resume point is compared with the retention first.
    async fn catch_up(&mut self) -> Option<()> {
        let (app, seen, until) = (self.app.clone(), self.seen, self.missed_until);
        let replays = &app.stream().replays;
        if std::mem::take(&mut self.is_resuming) {
            if let Some(gap) = self.unless_over(replays.gap(&app, seen, until)).await? {
                self.waiting.push_back(gap_event(app.stream(), seen, &gap));
                self.seen = gap.until;
            }
            return Some(());
        }
        let page = self.unless_over(replays.page(&app, seen, until)).await?;
        // Up to `until` only: later events come from the subscription.
        self.waiting = page.select(seen, until, |event_type, owner| self.filter.passes(event_type, owner));
        self.seen = page.up_to.min(until);
        Some(())
    }

    /// Returns the result of work on the store; `None` if it fails, or the stream ends meanwhile.
    async fn unless_over<T>(&mut self, work: impl Future<Output = Result<T, Refused>>) -> Option<T> {
        tokio::select! {
            () = &mut self.over => None,
            () = self.app.stream().cut_off() => None,
            done = work => done.ok(),
        }
    }
}

impl Filter {
    fn passes(&self, event_type: &str, owner: Option<&UserId>) -> bool {
        is_public(event_type)
            && self.owner.as_ref().is_none_or(|own| owner == Some(own))
            && self.types.include(event_type)
    }
}

/// Encodes the event that replaces those outside of the retention. A client that resumes after it resumes after these.
fn gap_event(stream: &Stream, after: u64, gap: &Gap) -> Bytes {
    let (id, data) =
        (format!("{}.gap", gap.until), json!({"after": after.to_string(), "until": gap.until.to_string()}));
    frame(&id, GAP, &cloud_event(&stream.source, &id, GAP, gap.at, &data.to_string(), None))
}

fn types(query: &StreamQuery) -> Result<EventTypes, Problem> {
    let types = query.types.as_deref().unwrap_or_default().split(',').map(str::trim);
    if types.clone().count() > TYPES_MAX {
        return Err(Problem::invalid("types", &Fault::TooManyItems { max: TYPES_MAX }));
    }
    Ok(EventTypes::any(types.map(str::to_owned)))
}

/// Parses `Last-Event-ID`. `12` and `12.7` both resume after the twelfth durable event.
fn resume_point(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let (durable, rest) = text.split_once('.').map_or((text, None), |(durable, rest)| (durable, Some(rest)));
    let is_known = rest.is_none_or(|rest| rest == "gap" || decimal(rest).is_some());
    let resumed = decimal(durable).filter(|_| is_known);
    resumed.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID", &Fault::Malformed))
}
