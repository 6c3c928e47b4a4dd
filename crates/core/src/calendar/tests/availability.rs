//! Availability, statistics and lists of slots.

use super::*;
use crate::calendar::availability::{Availability, AvailabilityResult, RequestedSlotStatus, availability};
use crate::calendar::generation::ClearOldSlots;
use crate::calendar::reservation::CancelRoomReservation;
use crate::calendar::stats::{Sold, stats};
use crate::rejection::Fault;

fn ask(world: &mut World, room: RoomId, by: Option<u64>, slots: &[SlotStart]) -> Result<Availability, Rejection> {
    world.ask(|rows, at| availability(rows, at, room, by.map(user).as_ref(), slots))
}

/// Returns a room that has a slot of every status tomorrow.
fn mixed() -> (World, RoomId) {
    let mut world = world();
    let room = room_open(&mut world, "07:00-15:00");
    lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00", "10:00"])).unwrap();
    reserve(&mut world, room, 1, &slots_at(TOMORROW, &["11:00"]));
    world.run(&block_command(room, &slots_at(TOMORROW, &["12:00"]), BlockStatus::Blocked)).unwrap();
    world.run(&block_command(room, &slots_at(TOMORROW, &["13:00"]), BlockStatus::Maintenance)).unwrap();
    (world, room)
}

#[test]
fn result_depends_on_slots_and_caller() {
    use AvailabilityResult::{Available, PartiallyAvailable, TemporarilyUnavailable, Unavailable};
    let (mut world, room) = mixed();
    let cases: [(Option<u64>, &[&str], AvailabilityResult, i64); 14] = [
        (None, &["07:00", "08:00"], Available, 20_000),
        (Some(1), &["09:00", "08:00"], Available, 20_000),
        (Some(1), &["09:00", "10:00"], Available, 20_000),
        (Some(2), &["09:00", "08:00"], PartiallyAvailable, 10_000),
        (None, &["09:00", "08:00"], PartiallyAvailable, 10_000),
        (Some(2), &["09:00", "10:00"], TemporarilyUnavailable, 0),
        (None, &["09:00"], TemporarilyUnavailable, 0),
        (Some(1), &["11:00"], Unavailable, 0),
        (Some(2), &["08:00", "11:00"], Unavailable, 10_000),
        (Some(2), &["08:00", "12:00"], Unavailable, 10_000),
        (Some(2), &["08:00", "13:00"], Unavailable, 10_000),
        (Some(2), &["08:00", "08:30"], Unavailable, 10_000),
        (Some(2), &["09:00", "15:00"], Unavailable, 0),
        (Some(2), &["09:00", "08:00", "11:00"], Unavailable, 10_000),
    ];
    for (by, times, result, total_price) in cases {
        let found = ask(&mut world, room, by, &slots_at(TOMORROW, times)).unwrap();
        assert_eq!((found.result, found.total_price), (result, total_price), "{by:?} {times:?}");
    }
    let past = ask(&mut world, room, None, &slots_at(TODAY, &["08:00", "09:00"])).unwrap();
    assert_eq!(past.result, Unavailable, "one slot has begun");
    assert_eq!(past.slots[0].status, RequestedSlotStatus::Past);
    world.wait(Span::from_secs(300));
    let found = ask(&mut world, room, Some(2), &slots_at(TOMORROW, &["09:00", "10:00"])).unwrap();
    assert_eq!(found.result, Available, "an ended lock frees its slots at once");
}

#[test]
fn slots_have_status_and_price_in_order() {
    let (mut world, room) = mixed();
    let times = ["13:00", "12:00", "11:00", "10:00", "08:30", "08:00"];
    let found = ask(&mut world, room, Some(1), &slots_at(TOMORROW, &times)).unwrap();
    let actual: Vec<_> =
        found.slots.iter().map(|slot| (slot.start.time().to_string(), slot.status, slot.price)).collect();
    let expected = [
        ("08:00", RequestedSlotStatus::Available, Some(10_000)),
        ("08:30", RequestedSlotStatus::Missing, None),
        ("10:00", RequestedSlotStatus::LockedByCaller, Some(10_000)),
        ("11:00", RequestedSlotStatus::Reserved, Some(10_000)),
        ("12:00", RequestedSlotStatus::Blocked, Some(10_000)),
        ("13:00", RequestedSlotStatus::Maintenance, Some(10_000)),
    ];
    assert_eq!(actual, expected.map(|(time, status, price)| (time.to_string(), status, price)));
    let found = ask(&mut world, room, Some(2), &slots_at(TOMORROW, &["10:00"])).unwrap();
    assert_eq!(found.slots[0].status, RequestedSlotStatus::Locked);
}

#[test]
fn availability_without_locks_is_one_read() {
    let mut world = world();
    let room = room(&mut world);
    ask(&mut world, room, Some(1), &slots_at(TOMORROW, &["09:00", "10:00", "11:00"])).unwrap();
    assert_eq!(world.loads.get(), 1);
}

#[test]
fn invalid_queries_are_rejected() {
    let mut world = world();
    let room = room(&mut world);
    assert_eq!(ask(&mut world, room, None, &[]), Err(Rejection::invalid("times", Fault::Missing)));
    let unknown = RoomId::new(99).unwrap();
    let slots = slots_at(TOMORROW, &["09:00"]);
    assert_eq!(ask(&mut world, unknown, None, &slots), Err(CalendarRejection::RoomNotFound.into()));
    let list = |room, from, to| list(&world, room, from, to).map(|views| views.len());
    assert_eq!(list(unknown, TODAY, TODAY), Err(CalendarRejection::RoomNotFound.into()));
    assert_eq!(list(room, TODAY, date(2026, 8, 31)), Ok(61 * 3));
    let rejected = Err(Rejection::invalid("to", Fault::TooManyDays { max: 92 }));
    assert_eq!(list(room, TODAY, date(2026, 9, 1)), rejected);
    assert_eq!(list(room, TOMORROW, TODAY), Err(Rejection::invalid("to", Fault::EmptyRange)));
    assert_eq!(list(room, date(1960, 1, 1), date(1960, 1, 2)), Ok(0));
}

#[test]
fn slot_list_has_all_fields() {
    let (mut world, room) = mixed();
    assert_eq!(day(&mut world, room, TOMORROW), "07:00 08:00 09:00L 10:00L 11:00R 12:00B 13:00M 14:00");
    let views = list(&world, room, TOMORROW, TOMORROW).unwrap();
    let expected = SlotView {
        date: TOMORROW,
        time: time("11:00"),
        minutes: 60,
        status: SlotStatus::Reserved,
        base_price: 10_000,
        final_price: 10_000,
        currency: crate::money::Currency::KRW,
        is_peak: false,
        is_holiday: false,
        reservation: RoomReservationId::new(1),
    };
    assert_eq!(views[4], expected);
}

#[test]
fn statistics_count_sales_by_day_and_hour() {
    let mut world = world();
    let room = room_open(&mut world, "09:00-13:00");
    let mut reservations = vec![
        reserve(&mut world, room, 1, &slots_at(TODAY, &["09:00", "10:00"])),
        reserve(
            &mut world,
            room,
            2,
            &[slot_at(TODAY, "11:00"), slot_at(TOMORROW, "09:00"), slot_at(date(2026, 6, 3), "09:00")],
        ),
        reserve(&mut world, room, 3, &slots_at(TOMORROW, &["12:00"])),
    ];
    let cancel = CancelRoomReservation { id: reservations[2].id, actor: Actor::Admin };
    reservations[2] = world.run(&cancel).unwrap();
    let ask = |world: &mut World, from, to| world.ask(|rows, at| stats(rows, at, room, from, to, &reservations));
    let found = ask(&mut world, TODAY, TOMORROW).unwrap();
    let sold = |total_slots, reserved_slots| Sold {
        total_slots,
        reserved_slots,
        reserved_slots_kept: reserved_slots,
        revenue: i64::from(reserved_slots) * 10_000,
    };
    assert_eq!(found.total, sold(8, 4));
    assert!((found.total.utilization() - 0.5).abs() < f64::EPSILON);
    assert_eq!(found.by_day, [(TODAY, sold(4, 3)), (TOMORROW, sold(4, 1))]);
    assert_eq!(found.by_hour[9..13], [sold(2, 2), sold(2, 1), sold(2, 1), sold(2, 0)]);
    assert_eq!(found.by_hour[8], Sold::default());
    assert!(found.by_hour[8].utilization().abs() < f64::EPSILON);

    world.wait(Span::from_hours(24 * 93));
    world.run(&ClearOldSlots { room }).unwrap();
    let found = ask(&mut world, TODAY, TOMORROW).unwrap();
    let cleared = Sold { total_slots: 0, reserved_slots: 3, reserved_slots_kept: 0, revenue: 30_000 };
    assert_eq!(found.by_day, [(TODAY, cleared), (TOMORROW, sold(4, 1))], "revenue is kept");
    assert!((found.total.utilization() - 0.25).abs() < f64::EPSILON);
    let rejected = Rejection::invalid("to", Fault::TooManyDays { max: 366 });
    assert_eq!(ask(&mut world, TODAY, date(2027, 6, 2)), Err(rejected));
}
