//! Seats of an event: list, hold, reserve.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::params::{EventPath, IdempotencyHeader, UserHeader};
use holdfast_api::ticket::{BestSeatsBody, SeatHoldView, SeatReservationView, SeatView, SeatsBody};
use holdfast_core::Fault;
use holdfast_core::id::ID_MAX;
use holdfast_core::ticket::place::{HoldBest, HoldSeats};
use holdfast_core::ticket::reserve::ReserveSeats;
use holdfast_core::ticket::seat::seat_map;
use http::StatusCode;

use super::event_id;
use super::queue_gate::{SpentEntry, check_inside};
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::Mutation;

/// Lists all seats of an event with their state. Needs no queue entry.
#[utoipa::path(get, path = "/v1/events/{id}/seats", tag = "tickets",
    params(EventPath),
    responses((status = 200, body = Vec<SeatView>), (status = 404, description = "`EVENT_NOT_FOUND`")))]
pub async fn list(
    State(app): State<App>,
    _caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
) -> Result<Response, Problem> {
    let id = event_id(&id)?;
    let map = app.query(|rows, at| seat_map(rows, at, id)).await?;
    Ok(Reply::json(StatusCode::OK, &SeatView::all(&map)).into_response())
}

/// Holds seats, all or none, until payment. Replaces live holds of the same user on any of them.
#[utoipa::path(post, path = "/v1/events/{id}/seats/hold", tag = "tickets", request_body = SeatsBody,
    params(EventPath, UserHeader, IdempotencyHeader),
    responses((status = 201, body = SeatHoldView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`QUEUE_TOKEN_REQUIRED`, `FORBIDDEN`"),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SEAT_NOT_FOUND`"),
        (status = 409, description = "`SALES_NOT_OPEN`, `SOLD_OUT`, `SEAT_ALREADY_RESERVED`, `SEAT_HELD_BY_ANOTHER`, `SEAT_LIMIT_REACHED`, `LOCK_TIMEOUT`"),
        (status = 429, description = "`TOO_MANY_HOLDS`, `OVERLOADED`")))]
pub async fn hold(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let (event, body) = (event_id(&id)?, request.json::<SeatsBody>()?);
    let user = caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?;
    if let Some(replayed) = check_inside(&app, event, &user, &caller, &request, body.token.as_deref()).await? {
        return Ok(replayed);
    }
    let command = HoldSeats { random: app.ids().random(), event, user, seats: seat_numbers(body.seat_ids)? };
    app.run(&caller, &request, command, |hold| Reply::json(StatusCode::CREATED, &SeatHoldView::placed(hold))).await
}

/// Holds the best free seats: adjacent if possible, and preferably without leaving a single free seat.
#[utoipa::path(post, path = "/v1/events/{id}/seats/best", tag = "tickets", request_body = BestSeatsBody,
    params(EventPath, UserHeader, IdempotencyHeader),
    responses((status = 201, body = SeatHoldView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`QUEUE_TOKEN_REQUIRED`, `FORBIDDEN`"),
        (status = 404, description = "`EVENT_NOT_FOUND`"),
        (status = 409, description = "`SALES_NOT_OPEN`, `SOLD_OUT`, `NOT_ENOUGH_SEATS`, `SEAT_LIMIT_REACHED`, `LOCK_TIMEOUT`"),
        (status = 429, description = "`TOO_MANY_HOLDS`, `OVERLOADED`")))]
pub async fn best(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let (event, body) = (event_id(&id)?, request.json::<BestSeatsBody>()?);
    let user = caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?;
    if let Some(replayed) = check_inside(&app, event, &user, &caller, &request, body.token.as_deref()).await? {
        return Ok(replayed);
    }
    let random = app.ids().random();
    let command = HoldBest { random, event, user, count: body.count, section: body.section };
    app.run(&caller, &request, command, |hold| Reply::json(StatusCode::CREATED, &SeatHoldView::placed(hold))).await
}

/// Reserves seats in one step, all or none. Seats that the user holds may be among them. Releases the queue entry.
#[utoipa::path(post, path = "/v1/events/{id}/seats/reserve", tag = "tickets", request_body = SeatsBody,
    params(EventPath, UserHeader, IdempotencyHeader),
    responses((status = 201, body = SeatReservationView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`QUEUE_TOKEN_REQUIRED`, `FORBIDDEN`"),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SEAT_NOT_FOUND`"),
        (status = 409, description = "`SALES_NOT_OPEN`, `SOLD_OUT`, `SEAT_ALREADY_RESERVED`, `SEAT_HELD_BY_ANOTHER`, `SEAT_LIMIT_REACHED`, `LOCK_TIMEOUT`"),
        (status = 429, description = "`TOO_MANY_HOLDS`, `OVERLOADED`")))]
pub async fn reserve(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let (event, body) = (event_id(&id)?, request.json::<SeatsBody>()?);
    let user = caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?;
    let _spending = app.spending(event, user.clone()).await?;
    if let Some(replayed) = check_inside(&app, event, &user, &caller, &request, body.token.as_deref()).await? {
        return Ok(replayed);
    }
    let command = ReserveSeats { random: app.ids().random(), event, user, seats: seat_numbers(body.seat_ids)? };
    let spent_entry = SpentEntry::default();
    let response = app.run(&caller, &request, command, spent_entry.show()).await?;
    spent_entry.give_back(&app).await;
    Ok(response)
}

/// Checks that the numbers are in the range of ids. The rules check that they are seats of the event.
fn seat_numbers(numbers: Vec<u64>) -> Result<Vec<u64>, Problem> {
    if numbers.iter().all(|number| (1..=ID_MAX).contains(number)) {
        return Ok(numbers);
    }
    Err(Problem::invalid("seatIds", &Fault::OutOfRange { min: 1, max: ID_MAX as i64 }))
}
