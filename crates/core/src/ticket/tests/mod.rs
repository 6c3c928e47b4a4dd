//! The tickets' part of the contract. Commands that write both kinds of rows are tested in one commit and in three
//! steps.

mod auditing;
mod best;
mod confirming;
mod events;
mod holding;
mod random;
mod reserving;

use super::event::{CreateEvent, EventDraft, EventView, view};
use super::line::{CancelSeatHold, ConfirmSeatHold};
use super::place::{HoldBest, HoldSeats};
use super::plan::SeatDraft;
use super::reservation::CancelSeatReservation;
use super::reserve::ReserveSeats;
use super::seat::{SeatStatus, seat_map};
use super::*;
use crate::actor::Actor;
use crate::audit::Audit;
use crate::command::{Command, Decision};
use crate::hold::{self, Hold, HoldState, Origin, RecordType};
use crate::rejection::{Rejection, TicketRejection};
use crate::testing::World;
use crate::working_set::WorkingSet;

/// Execution of commands that write both kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    SingleCommit,
    Steps,
}

const MODES: [Mode; 2] = [Mode::SingleCommit, Mode::Steps];

/// An event on tables of its own.
struct Hall {
    world: World,
    mode: Mode,
    event: EventId,
    drawn: u8,
}

impl Hall {
    /// Creates an event with rows A, B… of these numbers of seats.
    fn new(mode: Mode, rows: &[u32]) -> Self {
        Self::with(mode, rows, EventDraft { name: Some("Concert".into()), ..EventDraft::default() })
    }

    fn with(mode: Mode, rows: &[u32], draft: EventDraft) -> Self {
        let mut world = World::new();
        let event = world.run(&CreateEvent { draft, currency: None, seats: seats(rows) }).unwrap().id;
        Self { world, mode, event, drawn: 0 }
    }

    fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        match self.mode {
            Mode::SingleCommit => self.world.run(command),
            Mode::Steps => self.world.run_in_steps(command),
        }
    }

    fn hold(&mut self, user: u64, positions: &[u32]) -> Result<Hold, Rejection> {
        let command = self.holding(user, positions);
        self.run(&command)
    }

    fn hold_best(&mut self, user: u64, count: u32) -> Result<Hold, Rejection> {
        let command = HoldBest { random: self.draw(), event: self.event, user: id(user), count, section: None };
        self.run(&command)
    }

    fn reserve(&mut self, user: u64, positions: &[u32]) -> Result<SeatReservation, Rejection> {
        let command = self.reserving(user, positions);
        self.run(&command)
    }

    fn confirm(&mut self, hold: HoldId) -> Result<SeatReservation, Rejection> {
        self.run(&ConfirmSeatHold::new(hold, Actor::Admin))
    }

    fn cancel(&mut self, hold: HoldId) -> Result<(), Rejection> {
        self.run(&CancelSeatHold::new(hold, Actor::Admin))
    }

    fn cancel_reservation(&mut self, reservation: SeatReservationId) -> Result<SeatReservation, Rejection> {
        self.run(&CancelSeatReservation { id: reservation, actor: Actor::Admin })
    }

    fn holding(&mut self, user: u64, positions: &[u32]) -> HoldSeats {
        let seats = positions.iter().map(|position| self.seat(*position)).collect();
        HoldSeats { random: self.draw(), event: self.event, user: id(user), seats }
    }

    fn reserving(&mut self, user: u64, positions: &[u32]) -> ReserveSeats {
        let HoldSeats { random, event, user, seats } = self.holding(user, positions);
        ReserveSeats { random, event, user, seats }
    }

    fn seat(&self, position: u32) -> u64 {
        self.event.get() * 1_000_000 + u64::from(position)
    }

    fn draw(&mut self) -> [u8; 10] {
        self.drawn = self.drawn.wrapping_add(1);
        [self.drawn; 10]
    }

    fn view(&mut self) -> EventView {
        let event = self.event;
        self.world.ask(|rows, at| view(rows, at, event)).unwrap()
    }

    fn remaining(&mut self) -> u32 {
        self.view().remaining
    }

    /// Returns one letter per seat: `.` available, `h` held, `R` reserved.
    fn map(&mut self) -> String {
        let event = self.event;
        let map = self.world.ask(|rows, at| seat_map(rows, at, event)).unwrap();
        let letter = |status| match status {
            SeatStatus::Available => '.',
            SeatStatus::Held => 'h',
            SeatStatus::Reserved => 'R',
        };
        map.seats().map(|(_, _, status)| letter(status)).collect()
    }

    /// Returns the findings of the auditor.
    fn audit(&self) -> Vec<String> {
        let mut audit = self.world.audit_holds();
        let tables = &self.world.memory.ticket;
        tables.events.rows().for_each(|(_, row)| audit.ticket.event(row));
        tables.plans.rows().for_each(|(id, row)| audit.ticket.plan(*id, row));
        tables.sales.rows().for_each(|(id, row)| audit.ticket.sales(*id, *row));
        tables.seats.rows().for_each(|(id, row)| audit.ticket.seat(*id, *row));
        tables.buyers.rows().for_each(|(id, row)| audit.ticket.buyer(id, *row));
        tables.reservations.rows().for_each(|(_, row)| audit_reservation(&mut audit, row));
        audit.finish()
    }

    /// Returns all rows, without the numbers of attempts, which depend on the mode.
    fn rows(&self) -> Vec<String> {
        let memory = &self.world.memory;
        let tables = &memory.ticket;
        let mut rows: Vec<String> = Vec::new();
        rows.extend(tables.events.rows().map(|row| format!("{row:?}")));
        rows.extend(tables.sales.rows().map(|row| format!("sales {row:?}")));
        rows.extend(tables.seats.rows().map(|row| format!("{row:?}")));
        rows.extend(tables.buyers.rows().map(|row| format!("{row:?}")));
        rows.extend(self.world.hold_rows());
        rows.extend(tables.reservations.rows().map(|row| format!("{row:?}")));
        rows.extend(self.derived());
        rows.sort();
        rows
    }

    /// Returns the effective secondary index entries.
    fn derived(&self) -> Vec<String> {
        let (memory, now) = (&self.world.memory, self.world.now);
        let mut rows: Vec<String> = Vec::new();
        rows.extend(memory.held.rows().map(|(unit, tally)| format!("{unit:?} {}", tally.live(now))));
        rows.extend(memory.owner_holds.rows().map(|(owner, row)| format!("{owner:?} {}", row.live(now))));
        let buyers = memory.ticket.buyers_held.rows();
        rows.extend(buyers.map(|(buyer, tally)| format!("held by {buyer:?} {}", tally.live(now))));
        rows.retain(|row| !row.ends_with(" 0"));
        let entries = memory.ticket.by_seat.rows().filter(|(_, entry)| entry.is_live(now));
        rows.extend(entries.map(|row| format!("{row:?}")));
        rows.sort();
        rows
    }
}

/// Returns a hold as the endpoint of seats shows it.
fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<Hold> {
    hold::find(rows, id, actor, Origin::Seats)
}

/// Adds a reservation to all auditors that it concerns.
fn audit_reservation(audit: &mut Audit, reservation: &SeatReservation) {
    audit.ticket.reservation(reservation);
    audit.holds.record(RecordType::SeatReservation, reservation.id.get(), reservation.hold);
}

fn id(user: u64) -> UserId {
    UserId::new(user).unwrap()
}

fn seats(rows: &[u32]) -> Vec<SeatDraft> {
    let row = |(letter, seats): (char, &u32)| {
        let seat = move |number| SeatDraft { label: format!("{letter}{number}"), section: None, price: 1_000 };
        (1..=*seats).map(seat).collect::<Vec<_>>()
    };
    ('A'..).zip(rows).flat_map(row).collect()
}
