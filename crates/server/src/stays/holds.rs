//! Holds on rooms.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::params::{HoldPath, IdempotencyHeader, UserHeader, UserQuery};
use holdfast_api::parse::parse_date;
use holdfast_api::stay::{NewHoldBody, StayHoldView, StayReservationView};
use holdfast_core::hold::{self, Origin};
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::{CancelStayHold, ClientHoldKey, ConfirmStayHold, RoomTypeId};
use holdfast_core::{Context, Fault, WorkingSet};
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::batch;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, hold_id, id};

/// Maximum number of holds per batch.
pub const BATCH_HOLDS_MAX: usize = 8_192;

/// Holds a room for each night of a stay. Replaces a live hold of the same user on the same dates.
#[utoipa::path(post, path = "/v1/holds", tag = "stays", request_body = NewHoldBody,
    params(UserHeader, IdempotencyHeader),
    responses((status = 201, body = StayHoldView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_TYPE_NOT_FOUND`"),
        (status = 409, description = "`ROOM_NOT_AVAILABLE`, `RESERVATION_HOLD_KEY_CONFLICT`, `LOCK_TIMEOUT`"),
        (status = 429, description = "`TOO_MANY_HOLDS`, `OVERLOADED`")))]
pub async fn place(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let command = place_command(&app, &caller, &request, &request.json()?)?;
    app.run(&caller, &request, command, |hold| Reply::json(StatusCode::CREATED, &StayHoldView::placed(hold))).await
}

/// Returns a hold, even after it has ended.
#[utoipa::path(get, path = "/v1/holds/{holdId}", tag = "stays",
    params(HoldPath, UserQuery, UserHeader),
    responses((status = 200, body = StayHoldView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`RESERVATION_HOLD_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(HoldPath { hold_id: id }): Path<HoldPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (hold_id(&id)?, caller.actor(params.user()?)?);
    let find = |rows: &mut WorkingSet, at: &Context<'_>| {
        hold::find(rows, id, &actor, Origin::Stay).map(|hold| StayHoldView::new(&hold, at.now))
    };
    let view = app.query(find).await?;
    Ok(Reply::json(StatusCode::OK, &view).into_response())
}

/// Confirms a live hold: creates its reservation.
#[utoipa::path(post, path = "/v1/holds/{holdId}/confirm", tag = "stays",
    params(HoldPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 201, body = StayReservationView), (status = 400, description = "`RESERVATION_HOLD_EXPIRED`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`RESERVATION_HOLD_NOT_FOUND`"),
        (status = 409, description = "`RESERVATION_HOLD_ALREADY_PROCESSED`, with the `reservationId` made before")))]
pub async fn confirm(
    State(app): State<App>,
    caller: Caller,
    Path(HoldPath { hold_id: id }): Path<HoldPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = ConfirmStayHold::new(hold_id(&id)?, caller.actor(request.named_user()?)?);
    app.run(&caller, &request, command, |reservation| {
        Reply::json(StatusCode::CREATED, &StayReservationView::new(reservation))
    })
    .await
}

/// Cancels a live hold.
#[utoipa::path(delete, path = "/v1/holds/{holdId}", tag = "stays",
    params(HoldPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 204), (status = 400, description = "`RESERVATION_HOLD_EXPIRED`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`RESERVATION_HOLD_NOT_FOUND`"),
        (status = 409, description = "`RESERVATION_HOLD_ALREADY_PROCESSED`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(HoldPath { hold_id: id }): Path<HoldPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelStayHold::new(hold_id(&id)?, caller.actor(request.named_user()?)?);
    app.run(&caller, &request, command, |()| Reply::no_content()).await
}

#[derive(Deserialize, ToSchema)]
#[schema(as = HoldBatch)]
pub struct BatchBody {
    /// At most 8,192; for a user at most `engine.holds_per_user_max`.
    #[schema(value_type = Vec<NewHoldBody>, max_items = 8_192)]
    #[serde(deserialize_with = "holdfast_api::bounded::<_, _, { BATCH_HOLDS_MAX + 1 }>")]
    holds: Vec<Box<RawValue>>,
}

#[derive(ToSchema)]
#[schema(as = HoldBatchResults)]
#[expect(dead_code, reason = "only its schema is used; the answer is written line by line")]
pub struct BatchView {
    /// In the order of the request: a hold, or an object with the `code` of the error of that line.
    results: Vec<serde_json::Value>,
}

/// Places many holds at once. Lines fail independently.
#[utoipa::path(post, path = "/v1/holds:batch", tag = "stays", request_body = BatchBody,
    params(UserHeader, IdempotencyHeader),
    responses((status = 200, body = BatchView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 413, description = "`PAYLOAD_TOO_LARGE`"), (status = 429, description = "`OVERLOADED`")))]
pub async fn place_batch(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let body: BatchBody = request.json()?;
    let max = if caller.is_user(request.params.user()?.as_ref()) {
        app.engine().limits().holds_per_user_max as usize
    } else {
        BATCH_HOLDS_MAX
    };
    let max = max.min(BATCH_HOLDS_MAX);
    if body.holds.len() > max {
        return Err(Problem::invalid("holds", &Fault::TooManyItems { max }));
    }
    batch::place(&app, caller, &request, &body.holds).await
}

pub(super) fn place_command(
    app: &App,
    caller: &Caller,
    request: &Mutation,
    body: &NewHoldBody,
) -> Result<PlaceStayHold, Problem> {
    let user = caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?;
    let room_type = id("roomTypeId", body.room_type_id, RoomTypeId::new)?;
    let (check_in, check_out) = (parse_date("checkIn", &body.check_in)?, parse_date("checkOut", &body.check_out)?);
    let client_key = ClientHoldKey::parse(&body.client_hold_key)
        .ok_or_else(|| Problem::invalid("clientHoldKey", &Fault::NotUuidOrUlid))?;
    let quantity = body.quantity.unwrap_or(1);
    Ok(PlaceStayHold { random: app.ids().random(), user, room_type, check_in, check_out, quantity, client_key })
}
