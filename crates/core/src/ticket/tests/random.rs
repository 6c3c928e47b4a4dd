//! Whatever people do, in whatever order.

use super::*;
use crate::command::{Attempt, Decision, Stop, Writes};
use crate::hold::Remembered as _;
use crate::hold::TryId;
use crate::table::TableSet as _;
use crate::testing::Dice;
use crate::ticket::hold::SettleSeatHold;

const USERS: u64 = 4;

/// One thing somebody does.
#[derive(Clone, Debug)]
enum Call {
    Hold(HoldSeats),
    Best(HoldBest),
    Reserve(ReserveSeats),
    Confirm(ConfirmSeatHold),
    Cancel(CancelSeatHold),
    CancelReservation(CancelSeatReservation),
    Wait(Span),
}

fn call(dice: &mut Dice, hall: &Hall, holds: &[HoldId]) -> Call {
    let (event, user) = (hall.event, id(1 + dice.roll(USERS)));
    let random: [u8; 10] = std::array::from_fn(|_| dice.roll(256) as u8);
    let seats: Vec<u64> = (0..=dice.roll(3)).map(|_| hall.seat(1 + dice.roll(10) as u32)).collect();
    let actor = if dice.roll(8) == 0 { Actor::User(user) } else { Actor::Admin };
    let hold = || holds[holds.len().saturating_sub(6)..].first().copied();
    match dice.roll(14) {
        0..4 => Call::Hold(HoldSeats { random, event, user, seats }),
        4 => Call::Best(HoldBest { random, event, user, count: 1 + dice.roll(4) as u32, section: None }),
        5..7 => Call::Reserve(ReserveSeats { random, event, user, seats }),
        7..9 if !holds.is_empty() => {
            let index = holds.len() - 1 - dice.roll(holds.len().min(5) as u64) as usize;
            Call::Confirm(ConfirmSeatHold { id: holds[index], actor })
        }
        9 if let Some(id) = hold() => Call::Cancel(CancelSeatHold { id, actor }),
        10 | 11 => {
            let id = SeatReservationId::new(1 + dice.roll(40)).unwrap();
            Call::CancelReservation(CancelSeatReservation { id, actor })
        }
        _ => Call::Wait(Span::from_millis(500 * (1 + dice.roll(80)) as i64)),
    }
}

/// Carries out a call; what came of it, as text, and the hold it made.
fn run(hall: &mut Hall, call: &Call) -> (String, Option<HoldId>) {
    match call {
        Call::Hold(command) => placed(&hall.run(command)),
        Call::Best(command) => placed(&hall.run(command)),
        Call::Reserve(command) => (format!("{:?}", hall.run(command)), None),
        Call::Confirm(command) => (format!("{:?}", hall.run(command)), None),
        Call::Cancel(command) => (format!("{:?}", hall.run(command)), None),
        Call::CancelReservation(command) => (format!("{:?}", hall.run(command)), None),
        Call::Wait(span) => {
            hall.world.wait(*span);
            (String::new(), None)
        }
    }
}

fn placed(result: &Result<SeatHold, Rejection>) -> (String, Option<HoldId>) {
    let hold = result.as_ref().ok().map(|hold| hold.id);
    (format!("{result:?}"), hold)
}

/// What is true at every moment.
fn inspect(hall: &mut Hall) {
    assert_eq!(hall.audit(), [""; 0]);
    let map = hall.map();
    assert_eq!(map.matches('.').count() as u32, hall.remaining(), "{map}");
}

fn new_hall(way: Way) -> Hall {
    let draft = EventDraft { name: Some("Concert".into()), max_seats_per_user: Some(5), ..EventDraft::default() };
    Hall::with(way, &[4, 6], draft)
}

#[test]
fn both_ways_answer_the_same_and_leave_the_same_rows() {
    for seed in 1..60 {
        let mut dice = Dice::new(seed);
        let [mut whole, mut steps] = WAYS.map(new_hall);
        let mut holds = Vec::new();
        for _ in 0..120 {
            let call = call(&mut dice, &whole, &holds);
            let (answer, hold) = run(&mut whole, &call);
            assert_eq!(run(&mut steps, &call).0, answer, "seed {seed}: {call:?}");
            holds.extend(hold);
            assert_eq!(steps.rows(), whole.rows(), "seed {seed}: {call:?}");
            inspect(&mut whole);
        }
        confirm_all(&mut whole);
    }
}

/// A live hold can always be confirmed, and so can all of them together.
fn confirm_all(hall: &mut Hall) {
    let now = hall.world.now;
    let live = hall.world.memory.ticket.holds.rows().filter(|(_, hold)| hold.is_live(now));
    let live: Vec<HoldId> = live.map(|(id, _)| *id).collect();
    for hold in live {
        hall.confirm(hold).expect("a live hold can be confirmed");
    }
    inspect(hall);
}

#[test]
fn a_store_that_starts_anew_derives_the_same_from_its_holds() {
    for seed in 1..30 {
        let mut dice = Dice::new(seed);
        let mut hall = new_hall(Way::Whole);
        let mut holds = Vec::new();
        for _ in 0..60 {
            let call = call(&mut dice, &hall, &holds);
            holds.extend(run(&mut hall, &call).1);
        }
        // On the second: what has ended within it still counts.
        let into_second = hall.world.now.as_millis() % 1_000;
        hall.world.wait(Span::from_millis((1_000 - into_second) % 1_000));
        let now = hall.world.now;
        let before = hall.derived();
        let mut anew = new_hall(Way::Whole);
        anew.world.now = now;
        for (_, hold) in hall.world.memory.ticket.holds.rows().filter(|(_, hold)| hold.is_live(now)) {
            let mut rows = crate::Rows::default();
            SeatHold::want_derived(&mut rows, hold);
            rows.answer_from(&anew.world.memory);
            SeatHold::remember(&mut rows, hold, now).unwrap();
            anew.world.memory.absorb(&mut rows);
        }
        assert_eq!(anew.derived(), before, "seed {seed}");
    }
}

/// A command that was prepared and not yet finished.
#[derive(Debug)]
enum Pending {
    Confirm(ConfirmSeatHold, Attempt),
    Reserve(ReserveSeats, Attempt, HoldId),
}

impl Pending {
    /// Records it or not, and finishes it or leaves that to whoever settles what was left.
    fn go_on(self, hall: &mut Hall, dice: &mut Dice) {
        let (recorded, died) = (dice.roll(3) > 0, dice.roll(3) == 0);
        match self {
            Self::Confirm(command, attempt) => go_on(hall, &command, attempt, command.id, recorded, died),
            Self::Reserve(command, attempt, hold) => go_on(hall, &command, attempt, hold, recorded, died),
        }
    }
}

fn go_on<C: Command<Outcome = SeatReservation>>(
    hall: &mut Hall,
    command: &C,
    attempt: Attempt,
    hold: HoldId,
    recorded: bool,
    died: bool,
) {
    let outcome = recorded.then(|| hall.world.record(command, attempt).expect("what is prepared can be recorded"));
    if died {
        let record = outcome.map(|reservation| reservation.id.get());
        hall.world.run(&SettleSeatHold { of: TryId { hold, attempt }, record }).unwrap();
    } else {
        hall.world.finish(command, attempt, outcome.as_ref());
    }
}

/// Others may be in the way; a refusal is an answer.
fn undisturbed<T>(decision: Decision<T>) -> Option<T> {
    match decision {
        Ok(outcome) => Some(outcome),
        Err(Stop::Busy | Stop::Rejected(_)) => None,
        Err(Stop::Missing) => unreachable!("rows are loaded"),
    }
}

#[test]
fn steps_of_many_in_any_order_sell_no_seat_twice_and_leave_nothing_over() {
    for seed in 1..80 {
        let mut dice = Dice::new(seed);
        let mut hall = new_hall(Way::Steps);
        let (mut holds, mut pending) = (Vec::new(), Vec::new());
        for _ in 0..150 {
            match call(&mut dice, &hall, &holds) {
                Call::Hold(command) => {
                    let held = hall.world.step(Writes::Live, |rows, at| command.decide(rows, at));
                    holds.extend(undisturbed(held).map(|hold| hold.id));
                }
                Call::Best(command) => {
                    let held = hall.world.step(Writes::Live, |rows, at| command.decide(rows, at));
                    holds.extend(undisturbed(held).map(|hold| hold.id));
                }
                Call::Reserve(command) => {
                    if let Some(attempt) = undisturbed(hall.world.prepare(&command)) {
                        let hold = HoldId::new(hall.world.now, command.random);
                        pending.push(Pending::Reserve(command, attempt, hold));
                    }
                }
                Call::Confirm(command) => {
                    let attempt = undisturbed(hall.world.prepare(&command));
                    pending.extend(attempt.map(|attempt| Pending::Confirm(command, attempt)));
                }
                Call::Cancel(command) => {
                    undisturbed(hall.world.step(Writes::Live, |rows, at| command.decide(rows, at)));
                }
                Call::CancelReservation(command) => {
                    undisturbed(hall.world.step(Writes::Durable, |rows, at| command.decide(rows, at)));
                }
                Call::Wait(span) => hall.world.wait(span),
            }
            if !pending.is_empty() && dice.roll(3) == 0 {
                let next = pending.swap_remove(dice.roll(pending.len() as u64) as usize);
                next.go_on(&mut hall, &mut dice);
            }
        }
        for next in pending {
            next.go_on(&mut hall, &mut dice);
        }
        inspect(&mut hall);
        confirm_all(&mut hall);
        hall.world.wait(Span::from_secs(301));
        assert_eq!(hall.derived(), [""; 0], "seed {seed}: when every TTL has passed nothing is held");
    }
}
