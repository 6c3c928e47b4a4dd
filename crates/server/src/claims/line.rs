//! Parsing of requested lines.

use holdfast_api::calendar::slot::starts;
use holdfast_api::claim::NewLineBody;
use holdfast_api::parse::required_date;
use holdfast_core::Fault;
use holdfast_core::calendar::{RoomId, SlotsRequest};
use holdfast_core::hold::LineRequest;
use holdfast_core::id::ID_MAX;
use holdfast_core::shop::{ProductOptionId, StockRequest};
use holdfast_core::stay::{RoomTypeId, StayRequest};
use holdfast_core::ticket::{EventId, SEATS_AT_ONCE_MAX, SeatChoice, SeatsRequest};

use crate::problem::Problem;
use crate::request::id;

/// Maximum number of lines that are parsed; the rules refuse one more than allowed.
const LINES_PARSED_MAX: usize = holdfast_core::claim::LINES_MAX + 1;

/// Converts the lines of a list in a body. `list` is its name in error fields.
pub(super) fn line_requests(list: &str, lines: &[NewLineBody]) -> Result<Vec<LineRequest>, Problem> {
    let lines = lines.iter().take(LINES_PARSED_MAX).enumerate();
    lines.map(|(index, line)| line_request(line).map_err(|problem| problem.in_line(list, index as u16))).collect()
}

fn line_request(line: &NewLineBody) -> Result<LineRequest, Problem> {
    let NewLineBody { room_type_id, product_option_id, event_id, room_id, .. } = line;
    match (room_type_id, product_option_id, event_id, room_id) {
        (Some(room_type), None, None, None) => stay(line, *room_type),
        (None, Some(option), None, None) => stock(line, *option),
        (None, None, Some(event), None) => seats(line, *event),
        (None, None, None, Some(room)) => slots(line, *room),
        (None, None, None, None) => Err(Problem::invalid("roomTypeId", &Fault::Missing)),
        (_, Some(_), _, _) => Err(Problem::invalid("productOptionId", &Fault::UnknownValue)),
        (_, _, Some(_), _) => Err(Problem::invalid("eventId", &Fault::UnknownValue)),
        (_, _, _, Some(_)) => Err(Problem::invalid("roomId", &Fault::UnknownValue)),
    }
}

/// Rejects a field that lines of other types have.
fn without(fields: &[(&'static str, bool)]) -> Result<(), Problem> {
    match fields.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => Err(Problem::invalid(*field, &Fault::UnknownValue)),
        None => Ok(()),
    }
}

fn of_stay(line: &NewLineBody) -> [(&'static str, bool); 2] {
    [("checkIn", line.check_in.is_some()), ("checkOut", line.check_out.is_some())]
}

fn of_seats(line: &NewLineBody) -> [(&'static str, bool); 3] {
    [("seatIds", line.seat_ids.is_some()), ("best", line.best.is_some()), ("section", line.section.is_some())]
}

fn of_slots(line: &NewLineBody) -> [(&'static str, bool); 3] {
    [("date", line.date.is_some()), ("times", line.times.is_some()), ("slots", line.slots.is_some())]
}

fn stay(line: &NewLineBody, room_type: u64) -> Result<LineRequest, Problem> {
    without(&of_seats(line))?;
    without(&of_slots(line))?;
    Ok(LineRequest::Stay(StayRequest {
        room_type: id("roomTypeId", room_type, RoomTypeId::new)?,
        check_in: required_date("checkIn", line.check_in.as_deref())?,
        check_out: required_date("checkOut", line.check_out.as_deref())?,
        quantity: line.quantity.unwrap_or(1),
    }))
}

fn stock(line: &NewLineBody, option: u64) -> Result<LineRequest, Problem> {
    without(&of_stay(line))?;
    without(&of_seats(line))?;
    without(&of_slots(line))?;
    Ok(LineRequest::Stock(StockRequest {
        option: id("productOptionId", option, ProductOptionId::new)?,
        quantity: line.quantity.ok_or_else(|| Problem::invalid("quantity", &Fault::Missing))?,
    }))
}

fn seats(line: &NewLineBody, event: u64) -> Result<LineRequest, Problem> {
    without(&of_stay(line))?;
    without(&of_slots(line))?;
    without(&[("quantity", line.quantity.is_some())])?;
    let choice = match (&line.seat_ids, line.best) {
        (Some(seats), None) => {
            without(&[("section", line.section.is_some())])?;
            if !seats.iter().all(|seat| (1..=ID_MAX).contains(seat)) {
                return Err(Problem::invalid("seatIds", &Fault::OutOfRange { min: 1, max: ID_MAX as i64 }));
            }
            SeatChoice::Seats(seats.clone())
        }
        (None, Some(count)) if (1..=SEATS_AT_ONCE_MAX).contains(&(count as usize)) => {
            SeatChoice::Best { count, section: line.section.clone() }
        }
        (None, Some(_)) => {
            return Err(Problem::invalid("best", &Fault::OutOfRange { min: 1, max: SEATS_AT_ONCE_MAX as i64 }));
        }
        (None, None) => return Err(Problem::invalid("seatIds", &Fault::Missing)),
        (Some(_), Some(_)) => return Err(Problem::invalid("best", &Fault::UnknownValue)),
    };
    Ok(LineRequest::Seats(SeatsRequest { event: id("eventId", event, EventId::new)?, choice }))
}

fn slots(line: &NewLineBody, room: u64) -> Result<LineRequest, Problem> {
    without(&of_stay(line))?;
    without(&of_seats(line))?;
    without(&[("quantity", line.quantity.is_some())])?;
    Ok(LineRequest::Slots(SlotsRequest {
        room: id("roomId", room, RoomId::new)?,
        starts: starts(line.date.as_ref(), line.times.as_ref(), line.slots.as_ref())?,
    }))
}
