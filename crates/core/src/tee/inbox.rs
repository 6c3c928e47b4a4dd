//! How a message that is delivered at least once counts once: what it causes and the note that it came are one commit.
//!
//! The note saves work, and no more. It may be cleared away after a while: every handler also tells from its own rows what has
//! been done already.

use std::sync::Arc;

use super::booking::{BookingAction, BookingId};
use super::message::{Message, MessageId, Service};
use super::{known_slot, notify, places, saga};
use crate::command::{Command, Context, Decision, Writes};
use crate::rows::Rows;
use crate::table::Row;
use crate::time::Timestamp;

/// What a message is called by whoever sent it. Two with the same are the same. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey(Arc<str>);

impl MessageKey {
    /// The longest there is.
    pub const CHARS_MAX: usize = 200;

    /// `None` if it says nothing, or too much.
    pub fn parse(text: &str) -> Option<Self> {
        let is_one = !text.trim().is_empty() && !text.contains('\0') && text.chars().count() <= Self::CHARS_MAX;
        is_one.then(|| Self(text.into()))
    }

    /// What we call a message of ours.
    pub fn of(message: &Message) -> Self {
        Self(message.id().to_string().into())
    }

    /// What we call the message that tells what was done with a booking.
    pub(super) fn of_booking(action: BookingAction, booking: BookingId) -> Self {
        Self(MessageId { subject: action.subject(), of: booking.get(), version: 0 }.to_string().into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A message, as one service gets it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxId {
    pub service: Service,
    pub message: MessageKey,
}

/// That it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub at: Timestamp,
}

impl Row for Received {}

/// A message reaches the service that acts on it.
#[derive(Clone, Debug)]
pub struct Receive {
    pub key: MessageKey,
    pub message: Message,
}

impl Receive {
    /// A message of ours.
    pub fn new(message: Message) -> Self {
        Self { key: MessageKey::of(&message), message }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// All it asks for is done.
    Done,
    /// It has been here before; nothing happened.
    Repeated,
    /// A part of it is done. The same message must be received again, until nothing is left.
    More,
}

impl Command for Receive {
    type Outcome = Handled;
    const NAME: &'static str = "tee.message.receive";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Handled> {
        let message = &self.message;
        let Some(service) = message.subject().consumer() else { return Ok(Handled::Done) };
        let id = InboxId { service, message: self.key.clone() };
        rows.tee.inbox.want(&id);
        want(rows, message);
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

/// Says which rows a message will need, as far as that can be known before they are seen.
fn want(rows: &mut Rows, message: &Message) {
    match message {
        Message::SlotReserve(places) | Message::SlotRelease(places) => places::want(rows, places),
        Message::SlotReserved { places, .. }
        | Message::SlotReserveFailed { places, .. }
        | Message::SlotReleased(places) => saga::want(rows, places),
        Message::SlotChanged(news) => rows.tee.known_slots.want(&news.slot),
        Message::SlotClosed { slot, .. } => saga::want_open(rows, *slot),
        Message::Booking { action, booking } => notify::want(rows, *action, booking.id),
        Message::Told { action, booking, .. } => notify::want(rows, *action, *booking),
    }
}

fn handle(rows: &mut Rows, at: &Context<'_>, message: &Message) -> Decision<Handled> {
    match message {
        Message::SlotReserve(places) => places::reserve(rows, *places)?,
        Message::SlotRelease(places) => places::release(rows, *places)?,
        Message::SlotReserved { places, version } => saga::reserved(rows, at, *places, *version)?,
        Message::SlotReserveFailed { places, reason, words } => {
            saga::reserve_failed(rows, at, *places, *reason, words.as_ref())?;
        }
        Message::SlotReleased(places) => saga::released(rows, at, *places)?,
        Message::SlotChanged(news) => known_slot::learn(rows, news)?,
        Message::SlotClosed { slot, version } => return saga::closed(rows, at, *slot, *version),
        Message::Booking { action, booking } => notify::notify(rows, at, *action, booking.id, booking.user)?,
        Message::Told { action, booking, user, .. } => notify::notify(rows, at, *action, *booking, *user)?,
    }
    Ok(Handled::Done)
}
