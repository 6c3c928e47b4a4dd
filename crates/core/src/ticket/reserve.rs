//! Reserving seats in one step, without holding them first.

use super::hold::{SeatHold, pin, record, settle};
use super::reservation::{self, SeatReservation};
use super::take::{Asked, Taken, take};
use super::{EventId, SEATS_AT_ONCE_MAX};
use crate::command::{Attempt, Command, Context, Decision, Writes};
use crate::hold::{Hold, HoldState, Remembered as _, TryId};
use crate::id::{HoldId, Sequence, UserId};
use crate::rows::Rows;
use crate::time::Span;

/// How long the hold behind a reservation would live if nothing came of it: longer than recording it takes, and no
/// nuisance to others.
const RESERVE_TTL: Span = Span::from_secs(10);

/// Reserves seats, all of them or none. Seats one holds oneself may be among them: such holds are replaced, whole.
///
/// Behind every reservation is a hold. Here it lives for a moment only: where live and durable rows lie in two stores,
/// between being prepared and being finished.
#[derive(Clone, Debug)]
pub struct ReserveSeats {
    /// Makes the hold's id, together with the time of the decision.
    pub random: [u8; 10],
    pub event: EventId,
    pub user: UserId,
    /// As they were named; what is no seat of the event is refused.
    pub seats: Vec<u64>,
}

impl Command for ReserveSeats {
    type Outcome = SeatReservation;
    const NAME: &'static str = "ticket.seats.reserve";
    const WRITES: Writes = Writes::Both;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<SeatReservation> {
        rows.ids.want(&Sequence::SeatReservation);
        let hold = self.take(rows, at)?;
        let reservation = reservation::reserve(rows, &hold, at.now)?;
        let state = HoldState::Confirmed { record: reservation.id.get() };
        // Tried once, as it would be in three steps.
        let attempts = Attempt(hold.attempts.0 + 1);
        write(rows, Hold { state, attempts, ..hold });
        Ok(reservation)
    }

    fn prepare(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Attempt> {
        let hold = self.take(rows, at)?;
        SeatHold::remember(rows, &hold, at.now)?;
        let pinned = pin(rows, &hold, at.now)?;
        let attempt = pinned.attempts;
        write(rows, pinned);
        Ok(attempt)
    }

    fn record(&self, rows: &mut Rows, at: &Context<'_>, attempt: Attempt) -> Decision<SeatReservation> {
        rows.ids.want(&Sequence::SeatReservation);
        reservation::want_reserving(rows, self.event, self.user, self.asked().ids());
        let hold = self.prepared(rows)?.expect("it was prepared");
        record(rows, &hold, attempt, at.now)
    }

    fn finish(
        &self,
        rows: &mut Rows,
        at: &Context<'_>,
        attempt: Attempt,
        outcome: Option<&SeatReservation>,
    ) -> Decision<()> {
        self.asked().want_live(rows);
        let id = match outcome {
            Some(reservation) => Some(reservation.hold),
            None => self.prepared(rows)?.map(|hold| hold.id),
        };
        // If it was lost, there is nothing to take back.
        let Some(hold) = id else { return Ok(()) };
        settle(rows, TryId { hold, attempt }, outcome.map(|reservation| reservation.id.get()), at.now)
    }

    fn lane(&self) -> u64 {
        self.event.get()
    }

    fn weight(&self) -> usize {
        1 + self.seats.len().min(SEATS_AT_ONCE_MAX) / 8
    }

    fn user(&self) -> Option<UserId> {
        Some(self.user)
    }
}

impl ReserveSeats {
    fn asked(&self) -> Asked<'_> {
        Asked { event: self.event, user: self.user, seats: &self.seats }
    }

    fn take(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<SeatHold> {
        self.asked().want(rows);
        let (event, seats) = self.asked().check(rows, at)?;
        let Taken { hold, replaced } = take(rows, at, HoldId::new(at.now, self.random), self.user, &event, seats)?;
        // If nothing comes of it, one holds what one held before no shorter than before.
        let own_until = replaced.iter().map(|old| old.expires_at).max();
        let expires_at = own_until.unwrap_or_default().max(at.now + RESERVE_TTL);
        // A try that came to nothing a moment ago, in the same millisecond, left a hold of this very id. It goes on as that.
        let same = replaced.iter().find(|old| old.id == hold.id);
        let attempts = same.map_or(Attempt::default(), |old| old.attempts);
        Ok(Hold { expires_at, attempts, ..hold })
    }

    /// The hold this command prepared. Only the time it was made at is unknown; a seat leads to it.
    fn prepared(&self, rows: &mut Rows) -> Decision<Option<SeatHold>> {
        let Some(first) = self.asked().ids().min() else { return Ok(None) };
        let Some(pointer) = rows.ticket.by_seat.get(&first)?.copied() else { return Ok(None) };
        let hold = rows.ticket.holds.get(&pointer.hold)?.cloned();
        Ok(hold.filter(|hold| hold.id == HoldId::new(hold.created_at, self.random)))
    }
}

/// Writes the hold behind a reservation down; only one that goes on is there already.
fn write(rows: &mut Rows, hold: SeatHold) {
    if hold.attempts > Attempt(1) {
        rows.ticket.holds.put(hold.id, hold);
    } else {
        rows.ticket.holds.insert(hold.id, hold);
    }
}
