//! Placing, reading and changing one claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use holdfast_api::claim::{
    ClaimCancellationBody, ClaimChangeBody, ClaimConfirmationBody, ClaimMode, ClaimView, ExtensionBody, NewClaimBody,
};
use holdfast_api::error::ErrorCode;
use holdfast_api::params::{ClaimPath, IdempotencyHeader, IfMatchHeader, UserHeader, UserQuery};
use holdfast_core::claim::cancel::{CancelClaim, CancelConfirmedClaim};
use holdfast_core::claim::change::{ChangeClaim, ChangeConfirmedClaim, DataChange};
use holdfast_core::claim::confirm::ConfirmClaim;
use holdfast_core::claim::place::{Mode, PlaceClaim, PlacedClaim};
use holdfast_core::claim::{self, Metadata};
use holdfast_core::hold::{ExtendHold, HOLD_TTL_MAX, Hold, LineRequest, NewEnd};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::ticket::EventId;
use holdfast_core::time::Span;
use holdfast_core::{Actor, Context, Fault, WorkingSet};
use http::{HeaderMap, StatusCode};

use super::line::line_requests;
use super::{claim_id, expected_version, placed_view};
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, parse_time};
use crate::tickets::queue_gate::{check_inside, give_back};

/// Maximum length of a reason, in characters.
const REASON_CHARS_MAX: usize = 500;

/// Holds lines of any types: nights, stock, seats and slots. All of them or none, or with `mode` `each` those that are
/// available.
#[utoipa::path(post, path = "/v1/claims", tag = "claims", request_body = NewClaimBody,
    params(UserHeader, IdempotencyHeader),
    responses((status = 201, body = ClaimView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`QUEUE_TOKEN_REQUIRED`, `FORBIDDEN`"),
        (status = 404, description = "`ROOM_TYPE_NOT_FOUND`, `PRODUCT_OPTION_NOT_FOUND`, `EVENT_NOT_FOUND`, `SEAT_NOT_FOUND`, `ROOM_NOT_FOUND`"),
        (status = 409, description = "`NOT_AVAILABLE` with the code of each refused line, `LOCK_TIMEOUT`"),
        (status = 429, description = "`TOO_MANY_HOLDS`, `OVERLOADED`")))]
pub async fn place(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let command = place_command(&app, &caller, &request, &request.json()?)?;
    if let Some(replayed) = check_entries(&app, ("lines", &command.lines), &command.owner, &caller, &request).await? {
        return Ok(replayed);
    }
    app.run(&caller, &request, command, |placed: &PlacedClaim| Reply::json(StatusCode::CREATED, &placed_view(placed)))
        .await
}

pub(super) fn place_command(
    app: &App,
    caller: &Caller,
    request: &Mutation,
    body: &NewClaimBody,
) -> Result<PlaceClaim, Problem> {
    let owner = caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?;
    Ok(PlaceClaim {
        random: app.ids().random(),
        lines: line_requests("lines", &body.lines)?,
        ttl: body.ttl_seconds.map(seconds),
        is_operator: is_operator(app, caller),
        owner,
        reference: body.reference.as_deref().map(Into::into),
        metadata: metadata(body.metadata.as_ref()),
        mode: match body.mode.unwrap_or_default() {
            ClaimMode::All => Mode::All,
            ClaimMode::Each => Mode::Each,
        },
    })
}

/// Checks that the owner has an entry to each event of the lines that has a queue. Returns the recorded answer of a retry.
async fn check_entries(
    app: &App,
    (list, lines): (&str, &[LineRequest]),
    owner: &UserId,
    caller: &Caller,
    request: &Mutation,
) -> Result<Option<Response>, Problem> {
    for event in events(lines) {
        match check_inside(app, event, owner, caller, request, None).await {
            Ok(None) => {}
            Ok(replayed) => return Ok(replayed),
            Err(problem) if problem.code == ErrorCode::EventNotFound => {
                let is_its = |line: &LineRequest| matches!(line, LineRequest::Seats(seats) if seats.event == event);
                let index = lines.iter().position(is_its).unwrap_or_default();
                return Err(problem.with("field", "eventId").in_line(list, index as u16));
            }
            Err(problem) => return Err(problem),
        }
    }
    Ok(None)
}

/// Returns the actor of a call that an operator may make: without authentication, one that names no user is an
/// operator's.
fn canceller(caller: &Caller, named: Option<UserId>) -> Result<Actor, Problem> {
    match (caller, named) {
        (Caller::Unnamed, None) => Ok(Actor::Admin),
        (caller, named) => caller.actor(named),
    }
}

/// Returns each event of the lines once.
pub(super) fn events(lines: &[LineRequest]) -> Vec<EventId> {
    let mut events: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            LineRequest::Seats(seats) => Some(seats.event),
            _ => None,
        })
        .collect();
    events.sort_unstable();
    events.dedup();
    events
}

/// Whether the limits of users do not apply: to operators and services, and without authentication to every caller.
fn is_operator(app: &App, caller: &Caller) -> bool {
    app.auth().is_off() || !caller.is_user(None)
}

/// Clamps to the range of spans, which the rules bound further.
fn seconds(seconds: i64) -> Span {
    Span::from_secs(seconds.clamp(0, HOLD_TTL_MAX.as_millis() / 1_000 + 1))
}

fn metadata(pairs: Option<&BTreeMap<String, String>>) -> Metadata {
    pairs.into_iter().flatten().map(|(key, value)| (Arc::from(&**key), Arc::from(&**value))).collect()
}

/// Returns a claim, even after it has ended.
#[utoipa::path(get, path = "/v1/claims/{id}", tag = "claims",
    params(ClaimPath, UserQuery, UserHeader),
    responses((status = 200, body = ClaimView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`CLAIM_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(ClaimPath { id }): Path<ClaimPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (claim_id(&id)?, caller.actor(params.user()?)?);
    let find = |rows: &mut WorkingSet, at: &Context<'_>| {
        claim::find(rows, id, &actor).map(|hold| ClaimView::new(&hold, at.now))
    };
    Ok(Reply::json(StatusCode::OK, &app.query(find).await?).into_response())
}

/// Moves the end of a live claim.
#[utoipa::path(post, path = "/v1/claims/{id}/extend", tag = "claims", request_body = ExtensionBody,
    params(ClaimPath, UserQuery, UserHeader, IdempotencyHeader, IfMatchHeader),
    responses((status = 200, body = ClaimView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`CLAIM_NOT_FOUND`"),
        (status = 409, description = "`EXTENSION_LIMIT` with `maxUntil`, `CLAIM_EXPIRED`, `CLAIM_ALREADY_PROCESSED`"),
        (status = 412, description = "`VERSION_MISMATCH`")))]
pub async fn extend(
    State(app): State<App>,
    caller: Caller,
    Path(ClaimPath { id }): Path<ClaimPath>,
    headers: HeaderMap,
    request: Mutation,
) -> Result<Response, Problem> {
    let body: ExtensionBody = request.json()?;
    let end = match (body.seconds, body.until.as_deref()) {
        (Some(given), None) if given < 1 => {
            let max = HOLD_TTL_MAX.as_millis() / 1_000;
            return Err(Problem::invalid("seconds", &Fault::OutOfRange { min: 1, max }));
        }
        (Some(given), None) => NewEnd::Later(seconds(given)),
        (None, Some(until)) => NewEnd::At(parse_time("until", until)?),
        (None, None) => return Err(Problem::invalid("seconds", &Fault::Missing)),
        (Some(_), Some(_)) => return Err(Problem::invalid("until", &Fault::UnknownValue)),
    };
    let (actor, version) = (caller.actor(request.named_user()?)?, expected_version(&headers)?);
    let command = ExtendHold { id: claim_id(&id)?, actor, end, version };
    app.run(&caller, &request, command, |hold| Reply::json(StatusCode::OK, &ClaimView::placed(hold))).await
}

/// Changes the lines, the owner, the reference or the metadata of a claim, in one step. Units of removed lines count as
/// free for added ones.
#[utoipa::path(patch, path = "/v1/claims/{id}", tag = "claims", request_body = ClaimChangeBody,
    params(ClaimPath, UserQuery, UserHeader, IdempotencyHeader, IfMatchHeader),
    responses((status = 200, body = ClaimView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`QUEUE_TOKEN_REQUIRED`, `FORBIDDEN`"), (status = 404, description = "`CLAIM_NOT_FOUND`"),
        (status = 409, description = "`NOT_AVAILABLE`, `CLAIM_NOT_CHANGEABLE`, `CLAIM_EXPIRED`, `CLAIM_ALREADY_PROCESSED`"),
        (status = 412, description = "`VERSION_MISMATCH`")))]
pub async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(ClaimPath { id }): Path<ClaimPath>,
    headers: HeaderMap,
    request: Mutation,
) -> Result<Response, Problem> {
    let body: ClaimChangeBody = request.json()?;
    // The user of the body is the new owner, not the caller.
    let transfer_to = body.user_id.as_ref().map(|user| user.user("userId")).transpose()?;
    let named = request.params.user()?;
    let is_operator = matches!(caller, Caller::Unnamed) && named.is_none() && transfer_to.is_some();
    let actor = if is_operator { Actor::Admin } else { caller.actor(named)? };
    let transfer_to = match (&actor, transfer_to) {
        (Actor::User(own), Some(user)) if *own != user => return Err(Problem::forbidden()),
        (Actor::User(_), _) => None,
        (Actor::Admin, user) => user,
    };
    let (id, version) = (claim_id(&id)?, expected_version(&headers)?);
    let data = DataChange {
        reference: body.reference.map(|reference| reference.as_deref().map(Into::into)),
        metadata: body.metadata.as_ref().map(|pairs| metadata(Some(pairs))),
    };
    let add = line_requests("add", &body.add)?;
    if let Some(replayed) = app.replay(&caller, &request).await? {
        return Ok(replayed);
    }
    let hold = find(&app, id, &actor).await?;
    if claim::is_confirmed(&hold) && add.is_empty() && body.remove.is_empty() && transfer_to.is_none() {
        let command = ChangeConfirmedClaim { id, actor, data, version };
        let reply = |hold: &Hold| Reply::json(StatusCode::OK, &ClaimView::placed(hold));
        return app.run(&caller, &request, command, reply).await;
    }
    let owner = transfer_to.as_ref().unwrap_or(&hold.owner);
    if let Some(replayed) = check_entries(&app, ("add", &add), owner, &caller, &request).await? {
        return Ok(replayed);
    }
    let command = ChangeClaim { id, actor, add, remove: body.remove, transfer_to, data, version };
    app.run(&caller, &request, command, |hold| Reply::json(StatusCode::OK, &ClaimView::placed(hold))).await
}

/// Confirms a live claim, all lines or some: makes the record of each. Lines that are not named are released.
#[utoipa::path(post, path = "/v1/claims/{id}/confirm", tag = "claims", request_body = Option<ClaimConfirmationBody>,
    params(ClaimPath, UserQuery, UserHeader, IdempotencyHeader, IfMatchHeader),
    responses((status = 201, body = ClaimView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`CLAIM_NOT_FOUND`"),
        (status = 409, description = "`CLAIM_ALREADY_PROCESSED` with the `records` made before, `CLAIM_EXPIRED`, `PAYMENT_REQUIRED`"),
        (status = 412, description = "`VERSION_MISMATCH`")))]
pub async fn confirm(
    State(app): State<App>,
    caller: Caller,
    Path(ClaimPath { id }): Path<ClaimPath>,
    headers: HeaderMap,
    request: Mutation,
) -> Result<Response, Problem> {
    let body: ClaimConfirmationBody = request.json_or_default()?;
    let (id, actor) = (claim_id(&id)?, caller.actor(request.named_user()?)?);
    let hold = find(&app, id, &actor).await?;
    let line_count = hold.lines.len();
    let command = ConfirmClaim { id, actor, lines: body.lines, version: expected_version(&headers)?, line_count };
    let view = |hold: &Hold| Reply::json(StatusCode::CREATED, &ClaimView::placed(hold));
    let (reply, confirmed) = app.run_with_outcome(&caller, &request, command, view).await?;
    if let Some(confirmed) = confirmed {
        for event in confirmed.seat_events() {
            give_back(&app, event, &confirmed.owner).await;
        }
    }
    Ok(reply.into_response())
}

/// Cancels a live claim.
#[utoipa::path(delete, path = "/v1/claims/{id}", tag = "claims",
    params(ClaimPath, UserQuery, UserHeader, IdempotencyHeader, IfMatchHeader),
    responses((status = 204), (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`CLAIM_NOT_FOUND`"),
        (status = 409, description = "`CLAIM_EXPIRED`, `CLAIM_ALREADY_PROCESSED`"),
        (status = 412, description = "`VERSION_MISMATCH`")))]
pub async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(ClaimPath { id }): Path<ClaimPath>,
    headers: HeaderMap,
    request: Mutation,
) -> Result<Response, Problem> {
    let (actor, version) = (canceller(&caller, request.named_user()?)?, expected_version(&headers)?);
    let command = CancelClaim { id: claim_id(&id)?, actor, lines: None, version };
    app.run(&caller, &request, command, |_| Reply::no_content()).await
}

/// Cancels a claim, live or confirmed, or some of its lines.
#[utoipa::path(post, path = "/v1/claims/{id}/cancel", tag = "claims", request_body = Option<ClaimCancellationBody>,
    params(ClaimPath, UserQuery, UserHeader, IdempotencyHeader, IfMatchHeader),
    responses((status = 200, body = ClaimView), (status = 204), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`CLAIM_NOT_FOUND`"),
        (status = 409, description = "`CLAIM_NOT_CHANGEABLE`, `CLAIM_EXPIRED`, `CLAIM_ALREADY_PROCESSED`, or the code of a record that cannot be cancelled any more"),
        (status = 412, description = "`VERSION_MISMATCH`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(ClaimPath { id }): Path<ClaimPath>,
    headers: HeaderMap,
    request: Mutation,
) -> Result<Response, Problem> {
    let ClaimCancellationBody { lines, reason } = request.json_or_default()?;
    if reason.is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX) {
        return Err(Problem::invalid("reason", &Fault::TooLong { max: REASON_CHARS_MAX }));
    }
    let actor = canceller(&caller, request.named_user()?)?;
    let (id, version) = (claim_id(&id)?, expected_version(&headers)?);
    if let Some(replayed) = app.replay(&caller, &request).await? {
        return Ok(replayed);
    }
    if claim::is_confirmed(&find(&app, id, &actor).await?) {
        let command = CancelConfirmedClaim { id, actor, lines, version };
        let view = |cancelled: &_| Reply::json(StatusCode::OK, &ClaimView::cancelled(cancelled));
        return app.run(&caller, &request, command, view).await;
    }
    let is_whole = lines.is_none();
    let command = CancelClaim { id, actor, lines, version };
    app.run(&caller, &request, command, move |hold: &Hold| {
        if is_whole { Reply::no_content() } else { Reply::json(StatusCode::OK, &ClaimView::placed(hold)) }
    })
    .await
}

async fn find(app: &App, id: HoldId, actor: &Actor) -> Result<Hold, Problem> {
    app.query(|rows, _| claim::find(rows, id, actor)).await
}

/// Returns the user whose claims a list shows.
pub(super) fn listed_user(caller: &Caller, params: &Params) -> Result<Option<UserId>, Problem> {
    caller.listing(params.user()?)
}
