//! Confirming a lock, in one commit and in steps, and cancelling the reservation.

use super::*;
use crate::calendar::line::ReleaseLock;
use crate::calendar::reprice::RepriceSlots;
use crate::calendar::reservation::{self, CancelRoomReservation};
use crate::calendar::room::ChangeRoom;
use crate::command::{Attempt, Stop};
use crate::event::Event;
use crate::hold::{AttemptId, HoldState, RecoverHold};
use crate::table::TableState;

fn confirm_command(lock: &Hold) -> ConfirmLock {
    ConfirmLock::new(lock.id, Actor::User(lock.owner.clone()))
}

fn not_locked(reservation: Option<u64>) -> Rejection {
    CalendarRejection::SlotNotLocked { reservation }.into()
}

/// Runs a test in one commit and in steps.
fn in_both_modes(test: impl Fn(&dyn Fn(&mut World, &ConfirmLock) -> Result<RoomReservation, Rejection>)) {
    test(&|world, command| world.run(command));
    test(&|world, command| world.run_in_steps(command));
}

#[test]
fn confirm_turns_lock_into_reservation() {
    in_both_modes(|run| {
        let mut world = world();
        let room = room(&mut world);
        let lock = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "10:00"])).unwrap();
        world.wait(Span::from_secs(299));
        world.events.clear();
        let reservation = run(&mut world, &confirm_command(&lock)).unwrap();
        assert_eq!((reservation.room, &reservation.user, reservation.total), (room, &user(1), 20_000));
        assert_eq!((reservation.lock, reservation.confirmed_at), (lock.id, world.now));
        assert_eq!(reservation.slots[1].date(), TOMORROW);
        assert_eq!(reservation.slots[1].time(), time("10:00"));
        assert_eq!(world.events, [Event::RoomSlotsReserved(reservation.clone())]);
        assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00R 11:00");
        let views = list(&world, room, TOMORROW, TOMORROW).unwrap();
        assert_eq!(views[0].reservation, Some(reservation.id));
        assert_eq!(views[2].reservation, None);
        assert_eq!(world.memory.held.rows().count(), 0, "no unit is held any more");
        assert_eq!(audit(&world), [""; 0]);

        let repeated = run(&mut world, &confirm_command(&lock));
        assert_eq!(repeated, Err(not_locked(Some(reservation.id.get()))), "a repeat returns the reservation");
        let release = ReleaseLock::new(lock.id, Actor::Admin);
        assert_eq!(world.run(&release), Err(not_locked(Some(reservation.id.get()))));
    });
}

#[test]
fn confirm_of_ended_or_foreign_lock_is_rejected() {
    in_both_modes(|run| {
        let mut world = world();
        let room = room(&mut world);
        let unknown = ConfirmLock::new(HoldId::new(world.now, [9; 10]), Actor::Admin);
        assert_eq!(run(&mut world, &unknown), Err(not_locked(None)));
        let slots = slots_at(TOMORROW, &["09:00"]);
        let replaced = lock(&mut world, room, 1, &slots).unwrap();
        let released = lock(&mut world, room, 1, &slots).unwrap();
        assert_eq!(run(&mut world, &confirm_command(&replaced)), Err(not_locked(None)));
        world.run(&ReleaseLock::new(released.id, Actor::Admin)).unwrap();
        assert_eq!(run(&mut world, &confirm_command(&released)), Err(not_locked(None)));
        let expired = lock(&mut world, room, 1, &slots).unwrap();
        let other = ConfirmLock::new(expired.id, Actor::User(user(2)));
        assert_eq!(run(&mut world, &other), Err(Rejection::Forbidden));
        world.now = expired.expires_at;
        assert_eq!(run(&mut world, &confirm_command(&expired)), Err(not_locked(None)));
        assert_eq!(run(&mut world, &other), Err(Rejection::Forbidden), "ownership is checked first");
        assert_eq!(day(&mut world, room, TOMORROW), "09:00 10:00 11:00");
    });
}

#[test]
fn live_lock_is_confirmed_after_slot_start() {
    in_both_modes(|run| {
        let mut world = world();
        let room = room(&mut world);
        world.wait(Span::from_secs(59 * 60));
        let lock = lock(&mut world, room, 1, &slots_at(TODAY, &["09:00"])).unwrap();
        world.wait(Span::from_secs(120));
        assert!(run(&mut world, &confirm_command(&lock)).is_ok());
    });
}

#[test]
fn reservation_has_price_of_lock() {
    in_both_modes(|run| {
        let mut world = world();
        let id = room(&mut world);
        let slots = slots_at(TOMORROW, &["09:00"]);
        let lock = lock(&mut world, id, 1, &slots).unwrap();
        let draft = RoomDraft { base_price: Some(5), ..RoomDraft::default() };
        world.run(&ChangeRoom { id, draft }).unwrap();
        world.run(&RepriceSlots { room: id, from: TOMORROW, to: TOMORROW }).unwrap();
        assert_eq!(run(&mut world, &confirm_command(&lock)).unwrap().total, 10_000);
        let views = list(&world, id, TOMORROW, TOMORROW).unwrap();
        assert_eq!(views.iter().map(|view| view.final_price).collect::<Vec<_>>(), [10_000, 5, 5]);
    });
}

#[test]
fn slot_is_sold_once_after_loss_of_live_rows() {
    in_both_modes(|run| {
        let mut world = world();
        let room = room(&mut world);
        let lost = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "10:00"])).unwrap();
        world.memory.held = TableState::complete();
        world.memory.calendar.by_slot = TableState::complete();
        reserve(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"]));
        // Restores the lock's own count, as the store had it.
        world.memory.held = TableState::complete();
        restore(&mut world, &lost);
        assert_eq!(run(&mut world, &confirm_command(&lost)), Err(not_available(TOMORROW, "10:00")));
        world.run(&ReleaseLock::new(lost.id, Actor::Admin)).expect("the rejected lock is live again");
        assert_eq!(day(&mut world, room, TOMORROW), "09:00 10:00R 11:00");
        assert_eq!(audit(&world), [""; 0]);
    });
}

fn restore(world: &mut World, lock: &Hold) {
    world.memory.owner_holds = TableState::complete();
    world.index(lock);
}

#[test]
fn prepared_lock_does_not_expire() {
    let mut world = world();
    let room = room(&mut world);
    let slots = slots_at(TOMORROW, &["09:00"]);
    let lock = lock(&mut world, room, 1, &slots).unwrap();
    let command = confirm_command(&lock);
    let attempt = world.prepare(&command).unwrap();
    world.wait(Span::from_secs(3_600));
    assert_eq!(day(&mut world, room, TOMORROW), "09:00L 10:00 11:00", "a prepared lock does not end by time");
    for by in [1, 2] {
        let other = lock_command(&world, room, by, &slots);
        let decided = world.step(crate::command::Writes::Live, |rows, at| crate::Command::decide(&other, rows, at));
        assert_eq!(decided, Err(Stop::Retry));
    }
    assert_eq!(world.prepare(&command), Err(Stop::Retry));
    let block = block_command(room, &slots, BlockStatus::Blocked);
    assert_eq!(world.prepare(&block), Err(Stop::Retry));
    let reservation = world.record(&command, attempt).unwrap();
    // Recorded and not yet finished: other commands see the reservation.
    let other = lock_command(&world, room, 2, &slots);
    assert_eq!(world.run(&other), Err(not_available(TOMORROW, "09:00")));
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00 11:00");
    assert_eq!(audit(&world), [""; 0]);
    let repeated = world.record(&command, attempt);
    assert_eq!(repeated, Err(Stop::Rejected(not_locked(Some(reservation.id.get())))), "an attempt has one outcome");
    world.finish(&command, attempt, Some(&reservation));
    world.finish(&command, attempt, None);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00 11:00", "finishing twice has no effect");
}

#[test]
fn replacing_or_releasing_prepared_lock_retries() {
    let mut world = world();
    let room = room(&mut world);
    let slots = slots_at(TOMORROW, &["09:00"]);
    let lock = lock(&mut world, room, 1, &slots).unwrap();
    world.prepare(&confirm_command(&lock)).unwrap();
    let repeated = lock_command(&world, room, 1, &slots);
    let decided = world.step(crate::command::Writes::Live, |rows, at| crate::Command::decide(&repeated, rows, at));
    assert_eq!(decided, Err(Stop::Retry));
    let release = ReleaseLock::new(lock.id, Actor::Admin);
    let decided = world.step(crate::command::Writes::Live, |rows, at| crate::Command::decide(&release, rows, at));
    assert_eq!(decided, Err(Stop::Retry));
}

#[test]
fn abandoned_attempt_is_finished_as_decided() {
    for record in [None, Some(77)] {
        let mut world = world();
        let room = room(&mut world);
        let held = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
        let attempt = world.prepare(&confirm_command(&held)).unwrap();
        let of = attempt;
        let is_committed = record.is_some();
        world.decide_attempt(of, record);
        world.run(&RecoverHold { of: AttemptId { attempt: Attempt(of.attempt.0 + 1), ..of }, is_committed }).unwrap();
        assert_eq!(world.hold(held.id).state, HoldState::Prepared, "another attempt does not affect this one");
        world.run(&RecoverHold { of, is_committed }).unwrap();
        world.run(&RecoverHold { of, is_committed: !is_committed }).expect("a second finish has no effect");
        let found = world.ask(|rows, _| find(rows, held.id, &Actor::Admin)).unwrap();
        let state = if is_committed { HoldState::Confirmed } else { HoldState::Held };
        assert_eq!((found.state, found.record()), (state, record));
        let unknown = AttemptId { hold: HoldId::new(world.now, [9; 10]), ..of };
        world.run(&RecoverHold { of: unknown, is_committed }).expect("a lost lock is ignored");
    }
}

#[test]
fn aborted_attempt_is_not_recorded() {
    let mut world = world();
    let room = room(&mut world);
    let lock = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let command = confirm_command(&lock);
    let attempt = world.prepare(&command).unwrap();
    world.decide_attempt(attempt, None);
    assert_eq!(world.record(&command, attempt), Err(Stop::Retry));
    world.finish(&command, attempt, None);
    assert!(world.run_in_steps(&command).is_ok(), "a new attempt is independent");
}

#[test]
fn lost_lock_is_rejected_as_not_locked() {
    let mut world = world();
    let room = room(&mut world);
    let lock = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let command = confirm_command(&lock);
    let attempt = world.prepare(&command).unwrap();
    world.memory.holds = TableState::complete();
    assert_eq!(world.record(&command, attempt), Err(Stop::Retry), "a new attempt finds out");
    world.finish(&command, attempt, None);
    assert_eq!(world.prepare(&command), Err(Stop::Rejected(not_locked(None))));
}

#[test]
fn cancel_frees_the_slots_once() {
    let mut world = world();
    let room = room(&mut world);
    let reserved = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "11:00"]));
    let by = |actor| CancelRoomReservation { id: reserved.id, actor };
    assert_eq!(world.run(&by(Actor::User(user(2)))), Err(Rejection::Forbidden));
    world.events.clear();
    let cancelled = world.run(&by(Actor::User(user(1)))).unwrap();
    assert_eq!(cancelled.state, RoomReservationState::Cancelled { at: world.now });
    assert_eq!(world.events, [Event::RoomSlotsCancelled(cancelled)]);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00 10:00 11:00");
    assert_eq!(world.run(&by(Actor::Admin)), Err(CalendarRejection::RoomReservationAlreadyCancelled.into()));
    let unknown = RoomReservationId::new(99).unwrap();
    let find = |rows: &mut WorkingSet, _: &crate::Context<'_>| reservation::find(rows, unknown, &Actor::Admin);
    assert_eq!(world.ask(find), Err(CalendarRejection::RoomReservationNotFound.into()));
    reserve(&mut world, room, 2, &slots_at(TOMORROW, &["09:00"]));
    assert_eq!(audit(&world), [""; 0]);
}
