//! Dry runs of claims.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use holdfast_api::claim::AvailabilityBody;
use holdfast_api::params::UserHeader;
use holdfast_core::claim::place::{self, LineAvailability, RefusedLine};
use holdfast_core::id::UserId;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::line::line_requests;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::problem::claim::refused;
use crate::request::Mutation;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ClaimAvailability)]
pub struct AvailabilityView {
    /// Whether all lines together can be held.
    available: bool,
    #[schema(value_type = Vec<Object>)]
    lines: Vec<Map<String, Value>>,
    /// Sum of the lines that are available.
    total_price: i64,
}

/// Says whether lines could be held, and at which price; holds nothing.
#[utoipa::path(post, path = "/v1/availability", tag = "claims", request_body = AvailabilityBody, params(UserHeader),
    responses((status = 200, body = AvailabilityView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`ROOM_TYPE_NOT_FOUND`, `PRODUCT_OPTION_NOT_FOUND`, `EVENT_NOT_FOUND`, `SEAT_NOT_FOUND`, `ROOM_NOT_FOUND`")))]
pub async fn check(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let body: AvailabilityBody = request.json()?;
    let named = request.params.user_or(body.user_id.as_ref())?;
    // Limits of a user count only if one is named.
    let owner = caller.listing(named)?.unwrap_or(UserId::SYSTEM);
    let lines = line_requests("lines", &body.lines)?;
    let found = app.query(|rows, at| place::availability(rows, at, &owner, &lines)).await?;
    let total_price = found.iter().filter_map(|line| line.claimed.as_ref().ok()).map(|(price, _)| price).sum();
    let view = AvailabilityView {
        available: found.iter().all(|line| line.claimed.is_ok()),
        lines: found.into_iter().map(line_view).collect(),
        total_price,
    };
    Ok(Reply::json(StatusCode::OK, &view).into_response())
}

fn line_view(LineAvailability { index, claimed }: LineAvailability) -> Map<String, Value> {
    match claimed {
        Ok((price, _)) => {
            let mut members = Map::new();
            members.insert("index".into(), index.into());
            members.insert("available".into(), true.into());
            members.insert("price".into(), price.into());
            members
        }
        Err(rejection) => {
            let mut members = refused(&[RefusedLine { index, rejection }]).pop().unwrap_or_default();
            if let Some(left) = members.remove("available") {
                members.insert("left".into(), left);
            }
            members.insert("available".into(), false.into());
            members
        }
    }
}
