//! Rooms by the hour. A unit is one slot of a room, made ahead of time with its price; a lock claims one or more slots.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`wall`] | dates and times as the clock on a room's wall shows them |
//! | [`room`] | what is rented: creating and changing rooms |
//! | [`hours`], [`holiday`] | when a room is open, and which days are holidays |
//! | [`pricing`], [`making`] | what a slot costs, and which slots a day has: pure, without rows |
//! | [`generation`] | making slots ahead and clearing old ones |
//! | [`rebuild`] | what new opening hours do to coming slots |
//! | [`slot`] | one slot, and the list of them |
//! | [`lock`], [`confirm`] | locking, releasing, confirming |
//! | [`block`], [`reprice`] | taking slots off sale, and pricing them anew |
//! | [`reservation`] | what a confirmed lock becomes, and its cancellation |
//! | [`availability`], [`stats`] | what is free, and what was sold |
//! | [`audit`] | what must be true of a whole store |

pub mod audit;
pub mod availability;
pub mod block;
pub mod confirm;
pub mod generation;
pub mod holiday;
pub mod hours;
pub mod lock;
pub mod making;
pub mod pricing;
pub mod rebuild;
pub mod reprice;
pub mod reservation;
pub mod room;
pub mod slot;
pub mod stats;
#[cfg(test)]
mod tests;
pub mod wall;

use crate::id::HoldId;
use crate::table::Table;
use crate::time::Span;

pub use block::BlockStatus;
pub use generation::{Generation, GenerationId};
pub use holiday::{Country, Holiday, HolidayId, HolidaysOf};
pub use hours::{Exception, OpenHours, OperatingHours};
pub use lock::{LiveLock, LockedSlot, Purpose, RoomClaim, RoomLock};
pub use reservation::{ReservedSlot, RoomReservation, RoomReservationId, RoomReservationState};
pub use room::{Peak, Room, RoomId};
pub use slot::{Slot, SlotId, SlotState, SlotStatus, SlotView, SlotsOf};
pub use wall::{DayRange, SlotStart, WallTime, Weekdays};

/// The most slots one lock may claim, and one availability query may ask for.
pub const LOCK_SLOTS_MAX: usize = 100;
/// The most slots one command may block or unblock: any day of any room.
pub const BLOCK_SLOTS_MAX: usize = 300;
/// The most days one slot list may span.
pub const LIST_DAYS_MAX: u32 = 92;
/// The most days statistics and new prices may span.
pub const RANGE_DAYS_MAX: u32 = 366;
/// How far ahead slots may be made.
pub const DAYS_AHEAD_MAX: u32 = 366;
/// The most slots one command makes, or deletes. What remains is left to the next one, so that nobody waits long.
pub const SLOTS_PER_COMMAND_MAX: usize = 2_000;

/// How many days one command looks at when it goes through slots.
const DAYS_PER_COMMAND_MAX: u32 = 62;
/// What going through so many slots weighs, in ordinary commands.
const BULK_WEIGHT: usize = 1_024;

/// Settings of this vertical.
#[derive(Clone, Debug)]
pub struct Limits {
    pub lock_ttl: Span,
    /// Slots are made from today up to so many days ahead.
    pub days_ahead: u32,
    /// Slots older than this are cleared.
    pub keep_days: u32,
}

/// The rows of the calendar.
#[derive(Debug, Default)]
pub struct Tables {
    pub rooms: Table<RoomId, Room>,
    pub hours: Table<RoomId, OperatingHours>,
    pub holidays: Table<HolidayId, Holiday, HolidaysOf>,
    pub slots: Table<SlotId, Slot, SlotsOf>,
    /// A log: rules only add to it.
    pub generations: Table<GenerationId, Generation>,
    pub locks: Table<HoldId, RoomLock>,
    /// Derived: the live lock of a slot.
    pub by_slot: Table<SlotId, LiveLock>,
    pub reservations: Table<RoomReservationId, RoomReservation>,
}

crate::table_set!(Tables { rooms, hours, holidays, slots, generations, locks, by_slot, reservations });

impl Tables {
    pub(crate) fn memory() -> Self {
        Self {
            rooms: Table::cache(),
            hours: Table::cache(),
            holidays: Table::cache(),
            slots: Table::cache(),
            generations: Table::cache(),
            locks: Table::cache(),
            by_slot: Table::complete(),
            reservations: Table::cache(),
        }
    }

    pub(crate) fn take_live(&mut self) -> Self {
        Self { locks: std::mem::take(&mut self.locks), by_slot: std::mem::take(&mut self.by_slot), ..Self::default() }
    }

    pub(crate) fn complete() -> Self {
        Self {
            rooms: Table::complete(),
            hours: Table::complete(),
            holidays: Table::complete(),
            slots: Table::complete(),
            generations: Table::complete(),
            locks: Table::complete(),
            by_slot: Table::complete(),
            reservations: Table::complete(),
        }
    }
}
