//! Tee times. A unit is a player's place in a slot of a course. A booking is not a hold: it requests its places by
//! messages between services that may have different databases, and is confirmed, failed or compensated by their
//! replies (a saga).
//!
//! The three services communicate only through [`message`]s. None reads or writes another's rows.
//!
//! | service | module | contents |
//! | --- | --- | --- |
//! | course | [`course`], [`slot`], [`start_time`] | courses; their slots: creating, closing, reopening |
//! | | [`allotment`] | reserving and releasing places of a slot, once per booking |
//! | booking | [`booking`], [`booking_number`] | bookings, their states and history; booking numbers |
//! | | [`create`], [`cancel`], [`attendance`] | commands on a booking |
//! | | [`saga`] | effects of messages and timeouts on a booking |
//! | | [`slot_replica`] | this service's replicas of the slots |
//! | | [`refund`] | refund policies and amounts |
//! | notify | [`notify`] | notifications |
//! | all | [`message`], [`inbox`] | messages between services; handling each once |
//! | subscribers | [`import`] | events of a booking service with another store |
//! | all | [`audit`] | consistency rules of a whole store |

pub mod allotment;
pub mod attendance;
pub mod audit;
pub mod booking;
pub mod booking_number;
pub mod cancel;
pub mod course;
pub mod create;
pub mod import;
pub mod inbox;
pub mod message;
pub mod notify;
pub mod refund;
pub mod saga;
pub mod slot;
pub mod slot_replica;
pub mod start_time;
mod string_enum;
#[cfg(test)]
mod tests;

use crate::time::Span;

pub use allotment::{SlotBooking, SlotBookingState};
pub use booking::{
    Booking, BookingAction, BookingId, BookingState, BookingStatus, By, HistoryEntry, HistoryId, HistoryOf,
    OpenBooking, OpenBookingId, OpenBookingsOf,
};
pub use booking_number::BookingNumber;
pub use course::{Course, CourseId};
pub use create::{BookingKey, IdempotencyKey, KeyUse};
pub use import::{BookingPublished, Imported};
pub use inbox::{Handled, InboxId, MessageKey, Received};
pub use message::{Allotment, FailureReason, Message, MessageId, OrderingKey, Service, SlotSnapshot, Subject};
pub use notify::{Notice, NoticeId, Notification, NotificationId};
pub use refund::{REFUND_DAYS_MAX, REFUND_TIERS_MAX, Refund, RefundPolicy, RefundRule, RefundTier};
pub use slot::{SlotStatus, SlotTime, SlotTimeId, SlotsOn, TeeSlot, TeeSlotId};
pub use slot_replica::SlotReplica;
pub use start_time::StartTime;

/// Maximum number of slots created by one command.
pub const SLOTS_MAX: usize = 1_000;
/// Maximum number of players of a slot. Their total at the highest price is at most the largest amount.
pub const SLOT_PLAYERS_MAX: u32 = 1_000;
/// Maximum number of days from today to the date of a slot.
pub const DAYS_AHEAD_MAX: u32 = 36_525;
/// Maximum length of a reason for a cancellation.
pub const REASON_CHARS_MAX: usize = 1_000;
/// Maximum length of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
/// Maximum number of bookings that one command cancels when a slot is closed.
pub const CANCELLED_AT_ONCE_MAX: usize = 100;

/// Settings of tee times.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time for which a booking waits for the reply about its places.
    pub saga_timeout: Span,
    /// Time for which an idempotency key refers to its booking.
    pub key_ttl: Span,
    /// Refund policy of new bookings.
    pub refund: RefundPolicy,
}
