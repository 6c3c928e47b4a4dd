//! When rooms are open, and which days are holidays.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_core::Fault;
use holdfast_core::calendar::holiday::{self, SetHolidays};
use holdfast_core::calendar::hours;
use holdfast_core::calendar::rebuild::SetOperatingHours;
use holdfast_core::calendar::{Country, HolidaysOf};
use http::StatusCode;
use jiff::civil::Date;

use super::{room_id, work};
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, parse_date};
use crate::wire::calendar::room::{HolidaysBody, HolidaysView, HoursBody, HoursView};

/// Give a room its hours. Coming slots are rebuilt from tomorrow on; those in use stay. The first slots of a room are made
/// by `POST /v1/calendar/generate`, or by themselves within a minute. Admins only.
#[utoipa::path(put, path = "/v1/rooms/{id}/operating-hours", tag = "calendar", request_body = HoursBody,
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = HoursView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let room = room_id(&id)?;
    let (weekly, exceptions) = request.json::<HoursBody>()?.read()?;
    let working = async {
        let (hours, affected) = work::set_hours(&app, SetOperatingHours { room, weekly, exceptions }).await?;
        Ok(Reply::json(StatusCode::OK, &HoursView::set(room, &hours, affected)))
    };
    app.once(caller, &request, working).await
}

/// The hours of a room.
#[utoipa::path(get, path = "/v1/rooms/{id}/operating-hours", tag = "calendar",
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64)),
    responses((status = 200, body = HoursView), (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn get(State(app): State<App>, _caller: Caller, Path(id): Path<String>) -> Result<Response, Problem> {
    let room = room_id(&id)?;
    let hours = app.query(|rows, _| hours::of_room(rows, room)).await?;
    Ok(Reply::json(StatusCode::OK, &HoursView::new(room, &hours)).into_response())
}

/// Say which days are holidays in a country. Counts for slots made from then on. Admins only.
#[utoipa::path(put, path = "/v1/holidays", tag = "calendar", request_body = HolidaysBody,
    params(("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = HolidaysView), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn put_holidays(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: HolidaysBody = request.json()?;
    let country = country(body.country.as_deref())?;
    if body.dates.len() > 2 * holiday::HOLIDAYS_MAX {
        return Err(Problem::invalid("dates", &Fault::TooManyItems { max: holiday::HOLIDAYS_MAX }));
    }
    let dates: Result<Vec<Date>, _> = body.dates.iter().map(|date| parse_date("dates", date)).collect();
    let command = SetHolidays { country, dates: dates? };
    app.run(caller, &request, command, move |dates| {
        Reply::json(StatusCode::OK, &HolidaysView::new(country.as_str(), dates))
    })
    .await
}

/// The holidays of a country.
#[utoipa::path(get, path = "/v1/holidays", tag = "calendar",
    params(("country" = Option<String>, Query, description = "ISO 3166; `KR` if left out.")),
    responses((status = 200, body = HolidaysView), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn get_holidays(State(app): State<App>, _caller: Caller, params: Params) -> Result<Response, Problem> {
    let country = country(params.text("country"))?;
    let dates = app.query(|rows, _| Ok(holiday::within(rows, &HolidaysOf::all(country))?)).await?;
    Ok(Reply::json(StatusCode::OK, &HolidaysView::new(country.as_str(), &dates)).into_response())
}

fn country(code: Option<&str>) -> Result<Country, Problem> {
    let parsed = code.map_or(Some(Country::KR), Country::parse);
    parsed.ok_or_else(|| Problem::invalid("country", &Fault::UnknownCountry))
}
