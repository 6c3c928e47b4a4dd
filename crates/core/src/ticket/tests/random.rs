//! Random histories of commands, in any order.

use super::*;
use crate::command::{Decision, Stop, TwoPhase, Writes};
use crate::hold::{AttemptId, RecoverHold};
use crate::testing::Dice;

const USERS: u64 = 4;

/// One action of a user.
#[derive(Clone, Debug)]
enum Action {
    Hold(HoldSeats),
    Best(HoldBest),
    Reserve(ReserveSeats),
    Confirm(ConfirmSeatHold),
    Cancel(CancelSeatHold),
    CancelReservation(CancelSeatReservation),
    Wait(Span),
}

fn action(dice: &mut Dice, hall: &Hall, holds: &[HoldId]) -> Action {
    let (event, user) = (hall.event, id(1 + dice.roll(USERS)));
    let random: [u8; 10] = std::array::from_fn(|_| dice.roll(256) as u8);
    let seats: Vec<u64> = (0..=dice.roll(3)).map(|_| hall.seat(1 + dice.roll(10) as u32)).collect();
    let actor = if dice.roll(8) == 0 { Actor::User(user.clone()) } else { Actor::Admin };
    let hold = || holds[holds.len().saturating_sub(6)..].first().copied();
    match dice.roll(14) {
        0..4 => Action::Hold(HoldSeats { random, event, user, seats }),
        4 => Action::Best(HoldBest { random, event, user, count: 1 + dice.roll(4) as u32, section: None }),
        5..7 => Action::Reserve(ReserveSeats { random, event, user, seats }),
        7..9 if !holds.is_empty() => {
            let index = holds.len() - 1 - dice.roll(holds.len().min(5) as u64) as usize;
            Action::Confirm(ConfirmSeatHold::new(holds[index], actor))
        }
        9 if let Some(id) = hold() => Action::Cancel(CancelSeatHold::new(id, actor)),
        10 | 11 => {
            let id = SeatReservationId::new(1 + dice.roll(40)).unwrap();
            Action::CancelReservation(CancelSeatReservation { id, actor })
        }
        _ => Action::Wait(Span::from_millis(500 * (1 + dice.roll(80)) as i64)),
    }
}

/// Executes an action; returns its outcome as text, and the hold that it placed.
fn run(hall: &mut Hall, action: &Action) -> (String, Option<HoldId>) {
    match action {
        Action::Hold(command) => placed(&hall.run(command)),
        Action::Best(command) => placed(&hall.run(command)),
        Action::Reserve(command) => (format!("{:?}", hall.run(command)), None),
        Action::Confirm(command) => (format!("{:?}", hall.run(command)), None),
        Action::Cancel(command) => (format!("{:?}", hall.run(command)), None),
        Action::CancelReservation(command) => (format!("{:?}", hall.run(command)), None),
        Action::Wait(span) => {
            hall.world.wait(*span);
            (String::new(), None)
        }
    }
}

fn placed(result: &Result<Hold, Rejection>) -> (String, Option<HoldId>) {
    let hold = result.as_ref().ok().map(|hold| hold.id);
    (format!("{result:?}"), hold)
}

/// Asserts the invariants.
fn inspect(hall: &mut Hall) {
    assert_eq!(hall.audit(), [""; 0]);
    let map = hall.map();
    assert_eq!(map.matches('.').count() as u32, hall.remaining(), "{map}");
}

fn new_hall(mode: Mode) -> Hall {
    let draft = EventDraft { name: Some("Concert".into()), max_seats_per_user: Some(5), ..EventDraft::default() };
    Hall::with(mode, &[4, 6], draft)
}

#[test]
fn modes_have_same_outcomes_and_rows() {
    for seed in 1..60 {
        let mut dice = Dice::new(seed);
        let [mut whole, mut steps] = MODES.map(new_hall);
        let mut holds = Vec::new();
        for _ in 0..120 {
            let action = action(&mut dice, &whole, &holds);
            let (answer, hold) = run(&mut whole, &action);
            assert_eq!(run(&mut steps, &action).0, answer, "seed {seed}: {action:?}");
            holds.extend(hold);
            assert_eq!(steps.rows(), whole.rows(), "seed {seed}: {action:?}");
            inspect(&mut whole);
        }
        confirm_all(&mut whole);
    }
}

/// Confirms all live holds, which must succeed.
fn confirm_all(hall: &mut Hall) {
    for hold in hall.world.live_holds() {
        hall.confirm(hold.id).expect("a live hold can be confirmed");
    }
    inspect(hall);
}

#[test]
fn indexes_are_rebuilt_from_live_holds() {
    for seed in 1..30 {
        let mut dice = Dice::new(seed);
        let mut hall = new_hall(Mode::SingleCommit);
        let mut holds = Vec::new();
        for _ in 0..60 {
            let action = action(&mut dice, &hall, &holds);
            holds.extend(run(&mut hall, &action).1);
        }
        let before = hall.derived();
        let mut rebuilt = new_hall(Mode::SingleCommit);
        rebuilt.world.now = hall.world.now;
        for hold in hall.world.live_holds() {
            rebuilt.world.index(&hold);
        }
        assert_eq!(rebuilt.derived(), before, "seed {seed}");
    }
}

/// A command that is prepared, and not finished yet.
#[derive(Debug)]
enum Pending {
    Confirm(ConfirmSeatHold, AttemptId),
    Reserve(ReserveSeats, AttemptId),
}

impl Pending {
    /// Records the attempt or aborts it; finishes it, or recovers it as another server.
    fn complete(self, hall: &mut Hall, dice: &mut Dice) {
        let (recorded, is_abandoned) = (dice.roll(3) > 0, dice.roll(3) == 0);
        match self {
            Self::Confirm(command, attempt) => complete(hall, &command, attempt, recorded, is_abandoned),
            Self::Reserve(command, attempt) => complete(hall, &command, attempt, recorded, is_abandoned),
        }
    }
}

fn complete<C: TwoPhase<Outcome = SeatReservation, Prepared = AttemptId>>(
    hall: &mut Hall,
    command: &C,
    attempt: AttemptId,
    recorded: bool,
    is_abandoned: bool,
) {
    let outcome = recorded.then(|| hall.world.record(command, attempt).expect("a prepared hold can be recorded"));
    if is_abandoned {
        hall.world.run(&RecoverHold { of: attempt, is_committed: recorded }).unwrap();
    } else {
        hall.world.finish(command, attempt, outcome.as_ref());
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
        let mut hall = new_hall(Mode::Steps);
        let (mut holds, mut pending) = (Vec::new(), Vec::new());
        for _ in 0..150 {
            match action(&mut dice, &hall, &holds) {
                Action::Hold(command) => {
                    let held = hall.world.step(Writes::Live, |rows, at| command.decide(rows, at));
                    holds.extend(outcome_of(held).map(|hold| hold.id));
                }
                Action::Best(command) => {
                    let held = hall.world.step(Writes::Live, |rows, at| command.decide(rows, at));
                    holds.extend(outcome_of(held).map(|hold| hold.id));
                }
                Action::Reserve(command) => {
                    let attempt = outcome_of(hall.world.prepare(&command));
                    pending.extend(attempt.map(|attempt| Pending::Reserve(command, attempt)));
                }
                Action::Confirm(command) => {
                    let attempt = outcome_of(hall.world.prepare(&command));
                    pending.extend(attempt.map(|attempt| Pending::Confirm(command, attempt)));
                }
                Action::Cancel(command) => {
                    outcome_of(hall.world.step(Writes::Live, |rows, at| command.decide(rows, at)));
                }
                Action::CancelReservation(command) => {
                    outcome_of(hall.world.step(Writes::Durable, |rows, at| command.decide(rows, at)));
                }
                Action::Wait(span) => hall.world.wait(span),
            }
            if !pending.is_empty() && dice.roll(3) == 0 {
                let next = pending.swap_remove(dice.roll(pending.len() as u64) as usize);
                next.complete(&mut hall, &mut dice);
            }
        }
        for next in pending {
            next.complete(&mut hall, &mut dice);
        }
        inspect(&mut hall);
        confirm_all(&mut hall);
        hall.world.wait(Span::from_secs(301));
        assert_eq!(hall.derived(), [""; 0], "seed {seed}: no unit is held after the last TTL");
    }
}
