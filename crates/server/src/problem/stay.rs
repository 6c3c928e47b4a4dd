//! Problems of stays.

use holdfast_api::error::ErrorCode;
use holdfast_core::StayRejection as R;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::RoomTypeNotFound => Problem::of(ErrorCode::RoomTypeNotFound),
        R::RoomsInUse { date, in_use } => Problem::new(
            ErrorCode::CapacityInUse,
            format!("이미 예약되었거나 잡혀 있는 수량보다 적게 줄일 수 없습니다. ({date}: {in_use})"),
            format!("On {date} {in_use} are confirmed or held; the quantity cannot go below that."),
        )
        .with("date", date.to_string())
        .with("inUse", *in_use),
        R::RoomNotAvailable { date, available } => {
            Problem::of(ErrorCode::RoomNotAvailable).with("date", date.to_string()).with("available", *available)
        }
        R::StayHoldNotFound => Problem::of(ErrorCode::ReservationHoldNotFound),
        R::StayHoldExpired => Problem::of(ErrorCode::ReservationHoldExpired),
        R::StayHoldAlreadyProcessed { reservation } => {
            let problem = Problem::of(ErrorCode::ReservationHoldAlreadyProcessed);
            match reservation {
                Some(number) => problem.with("reservationId", *number),
                None => problem,
            }
        }
        R::StayHoldKeyConflict => Problem::of(ErrorCode::ReservationHoldKeyConflict),
        R::StayReservationNotFound => Problem::of(ErrorCode::ReservationNotFound),
        R::StayReservationAlreadyCancelled => Problem::of(ErrorCode::ReservationAlreadyCancelled),
        R::StayReservationNotCancellable => Problem::of(ErrorCode::ReservationNotCancellable),
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let date = jiff::civil::date(2026, 12, 24);
    vec![
        R::RoomTypeNotFound,
        R::RoomsInUse { date, in_use: 3 },
        R::RoomNotAvailable { date, available: 0 },
        R::StayHoldNotFound,
        R::StayHoldExpired,
        R::StayHoldAlreadyProcessed { reservation: Some(1) },
        R::StayHoldKeyConflict,
        R::StayReservationNotFound,
        R::StayReservationAlreadyCancelled,
        R::StayReservationNotCancellable,
    ]
}
