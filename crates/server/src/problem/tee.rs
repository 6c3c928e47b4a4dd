//! Problems of tee times.

use holdfast_core::TeeRejection as R;
use holdfast_core::tee::{BookingStatus, StartTime};
use http::StatusCode as S;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::CourseNotFound => {
            Problem::new(S::NOT_FOUND, "COURSE_NOT_FOUND", "코스를 찾을 수 없습니다.", "There is no such course.")
        }
        R::SlotNotFound => {
            Problem::new(S::NOT_FOUND, "SLOT_NOT_FOUND", "타임슬롯을 찾을 수 없습니다.", "There is no such slot.")
        }
        R::SlotExists { date, start } => Problem::new(
            S::CONFLICT,
            "SLOT_EXISTS",
            format!("이미 존재하는 타임슬롯입니다. ({date} {start})"),
            format!("There is a slot on {date} at {start} already; no slot was created."),
        )
        .with("date", date.to_string())
        .with("startTime", start.to_string()),
        R::BookingNotFound => {
            Problem::new(S::NOT_FOUND, "BOOKING_NOT_FOUND", "예약을 찾을 수 없습니다.", "There is no such booking.")
        }
        R::BookingNotCancellable { ended_as: Some(status) } => Problem::new(
            S::CONFLICT,
            "BOOKING_NOT_CANCELLABLE",
            format!("취소할 수 없는 예약입니다. (상태: {status})"),
            format!("The booking has ended as {status}."),
        )
        .with("reason", status.as_str()),
        R::BookingNotCancellable { ended_as: None } => Problem::new(
            S::CONFLICT,
            "BOOKING_NOT_CANCELLABLE",
            "티오프 이후에는 취소할 수 없습니다.",
            "Players have teed off; only an operator can cancel now.",
        )
        .with("reason", "AFTER_TEE_OFF"),
        R::InvalidStateTransition { from, to } => Problem::new(
            S::CONFLICT,
            "INVALID_STATE_TRANSITION",
            format!("{from} 상태에서 {to} 상태로 변경할 수 없습니다."),
            format!("A booking that is {from} cannot become {to}."),
        )
        .with("from", from.as_str())
        .with("to", to.as_str()),
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let start = StartTime::parse("09:00").expect("a time");
    vec![
        R::CourseNotFound,
        R::SlotNotFound,
        R::SlotExists { date: jiff::civil::date(2026, 12, 24), start },
        R::BookingNotFound,
        R::BookingNotCancellable { ended_as: Some(BookingStatus::Completed) },
        R::InvalidStateTransition { from: BookingStatus::Pending, to: BookingStatus::Completed },
    ]
}
