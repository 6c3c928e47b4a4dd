//! Tee times. A unit is a player's place in a slot of a course. A booking is not a hold: it claims its places by messages
//! between services that may live in different databases, and is confirmed, refused or compensated by their answers.
//!
//! Three services know each other only through [`message`]s. None reads or writes another's rows.
//!
//! | service | module | what is in it |
//! | --- | --- | --- |
//! | course | [`course`], [`slot`], [`start_time`] | courses; their slots: making, closing, reopening |
//! | | [`places`] | reserving and releasing places of a slot, once per booking |
//! | booking | [`booking`], [`number`] | bookings, their states and history; what people call them |
//! | | [`create`], [`cancel`], [`attendance`] | what people do with a booking |
//! | | [`saga`] | what messages and time do with it |
//! | | [`known_slot`] | this service's own copy of the slots |
//! | | [`refund`] | how much comes back, and why |
//! | notify | [`notify`] | notifications |
//! | all | [`message`], [`inbox`] | what they tell each other; how each message counts once |
//! | listeners | [`import`] | what a booking service elsewhere told |
//! | all | [`audit`] | what must be true of a whole store |

pub mod attendance;
pub mod audit;
pub mod booking;
pub mod cancel;
pub mod course;
pub mod create;
pub mod import;
pub mod inbox;
pub mod known_slot;
pub mod message;
mod named;
pub mod notify;
pub mod number;
pub mod places;
pub mod refund;
pub mod saga;
pub mod slot;
pub mod start_time;
#[cfg(test)]
mod tests;

use crate::table::Table;
use crate::time::Span;

pub use booking::{
    Booking, BookingAction, BookingId, BookingState, BookingStatus, By, HistoryEntry, HistoryId, HistoryOf,
    OpenBooking, OpenBookingId, OpenBookingsOf,
};
pub use course::{Course, CourseId};
pub use create::{BookingKey, IdempotencyKey, KeyUse};
pub use import::{BookingTold, Imported};
pub use inbox::{Handled, InboxId, MessageKey, Received};
pub use known_slot::KnownSlot;
pub use message::{FailureReason, Message, MessageId, OrderingKey, Places, Service, SlotNews, Subject};
pub use notify::{Notice, NoticeId, Notification, NotificationId};
pub use number::BookingNumber;
pub use places::{SlotBooking, SlotBookingState};
pub use refund::{REFUND_DAYS_MAX, REFUND_TIERS_MAX, Refund, RefundPolicy, RefundRule, RefundTier};
pub use slot::{SlotStatus, SlotTime, SlotTimeId, SlotsOn, TeeSlot, TeeSlotId};
pub use start_time::StartTime;

/// The most slots that may be made at once.
pub const SLOTS_MAX: usize = 1_000;
/// The most players a slot may take. So many at the highest price are still an amount.
pub const SLOT_PLAYERS_MAX: u32 = 1_000;
/// How far ahead a slot may be.
pub const DAYS_AHEAD_MAX: u32 = 36_525;
/// The longest reason for a cancellation.
pub const REASON_CHARS_MAX: usize = 1_000;
/// The longest idempotency key.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
/// The most bookings that are cancelled in one go when their slot is closed.
pub const CANCELLED_AT_ONCE_MAX: usize = 100;

/// Settings of this vertical.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long a booking may wait for its slot's answer.
    pub saga_timeout: Span,
    /// How long a key stands for the booking made under it.
    pub key_ttl: Span,
    /// What bookings made from now on get back when they are cancelled.
    pub refund: RefundPolicy,
}

/// The rows of tee times. All are durable. Which service they belong to stands above them.
#[derive(Debug, Default)]
pub struct Tables {
    // Course service.
    pub courses: Table<CourseId, Course>,
    pub slots: Table<TeeSlotId, TeeSlot>,
    /// Which slot is at a time: at most one.
    pub slot_times: Table<SlotTimeId, SlotTime, SlotsOn>,
    /// What was decided about a booking's places. Kept for good, so that nothing is ever decided twice.
    pub slot_bookings: Table<BookingId, SlotBooking>,

    // Booking service.
    pub bookings: Table<BookingId, Booking>,
    pub booking_keys: Table<BookingKey, KeyUse>,
    pub history: Table<HistoryId, HistoryEntry, HistoryOf>,
    pub known_slots: Table<TeeSlotId, KnownSlot>,
    /// Bookings that have not ended, by slot.
    pub by_slot: Table<OpenBookingId, OpenBooking, OpenBookingsOf>,

    // Notify service.
    pub notifications: Table<NotificationId, Notification>,
    /// What a user was told about a booking: each thing once.
    pub notices: Table<NoticeId, Notice>,

    // Each service its own rows.
    pub inbox: Table<InboxId, Received>,

    // Where people listen, if the booking service is elsewhere.
    pub imported: Table<MessageKey, Imported>,
}

crate::table_set!(Tables {
    courses,
    slots,
    slot_times,
    slot_bookings,
    bookings,
    booking_keys,
    history,
    known_slots,
    by_slot,
    notifications,
    notices,
    inbox,
    imported
});

impl Tables {
    pub(crate) fn memory() -> Self {
        Self {
            courses: Table::cache(),
            slots: Table::cache(),
            slot_times: Table::cache(),
            slot_bookings: Table::cache(),
            bookings: Table::cache(),
            booking_keys: Table::cache(),
            history: Table::cache(),
            known_slots: Table::cache(),
            by_slot: Table::cache(),
            notifications: Table::cache(),
            notices: Table::cache(),
            inbox: Table::cache(),
            imported: Table::cache(),
        }
    }

    pub(crate) fn complete() -> Self {
        Self {
            courses: Table::complete(),
            slots: Table::complete(),
            slot_times: Table::complete(),
            slot_bookings: Table::complete(),
            bookings: Table::complete(),
            booking_keys: Table::complete(),
            history: Table::complete(),
            known_slots: Table::complete(),
            by_slot: Table::complete(),
            notifications: Table::complete(),
            notices: Table::complete(),
            inbox: Table::complete(),
            imported: Table::complete(),
        }
    }
}
