//! Seats of events. A unit is one seat; a hold claims one or more seats of one event, all of them or none.
//!
//! The event as a whole is a unit too, of which the number of its held seats is held. So the remaining seats are
//! counted exactly without reading seats. The waiting room decides who may enter; this module only keeps its settings.
//!
//! | module | contents |
//! | --- | --- |
//! | [`event`] | events: creating, changing, pausing admission, remaining seats |
//! | [`plan`] | seat plan of an event, fixed at creation |
//! | [`seat`] | status of seats |
//! | [`best`] | choice of the best free seats: pure geometry, no rows |
//! | [`place`] | placing holds: on chosen seats, or on the best free ones |
//! | [`mod@line`] | the line of a hold on seats |
//! | [`reserve`] | reserving seats in one step |
//! | [`reservation`] | reservations, and their cancellation |
//! | [`admission`] | publishing admissions through the waiting room |
//! | [`audit`] | consistency rules of a whole store |

pub mod admission;
pub mod audit;
pub mod best;
pub mod event;
pub mod line;
pub mod place;
pub mod plan;
pub mod reservation;
pub mod reserve;
pub mod seat;
pub(crate) mod seat_claim;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use crate::id::{HoldId, ID_MAX, UserId};
use crate::table::{Row, Scan};
use crate::time::{Span, Timestamp};
use crate::unit::{Kind, Unit};

pub use admission::QueueAdmission;
pub use event::{EventSales, TicketEvent};
pub use line::{CancelSeatHold, ConfirmSeatHold, SeatChoice, SeatsItem, SeatsRequest};
pub use plan::{PlannedSeat, SeatPlan};
pub use reservation::{ReservedSeat, SeatReservation, SeatReservationId, SeatReservationState};
pub use seat::SoldSeat;

/// Maximum number of seats of an event.
pub const SEATS_MAX: u32 = 100_000;
/// Maximum number of seats of a hold or reservation. Their total at the highest price is below 2^53.
pub const SEATS_AT_ONCE_MAX: usize = 1_000;
/// Maximum number of users admitted to an event at a time.
pub const CONCURRENT_MAX: u32 = 1_000_000;
pub const CONCURRENT_DEFAULT: u32 = 800;
pub const SEATS_PER_USER_DEFAULT: u32 = 10;

/// A seat's id is its event's id times this number, plus its position.
const SEAT_IDS_PER_EVENT: u64 = 1_000_000;
/// Largest event id whose seats have ids below 2^53.
const EVENT_ID_MAX: u64 = ID_MAX / SEAT_IDS_PER_EVENT - 1;

/// Settings of tickets.
#[derive(Clone, Debug)]
pub struct Limits {
    pub hold_ttl: Span,
}

/// Number of an event, small enough that each of its seats has an id below 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(u64);

impl EventId {
    /// Returns `None` for a number out of range.
    pub fn new(number: u64) -> Option<Self> {
        (1..=EVENT_ID_MAX).contains(&number).then_some(Self(number))
    }

    pub fn get(self) -> u64 {
        self.0
    }

    /// Returns the seat at a position of the event's plan; the first position is 1.
    pub fn seat(self, position: u32) -> SeatId {
        assert!((1..=SEATS_MAX).contains(&position), "a seat has a position in its plan");
        SeatId(self.0 * SEAT_IDS_PER_EVENT + u64::from(position))
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a seat: its event, and its position in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeatId(u64);

impl SeatId {
    /// Returns `None` for a number out of range.
    pub fn new(number: u64) -> Option<Self> {
        let seat = Self(number);
        let has_position = (1..=SEATS_MAX).contains(&seat.position());
        (EventId::new(number / SEAT_IDS_PER_EVENT).is_some() && has_position).then_some(seat)
    }

    pub fn get(self) -> u64 {
        self.0
    }

    pub fn event(self) -> EventId {
        EventId(self.0 / SEAT_IDS_PER_EVENT)
    }

    /// Returns the position in the plan of its event; the first is 1.
    pub fn position(self) -> u32 {
        (self.0 % SEAT_IDS_PER_EVENT) as u32
    }
}

impl std::fmt::Display for SeatId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Scan of all seats of an event. `seat_count` lets stores without ranges look up each possible seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatsOf {
    pub event: EventId,
    pub seat_count: u32,
}

impl Scan<SeatId> for SeatsOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<SeatId> {
        self.event.seat(1)..=self.event.seat(self.seat_count)
    }

    fn candidates(&self, _now: Timestamp) -> Vec<SeatId> {
        (1..=self.seat_count).map(|position| self.event.seat(position)).collect()
    }
}

/// Key of the seats of one user of one event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuyerId {
    pub event: EventId,
    pub user: UserId,
}

/// Number of seats of an event that a user has reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buyer {
    pub reserved: u32,
}

impl Row for Buyer {}

/// Index entry from a seat to the hold on it, valid until its end. It contains the owner, so that other commands need
/// not read the hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatPointer {
    pub hold: HoldId,
    pub owner: UserId,
    /// `None` while the hold is prepared, because it does not end by time then.
    pub expires_at: Option<Timestamp>,
}

impl SeatPointer {
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

impl Row for SeatPointer {
    fn ends_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// Returns the unit of an event as a whole, which counts its held seats.
pub fn event_unit(event: EventId) -> Unit {
    Unit { kind: Kind::Ticket, resource: event.get(), part: 0 }
}

/// Returns the unit of one seat.
pub fn seat_unit(seat: SeatId) -> Unit {
    Unit { part: seat.position(), ..event_unit(seat.event()) }
}

/// Returns the seat of a ticket unit; `None` for the unit of an event as a whole.
pub fn seat_of(unit: Unit) -> Option<SeatId> {
    (unit.part > 0).then(|| EventId::new(unit.resource).expect("units are made from events").seat(unit.part))
}
