//! Bookings: their states, transitions, and history.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::booking_number::BookingNumber;
use super::message::{Allotment, FailureReason, Message, Subject};
use super::refund::{Refund, RefundPolicy};
use super::slot::TeeSlotId;
use super::string_enum::string_enum;
use crate::actor::Actor;
use crate::command::{Context, Decision};
use crate::event::Event;
use crate::id::{ID_MAX, UserId, number_id};
use crate::money::Currency;
use crate::rejection::TeeRejection;
use crate::table::{Row, Scan};
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Internal number of a booking; customers see its [`BookingNumber`].
    BookingId
);

/// A request for places of a slot, pending or decided. Price and refund policy are those at its creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booking {
    pub id: BookingId,
    pub user: UserId,
    pub slot: TeeSlotId,
    pub players: u32,
    pub unit_price: i64,
    /// `unit_price × players`.
    pub total: i64,
    pub currency: Currency,
    pub tee_off: Timestamp,
    pub policy: RefundPolicy,
    pub created_at: Timestamp,
    /// Time at which the booking fails if it is still pending.
    pub deadline: Timestamp,
    pub state: BookingState,
    /// Time at which the course service confirmed the release of the places.
    pub released_at: Option<Timestamp>,
    /// Incremented by every change.
    pub revision: u32,
}

impl Row for Booking {}

/// State of a booking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookingState {
    /// Waiting for the reply of the course service.
    Pending,
    Confirmed {
        at: Timestamp,
    },
    Completed {
        at: Timestamp,
    },
    Cancelled {
        at: Timestamp,
        by: By,
        refund: Refund,
    },
    NoShow {
        at: Timestamp,
        refund: Refund,
    },
    Failed {
        at: Timestamp,
        reason: FailureReason,
    },
}

string_enum! {
    /// Name of a booking's state.
    pub enum BookingStatus {
        Pending = "PENDING",
        Confirmed = "CONFIRMED",
        Completed = "COMPLETED",
        Cancelled = "CANCELLED",
        NoShow = "NO_SHOW",
        Failed = "FAILED",
    }
}

impl BookingStatus {
    /// Whether it is pending or confirmed. All other states are final.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Confirmed)
    }

    /// Whether its places are counted as booked.
    pub fn has_places(self) -> bool {
        matches!(self, Self::Confirmed | Self::Completed | Self::NoShow)
    }
}

string_enum! {
    /// Kind of a booking's transition.
    pub enum BookingAction {
        Created = "CREATED",
        Confirmed = "CONFIRMED",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
        Completed = "COMPLETED",
        NoShow = "NO_SHOW",
    }
}

impl BookingAction {
    pub fn subject(self) -> Subject {
        match self {
            Self::Created => Subject::BookingCreated,
            Self::Confirmed => Subject::BookingConfirmed,
            Self::Failed => Subject::BookingFailed,
            Self::Cancelled => Subject::BookingCancelled,
            Self::Completed => Subject::BookingCompleted,
            Self::NoShow => Subject::BookingNoShow,
        }
    }
}

/// Initiator of a booking's transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The customer, or a service on behalf of the customer.
    User(UserId),
    /// An operator.
    Admin,
    /// A reply, a closed slot, or a timeout.
    System,
}

impl BookingState {
    pub fn status(&self) -> BookingStatus {
        match self {
            Self::Pending => BookingStatus::Pending,
            Self::Confirmed { .. } => BookingStatus::Confirmed,
            Self::Completed { .. } => BookingStatus::Completed,
            Self::Cancelled { .. } => BookingStatus::Cancelled,
            Self::NoShow { .. } => BookingStatus::NoShow,
            Self::Failed { .. } => BookingStatus::Failed,
        }
    }
}

impl Booking {
    pub fn number(&self) -> BookingNumber {
        BookingNumber(self.id)
    }

    pub fn status(&self) -> BookingStatus {
        self.state.status()
    }

    pub fn failure_reason(&self) -> Option<FailureReason> {
        match self.state {
            BookingState::Failed { reason, .. } => Some(reason),
            _ => None,
        }
    }

    pub fn refund(&self) -> Option<Refund> {
        match self.state {
            BookingState::Cancelled { refund, .. } | BookingState::NoShow { refund, .. } => Some(refund),
            _ => None,
        }
    }

    pub fn places(&self) -> Allotment {
        Allotment { booking: self.id, slot: self.slot, players: self.players }
    }
}

/// Key of a history entry. Numbers grow, not always by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HistoryId {
    pub booking: BookingId,
    pub number: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    pub action: BookingAction,
    pub at: Timestamp,
    pub by: By,
    pub reason: Option<Arc<str>>,
}

impl Row for HistoryEntry {}

/// Largest number of a history entry; fits into a 32-bit integer of any database.
const HISTORY_NUMBER_MAX: u32 = i32::MAX as u32;

/// Scan of the history of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOf(pub BookingId);

impl Scan<HistoryId> for HistoryOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<HistoryId> {
        HistoryId { booking: self.0, number: 0 }..=HistoryId { booking: self.0, number: HISTORY_NUMBER_MAX }
    }
}

/// Key of a pending or confirmed booking of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenBookingId {
    pub slot: TeeSlotId,
    pub booking: BookingId,
}

/// Slot version on which the booking is based: that of its creation, then that of its reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBooking {
    pub slot_version: u64,
}

impl Row for OpenBooking {}

/// Scan of the open bookings of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBookingsOf(pub TeeSlotId);

impl Scan<OpenBookingId> for OpenBookingsOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<OpenBookingId> {
        let [first, last] = [1, ID_MAX].map(|number| BookingId::new(number).expect("both bounds are valid ids"));
        OpenBookingId { slot: self.0, booking: first }..=OpenBookingId { slot: self.0, booking: last }
    }
}

/// A booking and its history, earliest entry first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingView {
    pub booking: Booking,
    pub history: Vec<HistoryEntry>,
}

/// Returns the booking and its history to its owner or an operator.
pub fn view(rows: &mut WorkingSet, id: BookingId, actor: &Actor) -> Decision<BookingView> {
    let history = history_of(rows, id, HISTORY_NUMBER_MAX);
    let booking = find_for(rows, id, actor)?;
    Ok(BookingView { booking, history: history? })
}

/// Returns bookings of a list, each with its history as of the time when the list was read.
pub fn with_history(rows: &mut WorkingSet, bookings: &[Booking]) -> Decision<Vec<BookingView>> {
    // All histories are requested before the first missing one stops the decision.
    let histories: Vec<_> = bookings.iter().map(|booking| history_of(rows, booking.id, booking.revision)).collect();
    let pairs = bookings.iter().zip(histories);
    pairs.map(|(booking, history)| Ok(BookingView { booking: booking.clone(), history: history? })).collect()
}

fn history_of(rows: &mut WorkingSet, id: BookingId, last: u32) -> Decision<Vec<HistoryEntry>> {
    let mut history = Vec::new();
    for entry in rows.tee.history.scan(&HistoryOf(id))?.into_iter().filter(|entry| entry.number <= last) {
        history.push(rows.tee.history.get(&entry)?.cloned().expect("a scanned entry exists"));
    }
    Ok(history)
}

/// Returns the booking to its owner or an operator.
pub fn find_for(rows: &mut WorkingSet, id: BookingId, actor: &Actor) -> Decision<Booking> {
    let booking = find(rows, id)?;
    actor.must_own(&booking.user)?;
    Ok(booking)
}

pub(super) fn find(rows: &mut WorkingSet, id: BookingId) -> Decision<Booking> {
    Ok(rows.tee.bookings.get(&id)?.cloned().ok_or(TeeRejection::BookingNotFound)?)
}

/// A transition of a booking, its initiator and reason.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) action: BookingAction,
    pub(super) by: By,
    pub(super) reason: Option<Arc<str>>,
}

impl Step {
    pub(super) fn by_system(action: BookingAction) -> Self {
        Self { action, by: By::System, reason: None }
    }
}

/// Moves a booking to its next state, writes its history and emits the event.
pub(super) fn advance(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    old: &Booking,
    state: BookingState,
    step: Step,
) -> Decision<Booking> {
    assert!(old.status().is_open(), "final states do not change");
    let booking = Booking { state, revision: old.revision + 1, ..old.clone() };
    let open = OpenBookingId { slot: booking.slot, booking: booking.id };
    if !booking.status().is_open() && rows.tee.by_slot.get(&open)?.is_some() {
        rows.tee.by_slot.delete(open);
    }
    rows.tee.bookings.put(booking.id, booking.clone());
    record_step(rows, at, &booking, step);
    Ok(booking)
}

/// Writes a history entry of a booking that is written already, and emits the event.
pub(super) fn record_step(rows: &mut WorkingSet, at: &Context<'_>, booking: &Booking, step: Step) {
    let Step { action, by, reason } = step;
    let id = HistoryId { booking: booking.id, number: booking.revision };
    rows.tee.history.insert(id, HistoryEntry { action, at: at.now, by, reason });
    rows.emit(Event::Tee(Message::Booking { action, booking: Box::new(booking.clone()) }));
}

/// Requests the release of the places, whether they were reserved or not.
pub(super) fn release(rows: &mut WorkingSet, booking: &Booking) {
    rows.emit(Event::Tee(Message::SlotRelease(booking.places())));
}
