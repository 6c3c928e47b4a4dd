//! The line of a hold on seats of one event.

use std::sync::Arc;

use super::reservation::{self, ReservedSeat, SeatReservation};
use super::{BuyerId, EventId, SeatPointer, event_unit, seat_unit};
use crate::command::{Context, Decision};
use crate::hold::{CancelHold, ConfirmHold, EndpointItem, Hold, Item, Line, LineItem, Origin};
use crate::id::Sequence;
use crate::table::Count;
use crate::time::Timestamp;
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

impl LineItem for SeatsItem {
    const KIND: Kind = Kind::Ticket;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Seats(item) => Some(item),
            _ => None,
        }
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
}

impl EndpointItem for SeatsItem {
    type Record = SeatReservation;

    const ORIGIN: Origin = Origin::Seats;
    const SEQUENCE: Sequence = Sequence::SeatReservation;
    const CONFIRM: &'static str = "ticket.hold.confirm";
    const CANCEL: &'static str = "ticket.hold.cancel";

    fn request_record(&self, hold: &Hold, rows: &mut WorkingSet) {
        reservation::request_rows(rows, self.event, &hold.owner, self.seats.iter().map(|seat| seat.seat));
    }

    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<SeatReservation> {
        reservation::reserve(rows, hold, line, self, at.now)
    }

    fn number(record: &SeatReservation) -> u64 {
        record.id.get()
    }
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
