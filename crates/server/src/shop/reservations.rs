//! Reservations of the items in a cart.

use axum::extract::State;
use axum::response::Response;
use holdfast_api::params::{IdempotencyHeader, ReserveQuery, UserHeader, UserQuery};
use holdfast_api::shop::{Data, LiveReservationView, NamedUserBody, ReservationsView};
use holdfast_core::Fault;
use holdfast_core::shop::reservation::{self, ReleaseOrder, ReserveOrder};
use http::StatusCode;

use super::{ok, reply};
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params};

/// Reserves all items of the cart, at current prices. With `replace=true`, replaces a live reservation.
#[utoipa::path(post, path = "/api/order/reserve", tag = "shop", request_body = NamedUserBody,
    params(ReserveQuery, UserHeader, IdempotencyHeader),
    responses((status = 200, body = Data<ReservationsView>),
        (status = 400, description = "`INVALID_INPUT`, `CART_EMPTY`, `PRODUCT_OPTION_INACTIVE`"),
        (status = 404, description = "`USER_NOT_FOUND`"),
        (status = 409, description = "`DUPLICATE_RESERVATION`, `INSUFFICIENT_AVAILABLE_STOCK`, `LOCK_TIMEOUT`"),
        (status = 429, description = "`OVERLOADED`")))]
pub async fn reserve(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let user = caller.acting_for(request.named_user()?)?;
    let replace = match request.params.read::<ReserveQuery>()?.replace.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Problem::invalid("replace", &Fault::UnknownValue)),
    };
    let command = ReserveOrder { random: app.ids().random(), user, replace };
    app.run(&caller, &request, command, |reserved| reply(StatusCode::OK, ReservationsView::new(reserved))).await
}

/// Returns the live reservation, with its prices.
#[utoipa::path(get, path = "/api/order/reserve", tag = "shop",
    params(UserQuery, UserHeader),
    responses((status = 200, body = Data<LiveReservationView>),
        (status = 404, description = "`RESERVATION_NOT_FOUND`, `USER_NOT_FOUND`")))]
pub async fn get(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let user = caller.acting_for(params.user()?)?;
    let reserved = app.query(|rows, at| reservation::view(rows, at, &user)).await?;
    Ok(ok(LiveReservationView::new(&reserved)))
}

/// Releases the live reservation.
#[utoipa::path(delete, path = "/api/order/reserve", tag = "shop",
    params(UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 204), (status = 404, description = "`RESERVATION_NOT_FOUND`, `USER_NOT_FOUND`")))]
pub async fn release(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let command = ReleaseOrder { user: caller.acting_for(request.named_user()?)? };
    app.run(&caller, &request, command, |()| Reply::no_content()).await
}
