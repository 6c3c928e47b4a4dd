//! Accounts.

use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_core::id::UserId;
use holdfast_core::shop::user::{self, AddBalance, CreateUser};
use http::StatusCode;

use super::{ok, reply};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, parse_id};
use crate::wire::shop::{BalanceBody, Data, NewUserBody, UserView};

/// Creates an account. Admins only.
#[utoipa::path(post, path = "/api/users", tag = "shop", request_body = NewUserBody,
    params(("Idempotency-Key" = Option<String>, Header)),
    responses((status = 201, body = Data<UserView>), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewUserBody = request.json()?;
    let command = CreateUser { name: body.name, currency: body.currency };
    app.run(caller, &request, command, |account| reply(StatusCode::CREATED, UserView::new(account))).await
}

/// Returns an account.
#[utoipa::path(get, path = "/api/users/{id}", tag = "shop",
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("X-User-Id" = Option<u64>, Header, minimum = 1, maximum = 9_007_199_254_740_991_u64)),
    responses((status = 200, body = Data<UserView>), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`USER_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Response, Problem> {
    let id = user_id(&id)?;
    // The path names the user; a user in a parameter must be the same.
    caller.acting_for(params.user()?.or(Some(id)))?;
    caller.acting_for(Some(id))?;
    let account = app.query(|rows, _| user::find(rows, id)).await?;
    Ok(ok(UserView::new(&account)))
}

/// Adds money to an account. Admins only.
#[utoipa::path(post, path = "/api/users/{id}/balance", tag = "shop", request_body = BalanceBody,
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = Data<UserView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`USER_NOT_FOUND`")))]
pub async fn add_balance(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let user = user_id(&id)?;
    let body: BalanceBody = request.json()?;
    let command = AddBalance { user, amount: body.amount };
    app.run(caller, &request, command, |account| reply(StatusCode::OK, UserView::new(account))).await
}

fn user_id(text: &str) -> Result<UserId, Problem> {
    parse_id("id", text, UserId::new)
}
