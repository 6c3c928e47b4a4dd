//! Bookings and notifications of users.

use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{
    BookingPath, BookingQuery, IdempotencyHeader, ListParams, PreferHeader, UserHeader, UserQuery,
};
use holdfast_api::tee::{BookingView, CancelBody, NewBookingBody, NotificationView, RefundView};
use holdfast_core::id::UserId;
use holdfast_core::schema::tee;
use holdfast_core::tee::attendance::{CompleteBooking, NoShowBooking};
use holdfast_core::tee::booking;
use holdfast_core::tee::cancel::{self, CancelBooking};
use holdfast_core::tee::create::{BookingCreated, CreateBooking};
use holdfast_core::tee::{
    Booking, BookingId, BookingNumber, BookingStatus, By, IdempotencyKey, Notification, NotificationId, TeeSlotId,
};
use holdfast_core::{Actor, Fault};
use holdfast_events::inbox::log;
use http::{HeaderMap, StatusCode};

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, id, page, parse_id};

/// Maximum time that a request waits until a booking is settled.
const WAIT_MAX: Duration = Duration::from_secs(4);
/// Interval at which the status of a booking is read, because another server may change it.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// Books places in a slot. The booking is `PENDING` in the answer, and is confirmed or fails asynchronously. With
/// `Prefer: wait=2` the answer waits for that, at most this number of seconds.
#[utoipa::path(post, path = "/bookings", tag = "tee times", request_body = NewBookingBody,
    params(UserHeader, PreferHeader, IdempotencyHeader),
    responses((status = 202, body = BookingView), (status = 200, body = BookingView, description = "Made before, under the same key"),
        (status = 400, description = "`INVALID_INPUT`"), (status = 404, description = "`SLOT_NOT_FOUND`"),
        (status = 422, description = "`IDEMPOTENCY_KEY_REUSED`")))]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    request: Mutation,
) -> Result<Response, Problem> {
    let began = Instant::now();
    let body: NewBookingBody = request.json()?;
    let command = CreateBooking {
        user: caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?,
        key: IdempotencyKey::parse("idempotencyKey", &body.idempotency_key)?,
        slot: id("gameTimeSlotId", body.game_time_slot_id, TeeSlotId::new)?,
        players: body.player_count,
    };
    let reply = |made: &BookingCreated| {
        let status = if made.is_new { StatusCode::ACCEPTED } else { StatusCode::OK };
        Reply::json(status, &BookingView::new(&made.booking)).about([made.booking.id.get()])
    };
    let (reply, made) = app.run_with_outcome(&caller, &request, command, reply).await?;
    // A replayed booking is not looked up by its own key, which may belong to another booking by now.
    let Some(id) = reply.records().first().copied().and_then(BookingId::new) else { return Ok(reply.into_response()) };
    let request_id = headers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    log::created(request_id, id, &BookingNumber(id).to_string(), made.is_some_and(|made| made.is_new));
    let wait = wait_asked_for(&headers).min(WAIT_MAX.saturating_sub(began.elapsed()));
    Ok(match settled(&app, id, wait).await {
        Some(booking) => reply.with_json(&BookingView::new(&booking)).into_response(),
        None => reply.into_response(),
    })
}

/// Whether this service knows all these slots.
pub async fn are_slots_known(app: &App, slots: &[TeeSlotId]) -> Result<bool, Problem> {
    app.query(|rows, _| {
        for slot in slots {
            rows.tee.slot_replicas.request(slot);
        }
        let mut are_known = true;
        for slot in slots {
            are_known &= rows.tee.slot_replicas.get(slot)?.is_some();
        }
        Ok(are_known)
    })
    .await
}

/// Waits until a booking is settled or the time is over, and returns it as last read. `None` if it could not be read:
/// the caller then gets the committed answer.
async fn settled(app: &App, id: BookingId, within: Duration) -> Option<Booking> {
    if within.is_zero() {
        return None;
    }
    let mut committed = app.stream().committed();
    let mut last = None;
    let looking = async {
        loop {
            match app.query(|rows, _| booking::find_for(rows, id, &Actor::Admin)).await {
                Ok(booking) => {
                    let is_settled = BookingView::is_settled(&booking);
                    last = Some(booking);
                    if is_settled {
                        return;
                    }
                }
                Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
                    tracing::debug!(
                        bookingId = id.get(),
                        code = problem.code.as_str(),
                        "a booking could not be read; the read is repeated"
                    );
                }
                Err(_) => return,
            }
            tokio::select! {
                _ = committed.changed() => {}
                // Another server may have settled it.
                () = tokio::time::sleep(POLL_EVERY) => {}
            }
        }
    };
    tokio::time::timeout(within, looking).await.ok();
    last
}

/// Parses `Prefer: wait=2` (RFC 7240); at most [`WAIT_MAX`].
fn wait_asked_for(headers: &HeaderMap) -> Duration {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut waits = preferences.flat_map(|value| value.split(',')).filter_map(|preference| {
        let seconds: f64 = preference.trim().strip_prefix("wait=")?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    });
    waits.next().unwrap_or_default().min(WAIT_MAX)
}

/// Returns a booking, with its history.
#[utoipa::path(get, path = "/bookings/{id}", tag = "tee times",
    params(BookingPath, UserQuery, UserHeader),
    responses((status = 200, body = BookingView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`BOOKING_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(BookingPath { id }): Path<BookingPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (booking_id(&id)?, actor(&caller, params.user()?)?);
    let view = app.query(|rows, _| booking::view(rows, id, &actor)).await?;
    Ok(axum::Json(BookingView::with_history(&view)).into_response())
}

/// Lists bookings with their histories. A user sees only their own; an admin sees all, or those of one user.
#[utoipa::path(get, path = "/bookings", tag = "tee times",
    params(BookingQuery, ListParams, UserHeader),
    responses((status = 200, body = List<BookingView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let user = caller.listing(params.user()?)?;
    let query: BookingQuery = params.read()?;
    let status = query
        .status
        .map(|text| BookingStatus::parse(&text).ok_or_else(|| Problem::invalid("status", &Fault::UnknownValue)));
    let (status, page) = (status.transpose()?, page(&params, BookingId::new)?);
    let list = page.list(|after, limit| tee::bookings(user.as_ref(), status, after, limit));
    let bookings = app.list::<Booking>(list).await?;
    let views = app.query(|rows, _| booking::with_history(rows, &bookings)).await?;
    Ok(axum::Json(List::new(views, &page, |it| it.booking.id.get(), BookingView::with_history)).into_response())
}

/// Cancels a booking. The refund depends on the time left and on the kind of caller.
#[utoipa::path(post, path = "/bookings/{id}/cancel", tag = "tee times", request_body = Option<CancelBody>,
    params(BookingPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 200, body = BookingView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`BOOKING_NOT_FOUND`"), (status = 409, description = "`BOOKING_NOT_CANCELLABLE`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(BookingPath { id }): Path<BookingPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let body: CancelBody = request.json_or_default()?;
    let by = by(&caller, request.named_user()?)?;
    let command = CancelBooking { id: booking_id(&id)?, by, reason: body.reason };
    app.run(&caller, &request, command, |booking| Reply::json(StatusCode::OK, &BookingView::new(booking))).await
}

/// Returns the refund for a cancellation of the booking now.
#[utoipa::path(get, path = "/bookings/{id}/refund-quote", tag = "tee times",
    params(BookingPath, UserQuery, UserHeader),
    responses((status = 200, body = RefundView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`BOOKING_NOT_FOUND`"), (status = 409, description = "`BOOKING_NOT_CANCELLABLE`")))]
pub async fn quote(
    State(app): State<App>,
    caller: Caller,
    Path(BookingPath { id }): Path<BookingPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, by) = (booking_id(&id)?, by(&caller, params.user()?)?);
    let refund = app.query(|rows, at| cancel::quote(rows, at, id, &by)).await?;
    Ok(axum::Json(RefundView::new(&refund)).into_response())
}

/// Marks a booking as completed: the players came. Admins only.
#[utoipa::path(post, path = "/bookings/{id}/complete", tag = "tee times",
    params(BookingPath, IdempotencyHeader),
    responses((status = 200, body = BookingView), (status = 404, description = "`BOOKING_NOT_FOUND`"),
        (status = 409, description = "`INVALID_STATE_TRANSITION`")))]
pub async fn complete(
    State(app): State<App>,
    caller: Caller,
    Path(BookingPath { id }): Path<BookingPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = CompleteBooking { id: booking_id(&id)? };
    app.run(&caller, &request, command, |booking| Reply::json(StatusCode::OK, &BookingView::new(booking))).await
}

/// Marks a booking as a no-show: the players did not come. Admins only.
#[utoipa::path(post, path = "/bookings/{id}/no-show", tag = "tee times",
    params(BookingPath, IdempotencyHeader),
    responses((status = 200, body = BookingView), (status = 404, description = "`BOOKING_NOT_FOUND`"),
        (status = 409, description = "`INVALID_STATE_TRANSITION`")))]
pub async fn no_show(
    State(app): State<App>,
    caller: Caller,
    Path(BookingPath { id }): Path<BookingPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = NoShowBooking { id: booking_id(&id)? };
    app.run(&caller, &request, command, |booking| Reply::json(StatusCode::OK, &BookingView::new(booking))).await
}

/// Lists notifications about bookings. A user sees only their own; an admin sees all, or those of one user.
#[utoipa::path(get, path = "/v1/notifications", tag = "tee times",
    params(UserQuery, ListParams, UserHeader),
    responses((status = 200, body = List<NotificationView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn notifications(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let user = caller.listing(params.user()?)?;
    let page = page(&params, NotificationId::new)?;
    let published =
        app.list::<Notification>(page.list(|after, limit| tee::notifications(user.as_ref(), after, limit))).await?;
    Ok(axum::Json(List::new(published, &page, |it| it.id.get(), NotificationView::new)).into_response())
}

/// Returns the party that a booking action is attributed to: a user, or the operator. With auth off, a call without a
/// user is the operator's.
fn by(caller: &Caller, named: Option<UserId>) -> Result<By, Problem> {
    match (caller, named.clone()) {
        (Caller::User(_), _) => caller.acting_for(named).map(By::User),
        (Caller::Unnamed | Caller::Service(_), Some(user)) => Ok(By::User(user)),
        (Caller::Admin(_), _) | (Caller::Unnamed | Caller::Service(_), None) => Ok(By::Admin),
    }
}

fn actor(caller: &Caller, named: Option<UserId>) -> Result<Actor, Problem> {
    match caller {
        Caller::Unnamed if named.is_none() => Ok(Actor::Admin),
        _ => caller.actor(named),
    }
}

fn booking_id(text: &str) -> Result<BookingId, Problem> {
    parse_id("id", text, BookingId::new)
}
