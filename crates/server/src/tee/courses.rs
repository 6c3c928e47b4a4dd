//! Courses and their slots.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{CoursePath, DateQuery, IdempotencyHeader, ListParams, TeeSlotPath};
use holdfast_api::parse::{parse_date, required_date};
use holdfast_api::tee::{CloseBody, CourseView, NewCourseBody, NewSlotBody, NewSlotsBody, SlotView};
use holdfast_core::Fault;
use holdfast_core::tee::course::CreateCourse;
use holdfast_core::tee::slot::{self, CloseSlot, CreateSlots, ReopenSlot, SlotDraft};
use holdfast_core::tee::{Course, CourseId, StartTime, TeeSlot, TeeSlotId};
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::forwarding;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_id};

/// Maximum time that the answer waits until the booking service knows new slots, so that they can be booked at once.
const SLOTS_KNOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval at which the booking service is asked.
const POLL_EVERY: Duration = Duration::from_millis(2);

/// Creates a course. Admins only.
#[utoipa::path(post, path = "/v1/courses", tag = "tee times", request_body = NewCourseBody,
    params(IdempotencyHeader),
    responses((status = 201, body = CourseView), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewCourseBody = request.json()?;
    let command = CreateCourse { name: body.name, time_zone: body.time_zone };
    app.run(&caller, &request, command, |course| Reply::json(StatusCode::CREATED, &CourseView::new(course))).await
}

/// Lists all courses.
#[utoipa::path(get, path = "/v1/courses", tag = "tee times",
    params(ListParams),
    responses((status = 200, body = List<CourseView>)))]
pub async fn list(State(app): State<App>, _caller: Caller, params: Params) -> Result<Response, Problem> {
    let page = page(&params, CourseId::new)?;
    let courses = app.list::<Course>(page.of::<Course>()).await?;
    Ok(axum::Json(List::new(courses, &page, |it| it.id.get(), CourseView::new)).into_response())
}

/// Creates slots, all or none: none if one of them exists already. Admins only.
#[utoipa::path(post, path = "/v1/courses/{id}/slots", tag = "tee times", request_body = NewSlotsBody,
    params(CoursePath, IdempotencyHeader),
    responses((status = 201, body = Vec<SlotView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`COURSE_NOT_FOUND`"), (status = 409, description = "`SLOT_EXISTS`")))]
pub async fn create_slots(
    State(app): State<App>,
    caller: Caller,
    Path(CoursePath { id }): Path<CoursePath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let course = course_id(&id)?;
    let body: NewSlotsBody = request.json()?;
    let slots: Vec<SlotDraft> = body.slots.into_iter().map(draft).collect::<Result<_, _>>()?;
    let reply = |slots: &Vec<TeeSlot>| {
        let views: Vec<_> = slots.iter().map(SlotView::new).collect();
        Reply::json(StatusCode::CREATED, &views).about(slots.iter().map(|slot| slot.id.get()))
    };
    let reply = app.run_for_reply(&caller, &request, CreateSlots { course, slots }, reply).await?;
    let made: Vec<_> = reply.records().iter().copied().filter_map(TeeSlotId::new).collect();
    tokio::time::timeout(SLOTS_KNOWN_TIMEOUT, until_known(&app, &made)).await.ok();
    Ok(reply.into_response())
}

/// Waits until the booking service knows the slots, or is unavailable.
async fn until_known(app: &App, slots: &[TeeSlotId]) {
    while let Ok(false) = forwarding::are_slots_known(app, slots).await {
        tokio::time::sleep(POLL_EVERY).await;
    }
}

/// Lists the slots of a day.
#[utoipa::path(get, path = "/v1/courses/{id}/slots", tag = "tee times",
    params(CoursePath, DateQuery),
    responses((status = 200, body = Vec<SlotView>), (status = 404, description = "`COURSE_NOT_FOUND`")))]
pub async fn slots(
    State(app): State<App>,
    _caller: Caller,
    Path(CoursePath { id }): Path<CoursePath>,
    params: Params,
) -> Result<Response, Problem> {
    let (course, date) = (course_id(&id)?, required_date("date", params.read::<DateQuery>()?.date.as_deref())?);
    let slots = app.query(|rows, _| slot::on_date(rows, course, date)).await?;
    Ok(views(&slots).into_response())
}

/// Returns a slot.
#[utoipa::path(get, path = "/v1/slots/{id}", tag = "tee times",
    params(TeeSlotPath),
    responses((status = 200, body = SlotView), (status = 404, description = "`SLOT_NOT_FOUND`")))]
pub async fn get_slot(
    State(app): State<App>,
    _caller: Caller,
    Path(TeeSlotPath { id }): Path<TeeSlotPath>,
) -> Result<Response, Problem> {
    let id = slot_id(&id)?;
    let slot = app.query(|rows, _| slot::find(rows, id)).await?;
    Ok(axum::Json(SlotView::new(&slot)).into_response())
}

/// Closes a slot for bookings. With `cancelBookings`, also cancels and refunds existing ones. Admins only.
#[utoipa::path(post, path = "/v1/slots/{id}/close", tag = "tee times", request_body = Option<CloseBody>,
    params(TeeSlotPath, IdempotencyHeader),
    responses((status = 200, body = SlotView), (status = 404, description = "`SLOT_NOT_FOUND`")))]
pub async fn close(
    State(app): State<App>,
    caller: Caller,
    Path(TeeSlotPath { id }): Path<TeeSlotPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: CloseBody = request.json_or_default()?;
    let command = CloseSlot { slot: slot_id(&id)?, cancel_bookings: body.cancel_bookings };
    app.run(&caller, &request, command, |slot| Reply::json(StatusCode::OK, &SlotView::new(slot))).await
}

/// Reopens a slot for bookings. Admins only.
#[utoipa::path(post, path = "/v1/slots/{id}/reopen", tag = "tee times",
    params(TeeSlotPath, IdempotencyHeader),
    responses((status = 200, body = SlotView), (status = 404, description = "`SLOT_NOT_FOUND`")))]
pub async fn reopen(
    State(app): State<App>,
    caller: Caller,
    Path(TeeSlotPath { id }): Path<TeeSlotPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = ReopenSlot { slot: slot_id(&id)? };
    app.run(&caller, &request, command, |slot| Reply::json(StatusCode::OK, &SlotView::new(slot))).await
}

fn draft(body: NewSlotBody) -> Result<SlotDraft, Problem> {
    let start = StartTime::parse(&body.start_time);
    Ok(SlotDraft {
        date: parse_date("date", &body.date)?,
        start: start.ok_or_else(|| Problem::invalid("startTime", &Fault::Malformed))?,
        max_players: body.max_players,
        price: body.price,
        currency: body.currency,
    })
}

fn views(slots: &[TeeSlot]) -> axum::Json<Vec<SlotView>> {
    axum::Json(slots.iter().map(SlotView::new).collect())
}

fn course_id(text: &str) -> Result<CourseId, Problem> {
    parse_id("id", text, CourseId::new)
}

fn slot_id(text: &str) -> Result<TeeSlotId, Problem> {
    parse_id("id", text, TeeSlotId::new)
}
