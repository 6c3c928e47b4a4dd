//! Slots made ahead, and cleared behind.

use super::*;
use crate::calendar::generation::{ClearOldSlots, Cleared, Generated};
use crate::calendar::room::{self, ChangeRoom};
use crate::rejection::Fault;

fn until(days: u32) -> Date {
    wall::days_after(TODAY, days)
}

fn count(world: &World) -> usize {
    world.memory.calendar.slots.rows().count()
}

#[test]
fn slots_are_made_from_today_to_sixty_days_ahead_and_only_once() {
    let mut world = world();
    let room = world.run(&CreateRoom(draft())).unwrap().id;
    set_hours_to_the_end(&mut world, room, "09:00-12:00");
    assert_eq!(count(&world), 0, "the first hours of a room make none");
    let made = world.run(&GenerateSlots { room, until: None }).unwrap();
    assert_eq!(made, Generated { created: 61 * 3, generated_until: Some(until(60)), done: true });
    let again = world.run(&GenerateSlots { room, until: None }).unwrap();
    assert_eq!(again, Generated { created: 0, ..made });
    assert_eq!(day(&mut world, room, TODAY), "09:00 10:00 11:00");
    assert_eq!(day(&mut world, room, until(60)), "09:00 10:00 11:00");
    assert_eq!(day(&mut world, room, until(61)), "");
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn a_room_without_hours_gets_no_slots_until_it_has_some() {
    let mut world = world();
    let room = world.run(&CreateRoom(draft())).unwrap().id;
    let nothing = Generated { created: 0, generated_until: None, done: true };
    assert_eq!(world.run(&GenerateSlots { room, until: None }), Ok(nothing));
    set_hours_to_the_end(&mut world, room, "09:00-12:00");
    assert_eq!(generate(&mut world, room), 61 * 3);
    assert_eq!(day(&mut world, room, TODAY), "09:00 10:00 11:00");
}

#[test]
fn missed_midnights_are_made_up_for() {
    let mut world = world();
    let room = room(&mut world);
    world.wait(Span::from_hours(24 * 5));
    assert_eq!(generate(&mut world, room), 5 * 3);
    world.wait(Span::from_hours(24 * 100));
    assert_eq!(generate(&mut world, room), 61 * 3, "days that are over are not made");
    assert_eq!(day(&mut world, room, until(80)), "");
}

#[test]
fn the_last_day_may_be_named_within_a_year() {
    let mut world = world();
    let room = room(&mut world);
    let mut make = |date| world.run(&GenerateSlots { room, until: Some(date) });
    assert_eq!(make(until(59)).unwrap().created, 0, "it is made already");
    assert_eq!(make(until(62)), Ok(Generated { created: 6, generated_until: Some(until(62)), done: true }));
    let refused = |fault| Err(Rejection::invalid("until", fault));
    assert_eq!(make(date(2026, 5, 31)), refused(Fault::InThePast));
    assert_eq!(make(until(367)), refused(Fault::TooFarAhead { days_max: 366 }));
    assert!(make(until(366)).is_ok());
    let unknown = GenerateSlots { room: RoomId::new(99).unwrap(), until: None };
    assert_eq!(world.run(&unknown), Err(CalendarRejection::RoomNotFound.into()));
}

#[test]
fn many_slots_are_made_some_at_a_time() {
    let mut world = world();
    world.limits.calendar.days_ahead = 366;
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours(&mut world, id, "00:00-24:00", &[]);
    let mut commands = 0;
    loop {
        let before = count(&world);
        let made = world.run(&GenerateSlots { room: id, until: None }).unwrap();
        assert!(count(&world) - before <= SLOTS_PER_COMMAND_MAX);
        commands += 1;
        if made.done {
            break;
        }
        assert!(made.created > 0, "each goes on where the last one stopped");
    }
    assert_eq!(count(&world), 367 * 96);
    assert!(commands < 25, "{commands}");
    let logged: u32 = world.memory.calendar.generations.rows().map(|(_, log)| log.slots_created).sum();
    assert_eq!(logged, 367 * 96);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn days_beyond_the_last_one_are_made_some_at_a_time_too() {
    let mut world = world();
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours_to_the_end(&mut world, id, "00:00-24:00");
    assert_eq!(generate(&mut world, id), 61 * 96);
    let mut days = 0;
    loop {
        let made = world.run(&GenerateSlots { room: id, until: Some(until(366)) }).unwrap();
        assert!(made.created as usize <= SLOTS_PER_COMMAND_MAX);
        days += made.created / 96;
        if made.done {
            break;
        }
    }
    assert_eq!(days, 306);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn what_was_made_is_logged_and_nothing_else() {
    let mut world = world();
    let room = room(&mut world);
    set_hours_to_the_end(&mut world, room, "09:00-13:00");
    generate(&mut world, room);
    let mut log: Vec<(GenerationId, Generation)> =
        world.memory.calendar.generations.rows().map(|(id, log)| (*id, *log)).collect();
    log.sort_by_key(|(id, _)| id.number);
    let entry = |slots_created| Generation {
        generation_date: TODAY,
        slots_created,
        generated_until: until(60),
        created_at: world.now,
    };
    assert_eq!(log.iter().map(|(_, log)| *log).collect::<Vec<_>>(), [entry(183), entry(60), entry(1)]);
    assert!(log.iter().all(|(id, _)| id.room == room));
}

#[test]
fn inactive_rooms_get_no_slots_until_they_are_active_again() {
    let mut world = world();
    let id = room(&mut world);
    let active = |active| ChangeRoom { id, draft: RoomDraft { active: Some(active), ..RoomDraft::default() } };
    world.run(&active(false)).unwrap();
    world.wait(Span::from_hours(24));
    assert_eq!(generate(&mut world, id), 0);
    let rebuilt = set_hours_to_the_end(&mut world, id, "14:00-16:00");
    assert_eq!((rebuilt.created, rebuilt.deleted), (0, 59 * 3));
    assert_eq!(day(&mut world, id, until(3)), "");
    world.wait(Span::from_hours(24));
    world.run(&active(true)).unwrap();
    generate(&mut world, id);
    assert_eq!(day(&mut world, id, until(3)), "14:00 15:00");
    assert_eq!(day(&mut world, id, until(62)), "14:00 15:00");
    assert_eq!(world.memory.calendar.hours.rows().next().unwrap().1.rebuild, None);
}

#[test]
fn old_slots_are_cleared_and_reservations_stay() {
    let mut world = world();
    let id = room(&mut world);
    let reservation = reserve(&mut world, id, 1, &slots_at(TODAY, &["09:00"]));
    let clear = ClearOldSlots { room: id };
    assert_eq!(world.run(&clear), Ok(Cleared { deleted: 0, done: true }));
    world.wait(Span::from_hours(24 * 93));
    generate(&mut world, id);
    assert_eq!(world.run(&clear), Ok(Cleared { deleted: 3, done: true }), "those of one day are 93 days old");
    assert_eq!(world.run(&clear), Ok(Cleared { deleted: 0, done: true }));
    assert_eq!(day(&mut world, id, TODAY), "");
    assert_eq!(day(&mut world, id, TOMORROW), "09:00 10:00 11:00");
    let actor = Actor::User(user(1));
    assert_eq!(world.ask(|rows, _| reservation::find(rows, reservation.id, actor)), Ok(reservation.clone()));
    assert_eq!(audit(&world), [""; 0]);
    let cancelled = world.run(&reservation::CancelRoomReservation { id: reservation.id, actor }).unwrap();
    assert_eq!(cancelled.state, RoomReservationState::Cancelled { at: world.now }, "also without its slots");
    let unknown = ClearOldSlots { room: RoomId::new(99).unwrap() };
    assert_eq!(world.run(&unknown), Err(CalendarRejection::RoomNotFound.into()));
}

#[test]
fn many_old_slots_are_cleared_some_at_a_time() {
    let mut world = world();
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours_to_the_end(&mut world, id, "00:00-24:00");
    generate(&mut world, id);
    world.wait(Span::from_hours(24 * 200));
    let mut deleted = 0;
    loop {
        let cleared = world.run(&ClearOldSlots { room: id }).unwrap();
        assert!(cleared.deleted as usize <= SLOTS_PER_COMMAND_MAX);
        deleted += cleared.deleted;
        if cleared.done {
            break;
        }
    }
    assert_eq!((deleted, count(&world)), (61 * 96, 0));
    let kept_from = world.ask(|rows, _| room::find(rows, id)).unwrap().kept_from;
    assert_eq!(kept_from, Some(until(200 - 92)));
}
