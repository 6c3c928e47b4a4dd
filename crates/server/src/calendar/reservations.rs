//! Reservations of slots, made by confirming locks.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_core::calendar::reservation::{self, CancelRoomReservation};
use holdfast_core::calendar::{RoomId, RoomReservation, RoomReservationId};
use holdfast_core::schema::calendar::RoomReservationFilter;
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, parse_id};
use crate::wire::calendar::lock::RoomReservationView;
use crate::wire::list::{List, page};
use crate::wire::params::ListParams;

/// Returns a reservation of slots.
#[utoipa::path(get, path = "/v1/room-reservations/{id}", tag = "calendar",
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("X-User-Id" = Option<u64>, Header, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("userId" = Option<u64>, Query, minimum = 1, maximum = 9_007_199_254_740_991_u64)),
    responses((status = 200, body = RoomReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (reservation_id(&id)?, caller.actor(params.user()?)?);
    let reservation = app.query(|rows, _| reservation::find(rows, id, actor)).await?;
    Ok(Reply::json(StatusCode::OK, &RoomReservationView::new(&reservation)).into_response())
}

/// Lists reservations of slots, oldest first. A user sees only their own.
#[utoipa::path(get, path = "/v1/room-reservations", tag = "calendar",
    params(("userId" = Option<u64>, Query, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("roomId" = Option<u64>, Query, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ListParams,
        ("X-User-Id" = Option<u64>, Header, minimum = 1, maximum = 9_007_199_254_740_991_u64)),
    responses((status = 200, body = List<RoomReservationView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let filter =
        RoomReservationFilter { user: caller.listing(params.user()?)?, room: params.id("roomId", RoomId::new)? };
    let page = page(&params, RoomReservationId::new)?;
    let reservations = app.list::<RoomReservation>(page.list(|after, limit| filter.list(after, limit))).await?;
    Ok(axum::Json(List::new(reservations, &page, |it| it.id.get(), RoomReservationView::new)).into_response())
}

/// Cancels a reservation and frees its slots. Slots outside the current operating hours are deleted.
#[utoipa::path(post, path = "/v1/room-reservations/{id}/cancel", tag = "calendar",
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("X-User-Id" = Option<u64>, Header, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("userId" = Option<u64>, Query, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = RoomReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`"),
        (status = 409, description = "`RESERVATION_ALREADY_CANCELLED`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelRoomReservation { id: reservation_id(&id)?, actor: caller.actor(request.named_user()?)? };
    app.run(caller, &request, command, |reservation| {
        Reply::json(StatusCode::OK, &RoomReservationView::new(reservation))
    })
    .await
}

fn reservation_id(text: &str) -> Result<RoomReservationId, Problem> {
    parse_id("id", text, RoomReservationId::new)
}
