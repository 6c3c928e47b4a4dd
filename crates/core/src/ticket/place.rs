//! Holding seats: those one has chosen, or the best there are.

use super::best;
use super::event::{self, TicketEvent};
use super::hold::SeatHold;
use super::seat::{self, SeatStatus};
use super::take::{Asked, check_at_once, check_on_sale, take};
use super::{EventId, ReservedSeat, SEATS_AT_ONCE_MAX, SeatPlan, SeatsOf, event_unit, seat_unit};
use crate::command::{Command, Context, Decision, Stop, Writes};
use crate::event::Event;
use crate::hold::{self, Remembered as _};
use crate::id::{HoldId, UserId};
use crate::rejection::{Fault, Rejection, TicketRejection};
use crate::rows::Rows;
use crate::unit::Kind;

/// Holds seats, all of them or none. Own live holds on any of them are replaced, whole, in the same step.
#[derive(Clone, Debug)]
pub struct HoldSeats {
    /// Makes the hold's id, together with the time of the decision.
    pub random: [u8; 10],
    pub event: EventId,
    pub user: UserId,
    /// As they were named; what is no seat of the event is refused.
    pub seats: Vec<u64>,
}

impl Command for HoldSeats {
    type Outcome = SeatHold;
    const NAME: &'static str = "ticket.hold.place";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<SeatHold> {
        let asked = Asked { event: self.event, user: self.user, seats: &self.seats };
        asked.want(rows);
        let (event, seats) = asked.check(rows, at)?;
        let taken = take(rows, at, HoldId::new(at.now, self.random), self.user, &event, seats)?;
        place(rows, at, taken.hold)
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

/// Holds the best seats that are free: side by side if possible, in a section or anywhere. What one holds already stays.
#[derive(Clone, Debug)]
pub struct HoldBest {
    /// Makes the hold's id, together with the time of the decision.
    pub random: [u8; 10],
    pub event: EventId,
    pub user: UserId,
    pub count: u32,
    pub section: Option<String>,
}

impl Command for HoldBest {
    type Outcome = SeatHold;
    const NAME: &'static str = "ticket.hold.place_best";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<SeatHold> {
        Asked { event: self.event, user: self.user, seats: &[] }.want(rows);
        let event = event::find(rows, self.event)?;
        let fault = Fault::OutOfRange { min: 1, max: SEATS_AT_ONCE_MAX as i64 };
        if self.count == 0 {
            return Err(Rejection::invalid("count", fault).into());
        }
        check_at_once(&event, self.count as usize, "count", fault)?;
        let plan = event::plan(rows, self.event)?;
        if self.section.as_ref().is_some_and(|section| !plan.has_section(section)) {
            return Err(Rejection::invalid("section", Fault::UnknownValue).into());
        }
        check_on_sale(rows, at, &event)?;
        self.check_remaining(rows, at, &event)?;
        let seats = self.choose(rows, at, &event, &plan)?;
        let taken = take(rows, at, HoldId::new(at.now, self.random), self.user, &event, seats.into())?;
        place(rows, at, taken.hold)
    }

    fn lane(&self) -> u64 {
        self.event.get()
    }

    /// All seats of the event are looked at.
    fn weight(&self) -> usize {
        256
    }

    /// Even one by one, where what is held cannot be listed.
    fn weight_in_steps(&self) -> usize {
        2_048
    }

    fn user(&self) -> Option<UserId> {
        Some(self.user)
    }
}

impl HoldBest {
    /// Refuses without a look at the seats where their number alone says no.
    fn check_remaining(&self, rows: &mut Rows, at: &Context<'_>, event: &TicketEvent) -> Decision<()> {
        let available = event::remaining(rows, event, at.now)?;
        if available >= self.count || (self.section.is_some() && available > 0) {
            return Ok(());
        }
        let in_doubt = seat::in_doubt(rows, event_unit(event.id))?;
        self.refuse(available, in_doubt)
    }

    fn choose(
        &self,
        rows: &mut Rows,
        at: &Context<'_>,
        event: &TicketEvent,
        plan: &SeatPlan,
    ) -> Decision<Vec<ReservedSeat>> {
        // Those of the chosen seats will be written. Wanted with all others, they are known whichever seats are chosen:
        // several that choose in one batch do not choose anew after each load.
        let pointers = rows.ticket.by_seat.scan(&SeatsOf { event: event.id, seat_count: event.seat_count });
        let statuses = seat::statuses(rows, event.id, event.seat_count, at.now)?;
        pointers?;
        let is_taken = |place: u32| statuses[place as usize] != SeatStatus::Available;
        let is_asked_for =
            |row: &&best::SeatRow| self.section.is_none() || row.section.as_deref() == self.section.as_deref();
        let rows_of_seats = plan.rows().iter().filter(is_asked_for);
        if let Some(places) = best::choose(rows_of_seats.clone(), is_taken, self.count as usize) {
            let seats = SeatPlan::ids(self.event, &places).into_iter();
            return Ok(seats.map(|seat| plan.reserved_seat(seat).expect("it was found in the plan")).collect());
        }
        let (mut available, mut in_doubt) = (0, 0);
        for place in rows_of_seats.flat_map(|row| &row.places) {
            match statuses[*place as usize] {
                SeatStatus::Available => available += 1,
                SeatStatus::Held => in_doubt += seat::in_doubt(rows, seat_unit(self.event.seat(place + 1)))?,
                SeatStatus::Reserved => {}
            }
        }
        self.refuse(available, in_doubt)
    }

    /// Says no, unless what is in doubt could make it a yes.
    fn refuse<T>(&self, available: u32, in_doubt: u32) -> Decision<T> {
        if available + in_doubt >= self.count {
            return Err(Stop::Busy);
        }
        Err(TicketRejection::NotEnoughSeats { available }.into())
    }
}

/// Writes a new hold down, unless its owner has too many.
fn place(rows: &mut Rows, at: &Context<'_>, hold: SeatHold) -> Decision<SeatHold> {
    hold::check_holder(rows, at, Kind::Ticket, hold.owner)?;
    SeatHold::remember(rows, &hold, at.now)?;
    rows.ticket.holds.insert(hold.id, hold.clone());
    rows.emit(Event::SeatsHeld(hold.clone()));
    Ok(hold)
}
