//! Accounts.

use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_api::params::{IdempotencyHeader, UserHeader, UserPath};
use holdfast_api::parse::parse_user;
use holdfast_api::shop::{BalanceBody, Data, NewUserBody, UserView};
use holdfast_core::id::UserId;
use holdfast_core::shop::user::{self, AddBalance, CreateUser};
use http::StatusCode;

use super::{ok, reply};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params};

/// Creates an account. Admins only.
#[utoipa::path(post, path = "/api/users", tag = "shop", request_body = NewUserBody,
    params(IdempotencyHeader),
    responses((status = 201, body = Data<UserView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 409, description = "`USER_ALREADY_EXISTS`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewUserBody = request.json()?;
    let id = body.id.map(|id| id.user("id")).transpose()?;
    let command = CreateUser { id, name: body.name, currency: body.currency };
    app.run(&caller, &request, command, |account| reply(StatusCode::CREATED, UserView::new(account))).await
}

/// Returns an account.
#[utoipa::path(get, path = "/api/users/{id}", tag = "shop",
    params(UserPath, UserHeader),
    responses((status = 200, body = Data<UserView>), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`USER_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(UserPath { id }): Path<UserPath>,
    params: Params,
) -> Result<Response, Problem> {
    let id = user_id(&id)?;
    // The path names the user; a user in a parameter must be the same.
    caller.acting_for(Some(params.user()?.unwrap_or_else(|| id.clone())))?;
    caller.acting_for(Some(id.clone()))?;
    let account = app.query(|rows, _| user::find(rows, &id)).await?;
    Ok(ok(UserView::new(&account)))
}

/// Adds money to an account. Admins only.
#[utoipa::path(post, path = "/api/users/{id}/balance", tag = "shop", request_body = BalanceBody,
    params(UserPath, IdempotencyHeader),
    responses((status = 200, body = Data<UserView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`USER_NOT_FOUND`")))]
pub async fn add_balance(
    State(app): State<App>,
    caller: Caller,
    Path(UserPath { id }): Path<UserPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let user = user_id(&id)?;
    let body: BalanceBody = request.json()?;
    let command = AddBalance { user, amount: body.amount };
    app.run(&caller, &request, command, |account| reply(StatusCode::OK, UserView::new(account))).await
}

fn user_id(text: &str) -> Result<UserId, Problem> {
    Ok(parse_user("id", text)?)
}
