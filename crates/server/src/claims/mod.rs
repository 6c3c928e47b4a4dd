//! Claims over HTTP: every hold under one path, with lines of any types.

pub mod availability;
pub mod batch;
pub mod claim;
mod line;
pub mod list;
pub mod sales;

use holdfast_api::claim::ClaimView;
use holdfast_core::Fault;
use holdfast_core::claim::place::PlacedClaim;
use holdfast_core::id::HoldId;
use http::HeaderMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::app::App;
use crate::problem::Problem;
use crate::problem::claim::refused;

/// Returns the routes of claims, and of the stock that they sell.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(claim::place, list::list))
        .routes(routes!(batch::place))
        .routes(routes!(claim::get, claim::change, claim::delete))
        .routes(routes!(claim::extend))
        .routes(routes!(claim::confirm))
        .routes(routes!(claim::cancel))
        .routes(routes!(availability::check))
        .routes(routes!(sales::get))
}

fn claim_id(text: &str) -> Result<HoldId, Problem> {
    let parsed = if text.len() == 36 { Uuid::try_parse(text).ok() } else { None };
    parsed.map(HoldId).ok_or_else(|| Problem::invalid("claimId", &Fault::Malformed))
}

/// Parses the version of `If-Match`, with or without quotes.
fn expected_version(headers: &HeaderMap) -> Result<Option<u32>, Problem> {
    let Some(value) = headers.get(http::header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim().trim_matches('"');
    match text {
        "*" => Ok(None),
        text => text.parse().map(Some).map_err(|_| Problem::invalid("If-Match", &Fault::Malformed)),
    }
}

fn placed_view(placed: &PlacedClaim) -> ClaimView {
    let left_out = (!placed.refused.is_empty()).then(|| refused(&placed.refused));
    ClaimView { refused: left_out, ..ClaimView::placed(&placed.hold) }
}
