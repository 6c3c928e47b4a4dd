//! Room types and their availability.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{AvailabilityQuery, IdempotencyHeader, ListParams, RoomTypePath};
use holdfast_api::parse::{parse_date, required_date};
use holdfast_api::stay::{
    AvailabilityView, NewRoomTypeBody, NightRangeBody, NightsClosedView, RoomTypeChangeBody, RoomTypeView,
};
use holdfast_core::stay::availability::availability;
use holdfast_core::stay::room_type::{self, ChangeRoomType, CreateRoomType, RoomTypeDraft, SetNightsClosed};
use holdfast_core::stay::{RoomType, RoomTypeId};
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_id};

/// Creates a room type. Admins only.
#[utoipa::path(post, path = "/v1/room-types", tag = "stays", request_body = NewRoomTypeBody,
    params(IdempotencyHeader),
    responses((status = 201, body = RoomTypeView), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewRoomTypeBody = request.json()?;
    let draft = RoomTypeDraft {
        name: Some(body.name),
        description: body.description.map(Some),
        total_quantity: Some(body.total_quantity),
        base_price: Some(body.base_price),
        currency: body.currency,
        time_zone: body.time_zone,
    };
    app.run(&caller, &request, CreateRoomType(draft), |room_type| {
        Reply::json(StatusCode::CREATED, &RoomTypeView::new(room_type))
    })
    .await
}

/// Lists all room types.
#[utoipa::path(get, path = "/v1/room-types", tag = "stays",
    params(ListParams),
    responses((status = 200, body = List<RoomTypeView>)))]
pub async fn list(State(app): State<App>, _caller: Caller, params: Params) -> Result<Response, Problem> {
    let page = page(&params, RoomTypeId::new)?;
    let room_types = app.list::<RoomType>(page.of::<RoomType>()).await?;
    Ok(axum::Json(List::new(room_types, &page, |it| it.id.get(), RoomTypeView::new)).into_response())
}

/// Returns a room type.
#[utoipa::path(get, path = "/v1/room-types/{id}", tag = "stays",
    params(RoomTypePath),
    responses((status = 200, body = RoomTypeView), (status = 404, description = "`ROOM_TYPE_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    _caller: Caller,
    Path(RoomTypePath { id }): Path<RoomTypePath>,
) -> Result<Response, Problem> {
    let id = room_type_id(&id)?;
    let room_type = app.query(|rows, _| room_type::find(rows, id)).await?;
    Ok(axum::Json(RoomTypeView::new(&room_type)).into_response())
}

/// Changes a room type. Admins only.
#[utoipa::path(patch, path = "/v1/room-types/{id}", tag = "stays", request_body = RoomTypeChangeBody,
    params(RoomTypePath, IdempotencyHeader),
    responses((status = 200, body = RoomTypeView), (status = 404, description = "`ROOM_TYPE_NOT_FOUND`"),
        (status = 409, description = "`CAPACITY_IN_USE`")))]
pub async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(RoomTypePath { id }): Path<RoomTypePath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: RoomTypeChangeBody = request.json()?;
    let draft = RoomTypeDraft {
        name: body.name,
        description: body.description,
        total_quantity: body.total_quantity,
        base_price: body.base_price,
        currency: body.currency,
        time_zone: body.time_zone,
    };
    let command = ChangeRoomType { id: room_type_id(&id)?, draft };
    app.run(&caller, &request, command, |room_type| Reply::json(StatusCode::OK, &RoomTypeView::new(room_type))).await
}

/// Closes nights for sale. Holds and reservations stay valid. Admins only.
#[utoipa::path(post, path = "/v1/room-types/{id}/close-nights", tag = "stays", request_body = NightRangeBody,
    params(RoomTypePath, IdempotencyHeader),
    responses((status = 200, body = NightsClosedView), (status = 404, description = "`ROOM_TYPE_NOT_FOUND`")))]
pub async fn close_nights(
    State(app): State<App>,
    caller: Caller,
    Path(RoomTypePath { id }): Path<RoomTypePath>,
    request: Mutation,
) -> Result<Response, Problem> {
    set_nights_closed(app, caller, &id, &request, true).await
}

/// Opens closed nights for sale. Admins only.
#[utoipa::path(post, path = "/v1/room-types/{id}/open-nights", tag = "stays", request_body = NightRangeBody,
    params(RoomTypePath, IdempotencyHeader),
    responses((status = 200, body = NightsClosedView), (status = 404, description = "`ROOM_TYPE_NOT_FOUND`")))]
pub async fn open_nights(
    State(app): State<App>,
    caller: Caller,
    Path(RoomTypePath { id }): Path<RoomTypePath>,
    request: Mutation,
) -> Result<Response, Problem> {
    set_nights_closed(app, caller, &id, &request, false).await
}

async fn set_nights_closed(
    app: App,
    caller: Caller,
    id: &str,
    request: &Mutation,
    closed: bool,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NightRangeBody = request.json()?;
    let room_type = room_type_id(id)?;
    let (from, to) = (parse_date("from", &body.from)?, parse_date("to", &body.to)?);
    let command = SetNightsClosed { room_type, from, to, closed };
    app.run(&caller, request, command, move |dates| {
        Reply::json(StatusCode::OK, &NightsClosedView::new(room_type.get(), *dates, closed))
    })
    .await
}

/// Returns the availability per night.
#[utoipa::path(get, path = "/v1/room-types/{id}/availability", tag = "stays",
    params(RoomTypePath, AvailabilityQuery),
    responses((status = 200, body = AvailabilityView), (status = 404, description = "`ROOM_TYPE_NOT_FOUND`")))]
pub async fn get_availability(
    State(app): State<App>,
    _caller: Caller,
    Path(RoomTypePath { id }): Path<RoomTypePath>,
    params: Params,
) -> Result<Response, Problem> {
    let id = room_type_id(&id)?;
    let AvailabilityQuery { check_in, check_out } = params.read()?;
    let check_in = required_date("checkIn", check_in.as_deref())?;
    let check_out = required_date("checkOut", check_out.as_deref())?;
    let availability = app.query(|rows, at| availability(rows, at, id, check_in, check_out)).await?;
    Ok(Reply::json(StatusCode::OK, &AvailabilityView::new(&availability)).into_response())
}

fn room_type_id(text: &str) -> Result<RoomTypeId, Problem> {
    parse_id("id", text, RoomTypeId::new)
}
