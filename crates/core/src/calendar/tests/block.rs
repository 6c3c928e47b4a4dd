//! Blocking, unblocking and repricing slots.

use super::*;
use crate::calendar::block::UnblockSlots;
use crate::calendar::holiday::SetHolidays;
use crate::calendar::reprice::{RepriceSlots, Repriced};
use crate::calendar::room::ChangeRoom;
use crate::command::{Stop, Writes};
use crate::event::Event;
use crate::hold::RecoverHold;
use crate::rejection::Fault;
use crate::table::TableState;

fn in_both_modes(test: impl Fn(&dyn Fn(&mut World, &BlockSlots) -> Result<Vec<SlotView>, Rejection>)) {
    test(&|world, command| world.run(command));
    test(&|world, command| {
        // Two locks must differ in their time or their random bytes.
        world.wait(Span::from_millis(1));
        world.run_in_steps(command)
    });
}

#[test]
fn block_and_unblock_are_idempotent() {
    in_both_modes(|run| {
        let mut world = world();
        let room = room(&mut world);
        let slots = slots_at(TOMORROW, &["09:00", "10:00"]);
        world.events.clear();
        let views = run(&mut world, &block_command(room, &slots, BlockStatus::Blocked)).unwrap();
        assert_eq!(views.iter().map(|view| view.status).collect::<Vec<_>>(), [SlotStatus::Blocked; 2]);
        let event = |slots: &[SlotStart], status| Event::RoomSlotsBlocked { room, slots: slots.into(), status };
        assert_eq!(world.events, [event(&slots, BlockStatus::Blocked)]);
        run(&mut world, &block_command(room, &slots, BlockStatus::Blocked)).unwrap();
        assert_eq!(world.events.len(), 1, "an unchanged slot emits no event");
        run(&mut world, &block_command(room, &slots[..1], BlockStatus::Maintenance)).unwrap();
        assert_eq!(world.events[1], event(&slots[..1], BlockStatus::Maintenance));
        assert_eq!(day(&mut world, room, TOMORROW), "09:00M 10:00B 11:00");
        assert_eq!(world.memory.held.rows().count(), 0, "no unit is held any more");
        assert_eq!(world.memory.owner_holds.rows().count(), 0);
        let unblock = UnblockSlots { room, slots: slots_at(TOMORROW, &["09:00", "10:00", "11:00"]) };
        for _ in 0..2 {
            let views = world.run(&unblock).unwrap();
            assert_eq!(views.iter().map(|view| view.status).collect::<Vec<_>>(), [SlotStatus::Available; 3]);
        }
        assert_eq!(day(&mut world, room, TOMORROW), "09:00 10:00 11:00");
        assert_eq!(audit(&world), [""; 0]);
    });
}

#[test]
fn blocking_used_slot_is_rejected_as_a_whole() {
    in_both_modes(|run| {
        let mut world = world();
        let room = room_open(&mut world, "08:00-12:00");
        lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
        reserve(&mut world, room, 1, &slots_at(TOMORROW, &["10:00"]));
        for used in ["09:00", "10:00"] {
            let slots = slots_at(TOMORROW, &["08:00", used]);
            let expected = Err(not_available(TOMORROW, used));
            assert_eq!(run(&mut world, &block_command(room, &slots, BlockStatus::Blocked)), expected);
            assert_eq!(world.run(&UnblockSlots { room, slots }), expected);
        }
        let missing = slots_at(TOMORROW, &["08:00", "08:30"]);
        let not_found = Err(CalendarRejection::SlotNotFound { date: TOMORROW, time: time("08:30") }.into());
        assert_eq!(run(&mut world, &block_command(room, &missing, BlockStatus::Blocked)), not_found);
        assert_eq!(world.run(&UnblockSlots { room, slots: missing }), not_found);
        let nothing = run(&mut world, &block_command(room, &[], BlockStatus::Blocked));
        assert_eq!(nothing, Err(Rejection::invalid("times", Fault::Missing)));
        let unknown = block_command(RoomId::new(99).unwrap(), &slots_at(TOMORROW, &["08:00"]), BlockStatus::Blocked);
        assert_eq!(run(&mut world, &unknown), Err(CalendarRejection::RoomNotFound.into()));
        assert_eq!(day(&mut world, room, TOMORROW), "08:00 09:00L 10:00R 11:00");
        world.wait(Span::from_secs(300));
        let slots = slots_at(TOMORROW, &["09:00"]);
        run(&mut world, &block_command(room, &slots, BlockStatus::Blocked)).expect("the lock has ended");
    });
}

#[test]
fn slot_is_not_locked_while_being_blocked() {
    let mut world = world();
    let room = room(&mut world);
    let slots = slots_at(TOMORROW, &["09:00", "10:00"]);
    let block = block_command(room, &slots, BlockStatus::Blocked);
    let attempt = world.prepare(&block).unwrap();
    let other = lock_command(&world, room, 1, &slots[1..]);
    let decide = |world: &mut World| world.step(Writes::Live, |rows, at| crate::Command::decide(&other, rows, at));
    assert_eq!(decide(&mut world), Err(Stop::Retry));
    world.wait(Span::from_secs(30));
    let views = world.record(&block, attempt).unwrap();
    assert_eq!(decide(&mut world), Err(Stop::Rejected(not_available(TOMORROW, "10:00"))));
    assert_eq!(audit(&world), [""; 0]);
    world.finish(&block, attempt, Some(&views));
    world.finish(&block, attempt, Some(&views));
    assert_eq!(world.memory.held.rows().count(), 0);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00B 10:00B 11:00");
}

#[test]
fn abandoned_block_attempt_is_finished() {
    for is_committed in [false, true] {
        let mut world = world();
        let room = room(&mut world);
        let slots = slots_at(TOMORROW, &["09:00"]);
        let block = block_command(room, &slots, BlockStatus::Blocked);
        let attempt = world.prepare(&block).unwrap();
        assert!(world.memory.holds.rows().next().is_some(), "prepared");
        world.wait(Span::from_secs(3_600));
        world.run(&RecoverHold { of: attempt, is_committed }).unwrap();
        assert_eq!(world.memory.held.rows().count(), 0);
        assert_eq!(audit(&world), [""; 0]);
        lock(&mut world, room, 1, &slots).expect("the slot was not recorded as blocked");
        // A late step of the failed server has no effect.
        assert_eq!(world.record(&block, attempt), Err(Stop::Retry));
        world.finish(&block, attempt, None);
    }
}

#[test]
fn block_of_slot_sold_after_loss_is_rejected() {
    let mut world = world();
    let room = room(&mut world);
    let slots = slots_at(TOMORROW, &["09:00"]);
    let block = block_command(room, &slots, BlockStatus::Blocked);
    let attempt = world.prepare(&block).unwrap();
    let (held, by_slot) = (
        std::mem::replace(&mut world.memory.held, TableState::complete()),
        std::mem::replace(&mut world.memory.calendar.by_slot, TableState::complete()),
    );
    world.memory.held = TableState::complete();
    world.memory.calendar.by_slot = TableState::complete();
    reserve(&mut world, room, 1, &slots);
    world.memory.held = held;
    world.memory.calendar.by_slot = by_slot;
    assert_eq!(world.record(&block, attempt), Err(Stop::Rejected(not_available(TOMORROW, "09:00"))));
    world.finish(&block, attempt, None);
    assert_eq!(day(&mut world, room, TOMORROW), "09:00R 10:00 11:00");
}

#[test]
fn reprice_changes_free_slots_only() {
    let mut world = world();
    let id = room_open(&mut world, "07:00-12:00");
    lock(&mut world, id, 1, &slots_at(TOMORROW, &["08:00"])).unwrap();
    reserve(&mut world, id, 1, &slots_at(TOMORROW, &["09:00"]));
    world.run(&block_command(id, &slots_at(TOMORROW, &["10:00"]), BlockStatus::Blocked)).unwrap();
    let draft = RoomDraft { base_price: Some(200), holiday_percent: Some(50), ..RoomDraft::default() };
    world.run(&ChangeRoom { id, draft }).unwrap();
    world.run(&SetHolidays { country: Country::KR, dates: vec![TOMORROW] }).unwrap();
    let reprice = RepriceSlots { room: id, from: TODAY, to: TOMORROW };
    assert_eq!(world.run(&reprice), Ok(Repriced { changed: 3 + 2, next: None }), "slots that have begun are skipped");
    assert_eq!(world.run(&reprice), Ok(Repriced { changed: 0, next: None }));
    let prices = |date| -> Vec<i64> {
        let views = list(&world, id, date, date).unwrap();
        views.iter().map(|view| view.final_price).collect()
    };
    assert_eq!(prices(TODAY), [10_000, 10_000, 200, 200, 200]);
    assert_eq!(prices(TOMORROW), [300, 10_000, 10_000, 10_000, 300]);
    let unknown = RepriceSlots { room: RoomId::new(99).unwrap(), ..reprice.clone() };
    assert_eq!(world.run(&unknown), Err(CalendarRejection::RoomNotFound.into()));
    let long = RepriceSlots { to: date(2027, 6, 2), ..reprice };
    assert_eq!(world.run(&long), Err(Rejection::invalid("to", Fault::TooManyDays { max: 366 })));
}

#[test]
fn reprice_is_bounded_per_command() {
    let mut world = world();
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours_and_rebuild(&mut world, id, "00:00-24:00");
    generate(&mut world, id);
    world.run(&ChangeRoom { id, draft: RoomDraft { base_price: Some(1), ..RoomDraft::default() } }).unwrap();
    let (mut from, to) = (TOMORROW, date(2027, 5, 31));
    let mut changed = 0;
    loop {
        let repriced = world.run(&RepriceSlots { room: id, from, to }).unwrap();
        assert!(repriced.changed as usize <= SLOTS_PER_COMMAND_MAX);
        changed += repriced.changed;
        match repriced.next {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(changed, 60 * 96);
}
