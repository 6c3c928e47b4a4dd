//! Reserving seats in one step, without holding them first.

use super::line::SeatsItem;
use super::reservation::{self, SeatReservation};
use super::seat_claim::{SeatClaimed, SeatRequest, claim_seats};
use super::{EventId, SEATS_AT_ONCE_MAX};
use crate::command::{Attempt, Command, Context, Decision, TwoPhase, writes};
use crate::hold::{AttemptId, Hold, LineItem as _, Records, confirm, place};
use crate::id::{HoldId, Sequence, UserId};
use crate::time::Span;
use crate::working_set::WorkingSet;

/// TTL of the hold behind a reservation if its attempt is aborted: longer than recording takes, short enough to free
/// the seats soon.
const RESERVE_TTL: Span = Span::from_secs(10);

/// Reserves seats, all of them or none. Live holds of the same user on any of them are replaced as a whole.
///
/// Every reservation has a hold. Here it exists only within the command: where live and durable rows lie in two stores,
/// from `prepare` to `finish`.
#[derive(Clone, Debug)]
pub struct ReserveSeats {
    /// Random part of the hold's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub event: EventId,
    pub user: UserId,
    /// Seat ids as given by the client; unknown seats of the event are rejected.
    pub seats: Vec<u64>,
}

impl Command for ReserveSeats {
    type Outcome = SeatReservation;
    const NAME: &'static str = "ticket.seats.reserve";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<SeatReservation> {
        rows.ids.request(&Sequence::SeatReservation);
        let hold = self.claim(rows, at)?;
        let (line, item) = hold.line::<SeatsItem>();
        item.request_record(&hold, rows);
        let reservation = item.confirm(&hold, line, rows, at)?;
        // One attempt, as with three steps.
        let confirmed = hold.confirmed(Records::Shared(reservation.id.get()));
        write(rows, Hold { attempt: Attempt(hold.attempt.0 + 1), ..confirmed }, hold.attempt > Attempt::default());
        Ok(reservation)
    }

    fn lane(&self) -> u64 {
        self.event.get()
    }

    fn weight(&self) -> usize {
        1 + self.seats.len().min(SEATS_AT_ONCE_MAX) / 8
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

impl TwoPhase for ReserveSeats {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let hold = self.claim(rows, at)?;
        place::index(rows, &hold, at.now)?;
        write(rows, hold.clone(), hold.attempt > Attempt::default());
        confirm::prepare(rows, &hold, at.now)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<SeatReservation> {
        rows.ids.request(&Sequence::SeatReservation);
        reservation::request_rows(rows, self.event, &self.user, self.request().ids());
        confirm::record::<SeatsItem>(rows, at, *prepared)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&SeatReservation>,
    ) -> Decision<()> {
        self.request().request_live_rows(rows);
        let records = outcome.map(|reservation| Records::Shared(reservation.id.get()));
        confirm::finish(rows, *prepared, records, at.now)
    }
}

impl ReserveSeats {
    fn request(&self) -> SeatRequest<'_> {
        SeatRequest { event: self.event, user: &self.user, seats: &self.seats }
    }

    fn claim(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        self.request().request_rows(rows);
        let (event, seats) = self.request().check(rows, at)?;
        let SeatClaimed { hold, replaced } =
            claim_seats(rows, at, HoldId::new(at.now, self.random), self.user.clone(), &event, seats)?;
        // If the attempt is aborted, the user keeps the seats at least as long as with the replaced holds.
        let replaced_until = replaced.iter().map(|old| old.expires_at).max();
        let expires_at = replaced_until.unwrap_or_default().max(at.end_after(RESERVE_TTL));
        // An attempt aborted within the same millisecond has left a hold with this id, which is reused.
        let reused = replaced.iter().find(|old| old.id == hold.id);
        let attempt = reused.map_or(Attempt::default(), |old| old.attempt);
        Ok(Hold { expires_at, attempt, ..hold })
    }
}

/// Writes the hold behind a reservation; only a reused one exists already.
fn write(rows: &mut WorkingSet, hold: Hold, is_reused: bool) {
    if is_reused {
        rows.holds.put(hold.id, hold);
    } else {
        rows.holds.insert(hold.id, hold);
    }
}
