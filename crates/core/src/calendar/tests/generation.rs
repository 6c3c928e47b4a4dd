//! Generating and purging slots.

use super::*;
use crate::calendar::generation::{ClearOldSlots, Cleared, Generated};
use crate::calendar::room::{self, ChangeRoom};
use crate::rejection::Fault;

fn until(days: u32) -> Date {
    local_time::days_after(TODAY, days)
}

fn count(world: &World) -> usize {
    world.memory.calendar.slots.rows().count()
}

#[test]
fn slots_are_generated_sixty_days_ahead_once() {
    let mut world = world();
    let room = world.run(&CreateRoom(draft())).unwrap().id;
    set_hours_and_rebuild(&mut world, room, "09:00-12:00");
    assert_eq!(count(&world), 0, "setting the first hours generates no slots");
    let generated = world.run(&GenerateSlots { room, until: None }).unwrap();
    assert_eq!(generated, Generated { created: 61 * 3, generated_until: Some(until(60)), done: true });
    let repeated = world.run(&GenerateSlots { room, until: None }).unwrap();
    assert_eq!(repeated, Generated { created: 0, ..generated });
    assert_eq!(day(&mut world, room, TODAY), "09:00 10:00 11:00");
    assert_eq!(day(&mut world, room, until(60)), "09:00 10:00 11:00");
    assert_eq!(day(&mut world, room, until(61)), "");
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn room_without_hours_gets_no_slots() {
    let mut world = world();
    let room = world.run(&CreateRoom(draft())).unwrap().id;
    let nothing = Generated { created: 0, generated_until: None, done: true };
    assert_eq!(world.run(&GenerateSlots { room, until: None }), Ok(nothing));
    set_hours_and_rebuild(&mut world, room, "09:00-12:00");
    assert_eq!(generate(&mut world, room), 61 * 3);
    assert_eq!(day(&mut world, room, TODAY), "09:00 10:00 11:00");
}

#[test]
fn generate_catches_up_missed_days() {
    let mut world = world();
    let room = room(&mut world);
    world.wait(Span::from_hours(24 * 5));
    assert_eq!(generate(&mut world, room), 5 * 3);
    world.wait(Span::from_hours(24 * 100));
    assert_eq!(generate(&mut world, room), 61 * 3, "past days are skipped");
    assert_eq!(day(&mut world, room, until(80)), "");
}

#[test]
fn last_day_is_at_most_a_year_ahead() {
    let mut world = world();
    let room = room(&mut world);
    let mut make = |date| world.run(&GenerateSlots { room, until: Some(date) });
    assert_eq!(make(until(59)).unwrap().created, 0, "the day is generated already");
    assert_eq!(make(until(62)), Ok(Generated { created: 6, generated_until: Some(until(62)), done: true }));
    let rejected = |fault| Err(Rejection::invalid("until", fault));
    assert_eq!(make(date(2026, 5, 31)), rejected(Fault::InThePast));
    assert_eq!(make(until(367)), rejected(Fault::TooFarAhead { days_max: 366 }));
    assert!(make(until(366)).is_ok());
    let unknown = GenerateSlots { room: RoomId::new(99).unwrap(), until: None };
    assert_eq!(world.run(&unknown), Err(CalendarRejection::RoomNotFound.into()));
}

#[test]
fn generate_is_bounded_per_command() {
    let mut world = world();
    world.limits.calendar.days_ahead = 366;
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours(&mut world, id, "00:00-24:00", &[]);
    let mut commands = 0;
    loop {
        let before = count(&world);
        let generated = world.run(&GenerateSlots { room: id, until: None }).unwrap();
        assert!(count(&world) - before <= SLOTS_PER_COMMAND_MAX);
        commands += 1;
        if generated.done {
            break;
        }
        assert!(generated.created > 0, "each command continues where the last one stopped");
    }
    assert_eq!(count(&world), 367 * 96);
    assert!(commands < 25, "{commands}");
    let logged: u32 = world.memory.calendar.generations.rows().map(|(_, log)| log.slots_created).sum();
    assert_eq!(logged, 367 * 96);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn extending_the_range_is_bounded_per_command() {
    let mut world = world();
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours_and_rebuild(&mut world, id, "00:00-24:00");
    assert_eq!(generate(&mut world, id), 61 * 96);
    let mut days = 0;
    loop {
        let generated = world.run(&GenerateSlots { room: id, until: Some(until(366)) }).unwrap();
        assert!(generated.created as usize <= SLOTS_PER_COMMAND_MAX);
        days += generated.created / 96;
        if generated.done {
            break;
        }
    }
    assert_eq!(days, 306);
    assert_eq!(audit(&world), [""; 0]);
}

#[test]
fn generation_is_logged() {
    let mut world = world();
    let room = room(&mut world);
    set_hours_and_rebuild(&mut world, room, "09:00-13:00");
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
fn inactive_room_gets_no_slots() {
    let mut world = world();
    let id = room(&mut world);
    let active = |active| ChangeRoom { id, draft: RoomDraft { active: Some(active), ..RoomDraft::default() } };
    world.run(&active(false)).unwrap();
    world.wait(Span::from_hours(24));
    assert_eq!(generate(&mut world, id), 0);
    let rebuilt = set_hours_and_rebuild(&mut world, id, "14:00-16:00");
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
fn old_slots_are_purged_and_reservations_stay() {
    let mut world = world();
    let id = room(&mut world);
    let reservation = reserve(&mut world, id, 1, &slots_at(TODAY, &["09:00"]));
    let clear = ClearOldSlots { room: id };
    assert_eq!(world.run(&clear), Ok(Cleared { deleted: 0, done: true }));
    world.wait(Span::from_hours(24 * 93));
    generate(&mut world, id);
    assert_eq!(world.run(&clear), Ok(Cleared { deleted: 3, done: true }), "the slots of one day are 93 days old");
    assert_eq!(world.run(&clear), Ok(Cleared { deleted: 0, done: true }));
    assert_eq!(day(&mut world, id, TODAY), "");
    assert_eq!(day(&mut world, id, TOMORROW), "09:00 10:00 11:00");
    let actor = Actor::User(user(1));
    assert_eq!(world.ask(|rows, _| reservation::find(rows, reservation.id, &actor)), Ok(reservation.clone()));
    assert_eq!(audit(&world), [""; 0]);
    let cancelled = world.run(&reservation::CancelRoomReservation { id: reservation.id, actor }).unwrap();
    assert_eq!(cancelled.state, RoomReservationState::Cancelled { at: world.now }, "cancellable without its slots");
    let unknown = ClearOldSlots { room: RoomId::new(99).unwrap() };
    assert_eq!(world.run(&unknown), Err(CalendarRejection::RoomNotFound.into()));
}

#[test]
fn purge_is_bounded_per_command() {
    let mut world = world();
    let id = world.run(&CreateRoom(RoomDraft { slot_minutes: Some(15), ..draft() })).unwrap().id;
    set_hours_and_rebuild(&mut world, id, "00:00-24:00");
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
