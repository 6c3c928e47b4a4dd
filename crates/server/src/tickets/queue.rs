//! The queue of an event.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::params::{EventPath, IdempotencyHeader, UserHeader, UserQuery};
use holdfast_api::queue::{EntryView, PlaceView, StatsView};
use holdfast_api::ticket::EventView;
use holdfast_core::id::UserId;
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::ticket::EventId;
use holdfast_core::ticket::admission::{AnnounceAdmission, QueueAdmission};
use holdfast_core::ticket::event::SetPaused;
use holdfast_engine::{Once, Refused};
use holdfast_waiting_room::Entry;
use http::{HeaderValue, StatusCode, header};

use super::event_id;
use super::queue_gate::{gate_with_queue, settings_changed};
use super::queue_view;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params};

/// Maximum number of retries to publish an admission: about a minute in all.
const ANNOUNCE_RETRIES_MAX: u32 = 15;
/// Backoff added per retry.
const ANNOUNCE_RETRY_AFTER: Duration = Duration::from_millis(500);

/// Joins the queue at its end. A user who is in the queue keeps the position.
#[utoipa::path(post, path = "/v1/events/{id}/queue", tag = "queue", request_body = holdfast_api::queue::QueueBody,
    params(EventPath, UserHeader, IdempotencyHeader),
    responses((status = 201, body = PlaceView), (status = 200, body = PlaceView, description = "The same place as before."),
        (status = 404, description = "`EVENT_NOT_FOUND`"), (status = 409, description = "`QUEUE_DISABLED`"),
        (status = 429, description = "`OVERLOADED`")))]
pub async fn join(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let (id, user) = (event_id(&id)?, caller.acting_for(request.named_user()?)?);
    let joined = app.once(&caller, &request, async {
        let queue_gate = gate_with_queue(&app, id).await?;
        let joined = app.room().join(queue_gate.room, &queue_gate.settings, &user).await?;
        app.stream().activity().changed("queue.join");
        let status = if joined.new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(Reply::json(status, &queue_view::place(&joined.view, queue_gate.event.remaining)))
    });
    joined.await.map(not_stored)
}

/// Returns the queue position of a user. Keeps the position of a waiting user, and renews the entry of an admitted one.
#[utoipa::path(get, path = "/v1/events/{id}/queue", tag = "queue",
    params(EventPath, UserQuery, UserHeader),
    responses((status = 200, body = PlaceView), (status = 404, description = "`EVENT_NOT_FOUND`, `NOT_IN_QUEUE`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn poll(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, user) = (event_id(&id)?, caller.acting_for(params.user()?)?);
    let place = place(&app, id, &user).await?;
    Ok(not_stored(Reply::json(StatusCode::OK, &place).into_response()))
}

/// Enters, if it is the user's turn.
#[utoipa::path(post, path = "/v1/events/{id}/queue/enter", tag = "queue", request_body = holdfast_api::queue::QueueBody,
    params(EventPath, UserHeader, IdempotencyHeader),
    responses((status = 200, body = EntryView), (status = 404, description = "`EVENT_NOT_FOUND`, `NOT_IN_QUEUE`"),
        (status = 409, description = "`NOT_YOUR_TURN` with `rank`, `QUEUE_DISABLED`")))]
pub async fn enter(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let (id, user) = (event_id(&id)?, caller.acting_for(request.named_user()?)?);
    let entered = app.once(&caller, &request, async {
        let queue_gate = gate_with_queue(&app, id).await?;
        let entered = app.room().enter(queue_gate.room, &queue_gate.settings, &user).await??;
        announce(&app, id, &user, &entered.entry).await;
        Ok(Reply::json(StatusCode::OK, &queue_view::entry(&entered.entry)))
    });
    entered.await.map(not_stored)
}

/// Leaves the queue, or releases the entry. Succeeds without effect for a user who has neither.
#[utoipa::path(delete, path = "/v1/events/{id}/queue", tag = "queue",
    params(EventPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 204), (status = 404, description = "`EVENT_NOT_FOUND`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn leave(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let (id, user) = (event_id(&id)?, caller.acting_for(request.named_user()?)?);
    app.once(&caller, &request, async {
        let queue_gate = gate_with_queue(&app, id).await?;
        app.room().leave(queue_gate.room, &queue_gate.settings, &user).await?;
        app.stream().activity().changed("queue.leave");
        Ok(Reply::no_content())
    })
    .await
}

/// Stops admissions. Entries stay valid, and users can still join and poll. Admins only.
#[utoipa::path(post, path = "/v1/events/{id}/queue/pause", tag = "queue",
    params(EventPath, IdempotencyHeader),
    responses((status = 200, body = EventView), (status = 404, description = "`EVENT_NOT_FOUND`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn pause(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    set_paused(&app, caller, &id, &request, true).await
}

/// Resumes admissions. Admins only.
#[utoipa::path(post, path = "/v1/events/{id}/queue/resume", tag = "queue",
    params(EventPath, IdempotencyHeader),
    responses((status = 200, body = EventView), (status = 404, description = "`EVENT_NOT_FOUND`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn resume(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    set_paused(&app, caller, &id, &request, false).await
}

/// Returns the numbers of waiting, ready and admitted users. Admins only.
#[utoipa::path(get, path = "/v1/events/{id}/queue/stats", tag = "queue",
    params(EventPath),
    responses((status = 200, body = StatsView), (status = 404, description = "`EVENT_NOT_FOUND`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn stats(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let queue_gate = gate_with_queue(&app, event_id(&id)?).await?;
    let stats = app.room().stats(queue_gate.room, &queue_gate.settings).await?;
    Ok(not_stored(Reply::json(StatusCode::OK, &queue_view::stats(&stats)).into_response()))
}

/// Polls the queue for a user, and returns the position.
pub(super) async fn place(app: &App, id: EventId, user: &UserId) -> Result<PlaceView, Problem> {
    let queue_gate = gate_with_queue(app, id).await?;
    let view = app.room().poll(queue_gate.room, &queue_gate.settings, user).await??;
    Ok(queue_view::place(&view, queue_gate.event.remaining))
}

async fn set_paused(
    app: &App,
    caller: Caller,
    id: &str,
    request: &Mutation,
    paused: bool,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let event = event_id(id)?;
    gate_with_queue(app, event).await?;
    let command = SetPaused { event, paused };
    let response =
        app.run(&caller, request, command, |event| Reply::json(StatusCode::OK, &EventView::new(event))).await?;
    settings_changed(app, event).await;
    Ok(response)
}

/// Publishes an admission, once per entry, even if a server crashes and the call is repeated. The user has entered, so
/// an unavailable store does not fail the request: the event follows later.
async fn announce(app: &App, event: EventId, user: &UserId, entry: &Entry) {
    let Err(error) = try_announce(app, event, user, entry).await else { return };
    tracing::warn!(%event, %user, %error, "queue.admitted could not be published; it is retried");
    let (publishing, user, entry) = (app.clone(), user.clone(), entry.clone());
    app.spawn(async move {
        let app = publishing;
        for attempt in 1..=ANNOUNCE_RETRIES_MAX {
            tokio::select! {
                () = app.stopped() => return,
                () = tokio::time::sleep(ANNOUNCE_RETRY_AFTER * attempt) => {}
            }
            if try_announce(&app, event, &user, &entry).await.is_ok() {
                return;
            }
        }
        tracing::error!(%event, %user, "queue.admitted was not published; a repeated enter call publishes it");
    });
}

async fn try_announce(app: &App, event: EventId, user: &UserId, entry: &Entry) -> Result<(), Refused> {
    let Entry { id, entered_at, expires_at, .. } = *entry;
    let key = uuid::Uuid::from_bytes(id).to_string();
    let receipt = IdempotencyRecordId { caller: "queue".into(), key };
    let admission = QueueAdmission { event, user: user.clone(), entry: id, entered_at, expires_at };
    let once = Once { id: receipt, fingerprint: [0; 32], render: Box::new(|()| Some(Vec::new())) };
    app.engine().run(AnnounceAdmission(admission), Some(once)).await?;
    Ok(())
}

/// Forbids proxies and clients to cache the response.
pub(super) fn not_stored(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
