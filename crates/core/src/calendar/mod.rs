//! Rooms by the hour. A unit is one slot of a room, generated ahead of time with its price; a lock claims one or more
//! slots.
//!
//! | module | contents |
//! | --- | --- |
//! | [`local_time`] | local dates and times of a room |
//! | [`room`] | rooms: creating and changing |
//! | [`hours`], [`holiday`] | opening hours, and holidays by country |
//! | [`pricing`], [`grid`] | prices, and slots of a day: pure, without rows |
//! | [`generation`] | generating slots ahead of time, and purging old ones |
//! | [`rebuild`] | replacing slots after a change of the opening hours |
//! | [`slot`] | one slot, and lists of slots |
//! | [`mod@line`] | the line of a lock, and what confirming it records |
//! | [`lock`] | placing and replacing locks |
//! | [`block`], [`reprice`] | blocking slots for sale, and repricing them |
//! | [`near_term`] | near-term slots, which a store may cache |
//! | [`reservation`] | reservations, and their cancellation |
//! | [`availability`], [`stats`] | availability of slots, and statistics of sales |
//! | [`audit`] | consistency rules of a whole store |

pub mod audit;
pub mod availability;
pub mod block;
pub mod generation;
pub mod grid;
pub mod holiday;
pub mod hours;
pub mod line;
pub mod local_time;
pub mod lock;
pub mod near_term;
pub mod pricing;
pub mod rebuild;
pub mod reprice;
pub mod reservation;
pub mod room;
pub mod slot;
pub mod stats;
#[cfg(test)]
mod tests;

use crate::time::Span;

pub use block::BlockStatus;
pub use generation::{Generation, GenerationId};
pub use holiday::{Country, Holiday, HolidayId, HolidaysOf};
pub use hours::{Exception, OpenInterval, OperatingHours};
pub use line::{ConfirmLock, LiveLock, LockedSlot, ReleaseLock, SlotsItem, SlotsRequest};
pub use local_time::{DayRange, LocalTime, SlotStart, Weekdays};
pub use reservation::{ReservedSlot, RoomReservation, RoomReservationId, RoomReservationState};
pub use room::{Peak, Room, RoomId};
pub use slot::{Slot, SlotId, SlotState, SlotStatus, SlotView, SlotsOf};

/// Maximum number of slots of a lock or an availability query.
pub const LOCK_SLOTS_MAX: usize = 100;
/// Maximum number of slots that one command blocks or unblocks; enough for any day of any room.
pub const BLOCK_SLOTS_MAX: usize = 300;
/// Maximum number of days of a slot list.
pub const LIST_DAYS_MAX: u32 = 92;
/// Maximum number of days of statistics and repricing.
pub const RANGE_DAYS_MAX: u32 = 366;
/// Maximum number of days for which slots are generated ahead.
pub const DAYS_AHEAD_MAX: u32 = 366;
/// Maximum number of slots that one command generates or deletes. The rest is left to further commands, to keep each
/// one short.
pub const SLOTS_PER_COMMAND_MAX: usize = 2_000;

/// Maximum number of days whose slots one command scans.
const DAYS_PER_COMMAND_MAX: u32 = 62;
/// Weight of a command that scans that many slots.
const BULK_WEIGHT: usize = 1_024;

/// Settings of rooms by the hour.
#[derive(Clone, Debug)]
pub struct Limits {
    pub lock_ttl: Span,
    /// Number of days after today for which slots are generated.
    pub days_ahead: u32,
    /// Number of days after which past slots are purged.
    pub keep_days: u32,
}
