//! The line of a hold on slots of a room, called a lock.

use std::sync::Arc;

use super::local_time::SlotStart;
use super::reservation::{ReservedSlot, RoomReservation, RoomReservationId, RoomReservationState};
use super::room::RoomId;
use super::slot::{Slot, SlotId, SlotState, not_available};
use crate::command::{Context, Decision};
use crate::event::Event;
use crate::hold::{CancelHold, ConfirmHold, EndpointItem, Hold, Item, Line, LineItem, Origin};
use crate::id::{HoldId, Sequence};
use crate::table::Row;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

/// Confirms a live lock as a reservation.
pub type ConfirmLock = ConfirmHold<SlotsItem>;
/// Releases a live lock.
pub type ReleaseLock = CancelHold<SlotsItem>;

/// One or more slots of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotsItem {
    pub room: RoomId,
    /// In order of their start.
    pub slots: Arc<[LockedSlot]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedSlot {
    pub start: SlotStart,
    pub minutes: u16,
    pub price: i64,
}

/// Index entry of a lock, valid until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveLock {
    pub hold: HoldId,
    pub expires_at: Timestamp,
}

impl Row for LiveLock {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl SlotsItem {
    pub fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.slots.iter().map(|slot| SlotId { room: self.room, start: slot.start })
    }
}

impl LineItem for SlotsItem {
    const KIND: Kind = Kind::Room;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Slots(item) => Some(item),
            _ => None,
        }
    }

    fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.ids().map(|id| (id.unit(), 1))
    }

    fn request_indexes(&self, _hold: &Hold, rows: &mut WorkingSet) {
        self.ids().for_each(|id| rows.calendar.by_slot.request(&id));
    }

    fn insert_indexes(&self, hold: &Hold, rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        for id in self.ids() {
            rows.calendar.by_slot.get(&id)?;
            rows.calendar.by_slot.put(id, LiveLock { hold: hold.id, expires_at: hold.ends_at() });
        }
        Ok(())
    }

    fn update_indexes(&self, before: &Hold, after: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        if before.ends_at() == after.ends_at() {
            return Ok(());
        }
        self.insert_indexes(after, rows, now)
    }

    fn delete_indexes(&self, hold: &Hold, rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        for id in self.ids() {
            if rows.calendar.by_slot.get(&id)?.is_some_and(|entry| entry.hold == hold.id) {
                rows.calendar.by_slot.delete(id);
            }
        }
        Ok(())
    }
}

impl EndpointItem for SlotsItem {
    type Record = RoomReservation;

    const ORIGIN: Origin = Origin::Lock;
    const SEQUENCE: Sequence = Sequence::RoomReservation;
    const CONFIRM: &'static str = "calendar.lock.confirm";
    const CANCEL: &'static str = "calendar.lock.release";

    fn request_record(&self, _hold: &Hold, rows: &mut WorkingSet) {
        self.ids().for_each(|id| rows.calendar.slots.request(&id));
    }

    /// Records the slots as reserved, at the lock's prices, and inserts the reservation.
    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<RoomReservation> {
        let number = rows.next_id(Self::SEQUENCE)?;
        let reservation = RoomReservation {
            id: RoomReservationId::new(number).expect("sequence numbers are valid ids"),
            lock: hold.id,
            line: line.index,
            room: self.room,
            user: hold.owner.clone(),
            slots: self.slots.iter().map(ReservedSlot::from).collect(),
            total: line.price,
            currency: hold.currency,
            confirmed_at: at.now,
            state: RoomReservationState::Confirmed,
        };
        for locked in self.slots.iter() {
            let id = SlotId { room: self.room, start: locked.start };
            // With two stores, a slot may also have been deleted while it was being locked.
            let slot = rows.calendar.slots.get(&id)?.copied();
            let Some(slot) = slot.filter(|slot| slot.state == SlotState::Free && slot.minutes == locked.minutes) else {
                return Err(not_available(locked.start).into());
            };
            let state = SlotState::Reserved { reservation: reservation.id };
            rows.calendar.slots.put(id, Slot { state, final_price: locked.price, ..slot });
        }
        rows.calendar.reservations.insert(reservation.id, reservation.clone());
        rows.emit(Event::RoomSlotsReserved(reservation.clone()));
        Ok(reservation)
    }

    fn number(record: &RoomReservation) -> u64 {
        record.id.get()
    }
}
