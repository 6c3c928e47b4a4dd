//! Locking and releasing.

use super::*;
use crate::calendar::line::ReleaseLock;
use crate::event::Event;
use crate::hold::{HoldState, Status};
use crate::rejection::Fault;
use crate::table::TableState;
use crate::time::Timestamp;

#[test]
fn lock_claims_slots_at_their_prices() {
    let mut world = world();
    let room = room(&mut world);
    let lock = lock(&mut world, room, 7, &slots_at(TOMORROW, &["11:00", "09:00"])).unwrap();
    let item = lock.item::<SlotsItem>();
    assert_eq!((lock.owner.clone(), item.room, lock.total(), lock.currency.as_str()), (user(7), room, 20_000, "KRW"));
    let slots: Vec<_> = item.slots.iter().map(|slot| (slot.start, slot.minutes, slot.price)).collect();
    let expected = slots_at(TOMORROW, &["09:00", "11:00"]).into_iter().map(|start| (start, 60, 10_000));
    assert_eq!(slots, expected.collect::<Vec<_>>(), "in order");
    assert_eq!(lock.expires_at, world.now + Span::from_secs(300));
    assert_eq!(day(&mut world, room, TOMORROW), "09:00L 10:00 11:00L");
    assert_eq!(world.events, [Event::HoldPlaced(lock.clone())]);
    assert_eq!(world.ask(|rows, _| find(rows, lock.id, &Actor::User(user(7)))), Ok(lock.clone()));
    assert_eq!(world.ask(|rows, _| find(rows, lock.id, &Actor::User(user(8)))), Err(Rejection::Forbidden));
    let unknown = HoldId::new(world.now, [9; 10]);
    assert_eq!(world.ask(|rows, _| find(rows, unknown, &Actor::Admin)), Err(CalendarRejection::LockNotFound.into()));
}

#[test]
fn lock_of_many_slots_takes_one_load() {
    let mut world = world();
    let room = room_open(&mut world, "00:00-24:00");
    let times: Vec<String> = (0..24).map(|hour| format!("{hour:02}:00")).collect();
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    lock(&mut world, room, 1, &slots_at(TOMORROW, &times)).unwrap();
    assert_eq!(world.loads.get(), 1);
}

#[test]
fn unavailable_slot_is_named_and_none_is_locked() {
    let mut world = world();
    let room = room_open(&mut world, "07:00-14:00");
    reserve(&mut world, room, 1, &slots_at(TOMORROW, &["08:00"]));
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["10:00"]), BlockStatus::Blocked)).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["11:00"]), BlockStatus::Maintenance)).unwrap();
    for rejected in ["08:00", "09:00", "10:00", "11:00", "06:00", "12:30"] {
        let slots = slots_at(TOMORROW, &["13:00", rejected]);
        assert_eq!(lock(&mut world, room, 2, &slots), Err(not_available(TOMORROW, rejected)));
    }
    let several = slots_at(TOMORROW, &["11:00", "09:00", "07:00"]);
    assert_eq!(
        lock(&mut world, room, 2, &several),
        Err(not_available(TOMORROW, "09:00")),
        "the first one in order is reported"
    );
    let begun = slots_at(TODAY, &["08:00"]);
    assert_eq!(lock(&mut world, room, 2, &begun), Err(not_available(TODAY, "08:00")), "the slot begins now");
    lock(&mut world, room, 2, &slots_at(TODAY, &["09:00"])).expect("the slot has not begun");
    assert_eq!(day(&mut world, room, TOMORROW), "07:00 08:00R 09:00L 10:00B 11:00M 12:00 13:00");
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn invalid_locks_are_rejected_first() {
    let mut world = world();
    let room = room(&mut world);
    let rejected = |field, fault| Err(Rejection::invalid(field, fault));
    assert_eq!(lock(&mut world, room, 1, &[]), rejected("times", Fault::Missing));
    let twice = slots_at(TOMORROW, &["09:00", "10:00", "09:00"]);
    assert_eq!(lock(&mut world, room, 1, &twice), rejected("times", Fault::Duplicate));
    let many: Vec<SlotStart> = (0..101).map(|days| slot_at(local_time::days_after(TODAY, days), "09:00")).collect();
    assert_eq!(lock(&mut world, room, 1, &many), rejected("times", Fault::TooManyItems { max: 100 }));
    let one = slots_at(TOMORROW, &["09:00"]);
    let short = LockSlots { ttl: Some(Span::from_millis(999)), ..lock_command(&world, room, 1, &one) };
    assert_eq!(world.run(&short), rejected("ttlSeconds", Fault::OutOfRange { min: 1, max: 300 }));
    assert_eq!(lock(&mut world, RoomId::new(99).unwrap(), 1, &one), Err(CalendarRejection::RoomNotFound.into()));
}

#[test]
fn lock_ttl_can_only_be_shortened() {
    let mut world = world();
    let room = room(&mut world);
    let one = slots_at(TOMORROW, &["09:00"]);
    for (ttl, effective) in [(1, 1), (60, 60), (300, 300), (9_999, 300)] {
        let command = LockSlots { ttl: Some(Span::from_secs(ttl)), ..lock_command(&world, room, 1, &one) };
        assert_eq!(world.run(&command).unwrap().expires_at, world.now + Span::from_secs(effective));
    }
}

#[test]
fn ended_lock_frees_its_slots_at_once() {
    let mut world = world();
    let room = room(&mut world);
    world.wait(Span::from_millis(250));
    let one = slots_at(TOMORROW, &["09:00"]);
    let first = lock(&mut world, room, 1, &one).unwrap();
    world.now = Timestamp::from_millis(first.expires_at.as_millis() - 1);
    assert_eq!(lock(&mut world, room, 2, &one), Err(not_available(TOMORROW, "09:00")), "never earlier");
    world.now = first.expires_at;
    assert_eq!(day(&mut world, room, TOMORROW), "09:00 10:00 11:00");
    let release = ReleaseLock::new(first.id, Actor::Admin);
    assert_eq!(world.run(&release), Err(CalendarRejection::SlotNotLocked { reservation: None }.into()));
    let second = lock(&mut world, room, 2, &one).expect("free at the end of the first lock");
    assert_eq!(lock(&mut world, room, 3, &one), Err(not_available(TOMORROW, "09:00")));
    // The remaining count of the first lock does not affect the second one.
    world.run(&ReleaseLock::new(second.id, Actor::Admin)).unwrap();
    let third = lock(&mut world, room, 3, &one).unwrap();
    world.wait(Span::from_secs(1));
    assert_eq!(lock(&mut world, room, 1, &one), Err(not_available(TOMORROW, "09:00")));
    confirm(&mut world, &third);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn overlapping_own_locks_are_replaced_whole() {
    let mut world = world();
    let room = room_open(&mut world, "08:00-14:00");
    let a = lock(&mut world, room, 1, &slots_at(TOMORROW, &["08:00", "09:00"])).unwrap();
    let b = lock(&mut world, room, 1, &slots_at(TOMORROW, &["10:00", "11:00"])).unwrap();
    let c = lock(&mut world, room, 1, &slots_at(TOMORROW, &["13:00"])).unwrap();
    world.events.clear();
    let new = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "10:00", "12:00"])).unwrap();
    assert_eq!(day(&mut world, room, TOMORROW), "08:00 09:00L 10:00L 11:00 12:00L 13:00L");
    let mut status = |id| world.ask(|rows, at| Ok(find(rows, id, &Actor::Admin)?.status(at.now))).unwrap();
    assert_eq!([a.id, b.id].map(&mut status), [Status::Replaced; 2]);
    assert_eq!([c.id, new.id].map(&mut status), [Status::Held; 2]);
    let released = |lock: &Hold| Event::HoldReplaced(lock.with_state(HoldState::Replaced { by: new.id }));
    assert_eq!(world.events, [released(&a), released(&b), Event::HoldPlaced(new.clone())]);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn rejected_lock_replaces_nothing() {
    let mut world = world();
    let room = room(&mut world);
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    lock(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"])).unwrap();
    let both = slots_at(TOMORROW, &["09:00", "10:00"]);
    assert_eq!(lock(&mut world, room, 1, &both), Err(not_available(TOMORROW, "10:00")));
    assert_eq!(day(&mut world, room, TOMORROW), "09:00L 10:00L 11:00");
}

#[test]
fn live_locks_per_user_are_bounded() {
    let mut world = world();
    world.limits.holds_per_user_max = 2;
    let room = room(&mut world);
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["10:00"])).unwrap();
    let third = slots_at(TOMORROW, &["11:00"]);
    assert_eq!(lock(&mut world, room, 1, &third), Err(Rejection::TooManyHolds { max: 2 }));
    lock(&mut world, room, 2, &third).expect("the bound is per user");
    assert_eq!(
        lock(&mut world, room, 1, &third),
        Err(Rejection::TooManyHolds { max: 2 }),
        "takes precedence over availability"
    );
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["10:00"])).expect("a replaced lock does not count");
    world.wait(Span::from_secs(300));
    lock(&mut world, room, 1, &third).expect("an ended lock does not count");
}

#[test]
fn lock_is_rejected_while_suspended() {
    let mut world = world();
    let room = room(&mut world);
    let command = lock_command(&world, room, 1, &slots_at(TOMORROW, &["09:00"]));
    let until = world.now + Span::from_secs(1);
    let decided = world.step(crate::command::Writes::Live, |rows, at| {
        rows.suspended_until = Some(until);
        crate::Command::decide(&command, rows, at)
    });
    assert_eq!(decided, Err(Rejection::HoldsSuspended { until }.into()));
}

#[test]
fn lock_is_released_once() {
    let mut world = world();
    let room = room(&mut world);
    let held = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let by = |actor| ReleaseLock::new(held.id, actor);
    assert_eq!(world.run(&by(Actor::User(user(2)))), Err(Rejection::Forbidden));
    world.events.clear();
    world.run(&by(Actor::User(user(1)))).unwrap();
    assert_eq!(world.events, [Event::HoldCancelled(held.with_state(HoldState::Cancelled))]);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00 10:00 11:00");
    assert_eq!(
        world.run(&by(Actor::User(user(1)))),
        Err(CalendarRejection::SlotNotLocked { reservation: None }.into())
    );
    let unknown = ReleaseLock::new(HoldId::new(world.now, [9; 10]), Actor::Admin);
    assert_eq!(world.run(&unknown), Err(CalendarRejection::SlotNotLocked { reservation: None }.into()));
}

#[test]
fn indexes_are_rebuilt_from_live_locks() {
    let mut world = world();
    let room = room(&mut world);
    let kept = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "10:00"])).unwrap();
    let short =
        LockSlots { ttl: Some(Span::from_secs(1)), ..lock_command(&world, room, 2, &slots_at(TOMORROW, &["11:00"])) };
    world.run(&short).unwrap();
    world.wait(Span::from_secs(2));
    world.memory.held = TableState::complete();
    world.memory.owner_holds = TableState::complete();
    world.memory.calendar.by_slot = TableState::complete();
    let live = world.live_holds();
    assert_eq!(live, std::slice::from_ref(&kept));
    for lock in &live {
        world.index(lock);
    }
    assert_eq!(day(&mut world, room, TOMORROW), "09:00L 10:00L 11:00");
    world.run(&ReleaseLock::new(kept.id, Actor::Admin)).unwrap();
    assert_eq!(world.memory.held.rows().count(), 0);
}
