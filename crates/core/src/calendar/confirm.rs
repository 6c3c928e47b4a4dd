//! Turning a lock into a reservation.

use super::lock::{Purpose, RoomLock, end, find_to_end, open_lock};
use super::reservation::{ReservedSlot, RoomReservation, RoomReservationId, RoomReservationState};
use super::slot::{Slot, SlotId, SlotState, not_available};
use crate::actor::Actor;
use crate::command::{Attempt, Command, Context, Decision, Writes};
use crate::event::Event;
use crate::hold::{self, HoldState, Remembered as _, TryId};
use crate::id::{HoldId, Sequence};
use crate::rejection::CalendarRejection;
use crate::rows::Rows;
use crate::time::Timestamp;

/// Turns a live lock into a reservation.
#[derive(Clone, Debug)]
pub struct ConfirmLock {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for ConfirmLock {
    type Outcome = RoomReservation;
    const NAME: &'static str = "calendar.lock.confirm";
    const WRITES: Writes = Writes::Both;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<RoomReservation> {
        rows.ids.want(&Sequence::RoomReservation);
        let lock = open_lock(rows, self.id, self.actor, at.now)?;
        want_slots(rows, &lock);
        let reservation = reserve(rows, &lock, at.now)?;
        end(rows, &lock, HoldState::Confirmed { record: reservation.id.get() }, at.now)?;
        Ok(reservation)
    }

    fn prepare(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Attempt> {
        let lock = open_lock(rows, self.id, self.actor, at.now)?;
        let pinned = hold::pin(rows, &lock, at.now)?;
        let attempt = pinned.attempts;
        rows.calendar.locks.put(lock.id, pinned);
        Ok(attempt)
    }

    fn record(&self, rows: &mut Rows, at: &Context<'_>, attempt: Attempt) -> Decision<RoomReservation> {
        rows.ids.want(&Sequence::RoomReservation);
        let lock = find_to_end(rows, self.id, self.actor)?;
        assert_eq!((lock.state, lock.attempts), (HoldState::Confirming, attempt), "it was prepared");
        want_slots(rows, &lock);
        let of = TryId { hold: lock.id, attempt };
        if let reservation @ Some(_) = hold::decided(rows, of)? {
            return Err(CalendarRejection::SlotNotLocked { reservation }.into());
        }
        let reservation = reserve(rows, &lock, at.now)?;
        hold::decide(rows, of, reservation.id.get());
        Ok(reservation)
    }

    fn finish(
        &self,
        rows: &mut Rows,
        at: &Context<'_>,
        attempt: Attempt,
        outcome: Option<&RoomReservation>,
    ) -> Decision<()> {
        let record = outcome.map(|reservation| reservation.id.get());
        settle(rows, TryId { hold: self.id, attempt }, record, at.now)
    }
}

/// Ends a try to confirm, or to block, that whoever began it did not finish. How it ends has been decided: as the record of
/// this number, or not at all.
#[derive(Clone, Debug)]
pub struct SettleLock {
    pub of: TryId,
    pub record: Option<u64>,
}

impl Command for SettleLock {
    type Outcome = ();
    const NAME: &'static str = "calendar.lock.settle";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<()> {
        settle(rows, self.of, self.record, at.now)
    }
}

/// Records the slots of a lock as reserved, at the lock's prices, and makes the record of it.
fn reserve(rows: &mut Rows, lock: &RoomLock, now: Timestamp) -> Decision<RoomReservation> {
    let number = rows.next_id(Sequence::RoomReservation)?;
    let reservation = RoomReservation {
        id: RoomReservationId::new(number).expect("sequences give ids"),
        lock: lock.id,
        room: lock.room,
        user: lock.owner,
        slots: lock.slots.iter().map(ReservedSlot::from).collect(),
        total: lock.total,
        currency: lock.currency,
        confirmed_at: now,
        state: RoomReservationState::Confirmed,
    };
    for line in lock.slots.iter() {
        let id = SlotId { room: lock.room, start: line.start };
        // A live lock can always be confirmed. Only if live rows were lost has the slot been given to somebody else; and only
        // where live and durable rows lie in two stores may it have been deleted in the moment in which it was locked.
        let slot = rows.calendar.slots.get(&id)?.copied();
        let Some(slot) = slot.filter(|slot| slot.state == SlotState::Free && slot.minutes == line.minutes) else {
            return Err(not_available(line.start).into());
        };
        let state = SlotState::Reserved { reservation: reservation.id };
        rows.calendar.slots.put(id, Slot { state, final_price: line.price, ..slot });
    }
    rows.calendar.reservations.insert(reservation.id, reservation.clone());
    rows.emit(Event::RoomSlotsReserved(reservation.clone()));
    Ok(reservation)
}

/// Ends a try. Nothing happens if it has ended already, or was lost.
pub(super) fn settle(rows: &mut Rows, of: TryId, record: Option<u64>, now: Timestamp) -> Decision<()> {
    let Some(lock) = hold::unsettled(rows.calendar.locks.get(&of.hold)?, of) else { return Ok(()) };
    RoomLock::want_derived(rows, &lock);
    match (record, lock.purpose) {
        (Some(record), _) => end(rows, &lock, HoldState::Confirmed { record }, now),
        // Nobody waits for the slots of a try to block.
        (None, Purpose::Block) => end(rows, &lock, HoldState::Cancelled, now),
        (None, Purpose::Reserve) => {
            let lock = hold::unpin(rows, &lock, now)?;
            rows.calendar.locks.put(lock.id, lock);
            Ok(())
        }
    }
}

fn want_slots(rows: &mut Rows, lock: &RoomLock) {
    lock.ids().for_each(|id| rows.calendar.slots.want(&id));
}
