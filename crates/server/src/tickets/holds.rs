//! Holds on seats: read, confirm, cancel.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::params::{IdempotencyHeader, SeatHoldPath, UserHeader, UserQuery};
use holdfast_api::ticket::{SeatHoldView, SeatReservationView};
use holdfast_core::hold::{self, Origin};
use holdfast_core::ticket::{CancelSeatHold, ConfirmSeatHold};
use holdfast_core::{Context, WorkingSet};
use http::StatusCode;

use super::queue_gate::SpentEntry;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, hold_id};

/// Returns a hold, even after it has ended.
#[utoipa::path(get, path = "/v1/seat-holds/{holdId}", tag = "tickets",
    params(SeatHoldPath, UserQuery, UserHeader),
    responses((status = 200, body = SeatHoldView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`SEAT_HOLD_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(SeatHoldPath { hold_id: id }): Path<SeatHoldPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (hold_id(&id)?, caller.actor(params.user()?)?);
    let find = |rows: &mut WorkingSet, at: &Context<'_>| {
        hold::find(rows, id, &actor, Origin::Seats).map(|hold| SeatHoldView::new(&hold, at.now))
    };
    let view = app.query(find).await?;
    Ok(Reply::json(StatusCode::OK, &view).into_response())
}

/// Confirms a live hold: creates its reservation, even if the queue entry has expired. Releases the entry.
#[utoipa::path(post, path = "/v1/seat-holds/{holdId}/confirm", tag = "tickets",
    params(SeatHoldPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 201, body = SeatReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`SEAT_HOLD_NOT_FOUND`"),
        (status = 409, description = "`SEAT_HOLD_EXPIRED`, or `SEAT_HOLD_ALREADY_PROCESSED` with the `reservationId` made before")))]
pub async fn confirm(
    State(app): State<App>,
    caller: Caller,
    Path(SeatHoldPath { hold_id: id }): Path<SeatHoldPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = ConfirmSeatHold::new(hold_id(&id)?, caller.actor(request.named_user()?)?);
    let spent_entry = SpentEntry::default();
    let response = app.run(&caller, &request, command, spent_entry.show()).await?;
    spent_entry.give_back(&app).await;
    Ok(response)
}

/// Cancels a live hold.
#[utoipa::path(delete, path = "/v1/seat-holds/{holdId}", tag = "tickets",
    params(SeatHoldPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 204), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`SEAT_HOLD_NOT_FOUND`"),
        (status = 409, description = "`SEAT_HOLD_EXPIRED`, `SEAT_HOLD_ALREADY_PROCESSED`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(SeatHoldPath { hold_id: id }): Path<SeatHoldPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelSeatHold::new(hold_id(&id)?, caller.actor(request.named_user()?)?);
    app.run(&caller, &request, command, |()| Reply::no_content()).await
}
