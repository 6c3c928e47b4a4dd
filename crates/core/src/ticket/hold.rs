//! Life of holds on seats: their claim, confirming and cancelling.

use std::sync::Arc;

use super::reservation::{self, ReservedSeat, SeatReservation};
use super::{BuyerId, EventId, SeatPointer, event_unit, seat_unit};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, Stop, TwoPhase, writes};
use crate::event::Event;
use crate::hold::{self, AttemptId, Claim, Hold, HoldState, Indexed, Status};
use crate::id::{HoldId, Sequence};
use crate::money::Currency;
use crate::rejection::TicketRejection;
use crate::table::Count;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

/// A hold on seats of one event.
pub type SeatHold = Hold<SeatClaim>;

/// Claim of a seat hold, and its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatClaim {
    pub event: EventId,
    /// In ascending order, at the prices of the moment when the hold was placed.
    pub seats: Arc<[ReservedSeat]>,
    pub total: i64,
    pub currency: Currency,
}

impl Claim for SeatClaim {
    const KIND: Kind = Kind::Ticket;

    /// Returns each seat, and the number of seats as a quantity of the event as a whole.
    fn lines(&self) -> impl Iterator<Item = (Unit, u32)> {
        let whole = (event_unit(self.event), self.seats.len() as u32);
        std::iter::once(whole).chain(self.seats.iter().map(|seat| (seat_unit(seat.seat), 1)))
    }
}

/// Confirms a live hold as a reservation.
#[derive(Clone, Debug)]
pub struct ConfirmSeatHold {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for ConfirmSeatHold {
    type Outcome = SeatReservation;
    const NAME: &'static str = "ticket.hold.confirm";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<SeatReservation> {
        rows.ids.request(&Sequence::SeatReservation);
        let hold = find_open(rows, self.id, &self.actor, at.now)?;
        let reservation = reservation::reserve(rows, &hold, at.now)?;
        end(rows, &hold, HoldState::Confirmed { record: reservation.id.get() }, at.now)?;
        Ok(reservation)
    }
}

impl TwoPhase for ConfirmSeatHold {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let hold = find_open(rows, self.id, &self.actor, at.now)?;
        let prepared = prepare(rows, &hold, at.now)?;
        let attempt = prepared.attempt();
        rows.ticket.holds.put(hold.id, prepared);
        Ok(attempt)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<SeatReservation> {
        rows.ids.request(&Sequence::SeatReservation);
        record(rows, *prepared, at.now)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&SeatReservation>,
    ) -> Decision<()> {
        let record = outcome.map(|reservation| reservation.id.get());
        finish_attempt(rows, *prepared, record, at.now)
    }
}

/// Finishes a confirm attempt whose server failed. The durable outcome is already decided: the record of this number,
/// or aborted.
#[derive(Clone, Debug)]
pub struct RecoverSeatHold {
    pub of: AttemptId,
    pub record: Option<u64>,
}

impl Command for RecoverSeatHold {
    type Outcome = ();
    const NAME: &'static str = "ticket.hold.finish_attempt";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        finish_attempt(rows, self.of, self.record, at.now)
    }
}

/// Cancels a live hold.
#[derive(Clone, Debug)]
pub struct CancelSeatHold {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for CancelSeatHold {
    type Outcome = ();
    const NAME: &'static str = "ticket.hold.cancel";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let hold = find_open(rows, self.id, &self.actor, at.now)?;
        end(rows, &hold, HoldState::Cancelled, at.now)?;
        rows.emit(Event::SeatsReleased(Hold { state: HoldState::Cancelled, ..hold }));
        Ok(())
    }
}

/// Returns the hold to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<SeatHold> {
    let hold = rows.ticket.holds.get(&id)?.cloned().ok_or(TicketRejection::SeatHoldNotFound)?;
    actor.must_own(&hold.owner)?;
    Ok(hold)
}

/// Counts of a live hold, the number of seats that its owner holds of the event, and entries by seat.
impl Indexed for SeatHold {
    fn request_indexes(rows: &mut WorkingSet, hold: &Self) {
        hold::request_counts(rows, &hold.owner, &hold.claim);
        rows.ticket.buyers_held.request(&buyer_of(hold));
        for seat in &*hold.seats {
            rows.ticket.by_seat.request(&seat.seat);
        }
    }

    fn index(rows: &mut WorkingSet, hold: &Self, now: Timestamp) -> Decision<()> {
        hold::count(rows, hold, now)?;
        count_buyer(rows, hold, now, 1)?;
        put_seat_entries(rows, hold)
    }
}

/// Ends a live hold before its time, and deletes its index entries.
pub(super) fn end(rows: &mut WorkingSet, hold: &SeatHold, state: HoldState, now: Timestamp) -> Decision<()> {
    hold::uncount(rows, hold, now)?;
    count_buyer(rows, hold, now, -1)?;
    for seat in &*hold.seats {
        if rows.ticket.by_seat.get(&seat.seat)?.is_some_and(|entry| entry.hold == hold.id) {
            rows.ticket.by_seat.delete(seat.seat);
        }
    }
    rows.ticket.holds.put(hold.id, SeatHold { state, ..hold.clone() });
    Ok(())
}

/// Prepares a live hold for confirming: the count of its owner's seats also stays until the attempt is finished.
pub(super) fn prepare(rows: &mut WorkingSet, hold: &SeatHold, now: Timestamp) -> Decision<SeatHold> {
    let prepared = hold::prepare(rows, hold, now)?;
    count_buyer(rows, hold, now, -1)?;
    count_buyer(rows, &prepared, now, 1)?;
    put_seat_entries(rows, &prepared)?;
    Ok(prepared)
}

/// Records a confirm attempt as a reservation, unless the attempt is decided already.
pub(super) fn record(rows: &mut WorkingSet, of: AttemptId, now: Timestamp) -> Decision<SeatReservation> {
    let hold = &hold::prepared(rows.ticket.holds.get(&of.hold)?, of)?;
    reservation::request_rows(rows, hold.event, &hold.owner, hold.seats.iter().map(|seat| seat.seat));
    if let reservation @ Some(_) = hold::recorded_outcome(rows, of)? {
        return Err(TicketRejection::SeatHoldAlreadyProcessed { reservation }.into());
    }
    let reservation = reservation::reserve(rows, hold, now)?;
    hold::record_outcome(rows, of, reservation.id.get());
    Ok(reservation)
}

/// Finishes a confirm attempt. No effect if it is finished already, or if the hold was lost.
pub(super) fn finish_attempt(
    rows: &mut WorkingSet,
    of: AttemptId,
    record: Option<u64>,
    now: Timestamp,
) -> Decision<()> {
    let Some(hold) = hold::find_prepared(rows.ticket.holds.get(&of.hold)?, of) else { return Ok(()) };
    SeatHold::request_indexes(rows, &hold);
    match record {
        Some(record) => end(rows, &hold, HoldState::Confirmed { record }, now),
        None => {
            let reverted = hold::revert_prepare(rows, &hold, now)?;
            count_buyer(rows, &hold, now, -1)?;
            if reverted.is_live(now) {
                count_buyer(rows, &reverted, now, 1)?;
            }
            put_seat_entries(rows, &reverted)?;
            rows.ticket.holds.put(reverted.id, reverted);
            Ok(())
        }
    }
}

/// Returns the hold if `actor` can still confirm or cancel it, and requests its index entries.
fn find_open(rows: &mut WorkingSet, id: HoldId, actor: &Actor, now: Timestamp) -> Decision<SeatHold> {
    let hold = find(rows, id, actor)?;
    match hold.status(now) {
        Status::Held => {}
        Status::Prepared => return Err(Stop::Retry),
        Status::Expired | Status::Replaced => return Err(TicketRejection::SeatHoldExpired.into()),
        Status::Cancelled => return Err(TicketRejection::SeatHoldAlreadyProcessed { reservation: None }.into()),
        Status::Confirmed { record } => {
            return Err(TicketRejection::SeatHoldAlreadyProcessed { reservation: Some(record) }.into());
        }
    }
    SeatHold::request_indexes(rows, &hold);
    Ok(hold)
}

/// Writes the index entries from the seats of a hold to it.
fn put_seat_entries(rows: &mut WorkingSet, hold: &SeatHold) -> Decision<()> {
    let entry = SeatPointer { hold: hold.id, owner: hold.owner.clone(), expires_at: end_of(hold) };
    for seat in &*hold.seats {
        rows.ticket.by_seat.get(&seat.seat)?;
        rows.ticket.by_seat.put(seat.seat, entry.clone());
    }
    Ok(())
}

/// Counts the seats of a hold for its owner, until the hold ends or, if prepared, until its attempt is finished.
fn count_buyer(rows: &mut WorkingSet, hold: &SeatHold, now: Timestamp, sign: i64) -> Decision<()> {
    let quantity = sign * hold.seats.len() as i64;
    rows.ticket.buyers_held.count(&buyer_of(hold), Count { quantity, ends_at: end_of(hold), now })?;
    Ok(())
}

/// Returns the end of a hold; `None` while it is prepared.
fn end_of(hold: &SeatHold) -> Option<Timestamp> {
    (hold.state != HoldState::Prepared).then_some(hold.expires_at)
}

fn buyer_of(hold: &SeatHold) -> BuyerId {
    BuyerId { event: hold.event, user: hold.owner.clone() }
}
