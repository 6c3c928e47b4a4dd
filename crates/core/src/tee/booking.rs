//! Bookings: their states, how they go from one to the next, and their history.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::message::{FailureReason, Message, Places, Subject};
use super::named::named;
use super::number::BookingNumber;
use super::refund::{Refund, RefundPolicy};
use super::slot::TeeSlotId;
use crate::actor::Actor;
use crate::command::{Context, Decision};
use crate::event::Event;
use crate::id::{ID_MAX, UserId, number_id};
use crate::money::Currency;
use crate::rejection::TeeRejection;
use crate::rows::Rows;
use crate::table::{Row, Scan};
use crate::time::Timestamp;

number_id!(
    /// The number of a booking among all; people are told its [`BookingNumber`].
    BookingId
);

/// Places for players, asked for or given. Price and policy are those of the moment it was made.
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
    /// If it is still pending then, it fails.
    pub deadline: Timestamp,
    pub state: BookingState,
    /// When the course service said that it has the places back.
    pub released_at: Option<Timestamp>,
    /// Grows with every change.
    pub revision: u32,
}

impl Row for Booking {}

/// What has become of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookingState {
    /// It waits for the course service's answer.
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

named! {
    /// What its state is called.
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
    /// Whether it is pending or confirmed. All others are for good.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Confirmed)
    }

    /// Whether its places are counted.
    pub fn has_places(self) -> bool {
        matches!(self, Self::Confirmed | Self::Completed | Self::NoShow)
    }
}

named! {
    /// What can be done with a booking.
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

/// Who did something with a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The customer, or a service that acts for this customer.
    User(UserId),
    /// An operator, in their own name.
    Admin,
    /// Nobody: an answer, a closed slot, time.
    System,
}

impl Booking {
    pub fn number(&self) -> BookingNumber {
        BookingNumber(self.id)
    }

    pub fn status(&self) -> BookingStatus {
        match self.state {
            BookingState::Pending => BookingStatus::Pending,
            BookingState::Confirmed { .. } => BookingStatus::Confirmed,
            BookingState::Completed { .. } => BookingStatus::Completed,
            BookingState::Cancelled { .. } => BookingStatus::Cancelled,
            BookingState::NoShow { .. } => BookingStatus::NoShow,
            BookingState::Failed { .. } => BookingStatus::Failed,
        }
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

    pub fn places(&self) -> Places {
        Places { booking: self.id, slot: self.slot, players: self.players }
    }
}

/// One step in the life of a booking. Numbers grow, not always by one.
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

/// More than any booking has; any database's integer holds it.
const HISTORY_NUMBER_MAX: u32 = i32::MAX as u32;

/// The whole history of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOf(pub BookingId);

impl Scan<HistoryId> for HistoryOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<HistoryId> {
        HistoryId { booking: self.0, number: 0 }..=HistoryId { booking: self.0, number: HISTORY_NUMBER_MAX }
    }
}

/// A booking of a slot that is pending or confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenBookingId {
    pub slot: TeeSlotId,
    pub booking: BookingId,
}

/// Which version of the slot it rests on: the one it was made from, then the one with its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBooking {
    pub slot_version: u64,
}

impl Row for OpenBooking {}

/// All open bookings of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenBookingsOf(pub TeeSlotId);

impl Scan<OpenBookingId> for OpenBookingsOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<OpenBookingId> {
        let [first, last] = [1, ID_MAX].map(|number| BookingId::new(number).expect("the ends are ids"));
        OpenBookingId { slot: self.0, booking: first }..=OpenBookingId { slot: self.0, booking: last }
    }
}

/// A booking and all that was done with it, earliest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingView {
    pub booking: Booking,
    pub history: Vec<HistoryEntry>,
}

/// The booking with its history, for one who may see it.
pub fn view(rows: &mut Rows, id: BookingId, actor: Actor) -> Decision<BookingView> {
    let history = history_of(rows, id, HISTORY_NUMBER_MAX);
    let booking = find_for(rows, id, actor)?;
    Ok(BookingView { booking, history: history? })
}

/// Bookings of a list, each with its history as it was when the list was read.
pub fn with_history(rows: &mut Rows, bookings: &[Booking]) -> Decision<Vec<BookingView>> {
    // All are named before the first one is missed.
    let histories: Vec<_> = bookings.iter().map(|booking| history_of(rows, booking.id, booking.revision)).collect();
    let pairs = bookings.iter().zip(histories);
    pairs.map(|(booking, history)| Ok(BookingView { booking: booking.clone(), history: history? })).collect()
}

fn history_of(rows: &mut Rows, id: BookingId, last: u32) -> Decision<Vec<HistoryEntry>> {
    let mut history = Vec::new();
    for entry in rows.tee.history.scan(&HistoryOf(id))?.into_iter().filter(|entry| entry.number <= last) {
        history.push(rows.tee.history.get(&entry)?.cloned().expect("an entry that was found is there"));
    }
    Ok(history)
}

/// The booking, for one who may see it.
pub fn find_for(rows: &mut Rows, id: BookingId, actor: Actor) -> Decision<Booking> {
    let booking = find(rows, id)?;
    actor.must_own(booking.user)?;
    Ok(booking)
}

pub(super) fn find(rows: &mut Rows, id: BookingId) -> Decision<Booking> {
    Ok(rows.tee.bookings.get(&id)?.cloned().ok_or(TeeRejection::BookingNotFound)?)
}

/// Something that is done with a booking, by whom and why.
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

/// Takes a booking to its next state, writes its history and tells everybody.
pub(super) fn advance(
    rows: &mut Rows,
    at: &Context<'_>,
    old: &Booking,
    state: BookingState,
    step: Step,
) -> Decision<Booking> {
    assert!(old.status().is_open(), "what has ended stays as it is");
    let booking = Booking { state, revision: old.revision + 1, ..old.clone() };
    let open = OpenBookingId { slot: booking.slot, booking: booking.id };
    if !booking.status().is_open() && rows.tee.by_slot.get(&open)?.is_some() {
        rows.tee.by_slot.delete(open);
    }
    rows.tee.bookings.put(booking.id, booking.clone());
    tell(rows, at, &booking, step);
    Ok(booking)
}

/// Writes what was done into the history of a booking that is written already, and tells everybody.
pub(super) fn tell(rows: &mut Rows, at: &Context<'_>, booking: &Booking, step: Step) {
    let Step { action, by, reason } = step;
    let id = HistoryId { booking: booking.id, number: booking.revision };
    rows.tee.history.insert(id, HistoryEntry { action, at: at.now, by, reason });
    rows.emit(Event::Tee(Message::Booking { action, booking: Box::new(booking.clone()) }));
}

/// Asks the course service to take the places back, whether it has given them or not.
pub(super) fn release(rows: &mut Rows, booking: &Booking) {
    rows.emit(Event::Tee(Message::SlotRelease(booking.places())));
}
