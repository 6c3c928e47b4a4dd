//! Problems of rooms by the hour.

use holdfast_core::CalendarRejection as R;
use holdfast_core::calendar::LocalTime;
use http::StatusCode as S;
use jiff::civil::Date;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::RoomNotFound => {
            Problem::new(S::NOT_FOUND, "ROOM_NOT_FOUND", "공간을 찾을 수 없습니다.", "There is no such room.")
        }
        R::SlotNotFound { date, time } => at(
            Problem::new(
                S::NOT_FOUND,
                "SLOT_NOT_FOUND",
                format!("해당 타임슬롯이 없습니다. ({date} {time})"),
                format!("There is no slot at {date} {time}."),
            ),
            *date,
            *time,
        ),
        R::SlotNotAvailable { date, time } => at(
            Problem::new(
                S::CONFLICT,
                "SLOT_NOT_AVAILABLE",
                format!("예약할 수 없는 타임슬롯입니다. ({date} {time})"),
                format!("The slot at {date} {time} is not available."),
            ),
            *date,
            *time,
        ),
        R::LockNotFound => {
            Problem::new(S::NOT_FOUND, "LOCK_NOT_FOUND", "잠금을 찾을 수 없습니다.", "There is no such lock.")
        }
        R::SlotNotLocked { reservation } => {
            let problem = Problem::new(
                S::CONFLICT,
                "SLOT_NOT_LOCKED",
                "잠금이 없거나 만료되었거나 이미 처리되었습니다.",
                "There is no such lock, or it has expired, or was confirmed or released before.",
            );
            match reservation {
                Some(number) => problem.with("reservationId", *number),
                None => problem,
            }
        }
        R::RoomReservationNotFound => Problem::new(
            S::NOT_FOUND,
            "RESERVATION_NOT_FOUND",
            "예약을 찾을 수 없습니다.",
            "There is no such reservation.",
        ),
        R::RoomReservationAlreadyCancelled => Problem::new(
            S::CONFLICT,
            "RESERVATION_ALREADY_CANCELLED",
            "이미 취소된 예약입니다.",
            "The reservation was cancelled before.",
        ),
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
