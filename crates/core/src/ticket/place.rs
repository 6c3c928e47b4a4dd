//! Placing holds on seats: on chosen ones, or on the best free ones.

use super::best;
use super::event::{self, TicketEvent};
use super::seat::{self, SeatStatus};
use super::seat_claim::{SeatRequest, check_at_once, check_on_sale, claim_seats};
use super::{EventId, ReservedSeat, SEATS_AT_ONCE_MAX, SeatPlan, SeatsOf, event_unit, seat_unit};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Hold, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{Fault, Rejection, TicketRejection};
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Holds seats, all of them or none. Live holds of the same user on any of them are replaced as a whole, in the same
/// commit.
#[derive(Clone, Debug)]
pub struct HoldSeats {
    /// Random part of the hold's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub event: EventId,
    pub user: UserId,
    /// Seat ids as given by the client; unknown seats of the event are rejected.
    pub seats: Vec<u64>,
}

impl Command for HoldSeats {
    type Outcome = Hold;
    const NAME: &'static str = "ticket.hold.place";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let request = SeatRequest { event: self.event, user: &self.user, seats: &self.seats };
        request.request_rows(rows);
        let (event, seats) = request.check(rows, at)?;
        let claim = claim_seats(rows, at, HoldId::new(at.now, self.random), self.user.clone(), &event, seats)?;
        insert(rows, at, claim.hold)
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

/// Holds the best free seats, adjacent if possible, in a section or anywhere. Other holds of the user stay.
#[derive(Clone, Debug)]
pub struct HoldBest {
    /// Random part of the hold's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub event: EventId,
    pub user: UserId,
    pub count: u32,
    pub section: Option<String>,
}

impl Command for HoldBest {
    type Outcome = Hold;
    const NAME: &'static str = "ticket.hold.place_best";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        SeatRequest { event: self.event, user: &self.user, seats: &[] }.request_rows(rows);
        let section = self.section.as_deref();
        let event = check_best(rows, at, self.event, self.count, section)?;
        let plan = event::plan(rows, self.event)?;
        let seats = choose_best(rows, at, &event, &plan, self.count, section)?;
        let claim = claim_seats(rows, at, HoldId::new(at.now, self.random), self.user.clone(), &event, seats.into())?;
        insert(rows, at, claim.hold)
    }

    fn lane(&self) -> u64 {
        self.event.get()
    }

    /// Reads all seats of the event.
    fn weight(&self) -> usize {
        256
    }

    /// Reads seats one by one where held units cannot be listed.
    fn weight_in_steps(&self) -> usize {
        2_048
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

/// Returns the event, if it can sell this number of seats at once.
pub(super) fn check_best(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    id: EventId,
    count: u32,
    section: Option<&str>,
) -> Decision<TicketEvent> {
    let event = event::find(rows, id)?;
    let fault = Fault::OutOfRange { min: 1, max: SEATS_AT_ONCE_MAX as i64 };
    if count == 0 {
        return Err(Rejection::invalid("count", fault).into());
    }
    check_at_once(&event, count as usize, "count", fault)?;
    let plan = event::plan(rows, id)?;
    if section.is_some_and(|section| !plan.has_section(section)) {
        return Err(Rejection::invalid("section", Fault::UnknownValue).into());
    }
    check_on_sale(rows, at, &event)?;
    Ok(event)
}

/// Chooses the best free seats.
pub(super) fn choose_best(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    event: &TicketEvent,
    plan: &SeatPlan,
    count: u32,
    section: Option<&str>,
) -> Decision<Vec<ReservedSeat>> {
    // Rejects without reading seats if too few remain in total.
    let remaining = event::remaining(rows, event, at.now)?;
    if remaining < count && (section.is_none() || remaining == 0) {
        let prepared = seat::prepared(rows, event_unit(event.id))?;
        return reject_best(count, remaining, prepared);
    }
    // The index entries of the chosen seats will be written. Requesting the entries of all seats makes them known
    // whichever seats are chosen, so that several of these commands in one batch need no load round each.
    let entries = rows.ticket.by_seat.scan(&SeatsOf { event: event.id, seat_count: event.seat_count });
    let statuses = seat::statuses(rows, event.id, event.seat_count, at.now)?;
    entries?;
    let is_taken = |index: u32| statuses[index as usize] != SeatStatus::Available;
    let is_in_section = |row: &&best::SeatRow| section.is_none() || row.section.as_deref() == section;
    let rows_of_seats = plan.rows().iter().filter(is_in_section);
    if let Some(indexes) = best::choose(rows_of_seats.clone(), is_taken, count as usize) {
        let seats = SeatPlan::ids(event.id, &indexes).into_iter();
        return Ok(seats.map(|seat| plan.reserved_seat(seat).expect("a chosen seat is in the plan")).collect());
    }
    let (mut available, mut prepared) = (0, 0);
    for index in rows_of_seats.flat_map(|row| &row.places) {
        match statuses[*index as usize] {
            SeatStatus::Available => available += 1,
            SeatStatus::Held => prepared += seat::prepared(rows, seat_unit(event.id.seat(index + 1)))?,
            SeatStatus::Reserved => {}
        }
    }
    reject_best(count, available, prepared)
}

/// Rejects, or backs off if prepared seats could become free in sufficient number.
fn reject_best<T>(count: u32, available: u32, prepared: u32) -> Decision<T> {
    if available + prepared >= count {
        return Err(Stop::Retry);
    }
    Err(TicketRejection::NotEnoughSeats { available }.into())
}

/// Inserts a new hold, unless its owner has too many.
fn insert(rows: &mut WorkingSet, at: &Context<'_>, hold: Hold) -> Decision<Hold> {
    hold::check_hold_limit(rows, at, Kind::Ticket, &hold.owner)?;
    place::insert(rows, &hold, at.now)?;
    rows.emit(Event::HoldPlaced(hold.clone()));
    Ok(hold)
}
