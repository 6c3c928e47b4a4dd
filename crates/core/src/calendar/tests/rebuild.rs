//! Effects of new hours on future slots.

use super::*;
use crate::calendar::block::UnblockSlots;
use crate::calendar::line::ReleaseLock;
use crate::calendar::reservation::CancelRoomReservation;
use crate::calendar::room::ChangeRoom;
use crate::command::Stop;
use crate::table::TableState;

#[test]
fn rebuild_replaces_free_slots_from_tomorrow() {
    let mut world = world();
    let room = room_open(&mut world, "09:00-14:00");
    let reservation = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"]));
    lock(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"])).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["11:00"]), BlockStatus::Blocked)).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["12:00"]), BlockStatus::Maintenance)).unwrap();
    let rebuilt = set_hours_and_rebuild(&mut world, room, "11:30-16:30");
    assert_eq!(day(&mut world, room, TODAY), "09:00 10:00 11:00 12:00 13:00", "today is unchanged");
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00L 11:00B 12:00M 13:30 14:30 15:30");
    assert_eq!(day(&mut world, room, date(2026, 6, 3)), "11:30 12:30 13:30 14:30 15:30");
    assert_eq!(rebuilt.affected, [reservation.id]);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn reservations_within_new_hours_are_kept() {
    let mut world = world();
    let room = room(&mut world);
    reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"]));
    let outside = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["10:00", "11:00"]));
    // Two adjacent openings count as one.
    let rebuilt = set_hours_and_rebuild(&mut world, room, "08:30-09:30 09:30-11:30");
    assert_eq!(rebuilt.affected, [outside.id], "a slot ending outside is affected, and reported once");
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00R 11:00R");
}

#[test]
fn freed_slot_outside_hours_is_deleted() {
    let mut world = world();
    let room = room_open(&mut world, "09:00-14:00");
    let reservation = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "13:00"]));
    let blocked = slots_at(TOMORROW, &["10:00"]);
    world.run(&block_command(room, &blocked, BlockStatus::Blocked)).unwrap();
    let released = lock(&mut world, room, 2, &slots_at(TOMORROW, &["11:00"])).unwrap();
    lock(&mut world, room, 3, &slots_at(TOMORROW, &["12:00"])).unwrap();
    set_hours_and_rebuild(&mut world, room, "13:00-15:00");
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00B 11:00L 12:00L 13:00R 14:00");
    world.run(&CancelRoomReservation { id: reservation.id, actor: Actor::Admin }).unwrap();
    assert_eq!(day(&mut world, room, TOMORROW), "10:00B 11:00L 12:00L 13:00 14:00");
    let deleted = SlotId { room, start: slot_at(TOMORROW, "09:00") };
    assert!(world.memory.calendar.slots.rows().all(|(id, _)| *id != deleted), "its row is deleted");
    assert_eq!(world.run(&UnblockSlots { room, slots: blocked }).unwrap(), []);
    world.run(&ReleaseLock::new(released.id, Actor::Admin)).unwrap();
    assert_eq!(day(&mut world, room, TOMORROW), "12:00L 13:00 14:00");
    world.wait(Span::from_secs(300));
    assert_eq!(day(&mut world, room, TOMORROW), "13:00 14:00", "by expiry of the lock");
    let deleted = slots_at(TOMORROW, &["12:00"]);
    assert_eq!(lock(&mut world, room, 4, &deleted), Err(not_available(TOMORROW, "12:00")));
    assert_eq!(
        world.run(&block_command(room, &deleted, BlockStatus::Blocked)),
        Err(CalendarRejection::SlotNotFound { date: TOMORROW, time: time("12:00") }.into())
    );
}

#[test]
fn lock_on_kept_slot_can_be_confirmed() {
    let mut world = world();
    let room = room(&mut world);
    let slots = slots_at(TOMORROW, &["09:00"]);
    lock(&mut world, room, 1, &slots).unwrap();
    set_hours_and_rebuild(&mut world, room, "14:00-15:00");
    let renewed = lock(&mut world, room, 1, &slots).unwrap();
    confirm(&mut world, &renewed);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 14:00");
}

#[test]
fn slots_blocked_by_a_lock_are_generated_later() {
    let mut world = world();
    let room = room(&mut world);
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let rebuilt = set_hours_and_rebuild(&mut world, room, "09:30-11:30");
    assert!(rebuilt.done);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00L 10:30");
    assert_eq!(generate(&mut world, room), 0, "the lock still prevents the slot");
    world.wait(Span::from_secs(300));
    generate(&mut world, room);
    assert_eq!(day(&mut world, room, TOMORROW), "09:30 10:30");
    assert_eq!(world.memory.calendar.hours.rows().next().unwrap().1.rebuild, None);
}

#[test]
fn second_pass_covers_days_with_locks() {
    let mut world = world();
    let room = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(25), ..draft() })).unwrap().id;
    set_hours_and_rebuild(&mut world, room, "00:00-24:00");
    generate(&mut world, room);
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["10:00"])).unwrap();
    let first = set_hours(&mut world, room, "00:10-24:00", &[]).rebuilt;
    assert!(!first.done);
    while !world.run(&RebuildSlots { room }).unwrap().done {}
    assert!(day(&mut world, room, TOMORROW).contains("09:20 10:00L 10:35"));
    world.wait(Span::from_secs(300));
    generate(&mut world, room);
    assert!(day(&mut world, room, TOMORROW).contains("09:20 09:45 10:10 10:35"));
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn lock_after_midnight_delays_slot_of_eve() {
    let mut world = world();
    let room = room_open(&mut world, "22:00-02:00");
    let after_tomorrow = date(2026, 6, 3);
    lock(&mut world, room, 1, &slots_at(after_tomorrow, &["00:00"])).unwrap();
    set_hours_and_rebuild(&mut world, room, "22:30-02:30");
    assert_eq!(day(&mut world, room, after_tomorrow), "00:00L 01:30 22:30 23:30");
    assert!(!day(&mut world, room, TOMORROW).contains("23:30"));
    world.wait(Span::from_secs(300));
    while !world.run(&RebuildSlots { room }).unwrap().done {}
    assert!(day(&mut world, room, TOMORROW).ends_with("22:30 23:30"));
    assert_eq!(day(&mut world, room, after_tomorrow), "00:30 01:30 22:30 23:30");
}

/// Slots keep the price and length of their generation, also when locks delay the rebuild.
#[test]
fn rebuilt_slots_keep_price_and_length() {
    for locked in ["10:00", "09:00"] {
        let mut world = world();
        let room = room(&mut world);
        lock(&mut world, room, 1, &slots_at(TOMORROW, &[locked])).unwrap();
        set_hours_and_rebuild(&mut world, room, "10:00-13:00");
        let is_pending = world.memory.calendar.hours.rows().next().unwrap().1.rebuild.is_some();
        assert_eq!(is_pending, locked == "09:00", "a lock within the hours prevents no slot");
        let draft = RoomDraft { base_price: Some(77_777), slot_minutes: Some(30), ..RoomDraft::default() };
        world.run(&ChangeRoom { id: room, draft }).unwrap();
        world.wait(Span::from_secs(300));
        while !world.run(&RebuildSlots { room }).unwrap().done {}
        assert_eq!(day(&mut world, room, TOMORROW), "10:00 11:00 12:00");
        let slots: Vec<Slot> = world.memory.calendar.slots.rows().map(|(_, slot)| *slot).collect();
        assert!(slots.iter().all(|slot| (slot.minutes, slot.base_price) == (60, 10_000)));
    }
}

#[test]
fn setting_same_hours_changes_nothing() {
    let mut world = world();
    let room = room(&mut world);
    let rebuilt = set_hours_and_rebuild(&mut world, room, "09:00-12:00");
    assert_eq!(rebuilt, Rebuilt { done: true, ..Rebuilt::default() });
    assert_eq!(world.run(&RebuildSlots { room }), Ok(Rebuilt { done: true, ..Rebuilt::default() }));
}

#[test]
fn exceptions_are_rebuilt() {
    let mut world = world();
    let room = room(&mut world);
    set_hours(&mut world, room, "09:00-12:00", &[(TOMORROW, ""), (date(2026, 6, 3), "18:00-20:00")]);
    assert_eq!(day(&mut world, room, TOMORROW), "");
    assert_eq!(day(&mut world, room, date(2026, 6, 3)), "18:00 19:00");
    assert_eq!(day(&mut world, room, date(2026, 6, 4)), "09:00 10:00 11:00");
}

#[test]
fn partial_rebuild_never_overlaps_slots() {
    let mut world = world();
    let room = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(25), ..draft() })).unwrap().id;
    set_hours(&mut world, room, "00:00-24:00", &[]);
    generate(&mut world, room);
    let mut step = set_hours(&mut world, room, "20:10-20:05", &[]).rebuilt;
    assert!(!step.done);
    while !step.done {
        assert_eq!(audit(&world), [""; 0]);
        step = world.run(&RebuildSlots { room }).unwrap();
    }
    assert_eq!(audit(&world), [""; 0]);
    // From 20:10 in steps of 25 minutes on every day, without a gap between two commands.
    for days in 3..60 {
        let date = local_time::days_after(TODAY, days);
        assert!(day(&mut world, room, date).ends_with("20:10 20:35 21:00 21:25 21:50 22:15 22:40 23:05 23:30 23:55"));
    }
}

#[test]
fn slot_deleted_while_locked_is_never_sold() {
    let mut world = world();
    let room = room(&mut world);
    // Two tiers: the lock is placed on rows that were read before the rebuild.
    let before = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let mut live = std::mem::replace(&mut world.memory.calendar.by_slot, TableState::complete());
    let mut held = std::mem::replace(&mut world.memory.held, TableState::complete());
    world.memory.calendar.by_slot = TableState::complete();
    world.memory.held = TableState::complete();
    set_hours_and_rebuild(&mut world, room, "09:00-12:00 14:00-15:00");
    set_hours_and_rebuild(&mut world, room, "14:00-15:00");
    std::mem::swap(&mut world.memory.calendar.by_slot, &mut live);
    std::mem::swap(&mut world.memory.held, &mut held);
    let command = ConfirmLock::new(before.id, Actor::Admin);
    assert_eq!(world.run(&command), Err(not_available(TOMORROW, "09:00")));
    assert_eq!(world.run_in_steps(&command), Err(not_available(TOMORROW, "09:00")));
    let attempt = world.prepare(&command).unwrap();
    assert_eq!(world.record(&command, attempt), Err(Stop::Rejected(not_available(TOMORROW, "09:00"))));
    world.finish(&command, attempt, None);
    world.run(&ReleaseLock::new(before.id, Actor::Admin)).expect("the lock is live again");
}
