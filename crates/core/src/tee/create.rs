//! Creating a booking, which is pending until the course service replies whether it has places.

use std::sync::Arc;

use super::SLOT_PLAYERS_MAX;
use super::booking::{self, Booking, BookingAction, BookingId, BookingState, By, OpenBooking, OpenBookingId, Step};
use super::message::Message;
use super::slot::TeeSlotId;
use super::slot_replica::{self, SlotReplica};
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::id::{Sequence, UserId};
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::text::check_text;
use crate::working_set::WorkingSet;

/// Idempotency key of a customer's request. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(Arc<str>);

impl IdempotencyKey {
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Rejection> {
        if text.trim().is_empty() {
            return Err(Rejection::invalid(field, Fault::Blank));
        }
        check_text(field, text, super::IDEMPOTENCY_KEY_CHARS_MAX).map(|text| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An idempotency key within the scope of one user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookingKey {
    pub user: UserId,
    pub key: IdempotencyKey,
}

/// Request under an idempotency key, and the booking that it created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    pub booking: BookingId,
    pub slot: TeeSlotId,
    pub players: u32,
}

impl Row for KeyUse {}

/// Creates a booking of a slot, or returns the booking created under the same key.
#[derive(Clone, Debug)]
pub struct CreateBooking {
    pub user: UserId,
    pub key: IdempotencyKey,
    pub slot: TeeSlotId,
    pub players: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingCreated {
    pub booking: Booking,
    /// False if it was created earlier under the same key.
    pub is_new: bool,
}

impl Command for CreateBooking {
    type Outcome = BookingCreated;
    const NAME: &'static str = "tee.booking.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<BookingCreated> {
        check_players(self.players, SLOT_PLAYERS_MAX)?;
        let key = BookingKey { user: self.user.clone(), key: self.key.clone() };
        rows.tee.booking_keys.request(&key);
        rows.tee.slot_replicas.request(&self.slot);
        rows.ids.request(&Sequence::Booking);
        if let Some(earlier) = rows.tee.booking_keys.get(&key)?.copied() {
            let booking = booking::find(rows, earlier.booking)?;
            if at.now < booking.created_at + at.limits.tee.key_ttl {
                let is_same = (earlier.slot, earlier.players) == (self.slot, self.players);
                let repeated = BookingCreated { booking, is_new: false };
                return if is_same { Ok(repeated) } else { Err(Rejection::IdempotencyKeyReused.into()) };
            }
        }
        let slot = slot_replica::find(rows, self.slot)?;
        if slot.tee_off <= at.now {
            return Err(Rejection::invalid("gameTimeSlotId", Fault::InThePast).into());
        }
        check_players(self.players, slot.max_players)?;
        let number = rows.next_id(Sequence::Booking)?;
        let booking = self.build(BookingId::new(number).expect("sequence numbers are valid ids"), &slot, at);
        rows.tee.booking_keys.put(key, KeyUse { booking: booking.id, slot: self.slot, players: self.players });
        rows.tee.bookings.insert(booking.id, booking.clone());
        let open = OpenBookingId { slot: booking.slot, booking: booking.id };
        rows.tee.by_slot.insert(open, OpenBooking { slot_version: slot.version });
        booking::record_step(
            rows,
            at,
            &booking,
            Step { action: BookingAction::Created, by: By::User(self.user.clone()), reason: None },
        );
        rows.emit(Event::Tee(Message::SlotReserve(booking.places())));
        Ok(BookingCreated { booking, is_new: true })
    }

    fn lane(&self) -> u64 {
        self.slot.get()
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

impl CreateBooking {
    fn build(&self, id: BookingId, slot: &SlotReplica, at: &Context<'_>) -> Booking {
        Booking {
            id,
            user: self.user.clone(),
            slot: self.slot,
            players: self.players,
            unit_price: slot.price,
            total: slot.price * i64::from(self.players),
            currency: slot.currency,
            tee_off: slot.tee_off,
            policy: at.limits.tee.refund,
            created_at: at.now,
            deadline: at.now + at.limits.tee.saga_timeout,
            state: BookingState::Pending,
            released_at: None,
            revision: 1,
        }
    }
}

fn check_players(players: u32, max: u32) -> Result<(), Rejection> {
    if (1..=max).contains(&players) {
        Ok(())
    } else {
        Err(Rejection::invalid("playerCount", Fault::OutOfRange { min: 1, max: max.into() }))
    }
}
