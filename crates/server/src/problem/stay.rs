//! Problems of stays.

use holdfast_core::StayRejection as R;
use http::StatusCode as S;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::RoomTypeNotFound => Problem::new(
            S::NOT_FOUND,
            "ROOM_TYPE_NOT_FOUND",
            "객실 타입을 찾을 수 없습니다.",
            "There is no such room type.",
        ),
        R::RoomsInUse { date, in_use } => Problem::new(
            S::CONFLICT,
            "CAPACITY_IN_USE",
            format!("이미 예약되었거나 잡혀 있는 수량보다 적게 줄일 수 없습니다. ({date}: {in_use})"),
            format!("On {date} {in_use} are confirmed or held; the quantity cannot go below that."),
        )
        .with("date", date.to_string())
        .with("inUse", *in_use),
        R::RoomNotAvailable { date } => Problem::new(
            S::CONFLICT,
            "ROOM_NOT_AVAILABLE",
            format!("예약 가능한 객실이 없습니다. ({date})"),
            format!("No room is free on {date}."),
        )
        .with("date", date.to_string())
        .with("available", 0),
        R::StayHoldNotFound => Problem::new(
            S::NOT_FOUND,
            "RESERVATION_HOLD_NOT_FOUND",
            "가계약을 찾을 수 없습니다.",
            "There is no such hold, or it ended more than a day ago.",
        ),
        R::StayHoldExpired => Problem::new(
            S::BAD_REQUEST,
            "RESERVATION_HOLD_EXPIRED",
            "가계약이 만료되었습니다.",
            "The hold has expired or was replaced; place a new one.",
        ),
        R::StayHoldAlreadyProcessed { reservation } => {
            let problem = Problem::new(
                S::CONFLICT,
                "RESERVATION_HOLD_ALREADY_PROCESSED",
                "이미 처리된 가계약입니다.",
                "The hold was confirmed or cancelled before.",
            );
            match reservation {
                Some(number) => problem.with("reservationId", *number),
                None => problem,
            }
        }
        R::StayHoldKeyConflict => Problem::new(
            S::CONFLICT,
            "RESERVATION_HOLD_KEY_CONFLICT",
            "clientHoldKey가 이미 다른 가계약에 사용되고 있습니다.",
            "This clientHoldKey belongs to another live hold on the same dates; take a new key.",
        ),
        R::StayReservationNotFound => Problem::new(
            S::NOT_FOUND,
            "RESERVATION_NOT_FOUND",
            "예약을 찾을 수 없습니다.",
            "There is no such reservation.",
        ),
        R::StayReservationAlreadyCancelled => Problem::new(
            S::CONFLICT,
            "RESERVATION_ALREADY_CANCELLED",
            "이미 취소된 예약입니다.",
            "The reservation was cancelled before.",
        ),
        R::StayReservationNotCancellable => Problem::new(
            S::CONFLICT,
            "RESERVATION_NOT_CANCELLABLE",
            "체크인 당일부터는 취소할 수 없습니다.",
            "From the day of check-in on a reservation cannot be cancelled.",
        ),
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let date = jiff::civil::date(2026, 12, 24);
    vec![
        R::RoomTypeNotFound,
        R::RoomsInUse { date, in_use: 3 },
        R::RoomNotAvailable { date },
        R::StayHoldNotFound,
        R::StayHoldExpired,
        R::StayHoldAlreadyProcessed { reservation: Some(1) },
        R::StayHoldKeyConflict,
        R::StayReservationNotFound,
        R::StayReservationAlreadyCancelled,
        R::StayReservationNotCancellable,
    ]
}
