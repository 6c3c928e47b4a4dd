//! Handlers of events, their seats and their waiting rooms.

pub mod events;
pub mod holds;
pub mod queue;
pub mod queue_gate;
pub mod queue_stream;
mod queue_view;
pub mod reservations;
pub mod seats;

use holdfast_core::TicketRejection;
use holdfast_core::id::ID_MAX;
use holdfast_core::ticket::EventId;

use crate::problem::Problem;
use crate::request::parse_id;

/// Parses the event id of a path. A valid id outside the range of event ids gives `EVENT_NOT_FOUND`.
fn event_id(text: &str) -> Result<EventId, Problem> {
    let number = parse_id("id", text, |number| (1..=ID_MAX).contains(&number).then_some(number))?;
    EventId::new(number).ok_or_else(|| holdfast_core::Rejection::from(TicketRejection::EventNotFound).into())
}
