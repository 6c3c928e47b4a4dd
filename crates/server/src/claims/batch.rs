//! Places many claims in one request. They are independent: each is held or refused.

use axum::extract::State;
use axum::response::Response;
use holdfast_api::claim::NewClaimBody;
use holdfast_api::params::{IdempotencyHeader, UserHeader};
use holdfast_core::claim::place::{PlaceClaim, PlaceClaims};
use holdfast_core::hold::LineRequest;
use holdfast_core::{Fault, Rejection};
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::claim::{events, place_command};
use super::placed_view;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::{Language, Problem};
use crate::request::{Mutation, parse};
use crate::tickets::queue_gate::has_entry;

/// Maximum number of claims of a batch.
const BATCH_CLAIMS_MAX: usize = 8_192;
/// Maximum number of units of a batch.
const BATCH_UNITS_MAX: usize = 50_000;

#[derive(Deserialize, ToSchema)]
#[schema(as = ClaimBatch)]
pub struct BatchBody {
    /// At most 8,192 with at most 50,000 units; for a user at most `engine.holds_per_user_max`.
    #[schema(value_type = Vec<NewClaimBody>, max_items = 8_192)]
    #[serde(deserialize_with = "holdfast_api::bounded::<_, _, { BATCH_CLAIMS_MAX + 1 }>")]
    claims: Vec<Box<RawValue>>,
}

#[derive(ToSchema)]
#[schema(as = ClaimBatchResults)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct BatchView {
    /// In the order of the request: a claim, or an object with the `code` of the error.
    results: Vec<Value>,
}

/// Places many claims at once. They fail independently.
#[utoipa::path(post, path = "/v1/claims:batch", tag = "claims", request_body = BatchBody,
    params(UserHeader, IdempotencyHeader),
    responses((status = 200, body = BatchView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 413, description = "`PAYLOAD_TOO_LARGE`"), (status = 429, description = "`OVERLOADED`")))]
pub async fn place(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let body: BatchBody = request.json()?;
    let max = if caller.is_user(request.params.user()?.as_ref()) {
        (app.engine().limits().holds_per_user_max as usize).min(BATCH_CLAIMS_MAX)
    } else {
        BATCH_CLAIMS_MAX
    };
    if body.claims.len() > max {
        return Err(Problem::invalid("claims", &Fault::TooManyItems { max }));
    }
    let mut parsed: Vec<Result<PlaceClaim, Problem>> = Vec::with_capacity(body.claims.len());
    for claim in &body.claims {
        parsed.push(parse_claim(&app, &caller, &request, claim).await);
    }
    let units: usize = parsed.iter().flatten().flat_map(|claim| &claim.lines).map(LineRequest::unit_count).sum();
    if units > BATCH_UNITS_MAX {
        return Err(Problem::invalid("claims", &Fault::TooManyItems { max: BATCH_UNITS_MAX }));
    }
    let (mut commands, mut problems) = (Vec::new(), Vec::new());
    for claim in parsed {
        match claim {
            Ok(command) => {
                commands.push(command);
                problems.push(None);
            }
            Err(problem) => problems.push(Some(problem)),
        }
    }
    let language = request.language;
    app.run(&caller, &request, PlaceClaims(commands), move |results: &Vec<_>| {
        let mut results = results.iter();
        let all: Vec<Value> = problems.iter().map(|problem| result(problem.as_ref(), &mut results, language)).collect();
        Reply::json(StatusCode::OK, &json!({"results": all}))
    })
    .await
}

async fn parse_claim(app: &App, caller: &Caller, request: &Mutation, claim: &RawValue) -> Result<PlaceClaim, Problem> {
    let body: NewClaimBody = parse(claim.get().as_bytes())?;
    let command = place_command(app, caller, request, &body)?;
    for event in events(&command.lines) {
        if !has_entry(app, event, &command.owner).await? {
            return Err(Problem::queue_token_required());
        }
    }
    Ok(command)
}

fn result<'a>(
    problem: Option<&Problem>,
    results: &mut impl Iterator<Item = &'a Result<holdfast_core::claim::place::PlacedClaim, Rejection>>,
    language: Language,
) -> Value {
    match problem {
        Some(problem) => Value::Object(problem.to_json(language)),
        None => match results.next().expect("one result per valid claim") {
            Ok(placed) => serde_json::to_value(placed_view(placed)).expect("wire types serialize to JSON"),
            Err(rejection) => Value::Object(Problem::from(rejection).to_json(language)),
        },
    }
}
