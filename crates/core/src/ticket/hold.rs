//! The life of a hold on seats: what it claims, confirming and cancelling it.

use std::sync::Arc;

use super::reservation::{self, ReservedSeat, SeatReservation};
use super::{BuyerId, EventId, SeatPointer, event_unit, seat_unit};
use crate::actor::Actor;
use crate::command::{Attempt, Command, Context, Decision, Stop, Writes};
use crate::event::Event;
use crate::hold::{self, Claim, Hold, HoldState, Remembered, Status, TryId};
use crate::id::{HoldId, Sequence};
use crate::money::Currency;
use crate::rejection::TicketRejection;
use crate::rows::Rows;
use crate::table::Count;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit};

/// A hold on seats of one event.
pub type SeatHold = Hold<SeatClaim>;

/// Which seats a hold claims, and on which terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatClaim {
    pub event: EventId,
    /// In ascending order, at prices frozen when the hold was placed.
    pub seats: Arc<[ReservedSeat]>,
    pub total: i64,
    pub currency: Currency,
}

impl Claim for SeatClaim {
    const KIND: Kind = Kind::Ticket;

    /// The seats, and as many of the event as a whole.
    fn lines(&self) -> impl Iterator<Item = (Unit, u32)> {
        let whole = (event_unit(self.event), self.seats.len() as u32);
        std::iter::once(whole).chain(self.seats.iter().map(|seat| (seat_unit(seat.seat), 1)))
    }
}

/// Turns a live hold into a reservation.
#[derive(Clone, Debug)]
pub struct ConfirmSeatHold {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for ConfirmSeatHold {
    type Outcome = SeatReservation;
    const NAME: &'static str = "ticket.hold.confirm";
    const WRITES: Writes = Writes::Both;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<SeatReservation> {
        rows.ids.want(&Sequence::SeatReservation);
        let hold = open_hold(rows, self.id, self.actor, at.now)?;
        let reservation = reservation::reserve(rows, &hold, at.now)?;
        end(rows, &hold, HoldState::Confirmed { record: reservation.id.get() }, at.now)?;
        Ok(reservation)
    }

    fn prepare(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Attempt> {
        let hold = open_hold(rows, self.id, self.actor, at.now)?;
        let pinned = pin(rows, &hold, at.now)?;
        let attempt = pinned.attempts;
        rows.ticket.holds.put(hold.id, pinned);
        Ok(attempt)
    }

    fn record(&self, rows: &mut Rows, at: &Context<'_>, attempt: Attempt) -> Decision<SeatReservation> {
        rows.ids.want(&Sequence::SeatReservation);
        let hold = find(rows, self.id, self.actor)?;
        record(rows, &hold, attempt, at.now)
    }

    fn finish(
        &self,
        rows: &mut Rows,
        at: &Context<'_>,
        attempt: Attempt,
        outcome: Option<&SeatReservation>,
    ) -> Decision<()> {
        let record = outcome.map(|reservation| reservation.id.get());
        settle(rows, TryId { hold: self.id, attempt }, record, at.now)
    }
}

/// Ends a try to confirm that whoever began it did not finish. How it ends has been decided: as the record of this
/// number, or not at all.
#[derive(Clone, Debug)]
pub struct SettleSeatHold {
    pub of: TryId,
    pub record: Option<u64>,
}

impl Command for SettleSeatHold {
    type Outcome = ();
    const NAME: &'static str = "ticket.hold.settle";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<()> {
        settle(rows, self.of, self.record, at.now)
    }
}

/// Gives a live hold back.
#[derive(Clone, Debug)]
pub struct CancelSeatHold {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for CancelSeatHold {
    type Outcome = ();
    const NAME: &'static str = "ticket.hold.cancel";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<()> {
        let hold = open_hold(rows, self.id, self.actor, at.now)?;
        end(rows, &hold, HoldState::Cancelled, at.now)?;
        rows.emit(Event::SeatsReleased(Hold { state: HoldState::Cancelled, ..hold }));
        Ok(())
    }
}

/// The hold, for one who may see it.
pub fn find(rows: &mut Rows, id: HoldId, actor: Actor) -> Decision<SeatHold> {
    let hold = rows.ticket.holds.get(&id)?.cloned().ok_or(TicketRejection::SeatHoldNotFound)?;
    actor.must_own(hold.owner)?;
    Ok(hold)
}

/// The counts of a live one, what its owner holds of the event, and the pointers to it.
impl Remembered for SeatHold {
    fn want_derived(rows: &mut Rows, hold: &Self) {
        hold::want_counts(rows, hold.owner, &hold.claim);
        rows.ticket.buyers_held.want(&buyer_of(hold));
        for seat in &*hold.seats {
            rows.ticket.by_seat.want(&seat.seat);
        }
    }

    fn remember(rows: &mut Rows, hold: &Self, now: Timestamp) -> Decision<()> {
        hold::count(rows, hold, now)?;
        count_buyer(rows, hold, now, 1)?;
        point_at(rows, hold)
    }
}

/// Ends a live hold before its time, and with it everything derived from it.
pub(super) fn end(rows: &mut Rows, hold: &SeatHold, state: HoldState, now: Timestamp) -> Decision<()> {
    hold::uncount(rows, hold, now)?;
    count_buyer(rows, hold, now, -1)?;
    for seat in &*hold.seats {
        if rows.ticket.by_seat.get(&seat.seat)?.is_some_and(|pointer| pointer.hold == hold.id) {
            rows.ticket.by_seat.delete(seat.seat);
        }
    }
    rows.ticket.holds.put(hold.id, SeatHold { state, ..hold.clone() });
    Ok(())
}

/// Begins to confirm a live hold: also what its owner holds counts until that is settled.
pub(super) fn pin(rows: &mut Rows, hold: &SeatHold, now: Timestamp) -> Decision<SeatHold> {
    let pinned = hold::pin(rows, hold, now)?;
    count_buyer(rows, hold, now, -1)?;
    count_buyer(rows, &pinned, now, 1)?;
    point_at(rows, &pinned)?;
    Ok(pinned)
}

/// Decides a try to confirm: it becomes a reservation, unless the try was decided already.
pub(super) fn record(rows: &mut Rows, hold: &SeatHold, attempt: Attempt, now: Timestamp) -> Decision<SeatReservation> {
    assert_eq!((hold.state, hold.attempts), (HoldState::Confirming, attempt), "it was prepared");
    reservation::want_reserving(rows, hold.event, hold.owner, hold.seats.iter().map(|seat| seat.seat));
    let of = TryId { hold: hold.id, attempt };
    if let reservation @ Some(_) = hold::decided(rows, of)? {
        return Err(TicketRejection::SeatHoldAlreadyProcessed { reservation }.into());
    }
    let reservation = reservation::reserve(rows, hold, now)?;
    hold::decide(rows, of, reservation.id.get());
    Ok(reservation)
}

/// Ends a try to confirm. Nothing happens if it has ended already, or was lost.
pub(super) fn settle(rows: &mut Rows, of: TryId, record: Option<u64>, now: Timestamp) -> Decision<()> {
    let Some(hold) = hold::unsettled(rows.ticket.holds.get(&of.hold)?, of) else { return Ok(()) };
    SeatHold::want_derived(rows, &hold);
    match record {
        Some(record) => end(rows, &hold, HoldState::Confirmed { record }, now),
        None => {
            let unpinned = hold::unpin(rows, &hold, now)?;
            count_buyer(rows, &hold, now, -1)?;
            if unpinned.is_live(now) {
                count_buyer(rows, &unpinned, now, 1)?;
            }
            point_at(rows, &unpinned)?;
            rows.ticket.holds.put(unpinned.id, unpinned);
            Ok(())
        }
    }
}

/// The hold, if it can still be confirmed or cancelled by `actor`; its counts are loaded with it.
fn open_hold(rows: &mut Rows, id: HoldId, actor: Actor, now: Timestamp) -> Decision<SeatHold> {
    let hold = find(rows, id, actor)?;
    match hold.status(now) {
        Status::Held => {}
        Status::Confirming => return Err(Stop::Busy),
        Status::Expired | Status::Replaced => return Err(TicketRejection::SeatHoldExpired.into()),
        Status::Cancelled => return Err(TicketRejection::SeatHoldAlreadyProcessed { reservation: None }.into()),
        Status::Confirmed { record } => {
            return Err(TicketRejection::SeatHoldAlreadyProcessed { reservation: Some(record) }.into());
        }
    }
    SeatHold::want_derived(rows, &hold);
    Ok(hold)
}

/// Leads from each seat of a hold to it, as long as it lasts.
fn point_at(rows: &mut Rows, hold: &SeatHold) -> Decision<()> {
    let pointer = SeatPointer { hold: hold.id, owner: hold.owner, expires_at: end_of(hold) };
    for seat in &*hold.seats {
        rows.ticket.by_seat.get(&seat.seat)?;
        rows.ticket.by_seat.put(seat.seat, pointer);
    }
    Ok(())
}

/// Counts the seats of a hold as held by its owner, until it ends or, if it is being confirmed, until that is settled.
fn count_buyer(rows: &mut Rows, hold: &SeatHold, now: Timestamp, sign: i64) -> Decision<()> {
    let quantity = sign * hold.seats.len() as i64;
    rows.ticket.buyers_held.count(&buyer_of(hold), Count { quantity, ends_at: end_of(hold), now })?;
    Ok(())
}

/// When a hold ends by time, if it does at present.
fn end_of(hold: &SeatHold) -> Option<Timestamp> {
    (hold.state != HoldState::Confirming).then_some(hold.expires_at)
}

fn buyer_of(hold: &SeatHold) -> BuyerId {
    BuyerId { event: hold.event, user: hold.owner }
}
