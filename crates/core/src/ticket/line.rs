//! The line of a hold on seats of one event.

use std::sync::Arc;

use super::reservation::{self, ReservedSeat, SeatReservation, SeatReservationId};
use super::seat_claim::{self, SeatRequest};
use super::{BuyerId, EventId, SeatId, SeatPointer, event, event_unit, place, seat_unit};
use crate::actor::Actor;
use crate::command::{Context, Decision, Limits};
use crate::hold::{CancelHold, ConfirmHold, EndpointItem, Hold, Item, Line, LineItem, LineRequest, Origin, RecordType};
use crate::id::{Sequence, UserId};
use crate::money::Currency;
use crate::rejection::{Fault, Rejection};
use crate::table::Count;
use crate::time::{Span, Timestamp};
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

/// Confirms a live hold as a reservation.
pub type ConfirmSeatHold = ConfirmHold<SeatsItem>;
/// Cancels a live hold.
pub type CancelSeatHold = CancelHold<SeatsItem>;

/// Seats of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatsItem {
    pub event: EventId,
    /// In ascending order, at the prices of the moment when the hold was placed.
    pub seats: Arc<[ReservedSeat]>,
}

/// Seats of one event as a client requests them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatsRequest {
    pub event: EventId,
    pub choice: SeatChoice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeatChoice {
    /// Seat ids as given by the client.
    Seats(Vec<u64>),
    /// The best free seats, adjacent if possible, in a section or anywhere.
    Best { count: u32, section: Option<String> },
}

impl SeatsRequest {
    pub fn seat_count(&self) -> usize {
        match &self.choice {
            SeatChoice::Seats(seats) => seats.len(),
            SeatChoice::Best { count, .. } => *count as usize,
        }
    }

    fn seats(&self) -> &[u64] {
        match &self.choice {
            SeatChoice::Seats(seats) => seats,
            SeatChoice::Best { .. } => &[],
        }
    }

    fn seat_request<'a>(&'a self, user: &'a UserId) -> SeatRequest<'a> {
        SeatRequest { event: self.event, user, seats: self.seats() }
    }
}

impl LineItem for SeatsItem {
    type Request = SeatsRequest;
    type Record = SeatReservation;

    const KIND: Kind = Kind::Ticket;
    const RECORD: RecordType = RecordType::SeatReservation;
    const SEQUENCE: Sequence = Sequence::SeatReservation;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Seats(item) => Some(item),
            _ => None,
        }
    }

    fn ttl(limits: &Limits) -> Span {
        limits.ticket.hold_ttl
    }

    fn request_rows(request: &SeatsRequest, owner: &UserId, rows: &mut WorkingSet) {
        request.seat_request(owner).request_rows(rows);
    }

    fn check(
        request: &SeatsRequest,
        owner: &UserId,
        earlier: &[LineRequest],
        rows: &mut WorkingSet,
        at: &Context<'_>,
    ) -> Decision<Currency> {
        let event = match &request.choice {
            SeatChoice::Seats(_) => request.seat_request(owner).check(rows, at)?.0,
            SeatChoice::Best { count, section } => {
                place::check_best(rows, at, request.event, *count, section.as_deref())?
            }
        };
        let mut count = request.seat_count();
        for earlier in earlier {
            if let LineRequest::Seats(earlier) = earlier
                && earlier.event == request.event
            {
                if request.seats().iter().any(|seat| earlier.seats().contains(seat)) {
                    return Err(Rejection::invalid("seatIds", Fault::Duplicate).into());
                }
                count += earlier.seat_count();
            }
        }
        seat_claim::check_limit(rows, at, &event, owner, count as u32)?;
        Ok(event.currency)
    }

    fn claim(request: &SeatsRequest, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(i64, Self)> {
        let plan = event::plan(rows, request.event)?;
        let seats: Arc<[ReservedSeat]> = match &request.choice {
            SeatChoice::Seats(seats) => {
                let mut seats = seats.clone();
                seats.sort_unstable();
                let seat = |number| SeatId::new(number).and_then(|id| plan.reserved_seat(id));
                seats.into_iter().map(|number| seat(number).expect("checked seats are in the plan")).collect()
            }
            SeatChoice::Best { count, section } => {
                let event = event::find(rows, request.event)?;
                place::choose_best(rows, at, &event, &plan, *count, section.as_deref())?.into()
            }
        };
        for seat in &*seats {
            seat_claim::check_free(rows, seat.seat, &[], at.now)?;
        }
        Ok((seats.iter().map(|seat| seat.price).sum(), Self { event: request.event, seats }))
    }

    /// Returns each seat, and the number of seats as a quantity of the event as a whole.
    fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        let whole = (event_unit(self.event), self.seats.len() as u32);
        std::iter::once(whole).chain(self.seats.iter().map(|seat| (seat_unit(seat.seat), 1)))
    }

    fn request_indexes(&self, hold: &Hold, rows: &mut WorkingSet) {
        rows.ticket.buyers_held.request(&self.buyer(hold));
        for seat in &*self.seats {
            rows.ticket.by_seat.request(&seat.seat);
        }
    }

    fn insert_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        self.count_buyer(hold, rows, now, 1)?;
        self.put_seat_entries(hold, rows)
    }

    fn update_indexes(&self, before: &Hold, after: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        self.count_buyer(before, rows, now, -1)?;
        if after.counted_until().is_none_or(|end| now < end) {
            self.count_buyer(after, rows, now, 1)?;
        }
        self.put_seat_entries(after, rows)
    }

    fn delete_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        self.count_buyer(hold, rows, now, -1)?;
        for seat in &*self.seats {
            if rows.ticket.by_seat.get(&seat.seat)?.is_some_and(|entry| entry.hold == hold.id) {
                rows.ticket.by_seat.delete(seat.seat);
            }
        }
        Ok(())
    }

    fn request_record(&self, hold: &Hold, rows: &mut WorkingSet) {
        reservation::request_rows(rows, self.event, &hold.owner, self.seats.iter().map(|seat| seat.seat));
    }

    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<SeatReservation> {
        reservation::reserve(rows, hold, line, self, at.now)
    }

    fn number(record: &SeatReservation) -> u64 {
        record.id.get()
    }

    fn cancel(number: u64, actor: &Actor, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let id = SeatReservationId::new(number).expect("a record number is a reservation id");
        reservation::cancel(rows, id, actor, at.now).map(|_| ())
    }

    fn begins_at(&self, rows: &mut WorkingSet) -> Decision<Option<Timestamp>> {
        Ok(event::find(rows, self.event)?.starts_at)
    }
}

impl EndpointItem for SeatsItem {
    const ORIGIN: Origin = Origin::Seats;
    const CONFIRM: &'static str = "ticket.hold.confirm";
    const CANCEL: &'static str = "ticket.hold.cancel";
}

impl SeatsItem {
    /// Writes the index entries from the seats to their hold.
    fn put_seat_entries(&self, hold: &Hold, rows: &mut WorkingSet) -> Decision<()> {
        let entry = SeatPointer { hold: hold.id, owner: hold.owner.clone(), expires_at: hold.counted_until() };
        for seat in &*self.seats {
            rows.ticket.by_seat.get(&seat.seat)?;
            rows.ticket.by_seat.put(seat.seat, entry.clone());
        }
        Ok(())
    }

    /// Counts the seats for the hold's owner, as long as its units count.
    fn count_buyer(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp, sign: i64) -> Decision<()> {
        let count = Count { quantity: sign * self.seats.len() as i64, ends_at: hold.counted_until(), now, hold: None };
        rows.ticket.buyers_held.count(&self.buyer(hold), count)?;
        Ok(())
    }

    fn buyer(&self, hold: &Hold) -> BuyerId {
        BuyerId { event: self.event, user: hold.owner.clone() }
    }
}
