//! Problems of holds, whichever endpoint placed them.

use holdfast_api::error::ErrorCode;
use holdfast_core::claim::place::RefusedLine;
use holdfast_core::hold::{LineRecord, RecordType};
use holdfast_core::{ClaimRejection as R, TicketRejection, Timestamp};
use serde_json::{Map, Value, json};

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::ClaimNotFound => Problem::of(ErrorCode::ClaimNotFound),
        R::ClaimExpired => Problem::of(ErrorCode::ClaimExpired),
        R::ClaimAlreadyProcessed { records } => {
            let record = |it: &LineRecord| json!({"index": it.line, "type": it.record.name(), "id": it.number});
            let records: Vec<_> = records.iter().map(record).collect();
            let problem = Problem::of(ErrorCode::ClaimAlreadyProcessed);
            if records.is_empty() { problem } else { problem.with("records", records) }
        }
        R::ClaimNotChangeable => Problem::of(ErrorCode::ClaimNotChangeable),
        R::PaymentRequired => Problem::of(ErrorCode::PaymentRequired),
        R::VersionMismatch { version } => Problem::of(ErrorCode::VersionMismatch).with("version", *version),
        R::NotAvailable { lines } => {
            let lines: Vec<_> = refused(lines).into_iter().map(Value::Object).collect();
            Problem::of(ErrorCode::NotAvailable).with("lines", lines)
        }
        R::InvalidLine { list, line, rejection } => {
            let problem = Problem::from(&**rejection);
            match field_of(problem.code) {
                Some(field) => problem.with("field", field),
                None => problem,
            }
            .in_line(list, *line)
        }
        R::ExtensionLimit { max_until } => {
            Problem::of(ErrorCode::ExtensionLimit).with("maxUntil", max_until.to_jiff().to_string())
        }
    }
}

/// Returns the field of a line that names an unknown object.
fn field_of(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::RoomTypeNotFound => Some("roomTypeId"),
        ErrorCode::ProductOptionNotFound => Some("productOptionId"),
        ErrorCode::EventNotFound => Some("eventId"),
        ErrorCode::SeatNotFound => Some("seatIds"),
        ErrorCode::RoomNotFound => Some("roomId"),
        _ => None,
    }
}

/// Returns the code of each refused line, and the members that help.
pub fn refused(lines: &[RefusedLine]) -> Vec<Map<String, Value>> {
    let line = |line: &RefusedLine| {
        let mut members = Map::new();
        members.insert("index".into(), line.index.into());
        members.extend(Problem::from(&line.rejection).code_and_extra());
        members
    };
    lines.iter().map(line).collect()
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let max_until = Timestamp::from_millis(1_800_000_000_000);
    let record = LineRecord { line: 0, record: RecordType::StayReservation, number: 1 };
    let sold_out = RefusedLine { index: 0, rejection: TicketRejection::SoldOut.into() };
    vec![
        R::ClaimNotFound,
        R::ClaimExpired,
        R::ClaimAlreadyProcessed { records: vec![record] },
        R::ClaimNotChangeable,
        R::PaymentRequired,
        R::VersionMismatch { version: 3 },
        R::NotAvailable { lines: vec![sold_out] },
        R::ExtensionLimit { max_until },
    ]
}
