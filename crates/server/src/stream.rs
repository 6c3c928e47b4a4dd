//! Server-sent events: one `CloudEvents` 1.0 JSON per change.
//!
//! Durable events come from the outbox and are never lost: a client that comes back with `Last-Event-ID`, or falls
//! behind, is given them from the store. Events of holds are told to whoever listens at the moment.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream as Futures};
use holdfast_core::id::UserId;
use holdfast_core::webhook::EventTypes;
use holdfast_core::webhook::types::TYPES_MAX;
use holdfast_core::{Event, Fault, Timestamp};
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{EventSink, OutboxEntry, Published, Refused, Store, StoreError};
use http::HeaderMap;
use tokio::sync::{broadcast, watch};

use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::pulse::Pulse;
use crate::recent::Recent;
use crate::request::Params;
use crate::wire::event::{cloud_event, data_of, is_public, time_of, type_of};

/// Events a slow listener may lag behind before it is sent to the outbox.
const BACKLOG: usize = 4_096;
const OUTBOX_PAGE: usize = 500;
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Tells listeners what was committed.
#[derive(Debug)]
pub struct Stream {
    told: broadcast::Sender<Arc<Told>>,
    /// The last durable event committed.
    last_durable: AtomicU64,
    /// The number of the next one that is not. It begins anywhere, so that no id comes again after a restart or from another
    /// server.
    next_fleeting: AtomicU64,
    /// Other servers commit too: durable events are then told as they are found in the outbox.
    shared: bool,
    committed: watch::Sender<()>,
    recent: Recent,
    pulse: Pulse,
}

/// An event as listeners get it.
#[derive(Debug)]
pub struct Told {
    /// `12` is the twelfth durable event; `12.7` a fleeting one that came after it.
    pub id: String,
    pub durable: Option<u64>,
    pub event_type: String,
    pub at: Timestamp,
    /// What is told about it.
    pub data: String,
    owner: Option<u64>,
    json: String,
}

impl Stream {
    pub fn new(last_durable: u64, first_fleeting: u64, shared: bool) -> Self {
        let told = broadcast::Sender::new(BACKLOG);
        let last_durable = AtomicU64::new(last_durable);
        Self {
            told,
            last_durable,
            next_fleeting: AtomicU64::new(first_fleeting),
            shared,
            committed: watch::Sender::new(()),
            recent: Recent::default(),
            pulse: Pulse::default(),
        }
    }

    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// What is told from now on. As long as somebody listens, everything is.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Told>> {
        self.told.subscribe()
    }

    /// Changes whenever this server has committed durable events, or has found some that another server committed.
    pub fn committed(&self) -> watch::Receiver<()> {
        self.committed.subscribe()
    }

    /// Durable events after the one with this number, in order.
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

    /// The number of the last durable event there is.
    pub async fn last_committed(&self, store: &dyn Store) -> Result<u64, StoreError> {
        if self.shared { store.outbox_last().await } else { Ok(self.last_durable.load(Ordering::Relaxed)) }
    }

    /// Tells what the outbox has that was not told yet. Only one may do so.
    pub async fn follow(&self, store: &dyn Store) -> Result<(), StoreError> {
        loop {
            let page = store.outbox_after(self.last_durable.load(Ordering::Relaxed), OUTBOX_PAGE).await?;
            let (is_last, is_empty) = (page.len() < OUTBOX_PAGE, page.is_empty());
            for record in page {
                self.last_durable.store(record.id, Ordering::Relaxed);
                self.pulse.changed(&record.event_type);
                self.told.send(Arc::new(Told::from(&record))).ok();
            }
            if !is_empty {
                // The relay and the webhook feed need not wait for their next poll.
                self.committed.send_replace(());
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Tells of an event that is not durable.
    fn tell(&self, event: &Event, at: Timestamp) {
        let number = self.next_fleeting.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}.{number}", self.last_durable.load(Ordering::Relaxed));
        let (event_type, data) = (type_of(event), data_of(event, at));
        let json = cloud_event(&id, event_type, time_of(event, at), &data, None);
        let owner = event.owner().map(UserId::get);
        let told = Told { id, durable: None, event_type: event_type.into(), at, data, owner, json };
        // An error only says that nobody listens.
        self.told.send(Arc::new(told)).ok();
    }
}

impl EventSink for Stream {
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry {
        OutboxEntry {
            event_type: type_of(event),
            owner: event.owner().map(UserId::get),
            at: time_of(event, at),
            data: data_of(event, at),
            trace: None,
            imported: matches!(event, Event::BookingTold(_)),
        }
    }

    fn publish(&self, events: Vec<Published>) {
        let is_listened_to = || self.told.receiver_count() > 0;
        let mut durable = Vec::new();
        for Published { event, recorded, at } in events {
            self.pulse.count(&event, at);
            match recorded {
                Some(record) => {
                    if !self.shared {
                        // Then the question: whoever begins to listen in between finds the number, or is told.
                        self.last_durable.store(record.id, Ordering::Relaxed);
                        if is_listened_to() {
                            self.told.send(Arc::new(Told::from(&record))).ok();
                        }
                    }
                    durable.push(Arc::new(record));
                }
                None if is_listened_to() => self.tell(&event, at),
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

impl From<&OutboxRecord> for Told {
    fn from(record: &OutboxRecord) -> Self {
        let id = record.id.to_string();
        let json = cloud_event(&id, &record.event_type, record.at, &record.data, None);
        let (event_type, data) = (record.event_type.clone(), record.data.clone());
        Self { id, durable: Some(record.id), event_type, at: record.at, data, owner: record.owner, json }
    }
}

/// Changes as they happen. A user is told what is theirs, an admin everything.
#[utoipa::path(get, path = "/v1/stream", tag = "events",
    params(
        ("types" = Option<String>, Query, description = "Only these types; prefixes are allowed, separated by commas."),
        ("userId" = Option<u64>, Query, minimum = 1, maximum = 9_007_199_254_740_991_u64, description = "Only this user's events."),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event, over the last 24 hours."),
    ),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub async fn listen(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let told = app.stream().listen();
    let last = app.stream().last_committed(app.store()).await.map_err(Refused::from)?;
    let listener = Listener {
        told,
        filter: Filter { owner: caller.listing(params.user()?)?, types: types(&params)? },
        // One who saw more than there is saw it in another store.
        seen: resume_point(&headers)?.unwrap_or(u64::MAX).min(last),
        missed_until: last,
        waiting: VecDeque::new(),
        over: Box::pin(over(&app, &headers)),
        app,
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE_EVERY);
    let mut response = Sse::new(listener.events()).keep_alive(keep_alive).into_response();
    response.headers_mut().insert("x-accel-buffering", http::HeaderValue::from_static("no"));
    Ok(response)
}

/// Waits until the server stops, or the listener's token ends: whoever comes back with a new one goes on.
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

struct Listener {
    app: App,
    told: broadcast::Receiver<Arc<Told>>,
    filter: Filter,
    /// The last durable event that was passed on or skipped.
    seen: u64,
    /// The last durable event that has to come from the outbox. Those after it are told in their turn, among those
    /// that are not durable.
    missed_until: u64,
    waiting: VecDeque<Told>,
    /// Resolves when nobody is to be told anything any more.
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

struct Filter {
    owner: Option<UserId>,
    types: EventTypes,
}

impl Listener {
    fn events(self) -> impl Futures<Item = Result<SseEvent, std::convert::Infallible>> {
        stream::unfold(self, |mut listener| async move {
            let event = listener.next().await?;
            Some((Ok(event), listener))
        })
    }

    /// The next event that is for this listener; `None` when it is over or the store is gone.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(told) = self.waiting.pop_front() {
                return Some(sse(&told));
            }
            if self.seen < self.missed_until {
                self.catch_up().await?;
                continue;
            }
            let told = tokio::select! {
                () = &mut self.over => return None,
                told = self.told.recv() => told,
            };
            match told {
                Ok(told) if told.durable.is_some_and(|id| id <= self.seen) => {}
                // One before it was committed, and nobody was sure of that in time to tell.
                Ok(told) if told.durable.is_some_and(|id| id > self.seen + 1) => {
                    self.missed_until = told.durable.unwrap_or_default();
                }
                Ok(told) => {
                    self.seen = told.durable.unwrap_or(self.seen);
                    if self.filter.passes(&told) {
                        return Some(sse(&told));
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    self.missed_until = self.app.stream().last_committed(self.app.store()).await.ok()?;
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    async fn catch_up(&mut self) -> Option<()> {
        let page = self.app.store().outbox_after(self.seen, OUTBOX_PAGE).await.ok()?;
        // After a page that is not full, whatever else was missed is no longer kept.
        let read = page.get(OUTBOX_PAGE - 1).map_or(self.missed_until, |last| last.id.min(self.missed_until));
        self.seen = read;
        for told in page.iter().take_while(|record| record.id <= read).map(Told::from) {
            if self.filter.passes(&told) {
                self.waiting.push_back(told);
            }
        }
        Some(())
    }
}

impl Filter {
    fn passes(&self, told: &Told) -> bool {
        is_public(&told.event_type)
            && self.owner.is_none_or(|owner| told.owner == Some(owner.get()))
            && self.types.include(&told.event_type)
    }
}

fn sse(told: &Told) -> SseEvent {
    SseEvent::default().id(&told.id).event(&told.event_type).data(&told.json)
}

fn types(params: &Params) -> Result<EventTypes, Problem> {
    let types = params.text("types").unwrap_or_default().split(',').map(str::trim);
    if types.clone().count() > TYPES_MAX {
        return Err(Problem::invalid("types", &Fault::TooManyItems { max: TYPES_MAX }));
    }
    Ok(EventTypes::any(types.map(str::to_owned)))
}

/// `12` and `12.7` both mean: everything durable after the twelfth.
fn resume_point(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let durable = text.split('.').next().unwrap_or_default();
    durable.parse().map(Some).map_err(|_| Problem::invalid("Last-Event-ID", &Fault::Malformed))
}
