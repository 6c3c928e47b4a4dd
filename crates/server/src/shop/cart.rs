//! The cart of a user.

use axum::extract::State;
use axum::response::Response;
use holdfast_api::params::{IdempotencyHeader, UserHeader, UserQuery};
use holdfast_api::shop::{CartItemBody, CartView, Data};
use holdfast_core::shop::ProductOptionId;
use holdfast_core::shop::cart::{self, PutCartItem};
use http::StatusCode;

use super::{ok, reply};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, id};

/// Sets the quantity of a product option in the cart; 0 removes it.
#[utoipa::path(put, path = "/api/cart/items", tag = "shop", request_body = CartItemBody,
    params(UserHeader, IdempotencyHeader),
    responses((status = 200, body = Data<CartView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`USER_NOT_FOUND`, `PRODUCT_OPTION_NOT_FOUND`")))]
pub async fn put(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let body: CartItemBody = request.json()?;
    let command = PutCartItem {
        user: caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?,
        option: id("productOptionId", body.product_option_id, ProductOptionId::new)?,
        quantity: body.quantity,
    };
    app.run(&caller, &request, command, |cart| reply(StatusCode::OK, CartView::new(cart))).await
}

/// Returns the cart.
#[utoipa::path(get, path = "/api/cart", tag = "shop",
    params(UserQuery, UserHeader),
    responses((status = 200, body = Data<CartView>), (status = 404, description = "`USER_NOT_FOUND`")))]
pub async fn get(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let user = caller.acting_for(params.user()?)?;
    let cart = app.query(|rows, _| cart::view(rows, &user)).await?;
    Ok(ok(CartView::new(&cart)))
}
