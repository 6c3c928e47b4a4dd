//! Reservations: confirmed holds.

use std::sync::Arc;

use super::event::{self, EventSales};
use super::{Buyer, BuyerId, EventId, SeatId, SeatsItem, SoldSeat};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold::{self, Hold, Line};
use crate::id::{HoldId, Sequence, UserId, number_id};
use crate::money::Currency;
use crate::rejection::TicketRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a reservation of seats.
    SeatReservationId
);

/// Confirmed seats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatReservation {
    pub id: SeatReservationId,
    pub hold: HoldId,
    /// Index of the line of the hold.
    pub line: u16,
    pub event: EventId,
    pub user: UserId,
    /// In ascending order, at the prices of the hold.
    pub seats: Arc<[ReservedSeat]>,
    pub total: i64,
    pub currency: Currency,
    pub reserved_at: Timestamp,
    pub state: SeatReservationState,
}

impl Row for SeatReservation {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatReservationState {
    Reserved,
    Cancelled { at: Timestamp },
}

/// A seat of a hold or reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedSeat {
    pub seat: SeatId,
    pub label: Arc<str>,
    pub section: Option<Arc<str>>,
    pub price: i64,
}

/// Cancels a reservation and frees its seats.
#[derive(Clone, Debug)]
pub struct CancelSeatReservation {
    pub id: SeatReservationId,
    pub actor: Actor,
}

impl Command for CancelSeatReservation {
    type Outcome = SeatReservation;
    const NAME: &'static str = "ticket.reservation.cancel";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<SeatReservation> {
        let cancelled = cancel(rows, self.id, &self.actor, at.now)?;
        hold::cancel_lines(rows, cancelled.hold, |line| line == cancelled.line)?;
        Ok(cancelled)
    }

    fn weight(&self) -> usize {
        2
    }
}

/// Cancels a reservation, without its line of the hold.
pub(super) fn cancel(
    rows: &mut WorkingSet,
    id: SeatReservationId,
    actor: &Actor,
    now: Timestamp,
) -> Decision<SeatReservation> {
    let reservation = find(rows, id, actor)?;
    if reservation.state != SeatReservationState::Reserved {
        return Err(TicketRejection::SeatReservationAlreadyCancelled.into());
    }
    let SeatReservation { event, user, seats, .. } = &reservation;
    request_rows(rows, *event, user, seats.iter().map(|seat| seat.seat));
    hold::request(rows, reservation.hold);
    let count = seats.len() as u32;
    let sales = event::sales(rows, *event)?;
    let reserved = sales.reserved.checked_sub(count).expect("a reserved seat is counted");
    rows.ticket.sales.put(*event, EventSales { reserved });
    let buyer = BuyerId { event: *event, user: user.clone() };
    match reserved_by(rows, &buyer)?.checked_sub(count).expect("a buyer's seat is counted") {
        0 => rows.ticket.buyers.delete(buyer),
        reserved => rows.ticket.buyers.put(buyer, Buyer { reserved }),
    }
    for seat in &**seats {
        let sold = rows.ticket.seats.get(&seat.seat)?.copied();
        assert_eq!(sold, Some(SoldSeat { reservation: id }), "a reserved seat belongs to its reservation");
        rows.ticket.seats.delete(seat.seat);
    }
    let cancelled = SeatReservation { state: SeatReservationState::Cancelled { at: now }, ..reservation };
    rows.ticket.reservations.put(cancelled.id, cancelled.clone());
    rows.emit(Event::SeatsCancelled(cancelled.clone()));
    Ok(cancelled)
}

/// Returns the reservation to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: SeatReservationId, actor: &Actor) -> Decision<SeatReservation> {
    let reservation = rows.ticket.reservations.get(&id)?.cloned().ok_or(TicketRejection::SeatReservationNotFound)?;
    actor.must_own(&reservation.user)?;
    Ok(reservation)
}

/// Counts the seats of a hold as reserved, and inserts the reservation.
pub(super) fn reserve(
    rows: &mut WorkingSet,
    hold: &Hold,
    line: &Line,
    item: &SeatsItem,
    now: Timestamp,
) -> Decision<SeatReservation> {
    let SeatsItem { event, seats } = item;
    let id = SeatReservationId::new(rows.next_id(Sequence::SeatReservation)?).expect("sequence numbers are valid ids");
    for seat in &**seats {
        if rows.ticket.seats.get(&seat.seat)?.is_some() {
            return Err(TicketRejection::SeatAlreadyReserved { seat: seat.seat.get() }.into());
        }
        rows.ticket.seats.put(seat.seat, SoldSeat { reservation: id });
    }
    let count = seats.len() as u32;
    let reserved = event::sales(rows, *event)?.reserved + count;
    if reserved > event::find(rows, *event)?.seat_count {
        return Err(TicketRejection::SoldOut.into());
    }
    rows.ticket.sales.put(*event, EventSales { reserved });
    let buyer = BuyerId { event: *event, user: hold.owner.clone() };
    let reserved = reserved_by(rows, &buyer)? + count;
    rows.ticket.buyers.put(buyer, Buyer { reserved });
    let reservation = SeatReservation {
        id,
        hold: hold.id,
        line: line.index,
        event: *event,
        user: hold.owner.clone(),
        seats: seats.clone(),
        total: line.price,
        currency: hold.currency,
        reserved_at: now,
        state: SeatReservationState::Reserved,
    };
    rows.ticket.reservations.insert(reservation.id, reservation.clone());
    rows.emit(Event::SeatsReserved(reservation.clone()));
    Ok(reservation)
}

/// Requests the durable rows that change when seats are reserved or freed.
pub(super) fn request_rows(rows: &mut WorkingSet, event: EventId, user: &UserId, seats: impl Iterator<Item = SeatId>) {
    rows.ticket.events.request(&event);
    rows.ticket.sales.request(&event);
    rows.ticket.buyers.request(&BuyerId { event, user: user.clone() });
    for seat in seats {
        rows.ticket.seats.request(&seat);
    }
}

fn reserved_by(rows: &mut WorkingSet, buyer: &BuyerId) -> Decision<u32> {
    Ok(rows.ticket.buyers.get(buyer)?.map_or(0, |buyer| buyer.reserved))
}
