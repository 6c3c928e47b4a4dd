//! Reservations: confirmed locks.

use std::sync::Arc;

use jiff::civil::Date;

use super::line::LockedSlot;
use super::local_time::{LocalTime, SlotStart};
use super::room::RoomId;
use super::slot::{Slot, SlotId, SlotState};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold;
use crate::id::{HoldId, UserId, number_id};
use crate::money::Currency;
use crate::rejection::CalendarRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a reservation of slots.
    RoomReservationId
);

/// Confirmed slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomReservation {
    pub id: RoomReservationId,
    pub lock: HoldId,
    /// Index of the line of the hold.
    pub line: u16,
    pub room: RoomId,
    pub user: UserId,
    /// In order of their start.
    pub slots: Arc<[ReservedSlot]>,
    pub total: i64,
    pub currency: Currency,
    pub confirmed_at: Timestamp,
    pub state: RoomReservationState,
}

impl Row for RoomReservation {}

/// One slot of a reservation. It outlives the slot itself, which is purged when old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedSlot {
    pub start: SlotStart,
    pub minutes: u16,
    pub price: i64,
}

impl ReservedSlot {
    pub fn date(&self) -> Date {
        self.start.date()
    }

    pub fn time(&self) -> LocalTime {
        self.start.time()
    }
}

impl From<&LockedSlot> for ReservedSlot {
    fn from(slot: &LockedSlot) -> Self {
        Self { start: slot.start, minutes: slot.minutes, price: slot.price }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomReservationState {
    Confirmed,
    Cancelled { at: Timestamp },
}

impl RoomReservation {
    pub fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.slots.iter().map(|slot| SlotId { room: self.room, start: slot.start })
    }
}

/// Cancels a reservation and frees its slots. Slots outside the present hours are deleted.
#[derive(Clone, Debug)]
pub struct CancelRoomReservation {
    pub id: RoomReservationId,
    pub actor: Actor,
}

impl Command for CancelRoomReservation {
    type Outcome = RoomReservation;
    const NAME: &'static str = "calendar.reservation.cancel";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<RoomReservation> {
        let cancelled = cancel(rows, self.id, &self.actor, at.now)?;
        hold::cancel_lines(rows, cancelled.lock, |line| line == cancelled.line)?;
        Ok(cancelled)
    }
}

/// Cancels a reservation, without its line of the hold.
pub(super) fn cancel(
    rows: &mut WorkingSet,
    id: RoomReservationId,
    actor: &Actor,
    now: Timestamp,
) -> Decision<RoomReservation> {
    let reservation = find(rows, id, actor)?;
    if reservation.state != RoomReservationState::Confirmed {
        return Err(CalendarRejection::RoomReservationAlreadyCancelled.into());
    }
    reservation.ids().for_each(|id| rows.calendar.slots.request(&id));
    hold::request(rows, reservation.lock);
    for slot_id in reservation.ids() {
        // Old slots are purged.
        let Some(slot) = rows.calendar.slots.get(&slot_id)?.copied() else { continue };
        assert_eq!(slot.state, SlotState::Reserved { reservation: id }, "a reserved slot stays reserved");
        free_slot(rows, slot_id, slot);
    }
    let cancelled = RoomReservation { state: RoomReservationState::Cancelled { at: now }, ..reservation };
    rows.calendar.reservations.put(cancelled.id, cancelled.clone());
    rows.emit(Event::RoomSlotsCancelled(cancelled.clone()));
    Ok(cancelled)
}

/// Frees a slot that is no longer used, or deletes it if it is outside the hours.
pub(super) fn free_slot(rows: &mut WorkingSet, id: SlotId, slot: Slot) {
    if slot.outside_hours {
        rows.calendar.slots.delete(id);
    } else {
        rows.calendar.slots.put(id, Slot { state: SlotState::Free, ..slot });
    }
}

/// Returns the reservation to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: RoomReservationId, actor: &Actor) -> Decision<RoomReservation> {
    let reservation =
        rows.calendar.reservations.get(&id)?.cloned().ok_or(CalendarRejection::RoomReservationNotFound)?;
    actor.must_own(&reservation.user)?;
    Ok(reservation)
}
