//! Problems of the shop.

use holdfast_api::error::ErrorCode;
use holdfast_core::ShopRejection as R;
use holdfast_core::shop::ProductOptionId;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::UserNotFound => Problem::of(ErrorCode::UserNotFound),
        R::UserAlreadyExists => Problem::of(ErrorCode::UserAlreadyExists),
        R::ProductNotFound => Problem::of(ErrorCode::ProductNotFound),
        R::ProductOptionNotFound => Problem::of(ErrorCode::ProductOptionNotFound),
        R::StockInUse { in_use } => Problem::of(ErrorCode::CapacityInUse).with("inUse", *in_use),
        R::CartEmpty => Problem::of(ErrorCode::CartEmpty),
        R::ProductOptionInactive { option } => {
            Problem::of(ErrorCode::ProductOptionInactive).with("productOptionId", option.get())
        }
        R::DuplicateReservation => Problem::of(ErrorCode::DuplicateReservation),
        R::InsufficientAvailableStock { option, available } => Problem::of(ErrorCode::InsufficientAvailableStock)
            .with("productOptionId", option.get())
            .with("available", *available),
        R::OrderReservationNotFound => Problem::new(
            ErrorCode::ReservationNotFound,
            "주문 예약을 찾을 수 없습니다.",
            "There is no live reservation, or not this one.",
        ),
        R::OrderReservationExpired => Problem::of(ErrorCode::ReservationExpired),
        R::CouponNotFound => Problem::of(ErrorCode::CouponNotFound),
        R::CouponAlreadyExists => Problem::of(ErrorCode::CouponAlreadyExists),
        R::CouponAlreadyIssued => Problem::of(ErrorCode::CouponAlreadyIssued),
        R::CouponSoldOut => Problem::of(ErrorCode::CouponSoldOut),
        R::CouponNotUsable => Problem::of(ErrorCode::CouponNotUsable),
        R::AmountChanged { amount } => Problem::of(ErrorCode::AmountChanged).with("amount", *amount),
        R::InsufficientBalance { balance, needed } => {
            Problem::of(ErrorCode::InsufficientBalance).with("balance", *balance).with("needed", *needed)
        }
        R::OrderNotFound => Problem::of(ErrorCode::OrderNotFound),
        R::StockSaleNotFound => Problem::of(ErrorCode::StockSaleNotFound),
        R::OrderAlreadyCancelled => Problem::of(ErrorCode::OrderAlreadyCancelled),
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let option = ProductOptionId::new(1).expect("a number");
    vec![
        R::UserNotFound,
        R::UserAlreadyExists,
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
        R::StockSaleNotFound,
    ]
}
