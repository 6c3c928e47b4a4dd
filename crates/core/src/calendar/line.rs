//! The line of a hold on slots of a room, called a lock.

use std::sync::Arc;

use super::local_time::SlotStart;
use super::reservation::{self, ReservedSlot, RoomReservation, RoomReservationId, RoomReservationState};
use super::room::{self, RoomId};
use super::slot::{self, Slot, SlotId, SlotState, check_starts, not_available};
use super::{LOCK_SLOTS_MAX, lock};
use crate::actor::Actor;
use crate::command::{Context, Decision, Limits};
use crate::event::Event;
use crate::hold::{CancelHold, ConfirmHold, EndpointItem, Hold, Item, Line, LineItem, LineRequest, Origin, RecordType};
use crate::id::{HoldId, Sequence, UserId};
use crate::money::Currency;
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::time::{Span, Timestamp};
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

/// Slots of a room as a client requests them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotsRequest {
    pub room: RoomId,
    pub starts: Vec<SlotStart>,
}

impl SlotsRequest {
    /// Returns the slots in order of their start, each once.
    fn ids(&self) -> Result<Vec<SlotId>, Rejection> {
        let starts = check_starts(&self.starts, LOCK_SLOTS_MAX)?;
        Ok(starts.into_iter().map(|start| SlotId { room: self.room, start }).collect())
    }
}

impl LineItem for SlotsItem {
    type Request = SlotsRequest;
    type Record = RoomReservation;

    const KIND: Kind = Kind::Room;
    const RECORD: RecordType = RecordType::RoomReservation;
    const SEQUENCE: Sequence = Sequence::RoomReservation;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Slots(item) => Some(item),
            _ => None,
        }
    }

    fn ttl(limits: &Limits) -> Span {
        limits.calendar.lock_ttl
    }

    fn request_rows(request: &SlotsRequest, _owner: &UserId, rows: &mut WorkingSet) {
        rows.calendar.rooms.request(&request.room);
        for id in request.ids().into_iter().flatten() {
            slot::request_rows(rows, id);
        }
    }

    fn check(
        request: &SlotsRequest,
        _owner: &UserId,
        earlier: &[LineRequest],
        rows: &mut WorkingSet,
        _at: &Context<'_>,
    ) -> Decision<Currency> {
        request.ids()?;
        let is_same = |earlier: &LineRequest| match earlier {
            LineRequest::Slots(earlier) => {
                earlier.room == request.room && earlier.starts.iter().any(|start| request.starts.contains(start))
            }
            _ => false,
        };
        if earlier.iter().any(is_same) {
            return Err(Rejection::invalid("times", Fault::Duplicate).into());
        }
        Ok(room::find(rows, request.room)?.currency)
    }

    fn claim(request: &SlotsRequest, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(i64, Self)> {
        let room = room::find(rows, request.room)?;
        let mut slots = Vec::new();
        for id in request.ids()? {
            slots.push(lock::lockable(rows, &room, id, false, at.now)?);
        }
        let price = slots.iter().map(|slot| slot.price).sum();
        Ok((price, Self { room: request.room, slots: slots.into() }))
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

    fn cancel(number: u64, actor: &Actor, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let id = RoomReservationId::new(number).expect("a record number is a reservation id");
        reservation::cancel(rows, id, actor, at.now).map(|_| ())
    }

    fn begins_at(&self, rows: &mut WorkingSet) -> Decision<Option<Timestamp>> {
        let first = self.slots.first().expect("a line has at least one slot");
        Ok(Some(first.start.begins_at(&room::find(rows, self.room)?.zone)))
    }
}

impl EndpointItem for SlotsItem {
    const ORIGIN: Origin = Origin::Lock;
    const CONFIRM: &'static str = "calendar.lock.confirm";
    const CANCEL: &'static str = "calendar.lock.release";
}
