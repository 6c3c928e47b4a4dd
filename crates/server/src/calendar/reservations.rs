//! Reservations of slots, made by confirming locks.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::calendar::lock::RoomReservationView;
use holdfast_api::list::List;
use holdfast_api::params::{
    IdempotencyHeader, ListParams, RoomReservationPath, RoomReservationQuery, UserHeader, UserQuery,
};
use holdfast_core::calendar::reservation::{self, CancelRoomReservation};
use holdfast_core::calendar::{RoomId, RoomReservation, RoomReservationId};
use holdfast_core::schema::calendar::RoomReservationFilter;
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, optional_id, page, parse_id};

/// Returns a reservation of slots.
#[utoipa::path(get, path = "/v1/room-reservations/{id}", tag = "calendar",
    params(RoomReservationPath, UserQuery, UserHeader),
    responses((status = 200, body = RoomReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(RoomReservationPath { id }): Path<RoomReservationPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (reservation_id(&id)?, caller.actor(params.user()?)?);
    let reservation = app.query(|rows, _| reservation::find(rows, id, &actor)).await?;
    Ok(Reply::json(StatusCode::OK, &RoomReservationView::new(&reservation)).into_response())
}

/// Lists reservations of slots. A user sees only their own.
#[utoipa::path(get, path = "/v1/room-reservations", tag = "calendar",
    params(RoomReservationQuery, ListParams, UserHeader),
    responses((status = 200, body = List<RoomReservationView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let query: RoomReservationQuery = params.read()?;
    let room = optional_id("roomId", query.room_id.as_deref(), RoomId::new)?;
    let filter = RoomReservationFilter { user: caller.listing(params.user()?)?, room };
    let page = page(&params, RoomReservationId::new)?;
    let reservations = app.list::<RoomReservation>(page.list(|after, limit| filter.list(after, limit))).await?;
    Ok(axum::Json(List::new(reservations, &page, |it| it.id.get(), RoomReservationView::new)).into_response())
}

/// Cancels a reservation and frees its slots. Slots outside the current operating hours are deleted.
#[utoipa::path(post, path = "/v1/room-reservations/{id}/cancel", tag = "calendar",
    params(RoomReservationPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 200, body = RoomReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`"),
        (status = 409, description = "`RESERVATION_ALREADY_CANCELLED`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(RoomReservationPath { id }): Path<RoomReservationPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelRoomReservation { id: reservation_id(&id)?, actor: caller.actor(request.named_user()?)? };
    app.run(&caller, &request, command, |reservation| {
        Reply::json(StatusCode::OK, &RoomReservationView::new(reservation))
    })
    .await
}

fn reservation_id(text: &str) -> Result<RoomReservationId, Problem> {
    parse_id("id", text, RoomReservationId::new)
}
