//! What new hours do to coming slots.

use super::*;
use crate::calendar::block::UnblockSlots;
use crate::calendar::lock::ReleaseLock;
use crate::calendar::reservation::CancelRoomReservation;
use crate::calendar::room::ChangeRoom;
use crate::command::Stop;

#[test]
fn free_slots_are_replaced_from_tomorrow_on_and_those_in_use_stay() {
    let mut world = world();
    let room = room_open(&mut world, "09:00-14:00");
    let reservation = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"]));
    lock(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"])).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["11:00"]), BlockStatus::Blocked)).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["12:00"]), BlockStatus::Maintenance)).unwrap();
    let rebuilt = set_hours_to_the_end(&mut world, room, "11:30-16:30");
    assert_eq!(day(&mut world, room, TODAY), "09:00 10:00 11:00 12:00 13:00", "today stays as it is");
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00L 11:00B 12:00M 13:30 14:30 15:30");
    assert_eq!(day(&mut world, room, date(2026, 6, 3)), "11:30 12:30 13:30 14:30 15:30");
    assert_eq!(rebuilt.affected, [reservation.id]);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn reservations_within_the_new_hours_are_not_affected() {
    let mut world = world();
    let room = room(&mut world);
    reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"]));
    let outside = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["10:00", "11:00"]));
    // Two openings without a break between them are one.
    let rebuilt = set_hours_to_the_end(&mut world, room, "08:30-09:30 09:30-11:30");
    assert_eq!(rebuilt.affected, [outside.id], "an end that reaches out is outside, and it is told once");
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00R 11:00R");
}

#[test]
fn a_kept_slot_that_becomes_free_outside_the_hours_disappears() {
    let mut world = world();
    let room = room_open(&mut world, "09:00-14:00");
    let reservation = reserve(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "13:00"]));
    let blocked = slots_at(TOMORROW, &["10:00"]);
    world.run(&block_command(room, &blocked, BlockStatus::Blocked)).unwrap();
    let released = lock(&mut world, room, 2, &slots_at(TOMORROW, &["11:00"])).unwrap();
    lock(&mut world, room, 3, &slots_at(TOMORROW, &["12:00"])).unwrap();
    set_hours_to_the_end(&mut world, room, "13:00-15:00");
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00B 11:00L 12:00L 13:00R 14:00");
    world.run(&CancelRoomReservation { id: reservation.id, actor: Actor::Admin }).unwrap();
    assert_eq!(day(&mut world, room, TOMORROW), "10:00B 11:00L 12:00L 13:00 14:00");
    let gone = SlotId { room, start: slot_at(TOMORROW, "09:00") };
    assert!(world.memory.calendar.slots.rows().all(|(id, _)| *id != gone), "not even its row is left");
    assert_eq!(world.run(&UnblockSlots { room, slots: blocked }).unwrap(), []);
    world.run(&ReleaseLock { id: released.id, actor: Actor::Admin }).unwrap();
    assert_eq!(day(&mut world, room, TOMORROW), "12:00L 13:00 14:00");
    world.wait(Span::from_secs(300));
    assert_eq!(day(&mut world, room, TOMORROW), "13:00 14:00", "also by time alone");
    let gone = slots_at(TOMORROW, &["12:00"]);
    assert_eq!(lock(&mut world, room, 4, &gone), Err(not_available(TOMORROW, "12:00")));
    assert_eq!(
        world.run(&block_command(room, &gone, BlockStatus::Blocked)),
        Err(CalendarRejection::SlotNotFound { date: TOMORROW, time: time("12:00") }.into())
    );
}

#[test]
fn a_lock_on_a_kept_slot_can_be_renewed_and_confirmed() {
    let mut world = world();
    let room = room(&mut world);
    let slots = slots_at(TOMORROW, &["09:00"]);
    lock(&mut world, room, 1, &slots).unwrap();
    set_hours_to_the_end(&mut world, room, "14:00-15:00");
    let again = lock(&mut world, room, 1, &slots).unwrap();
    confirm(&mut world, &again);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 14:00");
}

#[test]
fn where_a_lock_was_in_the_way_slots_are_made_later() {
    let mut world = world();
    let room = room(&mut world);
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let rebuilt = set_hours_to_the_end(&mut world, room, "09:30-11:30");
    assert!(rebuilt.done);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00L 10:30");
    assert_eq!(generate(&mut world, room), 0, "it is still in the way");
    world.wait(Span::from_secs(300));
    generate(&mut world, room);
    assert_eq!(day(&mut world, room, TOMORROW), "09:30 10:30");
    assert_eq!(world.memory.calendar.hours.rows().next().unwrap().1.rebuild, None);
}

#[test]
fn where_a_lock_was_in_the_way_is_remembered_while_other_days_are_rebuilt() {
    let mut world = world();
    let room = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(25), ..draft() })).unwrap().id;
    set_hours_to_the_end(&mut world, room, "00:00-24:00");
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
fn a_lock_after_midnight_may_be_in_the_way_of_a_slot_of_the_day_before() {
    let mut world = world();
    let room = room_open(&mut world, "22:00-02:00");
    let after_tomorrow = date(2026, 6, 3);
    lock(&mut world, room, 1, &slots_at(after_tomorrow, &["00:00"])).unwrap();
    set_hours_to_the_end(&mut world, room, "22:30-02:30");
    assert_eq!(day(&mut world, room, after_tomorrow), "00:00L 01:30 22:30 23:30");
    assert!(!day(&mut world, room, TOMORROW).contains("23:30"));
    world.wait(Span::from_secs(300));
    while !world.run(&RebuildSlots { room }).unwrap().done {}
    assert!(day(&mut world, room, TOMORROW).ends_with("22:30 23:30"));
    assert_eq!(day(&mut world, room, after_tomorrow), "00:30 01:30 22:30 23:30");
}

/// Prices and lengths are those of the moment a slot was made, whoever has it locked and however long.
#[test]
fn once_rebuilt_slots_stay_as_they_are_also_where_a_lock_was_in_the_way() {
    for locked in ["10:00", "09:00"] {
        let mut world = world();
        let room = room(&mut world);
        lock(&mut world, room, 1, &slots_at(TOMORROW, &[locked])).unwrap();
        set_hours_to_the_end(&mut world, room, "10:00-13:00");
        let is_pending = world.memory.calendar.hours.rows().next().unwrap().1.rebuild.is_some();
        assert_eq!(is_pending, locked == "09:00", "a lock within the hours is not in the way");
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
fn the_same_hours_again_change_nothing() {
    let mut world = world();
    let room = room(&mut world);
    let rebuilt = set_hours_to_the_end(&mut world, room, "09:00-12:00");
    assert_eq!(rebuilt, Rebuilt { done: true, ..Rebuilt::default() });
    assert_eq!(world.run(&RebuildSlots { room }), Ok(Rebuilt { done: true, ..Rebuilt::default() }));
}

#[test]
fn exceptions_are_rebuilt_too() {
    let mut world = world();
    let room = room(&mut world);
    set_hours(&mut world, room, "09:00-12:00", &[(TOMORROW, ""), (date(2026, 6, 3), "18:00-20:00")]);
    assert_eq!(day(&mut world, room, TOMORROW), "");
    assert_eq!(day(&mut world, room, date(2026, 6, 3)), "18:00 19:00");
    assert_eq!(day(&mut world, room, date(2026, 6, 4)), "09:00 10:00 11:00");
}

#[test]
fn rebuilding_some_days_at_a_time_never_lets_slots_overlap() {
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
    // From 20:10 in steps of 25 minutes, on every day, without a hole where one command took over from the other.
    for days in 3..60 {
        let date = wall::days_after(TODAY, days);
        assert!(day(&mut world, room, date).ends_with("20:10 20:35 21:00 21:25 21:50 22:15 22:40 23:05 23:30 23:55"));
    }
}

#[test]
fn a_slot_deleted_in_the_moment_in_which_it_is_locked_is_never_sold() {
    let mut world = world();
    let room = room(&mut world);
    // Two tiers: the lock is placed on what was read before the slots were rebuilt.
    let before = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let mut live = std::mem::take(&mut world.memory.calendar.by_slot);
    let mut held = std::mem::take(&mut world.memory.held);
    world.memory.calendar.by_slot = Table::complete();
    world.memory.held = Table::complete();
    set_hours_to_the_end(&mut world, room, "09:00-12:00 14:00-15:00");
    set_hours_to_the_end(&mut world, room, "14:00-15:00");
    std::mem::swap(&mut world.memory.calendar.by_slot, &mut live);
    std::mem::swap(&mut world.memory.held, &mut held);
    let command = ConfirmLock { id: before.id, actor: Actor::Admin };
    assert_eq!(world.run(&command), Err(not_available(TOMORROW, "09:00")));
    assert_eq!(world.run_in_steps(&command), Err(not_available(TOMORROW, "09:00")));
    let attempt = world.prepare(&command).unwrap();
    assert_eq!(world.record(&command, attempt), Err(Stop::Rejected(not_available(TOMORROW, "09:00"))));
    world.finish(&command, attempt, None);
    world.run(&ReleaseLock { id: before.id, actor: Actor::Admin }).expect("it is live again");
}
