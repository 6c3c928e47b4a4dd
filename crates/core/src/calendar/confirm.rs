//! Confirming a lock as a reservation.

use super::lock::{Purpose, RoomLock, end, find_open};
use super::reservation::{ReservedSlot, RoomReservation, RoomReservationId, RoomReservationState};
use super::slot::{Slot, SlotId, SlotState, not_available};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, TwoPhase, writes};
use crate::event::Event;
use crate::hold::{self, AttemptId, HoldState, Indexed as _};
use crate::id::{HoldId, Sequence};
use crate::rejection::CalendarRejection;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Confirms a live lock as a reservation.
#[derive(Clone, Debug)]
pub struct ConfirmLock {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for ConfirmLock {
    type Outcome = RoomReservation;
    const NAME: &'static str = "calendar.lock.confirm";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<RoomReservation> {
        rows.ids.request(&Sequence::RoomReservation);
        let lock = find_open(rows, self.id, &self.actor, at.now)?;
        request_slots(rows, &lock);
        let reservation = reserve(rows, &lock, at.now)?;
        end(rows, &lock, HoldState::Confirmed { record: reservation.id.get() }, at.now)?;
        Ok(reservation)
    }
}

impl TwoPhase for ConfirmLock {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let lock = find_open(rows, self.id, &self.actor, at.now)?;
        let prepared = hold::prepare(rows, &lock, at.now)?;
        let attempt = prepared.attempt();
        rows.calendar.locks.put(lock.id, prepared);
        Ok(attempt)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<RoomReservation> {
        rows.ids.request(&Sequence::RoomReservation);
        let lock = hold::prepared(rows.calendar.locks.get(&prepared.hold)?, *prepared)?;
        request_slots(rows, &lock);
        if let reservation @ Some(_) = hold::recorded_outcome(rows, *prepared)? {
            return Err(CalendarRejection::SlotNotLocked { reservation }.into());
        }
        let reservation = reserve(rows, &lock, at.now)?;
        hold::record_outcome(rows, *prepared, reservation.id.get());
        Ok(reservation)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&RoomReservation>,
    ) -> Decision<()> {
        let record = outcome.map(|reservation| reservation.id.get());
        finish_attempt(rows, *prepared, record, at.now)
    }
}

/// Finishes an attempt to confirm or to block whose server failed. The durable outcome is already decided: the record
/// of this number, or aborted.
#[derive(Clone, Debug)]
pub struct RecoverLock {
    pub of: AttemptId,
    pub record: Option<u64>,
}

impl Command for RecoverLock {
    type Outcome = ();
    const NAME: &'static str = "calendar.lock.finish_attempt";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        finish_attempt(rows, self.of, self.record, at.now)
    }
}

/// Records the slots of a lock as reserved, at the lock's prices, and inserts the reservation.
fn reserve(rows: &mut WorkingSet, lock: &RoomLock, now: Timestamp) -> Decision<RoomReservation> {
    let number = rows.next_id(Sequence::RoomReservation)?;
    let reservation = RoomReservation {
        id: RoomReservationId::new(number).expect("sequence numbers are valid ids"),
        lock: lock.id,
        room: lock.room,
        user: lock.owner.clone(),
        slots: lock.slots.iter().map(ReservedSlot::from).collect(),
        total: lock.total,
        currency: lock.currency,
        confirmed_at: now,
        state: RoomReservationState::Confirmed,
    };
    for line in lock.slots.iter() {
        let id = SlotId { room: lock.room, start: line.start };
        // A live lock can always be confirmed. Only after a loss of live rows may another customer have the slot, and
        // only with two stores may it have been deleted while it was being locked.
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

/// Finishes a confirm attempt. No effect if it is finished already, or if the lock was lost.
pub(super) fn finish_attempt(
    rows: &mut WorkingSet,
    of: AttemptId,
    record: Option<u64>,
    now: Timestamp,
) -> Decision<()> {
    let Some(lock) = hold::find_prepared(rows.calendar.locks.get(&of.hold)?, of) else { return Ok(()) };
    RoomLock::request_indexes(rows, &lock);
    match (record, lock.purpose) {
        (Some(record), _) => end(rows, &lock, HoldState::Confirmed { record }, now),
        // An aborted attempt to block leaves no lock.
        (None, Purpose::Block) => end(rows, &lock, HoldState::Cancelled, now),
        (None, Purpose::Reserve) => {
            let lock = hold::revert_prepare(rows, &lock, now)?;
            rows.calendar.locks.put(lock.id, lock);
            Ok(())
        }
    }
}

fn request_slots(rows: &mut WorkingSet, lock: &RoomLock) {
    lock.ids().for_each(|id| rows.calendar.slots.request(&id));
}
