//! Problems of tickets.

use holdfast_api::error::ErrorCode;
use holdfast_core::{TicketRejection as R, Timestamp};

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::EventNotFound => Problem::of(ErrorCode::EventNotFound),
        R::SeatNotFound { seat } => Problem::of(ErrorCode::SeatNotFound).with("seatId", *seat),
        R::SalesNotOpen { opens_at } => {
            Problem::of(ErrorCode::SalesNotOpen).with("opensAt", opens_at.to_jiff().to_string())
        }
        R::SoldOut => Problem::of(ErrorCode::SoldOut),
        R::SeatAlreadyReserved { seat } => Problem::of(ErrorCode::SeatAlreadyReserved).with("seatId", *seat),
        R::SeatHeldByAnother { seat } => Problem::of(ErrorCode::SeatHeldByAnother).with("seatId", *seat),
        R::NotEnoughSeats { available } => Problem::of(ErrorCode::NotEnoughSeats).with("available", *available),
        R::SeatLimitReached { max } => Problem::of(ErrorCode::SeatLimitReached).with("max", *max),
        R::SeatHoldNotFound => Problem::of(ErrorCode::SeatHoldNotFound),
        R::SeatHoldExpired => Problem::of(ErrorCode::SeatHoldExpired),
        R::SeatHoldAlreadyProcessed { reservation } => {
            let problem = Problem::of(ErrorCode::SeatHoldAlreadyProcessed);
            match reservation {
                Some(number) => problem.with("reservationId", *number),
                None => problem,
            }
        }
        R::SeatReservationNotFound => Problem::new(
            ErrorCode::ReservationNotFound,
            "예매 내역을 찾을 수 없습니다.",
            "There is no such reservation.",
        ),
        R::SeatReservationAlreadyCancelled => Problem::new(
            ErrorCode::ReservationAlreadyCancelled,
            "이미 취소된 예매입니다.",
            "The reservation was cancelled before.",
        ),
    }
}

/// Examples of all rejections.
pub(super) fn catalog() -> Vec<R> {
    vec![
        R::EventNotFound,
        R::SeatNotFound { seat: 1_000_001 },
        R::SalesNotOpen { opens_at: Timestamp::from_millis(0) },
        R::SoldOut,
        R::SeatAlreadyReserved { seat: 1_000_001 },
        R::SeatHeldByAnother { seat: 1_000_001 },
        R::NotEnoughSeats { available: 1 },
        R::SeatLimitReached { max: 10 },
        R::SeatHoldNotFound,
        R::SeatHoldExpired,
        R::SeatHoldAlreadyProcessed { reservation: Some(1) },
        R::SeatReservationNotFound,
        R::SeatReservationAlreadyCancelled,
    ]
}
