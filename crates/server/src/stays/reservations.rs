//! Reservations, made by confirming holds.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{IdempotencyHeader, ListParams, ReservationPath, ReservationQuery, UserHeader, UserQuery};
use holdfast_api::stay::StayReservationView;
use holdfast_core::Fault;
use holdfast_core::schema::stay::StayReservationFilter;
use holdfast_core::stay::reservation::{self, CancelStayReservation};
use holdfast_core::stay::{RoomTypeId, StayReservation, StayReservationId};
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, optional_id, page, parse_id};

/// Returns a reservation.
#[utoipa::path(get, path = "/v1/reservations/{id}", tag = "stays",
    params(ReservationPath, UserQuery, UserHeader),
    responses((status = 200, body = StayReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(ReservationPath { id }): Path<ReservationPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (reservation_id(&id)?, caller.actor(params.user()?)?);
    let reservation = app.query(|rows, _| reservation::find(rows, id, &actor)).await?;
    Ok(Reply::json(StatusCode::OK, &StayReservationView::new(&reservation)).into_response())
}

/// Lists reservations, oldest first. A user sees only their own.
#[utoipa::path(get, path = "/v1/reservations", tag = "stays",
    params(ReservationQuery, ListParams, UserHeader),
    responses((status = 200, body = List<StayReservationView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let query: ReservationQuery = params.read()?;
    let filter = StayReservationFilter {
        user: caller.listing(params.user()?)?,
        room_type: optional_id("roomTypeId", query.room_type_id.as_deref(), RoomTypeId::new)?,
        confirmed: match query.status.as_deref() {
            None => None,
            Some("CONFIRMED") => Some(true),
            Some("CANCELLED") => Some(false),
            Some(_) => return Err(Problem::invalid("status", &Fault::UnknownValue)),
        },
    };
    let page = page(&params, StayReservationId::new)?;
    let reservations = app.list::<StayReservation>(page.list(|after, limit| filter.list(after, limit))).await?;
    Ok(axum::Json(List::new(reservations, &page, |it| it.id.get(), StayReservationView::new)).into_response())
}

/// Cancels a reservation and frees its nights. Possible until the day before check-in.
#[utoipa::path(post, path = "/v1/reservations/{id}/cancel", tag = "stays",
    params(ReservationPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 200, body = StayReservationView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_NOT_FOUND`"),
        (status = 409, description = "`RESERVATION_ALREADY_CANCELLED`, `RESERVATION_NOT_CANCELLABLE`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(ReservationPath { id }): Path<ReservationPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelStayReservation { id: reservation_id(&id)?, actor: caller.actor(request.named_user()?)? };
    app.run(&caller, &request, command, |reservation| {
        Reply::json(StatusCode::OK, &StayReservationView::new(reservation))
    })
    .await
}

fn reservation_id(text: &str) -> Result<StayReservationId, Problem> {
    parse_id("id", text, StayReservationId::new)
}
