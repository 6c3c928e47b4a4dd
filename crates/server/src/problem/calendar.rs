//! Problems of rooms by the hour.

use holdfast_api::error::ErrorCode;
use holdfast_core::CalendarRejection as R;
use holdfast_core::calendar::LocalTime;
use jiff::civil::Date;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::RoomNotFound => Problem::of(ErrorCode::RoomNotFound),
        R::SlotNotFound { date, time } => at(Problem::of(ErrorCode::SlotNotFound), *date, *time),
        R::SlotNotAvailable { date, time } => at(Problem::of(ErrorCode::SlotNotAvailable), *date, *time),
        R::LockNotFound => Problem::of(ErrorCode::LockNotFound),
        R::SlotNotLocked { reservation } => {
            let problem = Problem::of(ErrorCode::SlotNotLocked);
            match reservation {
                Some(number) => problem.with("reservationId", *number),
                None => problem,
            }
        }
        R::RoomReservationNotFound => Problem::of(ErrorCode::ReservationNotFound),
        R::RoomReservationAlreadyCancelled => Problem::of(ErrorCode::ReservationAlreadyCancelled),
    }
}

/// Adds the slot's date and time.
fn at(problem: Problem, date: Date, time: LocalTime) -> Problem {
    problem.with("date", date.to_string()).with("time", time.to_string())
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let date = jiff::civil::date(2026, 12, 24);
    let time = LocalTime::from_minutes(540).expect("540 minutes are a time of day");
    vec![
        R::RoomNotFound,
        R::SlotNotFound { date, time },
        R::SlotNotAvailable { date, time },
        R::LockNotFound,
        R::SlotNotLocked { reservation: Some(7) },
        R::RoomReservationNotFound,
        R::RoomReservationAlreadyCancelled,
    ]
}
