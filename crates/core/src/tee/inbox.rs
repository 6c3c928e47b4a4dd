//! Inbox: a message that is delivered at least once takes effect once, because its effect and the record of its receipt
//! are one commit.
//!
//! The record only saves work and may be purged: every handler also recognizes from its own rows what was done already.

use std::sync::Arc;

use super::booking::{BookingAction, BookingId};
use super::message::{Message, MessageId, Service};
use super::{allotment, notify, saga, slot_replica};
use crate::command::{Command, Context, Decision, writes};
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Sender's identifier of a message. Messages with the same key are the same. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey(Arc<str>);

impl MessageKey {
    /// Maximum length in characters.
    pub const CHARS_MAX: usize = 200;

    /// Returns `None` for a blank or too long key.
    pub fn parse(text: &str) -> Option<Self> {
        let is_valid = !text.trim().is_empty() && !text.contains('\0') && text.chars().count() <= Self::CHARS_MAX;
        is_valid.then(|| Self(text.into()))
    }

    /// Returns the key of a message of this service.
    pub fn of(message: &Message) -> Self {
        Self(message.id().to_string().into())
    }

    /// Returns the key of the message about a booking's transition.
    pub(super) fn of_booking(action: BookingAction, booking: BookingId) -> Self {
        Self(MessageId { subject: action.subject(), of: booking.get(), version: 0 }.to_string().into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A message, as received by one service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxId {
    pub service: Service,
    pub message: MessageKey,
}

/// Record of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub at: Timestamp,
}

impl Row for Received {}

/// Handles a message in the service that consumes it.
#[derive(Clone, Debug)]
pub struct Receive {
    pub key: MessageKey,
    pub message: Message,
}

impl Receive {
    /// Creates the command for a message of this deployment.
    pub fn new(message: Message) -> Self {
        Self { key: MessageKey::of(&message), message }
    }
}

/// Result of handling a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Handled completely.
    Done,
    /// Received before; no effect.
    Repeated,
    /// Handled in part. The same message must be received again until it is done.
    More,
}

impl Command for Receive {
    type Outcome = Handled;
    const NAME: &'static str = "tee.message.receive";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Handled> {
        let message = &self.message;
        let Some(service) = message.subject().consumer() else { return Ok(Handled::Done) };
        let id = InboxId { service, message: self.key.clone() };
        rows.tee.inbox.request(&id);
        request_rows(rows, message);
        if rows.tee.inbox.get(&id)?.is_some() {
            return Ok(Handled::Repeated);
        }
        let handled = handle(rows, at, message)?;
        if handled == Handled::Done {
            rows.tee.inbox.put(id, Received { at: at.now });
        }
        Ok(handled)
    }

    fn lane(&self) -> u64 {
        self.message.slot().get()
    }

    fn weight(&self) -> usize {
        match self.message {
            Message::SlotClosed { .. } => 1 + super::CANCELLED_AT_ONCE_MAX / 4,
            _ => 1,
        }
    }
}

/// Requests the rows of a message's handler, as far as they are known before they are loaded.
fn request_rows(rows: &mut WorkingSet, message: &Message) {
    match message {
        Message::SlotReserve(places) | Message::SlotRelease(places) => allotment::request_rows(rows, places),
        Message::SlotReserved { places, .. }
        | Message::SlotReserveFailed { places, .. }
        | Message::SlotReleased(places) => saga::request_rows(rows, places),
        Message::SlotChanged(news) => rows.tee.slot_replicas.request(&news.slot),
        Message::SlotClosed { slot, .. } => saga::request_open(rows, *slot),
        Message::Booking { action, booking } => notify::request_rows(rows, *action, booking.id),
        Message::PublishedBooking { action, booking, .. } => notify::request_rows(rows, *action, *booking),
    }
}

fn handle(rows: &mut WorkingSet, at: &Context<'_>, message: &Message) -> Decision<Handled> {
    match message {
        Message::SlotReserve(places) => allotment::reserve(rows, *places)?,
        Message::SlotRelease(places) => allotment::release(rows, *places)?,
        Message::SlotReserved { places, version } => saga::reserved(rows, at, *places, *version)?,
        Message::SlotReserveFailed { places, reason, words } => {
            saga::reserve_failed(rows, at, *places, *reason, words.as_ref())?;
        }
        Message::SlotReleased(places) => saga::released(rows, at, *places)?,
        Message::SlotChanged(news) => slot_replica::update(rows, news)?,
        Message::SlotClosed { slot, version } => return saga::closed(rows, at, *slot, *version),
        Message::Booking { action, booking } => notify::notify(rows, at, *action, booking.id, &booking.user)?,
        Message::PublishedBooking { action, booking, user, .. } => notify::notify(rows, at, *action, *booking, user)?,
    }
    Ok(Handled::Done)
}
