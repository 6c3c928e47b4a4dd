//! Problems of tickets.

use holdfast_core::{TicketRejection as R, Timestamp};
use http::StatusCode as S;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::EventNotFound => {
            Problem::new(S::NOT_FOUND, "EVENT_NOT_FOUND", "공연을 찾을 수 없습니다.", "There is no such event.")
        }
        R::SeatNotFound { seat } => Problem::new(
            S::NOT_FOUND,
            "SEAT_NOT_FOUND",
            format!("좌석을 찾을 수 없습니다. (좌석 ID: {seat})"),
            format!("The event has no seat {seat}."),
        )
        .with("seatId", *seat),
        R::SalesNotOpen { opens_at } => Problem::new(
            S::CONFLICT,
            "SALES_NOT_OPEN",
            "아직 판매가 시작되지 않았습니다.",
            "Sales have not opened yet; they open at the time in `opensAt`.",
        )
        .with("opensAt", opens_at.to_jiff().to_string()),
        R::SoldOut => Problem::new(S::CONFLICT, "SOLD_OUT", "매진", "All seats are reserved."),
        R::SeatAlreadyReserved { seat } => Problem::new(
            S::CONFLICT,
            "SEAT_ALREADY_RESERVED",
            "이미 예매된 좌석",
            format!("Seat {seat} is reserved; choose another."),
        )
        .with("seatId", *seat),
        R::SeatHeldByAnother { seat } => Problem::new(
            S::CONFLICT,
            "SEAT_HELD_BY_ANOTHER",
            "다른 사용자가 선택 중",
            format!("Another user holds seat {seat}; choose another, or try again later."),
        )
        .with("seatId", *seat),
        R::NotEnoughSeats { available } => Problem::new(
            S::CONFLICT,
            "NOT_ENOUGH_SEATS",
            format!("남은 좌석이 부족합니다. (잔여 {available}석)"),
            format!("Only {available} seats are free there."),
        )
        .with("available", *available),
        R::SeatLimitReached { max } => Problem::new(
            S::CONFLICT,
            "SEAT_LIMIT_REACHED",
            format!("한 사용자는 최대 {max}석까지 예매할 수 있습니다."),
            format!("One user may have at most {max} seats of this event, held and reserved together."),
        )
        .with("max", *max),
        R::SeatHoldNotFound => Problem::new(
            S::NOT_FOUND,
            "SEAT_HOLD_NOT_FOUND",
            "좌석 선점 정보를 찾을 수 없습니다.",
            "There is no such seat hold.",
        ),
        R::SeatHoldExpired => Problem::new(
            S::CONFLICT,
            "SEAT_HOLD_EXPIRED",
            "좌석 선점 시간이 만료되었습니다.",
            "The hold has expired or was replaced; hold the seats again.",
        ),
        R::SeatHoldAlreadyProcessed { reservation } => {
            let problem = Problem::new(
                S::CONFLICT,
                "SEAT_HOLD_ALREADY_PROCESSED",
                "이미 처리된 좌석 선점입니다.",
                "The hold was confirmed or cancelled before.",
            );
            match reservation {
                Some(number) => problem.with("reservationId", *number),
                None => problem,
            }
        }
        R::SeatReservationNotFound => Problem::new(
            S::NOT_FOUND,
            "RESERVATION_NOT_FOUND",
            "예매 내역을 찾을 수 없습니다.",
            "There is no such reservation.",
        ),
        R::SeatReservationAlreadyCancelled => Problem::new(
            S::CONFLICT,
            "RESERVATION_ALREADY_CANCELLED",
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
