//! The stays' part of the contract. Commands that write both kinds of rows are tested in one commit and in three steps.

mod audits;
mod cancelling;
mod confirming;
mod placing;
mod random;
mod replacing;
mod room_types;

use jiff::civil::date;

use super::availability::{Availability, availability};
use super::line::{CancelStayHold, ConfirmStayHold};
use super::place::PlaceStayHold;
use super::reservation::{self, CancelStayReservation};
use super::room_type::{ChangeRoomType, CreateRoomType, RoomTypeDraft, SetNightsClosed};
use super::*;
use crate::actor::Actor;
use crate::audit::Audit;
use crate::command::{Command, Decision};
use crate::event::Event;
use crate::hold::{self, Hold, HoldState, Origin, RecordType};
use crate::rejection::StayRejection;
use crate::testing::World;
use crate::working_set::WorkingSet;

/// Execution of commands that write both kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    SingleCommit,
    Steps,
}

const MODES: [Mode; 2] = [Mode::SingleCommit, Mode::Steps];

/// Date of the clock in Seoul.
const TODAY: Date = date(2025, 11, 4);
/// Price of a night.
const PRICE: i64 = 100_000;

/// A room type on tables of its own.
struct Hotel {
    world: World,
    mode: Mode,
    room_type: RoomTypeId,
    drawn: u8,
}

impl Hotel {
    /// Creates a room type of this many rooms.
    fn new(mode: Mode, rooms: u32) -> Self {
        let mut world = World::new();
        let room_type = world.run(&CreateRoomType(draft(rooms))).unwrap().id;
        Self { world, mode, room_type, drawn: 0 }
    }

    fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        match self.mode {
            Mode::SingleCommit => self.world.run(command),
            Mode::Steps => self.world.run_in_steps(command),
        }
    }

    /// Returns the command that places a hold with a key of its own, on nights counted from today.
    fn placing(&mut self, user: u64, check_in: i32, check_out: i32) -> PlaceStayHold {
        self.drawn = self.drawn.wrapping_add(1);
        PlaceStayHold {
            quantity: 1,
            random: [self.drawn; 10],
            user: id(user),
            room_type: self.room_type,
            check_in: day(check_in),
            check_out: day(check_out),
            client_key: key(self.drawn),
        }
    }

    fn place(&mut self, user: u64, check_in: i32, check_out: i32) -> Result<Hold, Rejection> {
        let command = self.placing(user, check_in, check_out);
        self.run(&command)
    }

    fn confirm(&mut self, hold: HoldId) -> Result<StayReservation, Rejection> {
        self.run(&ConfirmStayHold::new(hold, Actor::Admin))
    }

    fn cancel(&mut self, hold: HoldId) -> Result<(), Rejection> {
        self.run(&CancelStayHold::new(hold, Actor::Admin))
    }

    fn cancel_reservation(&mut self, reservation: StayReservationId) -> Result<StayReservation, Rejection> {
        self.run(&CancelStayReservation { id: reservation, actor: Actor::Admin })
    }

    fn change(&mut self, draft: RoomTypeDraft) -> Result<RoomType, Rejection> {
        let id = self.room_type;
        self.run(&ChangeRoomType { id, draft })
    }

    fn set_closed(&mut self, from: i32, to: i32, closed: bool) -> Result<StayDates, Rejection> {
        let command = SetNightsClosed { room_type: self.room_type, from: day(from), to: day(to), closed };
        self.run(&command)
    }

    fn hold(&self, hold: HoldId) -> Hold {
        self.world.ask(|rows, _| find(rows, hold, &Actor::Admin)).unwrap()
    }

    fn availability(&self, check_in: i32, check_out: i32) -> Result<Availability, Rejection> {
        self.world.ask(|rows, at| availability(rows, at, self.room_type, day(check_in), day(check_out)))
    }

    /// Returns `(reserved, held, available)` of each night.
    fn counts(&self, check_in: i32, check_out: i32) -> Vec<(u32, u32, u32)> {
        let nights = self.availability(check_in, check_out).unwrap().nights;
        nights.into_iter().map(|night| (night.reserved, night.held, night.available)).collect()
    }

    /// Feeds the auditor with all rows.
    fn audit(&self) -> Audit {
        let mut audit = self.world.audit_holds();
        let tables = &self.world.memory.stay;
        tables.room_types.rows().for_each(|(_, row)| audit.stay.room_type(row));
        tables.nights.rows().for_each(|(id, row)| audit.stay.night(*id, *row));
        tables.reservations.rows().for_each(|(_, row)| audit_reservation(&mut audit, row));
        audit
    }

    /// Returns all rows, without the numbers of attempts, which depend on the mode.
    fn rows(&self) -> Vec<String> {
        let tables = &self.world.memory.stay;
        let mut rows: Vec<String> = Vec::new();
        rows.extend(tables.room_types.rows().map(|row| format!("{row:?}")));
        rows.extend(tables.nights.rows().map(|row| format!("{row:?}")));
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
        rows.retain(|row| !row.ends_with(" 0"));
        let by_dates = memory.stay.by_dates.rows().filter(|(_, entry)| entry.expires_at > now);
        rows.extend(by_dates.map(|row| format!("{row:?}")));
        let by_client_key = memory.stay.by_client_key.rows().filter(|(_, entry)| entry.expires_at > now);
        rows.extend(by_client_key.map(|row| format!("{row:?}")));
        rows.sort();
        rows
    }
}

/// Returns a hold as the endpoint of stays shows it.
fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<Hold> {
    hold::find(rows, id, actor, Origin::Stay)
}

/// Adds a reservation to all auditors that it concerns.
fn audit_reservation(audit: &mut Audit, reservation: &StayReservation) {
    audit.stay.reservation(reservation);
    audit.holds.record(RecordType::StayReservation, reservation.id.get(), reservation.hold);
}

fn draft(rooms: u32) -> RoomTypeDraft {
    RoomTypeDraft {
        name: Some("Double".into()),
        total_quantity: Some(rooms),
        base_price: Some(PRICE),
        ..RoomTypeDraft::default()
    }
}

fn id(user: u64) -> UserId {
    UserId::new(user).unwrap()
}

fn key(number: u8) -> ClientHoldKey {
    ClientHoldKey::Uuid(uuid::Uuid::from_bytes([number; 16]))
}

/// Returns the date this many days after today.
fn day(days: i32) -> Date {
    TODAY.saturating_add(jiff::Span::new().days(days))
}

fn full(night: i32) -> Rejection {
    StayRejection::RoomNotAvailable { available: 0, date: day(night) }.into()
}
