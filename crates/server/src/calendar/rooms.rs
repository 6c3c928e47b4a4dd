//! Rooms that are rented by the hour.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::calendar::room::{NewRoomBody, RoomChangeBody, RoomView};
use holdfast_api::list::List;
use holdfast_api::params::{IdempotencyHeader, ListParams, RoomPath};
use holdfast_core::calendar::room::{self, ChangeRoom, CreateRoom};
use holdfast_core::calendar::{Room, RoomId};
use http::StatusCode;

use super::room_id;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page};

/// Creates a room. It has no slots until its operating hours are set. Admins only.
#[utoipa::path(post, path = "/v1/rooms", tag = "calendar", request_body = NewRoomBody,
    params(IdempotencyHeader),
    responses((status = 201, body = RoomView), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = CreateRoom(request.json::<NewRoomBody>()?.draft()?);
    app.run(&caller, &request, command, |room| Reply::json(StatusCode::CREATED, &RoomView::new(room))).await
}

/// Lists all rooms.
#[utoipa::path(get, path = "/v1/rooms", tag = "calendar",
    params(ListParams),
    responses((status = 200, body = List<RoomView>)))]
pub async fn list(State(app): State<App>, _caller: Caller, params: Params) -> Result<Response, Problem> {
    let page = page(&params, RoomId::new)?;
    let rooms = app.list::<Room>(page.of::<Room>()).await?;
    Ok(axum::Json(List::new(rooms, &page, |it| it.id.get(), RoomView::new)).into_response())
}

/// Returns a room.
#[utoipa::path(get, path = "/v1/rooms/{id}", tag = "calendar",
    params(RoomPath),
    responses((status = 200, body = RoomView), (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    _caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
) -> Result<Response, Problem> {
    let id = room_id(&id)?;
    let room = app.query(|rows, _| room::find(rows, id)).await?;
    Ok(Reply::json(StatusCode::OK, &RoomView::new(&room)).into_response())
}

/// Changes a room. Slot settings apply to slots that are generated afterwards. Admins only.
#[utoipa::path(patch, path = "/v1/rooms/{id}", tag = "calendar", request_body = RoomChangeBody,
    params(RoomPath, IdempotencyHeader),
    responses((status = 200, body = RoomView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = ChangeRoom { id: room_id(&id)?, draft: request.json::<RoomChangeBody>()?.draft()? };
    app.run(&caller, &request, command, |room| Reply::json(StatusCode::OK, &RoomView::new(room))).await
}
