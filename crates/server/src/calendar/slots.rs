//! Slots, their availability, and sales statistics.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::calendar::slot::{AvailabilityView, SlotAvailabilityBody, SlotView, StatsView, starts};
use holdfast_api::params::{DateRangeQuery, RoomPath, SlotQuery, UserHeader};
use holdfast_api::parse::{parse_date, required_date};
use holdfast_core::Fault;
use holdfast_core::calendar::availability::availability;
use holdfast_core::calendar::local_time::DayRange;
use holdfast_core::calendar::{RANGE_DAYS_MAX, RoomReservation, RoomReservationId, slot, stats};
use holdfast_core::schema::calendar::sold;
use http::StatusCode;

use super::room_id;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params};

/// Reservations per page.
const RESERVATIONS_AT_ONCE: usize = 1_000;

/// Lists the slots of a day, or of the days `from` to `to`, both included: at most 92 days.
#[utoipa::path(get, path = "/v1/rooms/{id}/slots", tag = "calendar",
    params(RoomPath, SlotQuery),
    responses((status = 200, body = Vec<SlotView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn list(
    State(app): State<App>,
    _caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    params: Params,
) -> Result<Response, Problem> {
    let room = room_id(&id)?;
    let SlotQuery { date, from, to } = params.read()?;
    let (from, to) = match (date, from, to) {
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => return Err(Problem::invalid("date", &Fault::UnknownValue)),
        (Some(date), None, None) => (parse_date("date", &date)?, parse_date("date", &date)?),
        (None, None, None) => return Err(Problem::invalid("date", &Fault::Missing)),
        (None, from, to) => (required_date("from", from.as_deref())?, required_date("to", to.as_deref())?),
    };
    let ids = app.query(|rows, _| slot::ids(rows, room, from, to)).await?;
    let slots = app.query(|rows, at| slot::views(rows, at, room, &ids)).await?;
    Ok(Reply::json(StatusCode::OK, &SlotView::list(&slots)).into_response())
}

/// Returns whether slots can be locked. Locks of the user in the request do not count.
#[utoipa::path(post, path = "/v1/rooms/{id}/availability", tag = "calendar", request_body = SlotAvailabilityBody,
    params(RoomPath, UserHeader),
    responses((status = 200, body = AvailabilityView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn check_availability(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let room = room_id(&id)?;
    let body: SlotAvailabilityBody = request.json()?;
    let user = caller.listing(request.params.user_or(body.user_id.as_ref())?)?;
    let starts = starts(body.date.as_ref(), body.times.as_ref(), body.slots.as_ref())?;
    let availability = app.query(|rows, at| availability(rows, at, room, user.as_ref(), &starts)).await?;
    Ok(Reply::json(StatusCode::OK, &AvailabilityView::new(&availability)).into_response())
}

/// Returns sales statistics of a room for a range of days, both included: at most 366 days. Admins only.
#[utoipa::path(get, path = "/v1/rooms/{id}/stats", tag = "calendar",
    params(RoomPath, DateRangeQuery),
    responses((status = 200, body = StatsView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn get_stats(
    State(app): State<App>,
    caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    params: Params,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let room = room_id(&id)?;
    let DateRangeQuery { from, to } = params.read()?;
    let (from, to) = (required_date("from", from.as_deref())?, required_date("to", to.as_deref())?);
    let days = DayRange::new(from, to, RANGE_DAYS_MAX)?;
    let mut reservations: Vec<RoomReservation> = Vec::new();
    loop {
        let after: Option<RoomReservationId> = reservations.last().map(|last| last.id);
        let list = sold(room, days.first, days.last, after, RESERVATIONS_AT_ONCE);
        let page = app.list::<RoomReservation>(list).await?;
        let is_last = page.len() < RESERVATIONS_AT_ONCE;
        reservations.extend(page);
        if is_last {
            break;
        }
    }
    let stats = app.query(|rows, at| stats::stats(rows, at, room, from, to, &reservations)).await?;
    Ok(Reply::json(StatusCode::OK, &StatsView::new(&stats)).into_response())
}
