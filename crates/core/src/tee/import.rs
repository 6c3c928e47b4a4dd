//! What the booking service of another store told, for those who listen here: each of its events is written into the outbox of
//! this store too, once, marked as what it is. Nothing is decided from it.

use std::sync::Arc;

use super::booking::{BookingAction, BookingId};
use super::inbox::{Handled, MessageKey};
use crate::command::{Command, Context, Decision, Writes};
use crate::event::Event;
use crate::id::UserId;
use crate::rows::Rows;
use crate::table::Row;
use crate::time::Timestamp;

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
        if rows.tee.imported.get(&self.key)?.is_some() {
            return Ok(Handled::Repeated);
        }
        // A server may share its store with the booking service and not know: then this outbox is where it comes from. Only the
        // number is not enough, because another store counts from one, too.
        let ours = rows.tee.bookings.get(&told.booking)?;
        if ours.is_some_and(|ours| ours.user == told.user && Some(ours.created_at) == told.created_at) {
            return Ok(Handled::Repeated);
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
