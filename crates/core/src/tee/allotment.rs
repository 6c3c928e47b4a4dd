//! Allotments: places of a slot reserved for bookings. Each booking requests once and gets one final reply: a repeated
//! request gets the same reply, released places stay released, and places released before their request are never
//! reserved.

use super::booking::BookingId;
use super::message::{Allotment, FailureReason, Message};
use super::slot::{TeeSlot, TeeSlotId};
use crate::command::Decision;
use crate::event::Event;
use crate::table::Row;
use crate::working_set::WorkingSet;

/// Decision of the course service about a booking's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotBooking {
    pub slot: TeeSlotId,
    pub players: u32,
    pub state: SlotBookingState,
}

impl Row for SlotBooking {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotBookingState {
    /// Its players are counted. `version` is the slot's version after the reservation.
    Reserved {
        version: u64,
    },
    Refused(FailureReason),
    /// Released, perhaps before the request arrived.
    Released,
}

pub(super) fn request_rows(rows: &mut WorkingSet, places: &Allotment) {
    rows.tee.slot_bookings.request(&places.booking);
    rows.tee.slots.request(&places.slot);
}

/// `slot.reserve`: reserves places for a booking, or replies with a reason.
pub(super) fn reserve(rows: &mut WorkingSet, places: Allotment) -> Decision<()> {
    let decided = match rows.tee.slot_bookings.get(&places.booking)? {
        // A booking has one slot, so a request for another slot does not come from this booking.
        Some(earlier) if earlier.slot != places.slot => SlotBookingState::Refused(FailureReason::SlotRefused),
        Some(earlier) => earlier.state,
        None => decide(rows, places)?,
    };
    rows.emit(Event::Tee(match decided {
        SlotBookingState::Reserved { version } => Message::SlotReserved { places, version: Some(version) },
        SlotBookingState::Refused(reason) => Message::SlotReserveFailed { places, reason, words: None },
        SlotBookingState::Released => {
            Message::SlotReserveFailed { places, reason: FailureReason::SlotReleased, words: None }
        }
    }));
    Ok(())
}

/// `slot.release`: releases the places, if any are reserved.
pub(super) fn release(rows: &mut WorkingSet, places: Allotment) -> Decision<()> {
    match rows.tee.slot_bookings.get(&places.booking)?.copied() {
        Some(SlotBooking { slot, players, state: SlotBookingState::Reserved { .. } }) => {
            let old = rows.tee.slots.get(&slot)?.cloned().expect("an allotment belongs to a slot");
            let booked = old.booked.checked_sub(players).expect("reserved places are counted");
            rows.tee.slots.put(slot, TeeSlot { booked, version: old.version + 1, ..old });
            put(rows, places.booking, slot, players, SlotBookingState::Released);
        }
        Some(_) => {}
        // The release has overtaken the request.
        None => put(rows, places.booking, places.slot, places.players, SlotBookingState::Released),
    }
    rows.emit(Event::Tee(Message::SlotReleased(places)));
    Ok(())
}

fn decide(rows: &mut WorkingSet, places: Allotment) -> Decision<SlotBookingState> {
    let Allotment { booking, slot, players } = places;
    let state = match rows.tee.slots.get(&slot)?.cloned() {
        None => SlotBookingState::Refused(FailureReason::SlotNotFound),
        Some(found) if found.closed => SlotBookingState::Refused(FailureReason::SlotClosed),
        Some(found) if players > found.free() => SlotBookingState::Refused(FailureReason::SlotFull),
        Some(found) => {
            let version = found.version + 1;
            rows.tee.slots.put(slot, TeeSlot { booked: found.booked + players, version, ..found });
            SlotBookingState::Reserved { version }
        }
    };
    put(rows, booking, slot, players, state);
    Ok(state)
}

fn put(rows: &mut WorkingSet, booking: BookingId, slot: TeeSlotId, players: u32, state: SlotBookingState) {
    rows.tee.slot_bookings.put(booking, SlotBooking { slot, players, state });
}
