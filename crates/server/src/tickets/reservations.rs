//! Reservations of seats.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{
    IdempotencyHeader, ListParams, SeatReservationPath, SeatReservationQuery, UserHeader, UserQuery,
};
use holdfast_api::ticket::SeatReservationView;
use holdfast_core::ticket::reservation::{self, CancelSeatReservation};
use holdfast_core::ticket::{EventId, SeatReservation, SeatReservationId};
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, optional_id, page, parse_id};

/// Returns a reservation.
#[utoipa::path(get, path = "/v1/seat-reservations/{id}", tag = "tickets",
    params(SeatReservationPath, UserQuery, UserHeader),
    responses((status = 200, body = SeatReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(SeatReservationPath { id }): Path<SeatReservationPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (reservation_id(&id)?, caller.actor(params.user()?)?);
    let reservation = app.query(|rows, _| reservation::find(rows, id, &actor)).await?;
    Ok(Reply::json(StatusCode::OK, &SeatReservationView::new(&reservation)).into_response())
}

/// Lists reservations of all events or of one. A user sees only their own; an admin sees all, or those of one user.
#[utoipa::path(get, path = "/v1/seat-reservations", tag = "tickets",
    params(SeatReservationQuery, ListParams, UserHeader),
    responses((status = 200, body = List<SeatReservationView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let user = caller.listing(params.user()?)?;
    let page = page(&params, SeatReservationId::new)?;
    let query: SeatReservationQuery = params.read()?;
    let event = optional_id("eventId", query.event_id.as_deref(), EventId::new)?;
    let list = page.list(|after, limit| holdfast_core::schema::ticket::reservations(user, event, after, limit));
    let found = app.list::<SeatReservation>(list).await?;
    let list = List::new(found, &page, |it| it.id.get(), SeatReservationView::new);
    Ok(Reply::json(StatusCode::OK, &list).into_response())
}

/// Cancels a reservation and frees its seats.
#[utoipa::path(post, path = "/v1/seat-reservations/{id}/cancel", tag = "tickets",
    params(SeatReservationPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 200, body = SeatReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`"),
        (status = 409, description = "`RESERVATION_ALREADY_CANCELLED`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(SeatReservationPath { id }): Path<SeatReservationPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelSeatReservation { id: reservation_id(&id)?, actor: caller.actor(request.named_user()?)? };
    app.run(&caller, &request, command, |reservation| {
        Reply::json(StatusCode::OK, &SeatReservationView::new(reservation))
    })
    .await
}

fn reservation_id(text: &str) -> Result<SeatReservationId, Problem> {
    parse_id("id", text, SeatReservationId::new)
}
