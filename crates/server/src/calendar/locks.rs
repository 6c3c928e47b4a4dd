//! Locks on slots.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::calendar::lock::{LockView, NewLockBody, RoomReservationView};
use holdfast_api::calendar::slot::starts;
use holdfast_api::params::{IdempotencyHeader, LockPath, RoomPath, UserHeader, UserQuery};
use holdfast_core::Fault;
use holdfast_core::calendar::lock::LockSlots;
use holdfast_core::calendar::{ConfirmLock, ReleaseLock};
use holdfast_core::hold::{self, HOLD_TTL_MAX, Origin};
use holdfast_core::id::HoldId;
use holdfast_core::time::Span;
use holdfast_core::{Context, WorkingSet};
use http::StatusCode;
use uuid::Uuid;

use super::room_id;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params};

/// Locks slots, all or none. Locks of the same user on any of them are replaced as a whole.
#[utoipa::path(post, path = "/v1/rooms/{id}/locks", tag = "calendar", request_body = NewLockBody,
    params(RoomPath, UserHeader, IdempotencyHeader),
    responses((status = 201, body = LockView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`"),
        (status = 409, description = "`SLOT_NOT_AVAILABLE`, `LOCK_TIMEOUT`"),
        (status = 429, description = "`TOO_MANY_HOLDS`, `OVERLOADED`")))]
pub async fn place(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let room = room_id(&id)?;
    let body: NewLockBody = request.json()?;
    let user = caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?;
    let slots = starts(body.date.as_ref(), body.times.as_ref(), body.slots.as_ref())?;
    // Clamped to avoid overflow. The command applies the configured maximum.
    let ttl = body.ttl_seconds.map(|seconds| Span::from_secs(seconds.clamp(0, HOLD_TTL_MAX.as_millis() / 1_000)));
    let command = LockSlots { random: app.ids().random(), room, user, slots, ttl };
    app.run(&caller, &request, command, |lock| Reply::json(StatusCode::CREATED, &LockView::placed(lock))).await
}

/// Returns a lock, even after it has ended.
#[utoipa::path(get, path = "/v1/locks/{lockId}", tag = "calendar",
    params(LockPath, UserQuery, UserHeader),
    responses((status = 200, body = LockView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`LOCK_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(LockPath { lock_id: id }): Path<LockPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (lock_id(&id)?, caller.actor(params.user()?)?);
    let find = |rows: &mut WorkingSet, at: &Context<'_>| {
        hold::find(rows, id, &actor, Origin::Lock).map(|lock| LockView::new(&lock, at.now))
    };
    let view = app.query(find).await?;
    Ok(Reply::json(StatusCode::OK, &view).into_response())
}

/// Confirms a live lock: creates its reservation.
#[utoipa::path(post, path = "/v1/locks/{lockId}/confirm", tag = "calendar",
    params(LockPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 201, body = RoomReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 409, description = "`SLOT_NOT_LOCKED`, with the `reservationId` made before")))]
pub async fn confirm(
    State(app): State<App>,
    caller: Caller,
    Path(LockPath { lock_id: id }): Path<LockPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = ConfirmLock::new(lock_id(&id)?, caller.actor(request.named_user()?)?);
    app.run(&caller, &request, command, |reservation| {
        Reply::json(StatusCode::CREATED, &RoomReservationView::new(reservation))
    })
    .await
}

/// Releases a live lock.
#[utoipa::path(delete, path = "/v1/locks/{lockId}", tag = "calendar",
    params(LockPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 204), (status = 403, description = "`FORBIDDEN`"),
        (status = 409, description = "`SLOT_NOT_LOCKED`")))]
pub async fn release(
    State(app): State<App>,
    caller: Caller,
    Path(LockPath { lock_id: id }): Path<LockPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = ReleaseLock::new(lock_id(&id)?, caller.actor(request.named_user()?)?);
    app.run(&caller, &request, command, |()| Reply::no_content()).await
}

fn lock_id(text: &str) -> Result<HoldId, Problem> {
    let parsed = if text.len() == 36 { Uuid::try_parse(text).ok() } else { None };
    parsed.map(HoldId).ok_or_else(|| Problem::invalid("lockId", &Fault::Malformed))
}
