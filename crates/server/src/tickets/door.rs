//! The door of an event: what the waiting room has to know of it, and who may come through.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::response::Response;
use holdfast_core::id::UserId;
use holdfast_core::ticket::event::{self, EventView};
use holdfast_core::ticket::{EventId, SeatReservation};
use holdfast_waiting_room::{EventId as Room, EventSettings};
use http::StatusCode;
use tokio::time::Instant;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::Mutation;
use crate::wire::ticket::SeatReservationView;

/// What was read of an event serves all who poll for so long, or until this server changes anything. Settings that are older than
/// those the waiting room has seen are ignored there, so at worst a number of seats is this old: when others changed it, or time.
const SEEN_FOR: Duration = Duration::from_millis(200);
const SEEN_MAX: usize = 1_000;

/// Events that were looked at a moment ago.
#[derive(Debug, Default)]
pub struct Doors(Mutex<HashMap<EventId, Seen>>);

#[derive(Debug)]
struct Seen {
    event: EventView,
    at: Instant,
    /// How many batches this server had carried out before.
    batches: u64,
}

impl Doors {
    fn get(&self, id: EventId, batches: u64) -> Option<EventView> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |seen: &&Seen| seen.batches == batches && seen.at.elapsed() < SEEN_FOR;
        seen.get(&id).filter(is_fresh).map(|seen| seen.event.clone())
    }

    fn put(&self, event: &EventView, batches: u64) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= SEEN_MAX {
            seen.retain(|_, seen| seen.at.elapsed() < SEEN_FOR);
        }
        if seen.len() < SEEN_MAX {
            seen.insert(event.id, Seen { event: event.clone(), at: Instant::now(), batches });
        }
    }

    fn forget(&self, id: EventId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// An event, as the waiting room sees it.
pub(crate) struct Door {
    pub(crate) event: EventView,
    pub(crate) room: Room,
    pub(crate) settings: EventSettings,
}

impl Door {
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

/// The door of an event, whether it has a queue or not.
pub(crate) async fn door(app: &App, id: EventId) -> Result<Door, Problem> {
    // In a cluster others change it as much as we do; and to read it takes longer than the next change.
    let batches = if app.store().is_split() { 0 } else { app.engine().batches() };
    if let Some(event) = app.doors().get(id, batches) {
        return Ok(Door::new(event));
    }
    let event = app.query(|rows, at| event::view(rows, at, id)).await?;
    app.doors().put(&event, batches);
    Ok(Door::new(event))
}

/// The door of an event that has a queue.
pub(crate) async fn queue_door(app: &App, id: EventId) -> Result<Door, Problem> {
    let door = door(app, id).await?;
    if door.event.queue_enabled { Ok(door) } else { Err(Problem::queue_disabled()) }
}

/// Lets changed settings of an event count at once. If that fails, they count with the next call.
pub(crate) async fn settings_changed(app: &App, id: EventId) {
    app.doors().forget(id);
    let configured = async {
        let door = door(app, id).await?;
        if door.event.queue_enabled {
            app.room().configure(door.room, &door.settings).await?;
        }
        Ok::<(), Problem>(())
    };
    if let Err(problem) = configured.await {
        tracing::warn!(event = %id, code = problem.code, "the waiting room will learn of the change with the next call");
    }
}

/// Refuses who has not come in through the queue, if there is one, and who shows a `token` that does not prove it. One who
/// repeats what has succeeded is given that answer again, although the entry was given back: it is returned.
pub(crate) async fn check_inside(
    app: &App,
    id: EventId,
    user: UserId,
    caller: Caller,
    request: &Mutation,
    token: Option<&str>,
) -> Result<Option<Response>, Problem> {
    let door = door(app, id).await?;
    if !door.event.queue_enabled {
        return Ok(None);
    }
    if let Some(entry) = app.room().entry(door.room, &door.settings, user).await? {
        let is_proven = token.is_none_or(|token| app.room().keys().proves(token, door.room, user, &entry));
        return if is_proven { Ok(None) } else { Err(Problem::queue_token_required()) };
    }
    // Looked for after the entry: it is given back only after the answer is kept.
    match app.replay(caller, request).await? {
        Some(replayed) => Ok(Some(replayed)),
        None => Err(Problem::queue_token_required()),
    }
}

/// Somebody who has what they came for, if that has just happened: an answer that is only repeated buys nothing.
#[derive(Default)]
pub(crate) struct Bought(Arc<OnceLock<(EventId, UserId)>>);

impl Bought {
    /// How a reservation is shown that was just made.
    pub(crate) fn show(&self) -> impl Fn(&SeatReservation) -> Reply + Send + 'static {
        let bought = self.0.clone();
        move |reservation| {
            bought.set((reservation.event, reservation.user)).ok();
            Reply::json(StatusCode::CREATED, &SeatReservationView::new(reservation))
        }
    }

    /// Gives the entry back. If that fails, time ends it.
    pub(crate) async fn give_back(self, app: &App) {
        let Some((id, user)) = self.0.get().copied() else { return };
        let given_back = async {
            let door = door(app, id).await?;
            if door.event.queue_enabled {
                app.room().give_back(door.room, &door.settings, user).await?;
            }
            Ok::<(), Problem>(())
        };
        if let Err(problem) = given_back.await {
            tracing::warn!(event = %id, %user, code = problem.code, "could not give an entry back; it ends by time");
        }
    }
}
