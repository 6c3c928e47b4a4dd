//! Blocking, unblocking and repricing of slots.

use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_api::calendar::slot::{BlockBody, RepriceBody, RepricedView, SlotView, UnblockBody, starts};
use holdfast_api::params::{IdempotencyHeader, RoomPath};
use holdfast_api::parse::parse_date;
use holdfast_core::Fault;
use holdfast_core::calendar::BlockStatus;
use holdfast_core::calendar::block::{BlockSlots, UnblockSlots};
use http::StatusCode;

use super::{room_id, work};
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::Mutation;

/// Takes slots off sale, all or none. Admins only.
#[utoipa::path(post, path = "/v1/rooms/{id}/block", tag = "calendar", request_body = BlockBody,
    params(RoomPath, IdempotencyHeader),
    responses((status = 200, body = Vec<SlotView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`, `SLOT_NOT_FOUND`"),
        (status = 409, description = "`SLOT_NOT_AVAILABLE`: locked or reserved")))]
pub async fn block(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let room = room_id(&id)?;
    let body: BlockBody = request.json()?;
    let status = match &*body.status {
        "BLOCKED" => BlockStatus::Blocked,
        "MAINTENANCE" => BlockStatus::Maintenance,
        _ => return Err(Problem::invalid("status", &Fault::UnknownValue)),
    };
    let slots = starts(body.date.as_ref(), body.times.as_ref(), body.slots.as_ref())?;
    let command = BlockSlots { random: app.ids().random(), room, slots, status };
    app.run(&caller, &request, command, |slots| Reply::json(StatusCode::OK, &SlotView::list(slots))).await
}

/// Puts slots back on sale, all or none. Slots outside the current operating hours are deleted. Admins only.
#[utoipa::path(post, path = "/v1/rooms/{id}/unblock", tag = "calendar", request_body = UnblockBody,
    params(RoomPath, IdempotencyHeader),
    responses((status = 200, body = Vec<SlotView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`, `SLOT_NOT_FOUND`"),
        (status = 409, description = "`SLOT_NOT_AVAILABLE`: locked or reserved")))]
pub async fn unblock(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let room = room_id(&id)?;
    let body: UnblockBody = request.json()?;
    let slots = starts(body.date.as_ref(), body.times.as_ref(), body.slots.as_ref())?;
    let command = UnblockSlots { room, slots };
    app.run(&caller, &request, command, |slots| Reply::json(StatusCode::OK, &SlotView::list(slots))).await
}

/// Reprices free slots by the current prices of the room. Admins only.
#[utoipa::path(post, path = "/v1/rooms/{id}/reprice", tag = "calendar", request_body = RepriceBody,
    params(RoomPath, IdempotencyHeader),
    responses((status = 200, body = RepricedView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn reprice(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let room = room_id(&id)?;
    let body: RepriceBody = request.json()?;
    let (from, to) = (parse_date("from", &body.from)?, parse_date("to", &body.to)?);
    let working = async {
        let slots_repriced = work::reprice(&app, room, from, to).await?;
        Ok(Reply::json(StatusCode::OK, &RepricedView { slots_repriced }))
    };
    app.once(&caller, &request, working).await
}
