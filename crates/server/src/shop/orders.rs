//! Payments and orders.

use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_api::list::List;
use holdfast_api::params::{IdempotencyHeader, ListParams, OrderPath, UserHeader, UserQuery};
use holdfast_api::shop::{Data, OrderView, PaymentBody};
use holdfast_core::shop::order::{self, CancelOrder};
use holdfast_core::shop::payment::PayOrder;
use holdfast_core::shop::{CouponCode, InventoryReservationId, Order, OrderId};
use http::StatusCode;

use super::{ok, reply};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, id, page, parse_id};

/// Pays for the live reservation, at its prices. Stock, balance, coupon and cart change atomically.
#[utoipa::path(post, path = "/api/order", tag = "shop", request_body = Option<PaymentBody>,
    params(UserHeader, IdempotencyHeader),
    responses((status = 201, body = Data<OrderView>), (status = 400, description = "`INVALID_INPUT`, `RESERVATION_EXPIRED`"),
        (status = 404, description = "`USER_NOT_FOUND`, `RESERVATION_NOT_FOUND`"),
        (status = 409, description = "`INSUFFICIENT_BALANCE`, `COUPON_NOT_USABLE`, `AMOUNT_CHANGED`")))]
pub async fn pay(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    let body: PaymentBody = request.json_or_default()?;
    let reservation_ids = body.reservation_ids.map(|numbers| {
        let ids = numbers.into_iter().map(|number| id("reservationIds", number, InventoryReservationId::new));
        ids.collect::<Result<Vec<_>, _>>()
    });
    let command = PayOrder {
        user: caller.acting_for(request.params.user_or(body.user_id.as_ref())?)?,
        coupon: body.coupon_code.map(|code| CouponCode::typed(&code)),
        expected_amount: body.expected_amount,
        reservation_ids: reservation_ids.transpose()?,
    };
    app.run(&caller, &request, command, |paid| reply(StatusCode::CREATED, OrderView::paid(paid))).await
}

/// Returns an order.
#[utoipa::path(get, path = "/api/orders/{id}", tag = "shop",
    params(OrderPath, UserQuery, UserHeader),
    responses((status = 200, body = Data<OrderView>), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`ORDER_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(OrderPath { id }): Path<OrderPath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (order_id(&id)?, caller.actor(params.user()?)?);
    let order = app.query(|rows, _| order::find(rows, id, &actor)).await?;
    Ok(ok(OrderView::new(&order)))
}

/// Lists orders. A user sees only their own; an admin sees all, or those of one user.
#[utoipa::path(get, path = "/api/orders", tag = "shop",
    params(UserQuery, ListParams, UserHeader),
    responses((status = 200, body = Data<List<OrderView>>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let user = caller.listing(params.user()?)?;
    let page = page(&params, OrderId::new)?;
    let orders = app
        .list::<Order>(page.list(|after, limit| holdfast_core::schema::shop::orders(user.as_ref(), after, limit)))
        .await?;
    Ok(ok(List::new(orders, &page, |it| it.id.get(), OrderView::new)))
}

/// Cancels an order, and returns stock, money and coupon.
#[utoipa::path(post, path = "/api/orders/{id}/cancel", tag = "shop",
    params(OrderPath, UserQuery, UserHeader, IdempotencyHeader),
    responses((status = 200, body = Data<OrderView>), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`ORDER_NOT_FOUND`"), (status = 409, description = "`ORDER_ALREADY_CANCELLED`")))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(OrderPath { id }): Path<OrderPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let command = CancelOrder { id: order_id(&id)?, actor: caller.actor(request.named_user()?)? };
    app.run(&caller, &request, command, |order| reply(StatusCode::OK, OrderView::new(order))).await
}

fn order_id(text: &str) -> Result<OrderId, Problem> {
    parse_id("id", text, OrderId::new)
}
