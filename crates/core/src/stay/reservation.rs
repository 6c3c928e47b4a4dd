//! Reservations: confirmed holds.

use super::StayDates;
use super::room_type::{self, Night, NightId, RoomTypeId};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold;
use crate::id::{HoldId, UserId, number_id};
use crate::money::Currency;
use crate::rejection::StayRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a reservation.
    StayReservationId
);

/// A confirmed stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayReservation {
    pub id: StayReservationId,
    pub hold: HoldId,
    /// Index of the line of the hold.
    pub line: u16,
    pub user: UserId,
    pub room_type: RoomTypeId,
    pub dates: StayDates,
    /// Number of rooms.
    pub quantity: u32,
    pub price: i64,
    pub currency: Currency,
    pub confirmed_at: Timestamp,
    pub state: StayReservationState,
}

impl Row for StayReservation {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayReservationState {
    Confirmed,
    Cancelled { at: Timestamp },
}

/// Cancels a reservation and frees its nights; possible until the day before check-in.
#[derive(Clone, Debug)]
pub struct CancelStayReservation {
    pub id: StayReservationId,
    pub actor: Actor,
}

impl Command for CancelStayReservation {
    type Outcome = StayReservation;
    const NAME: &'static str = "stay.reservation.cancel";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StayReservation> {
        let cancelled = cancel(rows, self.id, &self.actor, at)?;
        hold::cancel_lines(rows, cancelled.hold, |line| line == cancelled.line)?;
        Ok(cancelled)
    }
}

/// Cancels a reservation, without its line of the hold.
pub(super) fn cancel(
    rows: &mut WorkingSet,
    id: StayReservationId,
    actor: &Actor,
    at: &Context<'_>,
) -> Decision<StayReservation> {
    let reservation = find(rows, id, actor)?;
    if reservation.state != StayReservationState::Confirmed {
        return Err(StayRejection::StayReservationAlreadyCancelled.into());
    }
    for date in reservation.dates.nights() {
        rows.stay.nights.request(&NightId { room_type: reservation.room_type, date });
    }
    hold::request(rows, reservation.hold);
    let room_type = room_type::find(rows, reservation.room_type)?;
    if room_type.zone.today(at.now) >= reservation.dates.check_in {
        return Err(StayRejection::StayReservationNotCancellable.into());
    }
    for date in reservation.dates.nights() {
        let id = NightId { room_type: reservation.room_type, date };
        let night = room_type::night(rows, id)?;
        let reserved = night.reserved.checked_sub(reservation.quantity).expect("a confirmed night is counted");
        let total_quantity = room_type.total_quantity.max(reserved);
        rows.stay.nights.put(id, Night { total_quantity, reserved, ..night });
    }
    let cancelled = StayReservation { state: StayReservationState::Cancelled { at: at.now }, ..reservation };
    rows.stay.reservations.put(cancelled.id, cancelled.clone());
    rows.emit(Event::StayReservationCancelled(cancelled.clone()));
    Ok(cancelled)
}

/// Returns the reservation to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: StayReservationId, actor: &Actor) -> Decision<StayReservation> {
    let reservation = rows.stay.reservations.get(&id)?.cloned().ok_or(StayRejection::StayReservationNotFound)?;
    actor.must_own(&reservation.user)?;
    Ok(reservation)
}
