//! Coupons: discounts in a limited number.

use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_api::params::{CouponPath, IdempotencyHeader, UserHeader};
use holdfast_api::shop::{CouponView, Data, NamedUserBody, NewCouponBody};
use holdfast_core::shop::coupon::{CreateCoupon, IssueCoupon};
use holdfast_core::shop::{CouponCode, Discount};
use holdfast_core::{Fault, Rejection, ShopRejection, Timestamp};
use http::StatusCode;

use super::reply;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, parse_time};

/// Creates a coupon. Admins only.
#[utoipa::path(post, path = "/api/coupons", tag = "shop", request_body = NewCouponBody,
    params(IdempotencyHeader),
    responses((status = 201, body = Data<CouponView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 409, description = "`COUPON_ALREADY_EXISTS`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewCouponBody = request.json()?;
    let discount = match &*body.discount_type {
        "PERCENT" => Discount::Percent(u32::try_from(body.value).unwrap_or(u32::MAX)),
        "AMOUNT" => Discount::Amount(body.value),
        _ => return Err(Problem::invalid("discountType", &Fault::UnknownValue)),
    };
    let valid_until: Option<Timestamp> = body.valid_until.map(|text| parse_time("validUntil", &text)).transpose()?;
    let code = CouponCode::parse("code", &body.code)?;
    let command = CreateCoupon { code, discount, currency: body.currency, max_uses: body.max_uses, valid_until };
    app.run(&caller, &request, command, |coupon| reply(StatusCode::CREATED, CouponView::new(coupon))).await
}

/// Issues a coupon to a user: one per user, while coupons remain.
#[utoipa::path(post, path = "/api/coupons/{code}/issue", tag = "shop", request_body = NamedUserBody,
    params(CouponPath, IdempotencyHeader, UserHeader),
    responses((status = 201, body = Data<CouponView>), (status = 404, description = "`COUPON_NOT_FOUND`, `USER_NOT_FOUND`"),
        (status = 409, description = "`COUPON_SOLD_OUT`, `COUPON_ALREADY_ISSUED`, `COUPON_NOT_USABLE`")))]
pub async fn issue(
    State(app): State<App>,
    caller: Caller,
    Path(CouponPath { code }): Path<CouponPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    let user = caller.acting_for(request.named_user()?)?;
    // A malformed code belongs to no coupon: 404, not 400.
    let code = CouponCode::parse("code", &code).map_err(|_| Rejection::from(ShopRejection::CouponNotFound))?;
    let command = IssueCoupon { code, user: user.clone() };
    app.run(&caller, &request, command, move |coupon| reply(StatusCode::CREATED, CouponView::issued(coupon, &user)))
        .await
}
