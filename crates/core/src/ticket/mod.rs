//! Seats of events. A unit is one seat; a hold claims one or more seats of one event, all of them or none.
//!
//! The event as a whole is a unit too: what is held of it is the number of its held seats. So what remains is known
//! exactly without looking at a single seat. Whether somebody may come in at all is the waiting room's business: nothing
//! here knows of queues, beyond the settings of an event that are kept for them.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`event`] | what is sold: creating and changing events, pausing their queue, what remains |
//! | [`plan`] | the seats of an event, as they were given when it was created |
//! | [`seat`] | which seats are sold, held and free |
//! | [`best`] | which free seats are the best: pure geometry, no rows |
//! | [`place`] | holding seats: those chosen, or the best there are |
//! | [`hold`] | the life of a hold: confirming, cancelling |
//! | [`reserve`] | reserving seats in one step |
//! | [`reservation`] | what a confirmed hold becomes, and its cancellation |
//! | [`admission`] | that somebody was let in, for those who listen |
//! | [`audit`] | what must be true of a whole store |

pub mod admission;
pub mod audit;
pub mod best;
pub mod event;
pub mod hold;
pub mod place;
pub mod plan;
pub mod reservation;
pub mod reserve;
pub mod seat;
mod take;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use crate::id::{HoldId, ID_MAX, UserId};
use crate::table::{Row, Scan, Table};
use crate::time::{Span, Timestamp};
use crate::unit::{Kind, Tally, Unit};

pub use admission::QueueAdmission;
pub use event::{EventSales, TicketEvent};
pub use hold::{SeatClaim, SeatHold};
pub use plan::{PlannedSeat, SeatPlan};
pub use reservation::{ReservedSeat, SeatReservation, SeatReservationId, SeatReservationState};
pub use seat::SoldSeat;

/// The most seats an event may have.
pub const SEATS_MAX: u32 = 100_000;
/// The most seats one hold or reservation may claim. A hundred of the highest price still fit into 2^53.
pub const SEATS_AT_ONCE_MAX: usize = 1_000;
/// The most people an event may let in at a time.
pub const CONCURRENT_MAX: u32 = 1_000_000;
pub const CONCURRENT_DEFAULT: u32 = 800;
pub const SEATS_PER_USER_DEFAULT: u32 = 10;

/// A seat's id is that of its event times this, plus its position.
const SEAT_IDS_PER_EVENT: u64 = 1_000_000;
/// The largest event id whose seats still have ids.
const EVENT_ID_MAX: u64 = ID_MAX / SEAT_IDS_PER_EVENT - 1;

/// Settings of this vertical.
#[derive(Clone, Debug)]
pub struct Limits {
    pub hold_ttl: Span,
}

/// The rows of tickets.
#[derive(Debug, Default)]
pub struct Tables {
    pub events: Table<EventId, TicketEvent>,
    /// Written once, with the event, and never changed.
    pub plans: Table<EventId, SeatPlan>,
    /// Events of which something was sold; the others have no row.
    pub sales: Table<EventId, EventSales>,
    /// Seats that are reserved; the others have no row.
    pub seats: Table<SeatId, SoldSeat, SeatsOf>,
    /// Users who have something reserved of an event; the others have no row.
    pub buyers: Table<BuyerId, Buyer>,
    pub holds: Table<HoldId, SeatHold>,
    /// Derived: the live hold on a seat.
    pub by_seat: Table<SeatId, SeatPointer, SeatsOf>,
    /// Derived: how many seats of an event a user holds.
    pub buyers_held: Table<BuyerId, Tally>,
    pub reservations: Table<SeatReservationId, SeatReservation>,
}

crate::table_set!(Tables { events, plans, sales, seats, buyers, holds, by_seat, buyers_held, reservations });

impl Tables {
    pub(crate) fn memory() -> Self {
        Self {
            events: Table::cache(),
            plans: Table::cache(),
            sales: Table::cache(),
            seats: Table::cache(),
            buyers: Table::cache(),
            holds: Table::cache(),
            by_seat: Table::complete(),
            buyers_held: Table::complete(),
            reservations: Table::cache(),
        }
    }

    pub(crate) fn take_live(&mut self) -> Self {
        Self {
            holds: std::mem::take(&mut self.holds),
            by_seat: std::mem::take(&mut self.by_seat),
            buyers_held: std::mem::take(&mut self.buyers_held),
            ..Self::default()
        }
    }

    pub(crate) fn complete() -> Self {
        Self {
            events: Table::complete(),
            plans: Table::complete(),
            sales: Table::complete(),
            seats: Table::complete(),
            buyers: Table::complete(),
            holds: Table::complete(),
            by_seat: Table::complete(),
            buyers_held: Table::complete(),
            reservations: Table::complete(),
        }
    }
}

/// The name of an event. Small enough that each of its seats has an id below 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(u64);

impl EventId {
    /// `None` for a number no event can have.
    pub fn new(number: u64) -> Option<Self> {
        (1..=EVENT_ID_MAX).contains(&number).then_some(Self(number))
    }

    pub fn get(self) -> u64 {
        self.0
    }

    /// The seat at a position of the event's plan; the first one is 1.
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

/// The name of a seat: it says which event's, and where in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeatId(u64);

impl SeatId {
    /// `None` for a number no seat can have.
    pub fn new(number: u64) -> Option<Self> {
        let seat = Self(number);
        let has_place = (1..=SEATS_MAX).contains(&seat.position());
        (EventId::new(number / SEAT_IDS_PER_EVENT).is_some() && has_place).then_some(seat)
    }

    pub fn get(self) -> u64 {
        self.0
    }

    pub fn event(self) -> EventId {
        EventId(self.0 / SEAT_IDS_PER_EVENT)
    }

    /// Where in the plan of its event; the first one is 1.
    pub fn position(self) -> u32 {
        (self.0 % SEAT_IDS_PER_EVENT) as u32
    }
}

impl std::fmt::Display for SeatId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// All seats of an event, of which there are so many: stores without a list look at each name there can be.
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
}

/// One user's seats of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuyerId {
    pub event: EventId,
    pub user: UserId,
}

/// How many seats of an event a user has reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buyer {
    pub reserved: u32,
}

impl Row for Buyer {}

/// A pointer from a seat to the hold on it, good until that ends. It says whose it is, so that others need not look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatPointer {
    pub hold: HoldId,
    pub owner: UserId,
    /// `None` while the hold is being confirmed: it does not end by time then.
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

/// The unit of an event as a whole: so many seats of it are held.
pub fn event_unit(event: EventId) -> Unit {
    Unit { kind: Kind::Ticket, resource: event.get(), part: 0 }
}

/// The unit of one seat.
pub fn seat_unit(seat: SeatId) -> Unit {
    Unit { part: seat.position(), ..event_unit(seat.event()) }
}

/// The seat of a unit of tickets; `None` for that of an event as a whole.
pub fn seat_of(unit: Unit) -> Option<SeatId> {
    (unit.part > 0).then(|| EventId::new(unit.resource).expect("units are made from events").seat(unit.part))
}
