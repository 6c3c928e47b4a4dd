//! Who has places in a slot. Each booking asks once and is answered once, for good: whoever asks again hears the same, what
//! was given back stays given back, and what was given back before it was asked for is never given.

use super::booking::BookingId;
use super::message::{FailureReason, Message, Places};
use super::slot::{TeeSlot, TeeSlotId};
use crate::command::Decision;
use crate::event::Event;
use crate::rows::Rows;
use crate::table::Row;

/// What this service decided about a booking's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotBooking {
    pub slot: TeeSlotId,
    pub players: u32,
    pub state: SlotBookingState,
}

impl Row for SlotBooking {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotBookingState {
    /// Its players are counted. The slot's version with them.
    Reserved {
        version: u64,
    },
    Refused(FailureReason),
    /// Given back, perhaps before it was ever asked for.
    Released,
}

pub(super) fn want(rows: &mut Rows, places: &Places) {
    rows.tee.slot_bookings.want(&places.booking);
    rows.tee.slots.want(&places.slot);
}

/// `slot.reserve`: gives a booking its places, or says why not.
pub(super) fn reserve(rows: &mut Rows, places: Places) -> Decision<()> {
    let decided = match rows.tee.slot_bookings.get(&places.booking)? {
        // A booking has one slot: what asks for another was not asked by it.
        Some(before) if before.slot != places.slot => SlotBookingState::Refused(FailureReason::SlotRefused),
        Some(before) => before.state,
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

/// `slot.release`: takes the places back, if there are any to take back.
pub(super) fn release(rows: &mut Rows, places: Places) -> Decision<()> {
    match rows.tee.slot_bookings.get(&places.booking)?.copied() {
        Some(SlotBooking { slot, players, state: SlotBookingState::Reserved { .. } }) => {
            let old = rows.tee.slots.get(&slot)?.cloned().expect("places are those of a slot");
            let booked = old.booked.checked_sub(players).expect("reserved places are counted");
            rows.tee.slots.put(slot, TeeSlot { booked, version: old.version + 1, ..old });
            put(rows, places.booking, slot, players, SlotBookingState::Released);
        }
        Some(_) => {}
        // It overtook what it takes back.
        None => put(rows, places.booking, places.slot, places.players, SlotBookingState::Released),
    }
    rows.emit(Event::Tee(Message::SlotReleased(places)));
    Ok(())
}

fn decide(rows: &mut Rows, places: Places) -> Decision<SlotBookingState> {
    let Places { booking, slot, players } = places;
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

fn put(rows: &mut Rows, booking: BookingId, slot: TeeSlotId, players: u32, state: SlotBookingState) {
    rows.tee.slot_bookings.put(booking, SlotBooking { slot, players, state });
}
