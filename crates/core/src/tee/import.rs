//! Imports events of a booking service with another store: each event is written once to the outbox of this store,
//! marked as external. It does not affect decisions.

use std::sync::Arc;

use super::booking::{BookingAction, BookingId};
use super::inbox::{Handled, MessageKey};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::id::UserId;
use crate::table::Row;
use crate::time::{Span, Timestamp};
use crate::working_set::WorkingSet;

/// Time after the creation of a booking for which its other events wait for its creation event. Several servers share
/// the work, so the events may overtake each other; after this time the creation event was imported or is lost.
const CREATION_EVENT_WAIT: Span = Span::from_secs(10);

/// An event of a booking in another store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingPublished {
    pub action: BookingAction,
    pub booking: BookingId,
    pub user: UserId,
    /// Creation time of the booking, if the event contains it.
    pub created_at: Option<Timestamp>,
    /// Time of the event, if the event contains it.
    pub at: Option<Timestamp>,
    /// JSON data of the event, as received.
    pub data: Arc<str>,
}

/// Marks an event as written to this outbox. Kept as long as the event itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    pub at: Timestamp,
}

impl Row for Imported {}

/// Imports an event of a booking in another store.
#[derive(Clone, Debug)]
pub struct ImportBookingEvent {
    pub key: MessageKey,
    pub published: BookingPublished,
}

impl Command for ImportBookingEvent {
    type Outcome = Handled;
    const NAME: &'static str = "tee.event.import";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Handled> {
        let event = &self.published;
        rows.tee.imported.request(&self.key);
        rows.tee.bookings.request(&event.booking);
        let creation = self.creation_key();
        if let Some(creation) = &creation {
            rows.tee.imported.request(creation);
        }
        if rows.tee.imported.get(&self.key)?.is_some() {
            return Ok(Handled::Repeated);
        }
        // A server may share its store with the booking service without being configured so; the event then comes from
        // this outbox. The number alone does not identify the booking, because another store counts from one too.
        let own = rows.tee.bookings.get(&event.booking)?;
        if own.is_some_and(|own| own.user == event.user && Some(own.created_at) == event.created_at) {
            return Ok(Handled::Repeated);
        }
        let is_new = |created_at: Timestamp| created_at <= at.now && at.now < created_at + CREATION_EVENT_WAIT;
        if let Some(creation) = creation
            && event.created_at.is_some_and(is_new)
            && rows.tee.imported.get(&creation)?.is_none()
        {
            return Err(Stop::Retry);
        }
        rows.tee.imported.put(self.key.clone(), Imported { at: at.now });
        let event_at = event.at.map_or(at.now, |event_at| event_at.min(at.now));
        rows.emit(Event::BookingPublished(BookingPublished { at: Some(event_at), ..event.clone() }));
        Ok(Handled::Done)
    }

    fn lane(&self) -> u64 {
        self.published.booking.get()
    }
}

impl ImportBookingEvent {
    /// Returns the key of the event that must be imported first. Keys in a foreign format imply no order.
    fn creation_key(&self) -> Option<MessageKey> {
        let key_of = |action| MessageKey::of_booking(action, self.published.booking);
        let is_own_format = self.key == key_of(self.published.action);
        (is_own_format && self.published.action != BookingAction::Created).then(|| key_of(BookingAction::Created))
    }
}
