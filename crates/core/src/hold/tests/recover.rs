//! Recovery of confirm attempts whose server failed between two steps.

use super::*;
use crate::table::TableState;

/// A hold with a prepared confirm attempt.
struct Attempted {
    market: Market,
    hold: Hold,
    confirm: ConfirmLines,
    attempt: AttemptId,
    /// Counts and index entries before the attempt.
    before: Vec<String>,
}

fn attempted(origin: Origin, claims: &[Claim], released: Option<u16>) -> Attempted {
    let mut market = Market::new(9);
    let hold = market.hold(origin, claims);
    let before = market.derived();
    let confirm = ConfirmLines { id: hold.id, origin, released };
    let attempt = market.world.prepare(&confirm).unwrap();
    Attempted { market, hold, confirm, attempt, before }
}

impl Attempted {
    fn recover(&mut self, of: AttemptId, is_committed: bool) {
        self.market.world.run(&RecoverHold { of, is_committed }).unwrap();
    }

    fn row(&self) -> Hold {
        self.market.world.hold(self.hold.id)
    }
}

#[test]
fn committed_attempt_finishes_with_its_records() {
    for (origin, claims) in every_type() {
        let mut it = attempted(origin, &claims, None);
        let lines = it.market.world.record(&it.confirm, it.attempt).unwrap();
        for _ in 0..2 {
            it.recover(it.attempt, true);
            let row = it.row();
            assert_eq!((row.state, row.version, row.attempt), (HoldState::Confirmed, 1, Attempt(1)));
            assert_eq!(*row.lines, *lines);
            assert_eq!(Some(&row), it.market.world.memory.confirmed_holds.get(&row.id).unwrap(), "{origin:?}");
            assert_eq!(it.market.derived(), [""; 0], "{origin:?}");
        }
    }
}

#[test]
fn lines_left_out_are_released() {
    let (origin, claims) = every_type().pop().unwrap();
    for released in 0..claims.len() as u16 {
        let mut it = attempted(origin, &claims, Some(released));
        let lines = it.market.world.record(&it.confirm, it.attempt).unwrap();
        assert_eq!(lines.len(), claims.len() - 1);
        it.recover(it.attempt, true);
        let row = it.row();
        for line in row.lines.iter() {
            assert_eq!(line.state == LineState::Released, line.index == released);
            assert_eq!(line.state.record().is_some(), line.index != released);
        }
        assert_eq!(row.total(), it.hold.total() - it.hold.lines[usize::from(released)].price);
        assert_eq!(Some(&row), it.market.world.memory.confirmed_holds.get(&row.id).unwrap());
        assert_eq!(it.market.derived(), [""; 0]);
    }
}

#[test]
fn aborted_attempt_restores_the_hold() {
    for (origin, claims) in every_type() {
        let mut it = attempted(origin, &claims, None);
        it.market.world.decide_attempt(it.attempt, None);
        for _ in 0..2 {
            it.recover(it.attempt, false);
            assert_eq!(it.row(), Hold { attempt: Attempt(1), ..it.hold.clone() }, "{origin:?}");
            assert_eq!(it.market.derived(), it.before, "{origin:?}");
        }
        it.market.world.run(&it.confirm).expect("the hold is live again");
    }
}

#[test]
fn abort_after_the_end_leaves_no_count() {
    for (origin, claims) in every_type() {
        let mut it = attempted(origin, &claims, None);
        it.market.world.now = it.hold.expires_at;
        it.recover(it.attempt, false);
        assert_eq!(it.row().status(it.market.world.now), Status::Expired);
        assert_eq!(it.market.derived(), [""; 0], "{origin:?}");
    }
}

#[test]
fn recovery_of_other_attempt_has_no_effect() {
    for is_committed in [true, false] {
        let (origin, claims) = every_type().pop().unwrap();
        let mut it = attempted(origin, &claims, None);
        let (row, counts) = (it.row(), it.market.derived());
        let next = AttemptId { attempt: Attempt(2), ..it.attempt };
        let unknown = AttemptId { hold: HoldId::new(it.market.world.now, [9; 10]), ..it.attempt };
        for of in [next, unknown] {
            it.recover(of, is_committed);
            assert_eq!((it.row(), it.market.derived()), (row.clone(), counts.clone()));
        }
    }
}

#[test]
fn late_recovery_does_not_affect_next_attempt() {
    let (origin, claims) = every_type().pop().unwrap();
    let mut it = attempted(origin, &claims, None);
    it.market.world.finish(&it.confirm, it.attempt, None);
    it.market.world.prepare(&it.confirm).unwrap();
    let row = it.row();
    assert_eq!((row.state, row.attempt), (HoldState::Prepared, Attempt(2)));
    it.recover(it.attempt, false);
    assert_eq!(it.row(), row);
}

#[test]
fn late_finish_does_not_change_recovered_hold() {
    let (origin, claims) = every_type().pop().unwrap();
    let mut it = attempted(origin, &claims, None);
    let lines = it.market.world.record(&it.confirm, it.attempt).unwrap();
    it.recover(it.attempt, true);
    let row = it.row();
    for outcome in [Some(&lines), None] {
        it.market.world.finish(&it.confirm, it.attempt, outcome);
        assert_eq!(it.row(), row);
    }
    it.recover(it.attempt, false);
    assert_eq!(it.row(), row);
}

#[test]
fn confirmed_hold_outlives_its_live_row() {
    let (origin, claims) = every_type().pop().unwrap();
    let mut it = attempted(origin, &claims, None);
    let lines = it.market.world.record(&it.confirm, it.attempt).unwrap();
    it.market.world.memory.holds = TableState::complete();
    it.recover(it.attempt, true);
    assert_eq!(it.market.world.memory.holds.rows().count(), 0, "the live row is not restored");
    let found = it.market.world.ask(|rows, _| find(rows, it.hold.id, &Actor::User(user(1)), origin)).unwrap();
    assert_eq!((found.state, found.version, &*found.lines), (HoldState::Confirmed, 1, &*lines));
}

#[test]
fn hold_of_the_system_is_cancelled_in_any_case() {
    for is_committed in [true, false] {
        let mut it = attempted(Origin::System, &[Claim::Slots(vec![9, 10])], None);
        it.recover(it.attempt, is_committed);
        let row = it.row();
        assert_eq!((row.state, row.version, row.record()), (HoldState::Cancelled, 1, None));
        assert_eq!(it.market.derived(), [""; 0]);
        assert_eq!(it.market.world.events, [], "it was never shown to a user");
    }
}
