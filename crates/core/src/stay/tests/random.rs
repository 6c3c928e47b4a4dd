//! Random histories of commands, in any order, compared with a naive model.

use std::collections::BTreeSet;

use super::*;
use crate::command::{Decision, Stop, Writes};
use crate::hold::{AttemptId, RecoverHold};
use crate::testing::Dice;

const USERS: u64 = 4;
const ROOMS: u32 = 2;
/// Number of nights from today that histories use.
const NIGHTS: i32 = 6;
const HOLDS_PER_USER_MAX: u32 = 3;

/// One action of a user or an operator. All times are full seconds, the resolution of the counts.
#[derive(Clone, Debug)]
enum Action {
    Place(PlaceStayHold),
    Confirm(ConfirmStayHold),
    Cancel(CancelStayHold),
    CancelReservation(CancelStayReservation),
    Change(ChangeRoomType),
    Close(SetNightsClosed),
    Wait(Span),
}

fn action(dice: &mut Dice, hotel: &Hotel, holds: &[HoldId]) -> Action {
    let (room_type, user) = (hotel.room_type, id(1 + dice.roll(USERS)));
    let nights = |dice: &mut Dice| {
        let check_in = dice.roll(NIGHTS as u64) as i32;
        (day(check_in), day(check_in + 1 + dice.roll(3) as i32))
    };
    let actor = if dice.roll(8) == 0 { Actor::User(user.clone()) } else { Actor::Admin };
    match dice.roll(20) {
        0..8 => {
            let random = std::array::from_fn(|_| dice.roll(256) as u8);
            let (check_in, check_out) = nights(dice);
            let client_key = key(dice.roll(3) as u8);
            Action::Place(PlaceStayHold { quantity: 1, random, user, room_type, check_in, check_out, client_key })
        }
        8..12 if !holds.is_empty() => Action::Confirm(ConfirmStayHold::new(recent(dice, holds), actor)),
        12 | 13 if !holds.is_empty() => Action::Cancel(CancelStayHold::new(recent(dice, holds), actor)),
        14 | 15 => {
            let id = StayReservationId::new(1 + dice.roll(30)).unwrap();
            Action::CancelReservation(CancelStayReservation { id, actor })
        }
        16 => {
            let draft = RoomTypeDraft {
                total_quantity: Some(dice.roll(u64::from(ROOMS) + 2) as u32),
                ..RoomTypeDraft::default()
            };
            Action::Change(ChangeRoomType { id: room_type, draft })
        }
        17 => {
            let (from, to) = nights(dice);
            Action::Close(SetNightsClosed { room_type, from, to, closed: dice.roll(3) == 0 })
        }
        18 if dice.roll(10) == 0 => Action::Wait(Span::from_hours(12)),
        _ => Action::Wait(Span::from_secs(30 * (1 + dice.roll(10)) as i64)),
    }
}

fn recent(dice: &mut Dice, holds: &[HoldId]) -> HoldId {
    holds[holds.len() - 1 - dice.roll(holds.len().min(5) as u64) as usize]
}

/// Executes an action; returns its outcome as text, its rejection, and the hold that it placed.
fn run(hotel: &mut Hotel, action: &Action) -> (String, Result<Option<HoldId>, Rejection>) {
    fn outcome<T: std::fmt::Debug>(result: Result<T, Rejection>) -> (String, Result<Option<HoldId>, Rejection>) {
        (format!("{result:?}"), result.map(|_| None))
    }
    match action {
        Action::Place(command) => {
            let placed = hotel.run(command);
            (format!("{placed:?}"), placed.map(|hold| Some(hold.id)))
        }
        Action::Confirm(command) => outcome(hotel.run(command)),
        Action::Cancel(command) => outcome(hotel.run(command)),
        Action::CancelReservation(command) => outcome(hotel.run(command)),
        Action::Change(command) => outcome(hotel.run(command)),
        Action::Close(command) => outcome(hotel.run(command)),
        Action::Wait(span) => {
            hotel.world.wait(*span);
            outcome(Ok(()))
        }
    }
}

fn new_hotel(mode: Mode) -> Hotel {
    let mut hotel = Hotel::new(mode, ROOMS);
    hotel.world.limits.holds_per_user_max = HOLDS_PER_USER_MAX;
    hotel
}

/// Rules of stays without indexes and counts: every answer is found by a scan.
#[derive(Debug)]
struct Model {
    total: u32,
    closed: BTreeSet<Date>,
    holds: Vec<ModelHold>,
    /// Index of the hold, and whether the reservation is cancelled, by number.
    reservations: Vec<(usize, bool)>,
}

#[derive(Debug)]
struct ModelHold {
    id: HoldId,
    command: PlaceStayHold,
    expires_at: Timestamp,
    end: Option<ModelEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelEnd {
    Confirmed(u64),
    Cancelled,
    Replaced,
}

impl ModelHold {
    fn is_live(&self, now: Timestamp) -> bool {
        self.end.is_none() && now < self.expires_at
    }

    fn has_dates_of(&self, command: &PlaceStayHold) -> bool {
        (self.command.check_in, self.command.check_out) == (command.check_in, command.check_out)
    }

    fn includes(&self, date: Date) -> bool {
        self.command.check_in <= date && date < self.command.check_out
    }
}

impl Model {
    fn new() -> Self {
        Self { total: ROOMS, closed: BTreeSet::new(), holds: Vec::new(), reservations: Vec::new() }
    }

    fn held(&self, date: Date, now: Timestamp) -> u32 {
        self.holds.iter().filter(|hold| hold.is_live(now) && hold.includes(date)).count() as u32
    }

    fn reserved(&self, date: Date) -> u32 {
        let valid = self.reservations.iter().filter(|(_, is_cancelled)| !is_cancelled);
        valid.filter(|(hold, _)| self.holds[*hold].includes(date)).count() as u32
    }

    /// Returns `(reserved, held, available)` of a night.
    fn counts(&self, date: Date, now: Timestamp) -> (u32, u32, u32) {
        let (reserved, held) = (self.reserved(date), self.held(date, now));
        let free = self.total.saturating_sub(reserved + held);
        (reserved, held, if self.closed.contains(&date) { 0 } else { free })
    }

    fn apply(&mut self, action: &Action, now: Timestamp) -> Result<(), Rejection> {
        // Seoul has been nine hours ahead of UTC without a break since 1988.
        let today = (now + Span::from_hours(9)).to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
        match action {
            Action::Place(command) => self.place(command, now, today),
            Action::Confirm(ConfirmStayHold { id, actor, .. }) => {
                let hold = self.open(*id, actor, now)?;
                self.reservations.push((hold, false));
                self.holds[hold].end = Some(ModelEnd::Confirmed(self.reservations.len() as u64));
                Ok(())
            }
            Action::Cancel(CancelStayHold { id, actor, .. }) => {
                let hold = self.open(*id, actor, now)?;
                self.holds[hold].end = Some(ModelEnd::Cancelled);
                Ok(())
            }
            Action::CancelReservation(CancelStayReservation { id, actor }) => {
                let found = self.reservations.get_mut(id.get() as usize - 1);
                let (hold, is_cancelled) = found.ok_or(StayRejection::StayReservationNotFound)?;
                let command = &self.holds[*hold].command;
                check_owner(actor, &command.user)?;
                if *is_cancelled {
                    return Err(StayRejection::StayReservationAlreadyCancelled.into());
                }
                if today >= command.check_in {
                    return Err(StayRejection::StayReservationNotCancellable.into());
                }
                *is_cancelled = true;
                Ok(())
            }
            Action::Change(command) => {
                let total = command.draft.total_quantity.unwrap();
                for days in (0..NIGHTS + 3).filter(|_| total < self.total) {
                    let (date, held) = (day(days), self.held(day(days), now));
                    let in_use = self.reserved(date) + held;
                    if in_use > total && (date >= today || held > 0) {
                        return Err(StayRejection::RoomsInUse { date, in_use }.into());
                    }
                }
                self.total = total;
                Ok(())
            }
            Action::Close(SetNightsClosed { from, to, closed, .. }) => {
                let nights = StayDates { check_in: *from, check_out: *to }.nights();
                if *closed {
                    self.closed.extend(nights);
                } else {
                    nights.for_each(|date| _ = self.closed.remove(&date));
                }
                Ok(())
            }
            Action::Wait(_) => Ok(()),
        }
    }

    fn place(&mut self, command: &PlaceStayHold, now: Timestamp, today: Date) -> Result<(), Rejection> {
        if command.check_in < today {
            return Err(Rejection::invalid("checkIn", Fault::InThePast));
        }
        let mut live: Vec<usize> = (0..self.holds.len()).filter(|index| self.holds[*index].is_live(now)).collect();
        let has_key = |hold: &ModelHold| hold.has_dates_of(command) && hold.command.client_key == command.client_key;
        if live.iter().any(|index| has_key(&self.holds[*index]) && self.holds[*index].command.user != command.user) {
            return Err(StayRejection::StayHoldKeyConflict.into());
        }
        let is_old = |hold: &ModelHold| hold.has_dates_of(command) && hold.command.user == command.user;
        let old = live.iter().position(|index| is_old(&self.holds[*index])).map(|at| live.remove(at));
        if live.iter().filter(|index| self.holds[**index].command.user == command.user).count() as u32
            >= HOLDS_PER_USER_MAX
        {
            return Err(Rejection::TooManyHolds { max: HOLDS_PER_USER_MAX });
        }
        for date in (StayDates { check_in: command.check_in, check_out: command.check_out }).nights() {
            let held = live.iter().filter(|index| self.holds[**index].includes(date)).count() as u32;
            if self.closed.contains(&date) || self.reserved(date) + held >= self.total {
                return Err(StayRejection::RoomNotAvailable { available: 0, date }.into());
            }
        }
        if let Some(old) = old {
            self.holds[old].end = Some(ModelEnd::Replaced);
        }
        let (id, expires_at) = (HoldId::new(now, command.random), now + Span::from_secs(600));
        self.holds.push(ModelHold { id, command: command.clone(), expires_at, end: None });
        Ok(())
    }

    /// Returns the index of a hold that can be confirmed or cancelled.
    fn open(&self, id: HoldId, actor: &Actor, now: Timestamp) -> Result<usize, Rejection> {
        let index = self.holds.iter().position(|hold| hold.id == id).ok_or(StayRejection::StayHoldNotFound)?;
        let hold = &self.holds[index];
        check_owner(actor, &hold.command.user)?;
        match hold.end {
            None if now < hold.expires_at => Ok(index),
            None | Some(ModelEnd::Replaced) => Err(StayRejection::StayHoldExpired.into()),
            Some(ModelEnd::Cancelled) => Err(StayRejection::StayHoldAlreadyProcessed { reservation: None }.into()),
            Some(ModelEnd::Confirmed(number)) => {
                Err(StayRejection::StayHoldAlreadyProcessed { reservation: Some(number) }.into())
            }
        }
    }
}

fn check_owner(actor: &Actor, owner: &UserId) -> Result<(), Rejection> {
    match actor {
        Actor::User(user) if user != owner => Err(Rejection::Forbidden),
        _ => Ok(()),
    }
}

#[test]
fn outcomes_and_counts_equal_naive_model() {
    for mode in MODES {
        for seed in 1..80 {
            let mut dice = Dice::new(seed);
            let (mut hotel, mut model) = (new_hotel(mode), Model::new());
            let mut holds = Vec::new();
            for _ in 0..150 {
                let action = action(&mut dice, &hotel, &holds);
                let expected = model.apply(&action, hotel.world.now);
                let (_, outcome) = run(&mut hotel, &action);
                assert_eq!(outcome.clone().map(|_| ()), expected, "seed {seed}: {action:?}");
                holds.extend(outcome.ok().flatten());
                let now = hotel.world.now;
                let counts: Vec<_> = (0..NIGHTS + 3).map(|days| model.counts(day(days), now)).collect();
                assert_eq!(hotel.counts(0, NIGHTS + 3), counts, "seed {seed}: {action:?}");
                assert_eq!(hotel.audit().finish(), [""; 0], "seed {seed}: {action:?}");
            }
        }
    }
}

#[test]
fn histories_reach_every_rejection() {
    let mut reached = BTreeSet::new();
    for seed in 1..80 {
        let mut dice = Dice::new(seed);
        let mut hotel = new_hotel(Mode::SingleCommit);
        let mut holds = Vec::new();
        for _ in 0..150 {
            let action = action(&mut dice, &hotel, &holds);
            match run(&mut hotel, &action).1 {
                Ok(hold) => holds.extend(hold),
                Err(rejection) => {
                    let text = format!("{rejection:?}");
                    let name = text.trim_start_matches("Stay(").split([' ', '(', ')', '{']).next();
                    reached.insert(name.unwrap().to_owned());
                }
            }
        }
    }
    let expected = [
        "Forbidden",
        "InvalidInput",
        "RoomNotAvailable",
        "RoomsInUse",
        "StayHoldAlreadyProcessed",
        "StayHoldExpired",
        "StayHoldKeyConflict",
        "StayReservationAlreadyCancelled",
        "StayReservationNotCancellable",
        "StayReservationNotFound",
        "TooManyHolds",
    ];
    assert_eq!(reached.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn modes_have_same_outcomes_and_rows() {
    for seed in 1..60 {
        let mut dice = Dice::new(seed);
        let [mut whole, mut steps] = MODES.map(new_hotel);
        let mut holds = Vec::new();
        for _ in 0..120 {
            let action = action(&mut dice, &whole, &holds);
            let (answer, outcome) = run(&mut whole, &action);
            assert_eq!(run(&mut steps, &action).0, answer, "seed {seed}: {action:?}");
            holds.extend(outcome.ok().flatten());
            assert_eq!(steps.rows(), whole.rows(), "seed {seed}: {action:?}");
        }
        confirm_all(&mut whole);
    }
}

/// Confirms all live holds, which must succeed.
fn confirm_all(hotel: &mut Hotel) {
    for hold in hotel.world.live_holds() {
        hotel.confirm(hold.id).expect("a live hold can be confirmed");
    }
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn indexes_are_rebuilt_from_live_holds() {
    for seed in 1..30 {
        let mut dice = Dice::new(seed);
        let mut hotel = new_hotel(Mode::SingleCommit);
        let mut holds = Vec::new();
        for _ in 0..60 {
            let action = action(&mut dice, &hotel, &holds);
            holds.extend(run(&mut hotel, &action).1.ok().flatten());
        }
        let mut rebuilt = new_hotel(Mode::SingleCommit);
        rebuilt.world.now = hotel.world.now;
        for hold in hotel.world.live_holds() {
            rebuilt.world.index(&hold);
        }
        assert_eq!(rebuilt.derived(), hotel.derived(), "seed {seed}");
    }
}

/// Records a prepared attempt or aborts it; finishes it, or recovers it as another server.
fn complete(hotel: &mut Hotel, dice: &mut Dice, (command, attempt): (ConfirmStayHold, AttemptId)) {
    let (recorded, is_abandoned) = (dice.roll(3) > 0, dice.roll(3) == 0);
    let outcome = recorded.then(|| hotel.world.record(&command, attempt).expect("a prepared hold can be recorded"));
    if is_abandoned {
        hotel.world.run(&RecoverHold { of: attempt, is_committed: recorded }).unwrap();
    } else {
        hotel.world.finish(&command, attempt, outcome.as_ref());
    }
}

/// Returns the outcome, or `None` if the command is rejected or must retry.
fn outcome_of<T>(decision: Decision<T>) -> Option<T> {
    match decision {
        Ok(outcome) => Some(outcome),
        Err(Stop::Retry | Stop::Rejected(_)) => None,
        Err(Stop::NeedRows) => unreachable!("rows are loaded"),
    }
}

#[test]
fn interleaved_steps_never_oversell_or_leak() {
    for seed in 1..80 {
        let mut dice = Dice::new(seed);
        let mut hotel = new_hotel(Mode::Steps);
        let (mut holds, mut pending, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..150 {
            match action(&mut dice, &hotel, &holds) {
                Action::Place(command) => {
                    let placed = hotel.world.step(Writes::Live, |rows, at| command.decide(rows, at));
                    holds.extend(outcome_of(placed).map(|hold| hold.id));
                }
                Action::Confirm(command) => {
                    let attempt = outcome_of(hotel.world.prepare(&command));
                    pending.extend(attempt.map(|attempt| (command, attempt)));
                }
                Action::Cancel(command) => {
                    outcome_of(hotel.world.step(Writes::Live, |rows, at| command.decide(rows, at)));
                }
                Action::CancelReservation(command) => {
                    outcome_of(hotel.world.step(Writes::Durable, |rows, at| command.decide(rows, at)));
                }
                Action::Change(command) => {
                    let attempt = outcome_of(hotel.world.prepare(&command));
                    changes.extend(attempt.map(|attempt| (command, attempt)));
                }
                Action::Close(command) => {
                    outcome_of(hotel.world.step(Writes::Durable, |rows, at| command.decide(rows, at)));
                }
                Action::Wait(span) => hotel.world.wait(span),
            }
            if !pending.is_empty() && dice.roll(3) == 0 {
                let next = pending.swap_remove(dice.roll(pending.len() as u64) as usize);
                complete(&mut hotel, &mut dice, next);
            }
            if !changes.is_empty() && dice.roll(3) == 0 {
                let (command, attempt) = changes.swap_remove(0);
                let room_type = outcome_of(hotel.world.record(&command, attempt));
                hotel.world.finish(&command, attempt, room_type.as_ref());
            }
        }
        for next in pending {
            complete(&mut hotel, &mut dice, next);
        }
        for (command, attempt) in changes {
            hotel.world.finish(&command, attempt, None);
        }
        assert_eq!(hotel.audit().finish(), [""; 0], "seed {seed}");
        confirm_all(&mut hotel);
        hotel.world.wait(Span::from_secs(601));
        assert_eq!(hotel.derived(), [""; 0], "seed {seed}: no unit is held after the last TTL");
    }
}
