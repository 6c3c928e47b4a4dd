//! Problems of tee times.

use holdfast_api::error::ErrorCode;
use holdfast_core::TeeRejection as R;
use holdfast_core::tee::{BookingStatus, StartTime};

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::CourseNotFound => Problem::of(ErrorCode::CourseNotFound),
        R::SlotNotFound => {
            Problem::new(ErrorCode::SlotNotFound, "타임슬롯을 찾을 수 없습니다.", "There is no such slot.")
        }
        R::SlotExists { date, start } => {
            Problem::of(ErrorCode::SlotExists).with("date", date.to_string()).with("startTime", start.to_string())
        }
        R::BookingNotFound => Problem::of(ErrorCode::BookingNotFound),
        R::BookingNotCancellable { ended_as: Some(status) } => Problem::new(
            ErrorCode::BookingNotCancellable,
            format!("취소할 수 없는 예약입니다. (상태: {status})"),
            format!("The booking has ended as {status}."),
        )
        .with("reason", status.as_str()),
        R::BookingNotCancellable { ended_as: None } => {
            Problem::of(ErrorCode::BookingNotCancellable).with("reason", "AFTER_TEE_OFF")
        }
        R::InvalidStateTransition { from, to } => {
            Problem::of(ErrorCode::InvalidStateTransition).with("from", from.as_str()).with("to", to.as_str())
        }
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
