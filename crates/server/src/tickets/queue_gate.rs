//! Queue gate of an event: its settings for the waiting room, and the check that a user has been admitted.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::response::Response;
use holdfast_api::ticket::SeatReservationView;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::ticket::event::{self, EventView};
use holdfast_core::ticket::{EventId, SeatReservation};
use holdfast_waiting_room::{EventId as Room, EventSettings};
use http::StatusCode;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::Mutation;

/// Lifetime of a cached event view; it ends earlier when this server commits a batch, or when a hold ends by time. The waiting
/// room ignores settings of an older revision than it has seen, so at worst a seat count misses what another server
/// committed within this time.
const CACHED_FOR: Duration = Duration::from_millis(200);
/// Maximum number of cached events.
const CACHED_MAX: usize = 1_000;

/// Gate cache: event views that were read within `CACHED_FOR`.
#[derive(Debug, Default)]
pub struct GateCache(Mutex<HashMap<EventId, CachedEvent>>);

#[derive(Debug)]
struct CachedEvent {
    event: EventView,
    until: Instant,
    /// Number of batches that this server had answered before the read.
    batches: u64,
}

impl GateCache {
    fn get(&self, id: EventId, batches: u64) -> Option<EventView> {
        let cached = self.0.lock();
        let is_fresh = |cached: &&CachedEvent| cached.batches == batches && Instant::now() < cached.until;
        cached.get(&id).filter(is_fresh).map(|cached| cached.event.clone())
    }

    /// Caches an event that was read at `now`, a time of the store not before `asked_at`.
    fn put(&self, event: &EventView, batches: u64, now: Timestamp, asked_at: Instant) {
        let next_end =
            event.remaining_until.map(|end| Duration::from_millis((end.as_millis() - now.as_millis()) as u64));
        let until = asked_at + next_end.map_or(CACHED_FOR, |left| left.min(CACHED_FOR));
        let mut cached = self.0.lock();
        if cached.len() >= CACHED_MAX {
            let now = Instant::now();
            cached.retain(|_, cached| now < cached.until);
        }
        if cached.len() < CACHED_MAX {
            cached.insert(event.id, CachedEvent { event: event.clone(), until, batches });
        }
    }

    fn evict(&self, id: EventId) {
        self.0.lock().remove(&id);
    }
}

/// Gate of an event: the event, and its settings for the waiting room.
pub(crate) struct QueueGate {
    pub(crate) event: EventView,
    pub(crate) room: Room,
    pub(crate) settings: EventSettings,
}

impl QueueGate {
    fn new(event: EventView) -> Self {
        let settings = EventSettings {
            revision: event.revision,
            max_concurrent: event.max_concurrent,
            paused: event.paused,
            sales_open_at: event.sales_open_at,
        };
        Self { room: Room(event.id.get()), settings, event }
    }
}

/// Returns the gate of an event, with or without a queue.
pub(crate) async fn queue_gate(app: &App, id: EventId) -> Result<QueueGate, Problem> {
    // In a cluster other servers change the event too, and a read takes longer than the time between changes. The batch
    // count of this server then says nothing, and only the lifetime counts.
    let batches = if app.store().is_split() { 0 } else { app.engine().batches() };
    if let Some(event) = app.gate_cache().get(id, batches) {
        return Ok(QueueGate::new(event));
    }
    let asked_at = Instant::now();
    let (event, now) = app.query(|rows, at| Ok((event::view(rows, at, id)?, at.now))).await?;
    app.gate_cache().put(&event, batches, now, asked_at);
    Ok(QueueGate::new(event))
}

/// Returns the gate of an event that has a queue.
pub(crate) async fn gate_with_queue(app: &App, id: EventId) -> Result<QueueGate, Problem> {
    let queue_gate = queue_gate(app, id).await?;
    if queue_gate.event.queue_enabled { Ok(queue_gate) } else { Err(Problem::queue_disabled()) }
}

/// Applies changed settings of an event at once. If that fails, they apply with the next call.
pub(crate) async fn settings_changed(app: &App, id: EventId) {
    app.gate_cache().evict(id);
    let configured = async {
        let queue_gate = queue_gate(app, id).await?;
        if queue_gate.event.queue_enabled {
            app.room().configure(queue_gate.room, &queue_gate.settings).await?;
        }
        Ok::<(), Problem>(())
    };
    if let Err(problem) = configured.await {
        tracing::warn!(event = %id, code = problem.code.as_str(), "event settings could not be applied to the waiting room; the next call applies them");
    }
}

/// Entry guard: refuses a user without an entry if the event has a queue, and a `token` that does not prove the entry.
/// A retry of a successful request returns its recorded answer, although its entry was already released.
pub(crate) async fn check_inside(
    app: &App,
    id: EventId,
    user: &UserId,
    caller: &Caller,
    request: &Mutation,
    token: Option<&str>,
) -> Result<Option<Response>, Problem> {
    let queue_gate = queue_gate(app, id).await?;
    if !queue_gate.event.queue_enabled {
        return Ok(None);
    }
    if let Some(entry) = app.room().entry(queue_gate.room, &queue_gate.settings, user).await? {
        let is_proven = token.is_none_or(|token| app.room().keys().proves(token, queue_gate.room, user, &entry));
        return if is_proven { Ok(None) } else { Err(Problem::queue_token_required()) };
    }
    // Looked up after the entry, because an entry is released only after the answer is recorded.
    match app.replay(caller, request).await? {
        Some(replayed) => Ok(Some(replayed)),
        None => Err(Problem::queue_token_required()),
    }
}

/// Event and user of a reservation that this request made. Empty if the answer was only replayed.
#[derive(Default)]
pub(crate) struct SpentEntry(Arc<OnceLock<(EventId, UserId)>>);

impl SpentEntry {
    /// Returns the renderer of the new reservation, which also records its event and user.
    pub(crate) fn show(&self) -> impl Fn(&SeatReservation) -> Reply + Send + 'static {
        let spent_entry = self.0.clone();
        move |reservation| {
            spent_entry.set((reservation.event, reservation.user.clone())).ok();
            Reply::json(StatusCode::CREATED, &SeatReservationView::new(reservation))
        }
    }

    /// Releases the entry.
    pub(crate) async fn give_back(self, app: &App) {
        if let Some((event, user)) = self.0.get() {
            give_back(app, *event, user).await;
        }
    }
}

/// Whether the user may hold seats of the event: it has no queue, or has admitted the user.
pub(crate) async fn has_entry(app: &App, id: EventId, user: &UserId) -> Result<bool, Problem> {
    let queue_gate = queue_gate(app, id).await?;
    if !queue_gate.event.queue_enabled {
        return Ok(true);
    }
    Ok(app.room().entry(queue_gate.room, &queue_gate.settings, user).await?.is_some())
}

/// Releases a user's entry to an event with a queue. If that fails, it expires.
pub(crate) async fn give_back(app: &App, id: EventId, user: &UserId) {
    let given_back = async {
        let queue_gate = queue_gate(app, id).await?;
        if queue_gate.event.queue_enabled {
            app.room().give_back(queue_gate.room, &queue_gate.settings, user).await?;
        }
        Ok::<(), Problem>(())
    };
    if let Err(problem) = given_back.await {
        tracing::warn!(event = %id, %user, code = problem.code.as_str(), "a queue entry could not be released; it expires");
    }
}
