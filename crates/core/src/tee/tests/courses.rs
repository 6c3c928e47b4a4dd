//! Courses and their slots.

use super::*;
use crate::money::{Currency, PRICE_MAX};
use crate::time::Zone;

#[test]
fn course_requires_name_and_defaults_to_seoul() {
    let mut club = Club::new();
    let mut create =
        |name: &str, zone: Option<&str>| club.run(&CreateCourse { name: name.into(), time_zone: zone.map(Into::into) });
    assert_eq!(create("한강", None).unwrap().zone.name(), "Asia/Seoul");
    assert_eq!(create("Old Course", Some("Europe/London")).unwrap().zone.name(), "Europe/London");
    assert_eq!(invalid(create(" ", None)), ("name", Fault::Blank));
    assert_eq!(invalid(create("한강", Some("Mars/Olympus"))), ("timeZone", Fault::UnknownTimeZone));
}

#[test]
fn slots_are_created_in_order_and_replicated() {
    let mut club = Club::new();
    let course = club.course();
    let slots = vec![SlotDraft { start: start("08:00"), ..draft() }, SlotDraft { max_players: 2, ..draft() }];
    let slots = club.run(&CreateSlots { course, slots }).unwrap();
    assert_eq!(slots.iter().map(|slot| slot.start.to_string()).collect::<Vec<_>>(), ["08:00", "07:30"]);
    let slot = &slots[1];
    assert_eq!((slot.max_players, slot.booked, slot.free(), slot.status()), (2, 0, 2, SlotStatus::Available));
    assert_eq!((slot.price, slot.currency, slot.version), (10_000, Currency::KRW, 1));
    assert_eq!(slot.tee_off, timestamp("2025-11-19T22:30:00Z"), "half past seven in Seoul");
    assert_eq!(club.find_slot(slot.id), *slot);
    assert_eq!(club.world.memory.tee.slot_replicas.rows().count(), 0);
    club.inspect();
    assert_eq!(club.world.memory.tee.slot_replicas.rows().count(), 2);
}

#[test]
fn existing_slot_time_rejects_all() {
    let mut club = Club::new();
    let (course, other) = (club.course(), club.course());
    club.slot_of(course, draft());
    let exists = TeeRejection::SlotExists { date: date(2025, 11, 20), start: start("07:30") };
    let later = SlotDraft { start: start("07:40"), ..draft() };
    for slots in [vec![later.clone(), draft()], vec![draft(), later.clone()]] {
        assert_eq!(tee_rejection(club.run(&CreateSlots { course, slots })), exists);
    }
    let twice = SlotDraft { max_players: 1, ..later.clone() };
    assert_eq!(
        tee_rejection(club.run(&CreateSlots { course, slots: vec![later.clone(), twice] })),
        TeeRejection::SlotExists { date: date(2025, 11, 20), start: start("07:40") },
        "duplicates within one request"
    );
    assert_eq!(club.world.memory.tee.slots.rows().count(), 1);
    club.slot_of(other, draft());
    club.slot_of(course, later);
    club.inspect();
}

#[test]
fn slot_fields_are_bounded() {
    let mut club = Club::new();
    let course = club.course();
    let mut create = |draft: SlotDraft| club.run(&CreateSlots { course, slots: vec![draft] });
    for max_players in [0, SLOT_PLAYERS_MAX + 1] {
        let range = Fault::OutOfRange { min: 1, max: SLOT_PLAYERS_MAX.into() };
        assert_eq!(invalid(create(SlotDraft { max_players, ..draft() })), ("maxPlayers", range));
    }
    for price in [-1, PRICE_MAX + 1] {
        let range = Fault::OutOfRange { min: 0, max: PRICE_MAX };
        assert_eq!(invalid(create(SlotDraft { price, ..draft() })), ("price", range));
    }
    let currency = Some("won".into());
    assert_eq!(invalid(create(SlotDraft { currency, ..draft() })), ("currency", Fault::UnknownCurrency));
    assert_eq!(invalid(create(SlotDraft { date: date(1969, 12, 31), ..draft() })), ("date", Fault::InThePast));
    let far = Fault::TooFarAhead { days_max: DAYS_AHEAD_MAX };
    assert_eq!(invalid(create(SlotDraft { date: Date::MAX, ..draft() })), ("date", far));
    create(SlotDraft { date: date(2025, 11, 3), price: 0, ..draft() }).expect("past and free slots are accepted");
}

#[test]
fn number_of_slots_per_request_is_bounded() {
    let mut club = Club::new();
    let course = club.course();
    let slots = |count: u16| -> Vec<SlotDraft> {
        (0..count).map(|number| SlotDraft { start: StartTime::from_minutes(number).unwrap(), ..draft() }).collect()
    };
    let create = CreateSlots { course, slots: slots(1_000) };
    assert_eq!((create.weight(), club.run(&create).unwrap().len()), (1_000, 1_000));
    club.deliver();
    let too_many = club.run(&CreateSlots { course, slots: slots(1_001) });
    assert_eq!(invalid(too_many), ("slots", Fault::TooManyItems { max: 1_000 }));
    assert_eq!(invalid(club.run(&CreateSlots { course, slots: Vec::new() })), ("slots", Fault::Missing));
    club.inspect();
}

#[test]
fn slots_require_existing_course() {
    let mut club = Club::new();
    let course = CourseId::new(999).unwrap();
    assert_eq!(tee_rejection(club.run(&CreateSlots { course, slots: vec![draft()] })), TeeRejection::CourseNotFound);
    let listed = club.world.ask(|rows, _| slot::on_date(rows, course, date(2025, 11, 20)));
    assert_eq!(tee_rejection(listed), TeeRejection::CourseNotFound);
    assert_eq!(tee_rejection(club.world.ask(|rows, _| course::find(rows, course))), TeeRejection::CourseNotFound);
    assert_eq!(tee_rejection(club.world.ask(|rows, _| slot::find(rows, unknown_slot()))), TeeRejection::SlotNotFound);
}

#[test]
fn slots_of_a_date_are_listed_by_time() {
    let mut club = Club::new();
    let (course, other) = (club.course(), club.course());
    for (course, day, time) in
        [(course, 20, "09:00"), (course, 20, "07:10"), (course, 21, "08:00"), (other, 20, "08:00")]
    {
        club.slot_of(course, SlotDraft { date: date(2025, 11, day), start: start(time), ..draft() });
    }
    let listed = club.world.ask(|rows, _| slot::on_date(rows, course, date(2025, 11, 20))).unwrap();
    assert_eq!(listed.iter().map(|slot| slot.start.to_string()).collect::<Vec<_>>(), ["07:10", "09:00"]);
    assert_eq!(club.world.ask(|rows, _| slot::on_date(rows, course, date(2025, 11, 22))).unwrap(), []);
}

#[test]
fn start_time_is_two_digits_each() {
    for (text, minutes) in [("00:00", 0), ("07:05", 425), ("23:59", 1_439)] {
        assert_eq!(start(text).minutes(), minutes);
        assert_eq!(start(text).to_string(), text);
    }
    for text in ["", "7:05", "24:00", "12:60", "12-30", "12:300", "ab:cd", "+1:30", "１２:00"] {
        assert_eq!(StartTime::parse(text), None, "{text:?}");
    }
    assert_eq!(StartTime::from_minutes(1_440), None);
}

#[test]
fn tee_off_follows_clock_changes() {
    let zone = Zone::parse("America/New_York").unwrap();
    let tee_off = |date: Date, time| start(time).tee_off(date, &zone);
    assert_eq!(tee_off(date(2025, 11, 20), "07:30"), timestamp("2025-11-20T12:30:00Z"));
    assert_eq!(tee_off(date(2025, 3, 9), "02:30"), timestamp("2025-03-09T07:00:00Z"));
    assert_eq!(tee_off(date(2025, 11, 2), "01:30"), timestamp("2025-11-02T05:30:00Z"));
}
