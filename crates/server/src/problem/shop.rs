//! Problems of the shop.

use holdfast_core::ShopRejection as R;
use holdfast_core::shop::ProductOptionId;
use http::StatusCode as S;

use super::Problem;

#[expect(clippy::too_many_lines, reason = "one arm per rejection")]
pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::UserNotFound => {
            Problem::new(S::NOT_FOUND, "USER_NOT_FOUND", "사용자를 찾을 수 없습니다.", "There is no such user.")
        }
        R::ProductNotFound => {
            Problem::new(S::NOT_FOUND, "PRODUCT_NOT_FOUND", "상품을 찾을 수 없습니다.", "There is no such product.")
        }
        R::ProductOptionNotFound => Problem::new(
            S::NOT_FOUND,
            "PRODUCT_OPTION_NOT_FOUND",
            "상품 옵션을 찾을 수 없습니다.",
            "There is no such product option.",
        ),
        R::StockInUse { in_use } => Problem::new(
            S::CONFLICT,
            "CAPACITY_IN_USE",
            format!("이미 예약된 수량보다 적게 줄일 수 없습니다. ({in_use})"),
            format!("{in_use} are reserved; the stock cannot go below that."),
        )
        .with("inUse", *in_use),
        R::CartEmpty => Problem::new(
            S::BAD_REQUEST,
            "CART_EMPTY",
            "장바구니가 비어 있습니다.",
            "The cart is empty; put something into it first.",
        ),
        R::ProductOptionInactive { option } => Problem::new(
            S::BAD_REQUEST,
            "PRODUCT_OPTION_INACTIVE",
            "비활성화된 상품 옵션이 포함되어 있습니다.",
            format!("Product option {option} is not for sale; take it out of the cart."),
        )
        .with("productOptionId", option.get()),
        R::DuplicateReservation => Problem::new(
            S::CONFLICT,
            "DUPLICATE_RESERVATION",
            "이미 진행 중인 주문 예약이 있습니다.",
            "There is a live reservation already; pay for it, release it, or replace it with replace=true.",
        ),
        R::InsufficientAvailableStock { option, available } => Problem::new(
            S::CONFLICT,
            "INSUFFICIENT_AVAILABLE_STOCK",
            format!("가용 재고가 부족합니다. (상품 옵션 ID: {option})"),
            format!("Only {available} of product option {option} are available."),
        )
        .with("productOptionId", option.get())
        .with("available", *available),
        R::OrderReservationNotFound => Problem::new(
            S::NOT_FOUND,
            "RESERVATION_NOT_FOUND",
            "주문 예약을 찾을 수 없습니다.",
            "There is no live reservation, or not this one.",
        ),
        R::OrderReservationExpired => Problem::new(
            S::BAD_REQUEST,
            "RESERVATION_EXPIRED",
            "주문 예약이 만료되었습니다.",
            "The reservation has expired; reserve again.",
        ),
        R::CouponNotFound => {
            Problem::new(S::NOT_FOUND, "COUPON_NOT_FOUND", "쿠폰을 찾을 수 없습니다.", "There is no such coupon.")
        }
        R::CouponAlreadyExists => Problem::new(
            S::CONFLICT,
            "COUPON_ALREADY_EXISTS",
            "이미 존재하는 쿠폰 코드입니다.",
            "There is a coupon of that code already.",
        ),
        R::CouponAlreadyIssued => Problem::new(
            S::CONFLICT,
            "COUPON_ALREADY_ISSUED",
            "이미 발급받은 쿠폰입니다.",
            "This user has the coupon already.",
        ),
        R::CouponSoldOut => Problem::new(
            S::CONFLICT,
            "COUPON_SOLD_OUT",
            "쿠폰이 모두 소진되었습니다.",
            "All of these coupons have been issued.",
        ),
        R::CouponNotUsable => Problem::new(
            S::CONFLICT,
            "COUPON_NOT_USABLE",
            "사용할 수 없는 쿠폰입니다.",
            "The coupon is unknown, not this user's, used, expired, or in another currency.",
        ),
        R::AmountChanged { amount } => Problem::new(
            S::CONFLICT,
            "AMOUNT_CHANGED",
            format!("결제 금액이 변경되었습니다. ({amount})"),
            format!("The amount to pay is {amount}."),
        )
        .with("amount", *amount),
        R::InsufficientBalance { balance, needed } => Problem::new(
            S::CONFLICT,
            "INSUFFICIENT_BALANCE",
            format!("잔액이 부족합니다. (잔액 {balance}, 필요 {needed})"),
            format!("The balance is {balance}; {needed} is needed."),
        )
        .with("balance", *balance)
        .with("needed", *needed),
        R::OrderNotFound => {
            Problem::new(S::NOT_FOUND, "ORDER_NOT_FOUND", "주문을 찾을 수 없습니다.", "There is no such order.")
        }
        R::OrderAlreadyCancelled => Problem::new(
            S::CONFLICT,
            "ORDER_ALREADY_CANCELLED",
            "이미 취소된 주문입니다.",
            "The order was cancelled before.",
        ),
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let option = ProductOptionId::new(1).expect("a number");
    vec![
        R::UserNotFound,
        R::ProductNotFound,
        R::ProductOptionNotFound,
        R::StockInUse { in_use: 3 },
        R::CartEmpty,
        R::ProductOptionInactive { option },
        R::DuplicateReservation,
        R::InsufficientAvailableStock { option, available: 2 },
        R::OrderReservationNotFound,
        R::OrderReservationExpired,
        R::CouponNotFound,
        R::CouponAlreadyExists,
        R::CouponAlreadyIssued,
        R::CouponSoldOut,
        R::CouponNotUsable,
        R::AmountChanged { amount: 45_000 },
        R::InsufficientBalance { balance: 10_000, needed: 45_000 },
        R::OrderNotFound,
        R::OrderAlreadyCancelled,
    ]
}
