//! What the booking service of another store told, for those who listen here: each of its events is written into the outbox of
//! this store too, once, marked as what it is. Nothing is decided from it.

use std::sync::Arc;

use super::booking::{BookingAction, BookingId};
use super::inbox::{Handled, MessageKey};
use crate::command::{Command, Context, Decision, Stop, Writes};
use crate::event::Event;
use crate::id::UserId;
use crate::rows::Rows;
use crate::table::Row;
use crate::time::{Span, Timestamp};

/// For so long after a booking was made, what is told of it waits until its making was told. Several servers share the work, so
/// the two may overtake each other; later than this, the first one was told or is lost.
const MAKING_WAITED_FOR: Span = Span::from_secs(10);

/// What was done with a booking that is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingTold {
    pub action: BookingAction,
    pub booking: BookingId,
    pub user: UserId,
    /// When the booking was made, if that was said.
    pub created_at: Option<Timestamp>,
    /// When it was done, if that was said.
    pub at: Option<Timestamp>,
    /// What is told about it, as it came.
    pub data: Arc<str>,
}

/// That an event was written into this outbox. Kept for as long as the event itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    pub at: Timestamp,
}

impl Row for Imported {}

/// Tells those who listen here of a booking that is kept elsewhere.
#[derive(Clone, Debug)]
pub struct ImportBookingEvent {
    pub key: MessageKey,
    pub told: BookingTold,
}

impl Command for ImportBookingEvent {
    type Outcome = Handled;
    const NAME: &'static str = "tee.event.import";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Handled> {
        let told = &self.told;
        rows.tee.imported.want(&self.key);
        rows.tee.bookings.want(&told.booking);
        let making = self.comes_after();
        if let Some(making) = &making {
            rows.tee.imported.want(making);
        }
        if rows.tee.imported.get(&self.key)?.is_some() {
            return Ok(Handled::Repeated);
        }
        // A server may share its store with the booking service and not know: then this outbox is where it comes from. Only the
        // number is not enough, because another store counts from one, too.
        let ours = rows.tee.bookings.get(&told.booking)?;
        if ours.is_some_and(|ours| ours.user == told.user && Some(ours.created_at) == told.created_at) {
            return Ok(Handled::Repeated);
        }
        let is_new = |made_at: Timestamp| made_at <= at.now && at.now < made_at + MAKING_WAITED_FOR;
        if let Some(making) = making
            && told.created_at.is_some_and(is_new)
            && rows.tee.imported.get(&making)?.is_none()
        {
            return Err(Stop::Busy);
        }
        rows.tee.imported.put(self.key.clone(), Imported { at: at.now });
        let done_at = told.at.map_or(at.now, |done_at| done_at.min(at.now));
        rows.emit(Event::BookingTold(BookingTold { at: Some(done_at), ..told.clone() }));
        Ok(Handled::Done)
    }

    fn lane(&self) -> u64 {
        self.told.booking.get()
    }
}

impl ImportBookingEvent {
    /// The event that has to be told before this one. Whoever calls events by other names than we do says nothing about their
    /// order.
    fn comes_after(&self) -> Option<MessageKey> {
        let named = |action| MessageKey::of_booking(action, self.told.booking);
        let is_ours = self.key == named(self.told.action);
        (is_ours && self.told.action != BookingAction::Created).then(|| named(BookingAction::Created))
    }
}
