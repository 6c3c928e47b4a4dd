//! Validation of rooms, hours and holidays.

use super::*;
use crate::calendar::holiday::{HOLIDAYS_MAX, HolidaysOf, SetHolidays, within};
use crate::calendar::room::{BASE_PRICE_MAX, ChangeRoom, PEAKS_MAX, PERCENT_MAX};
use crate::money::Currency;
use crate::rejection::Fault;

#[test]
fn room_has_defaults() {
    let room = world().run(&CreateRoom(draft())).unwrap();
    assert_eq!((room.zone.name(), room.country, room.currency), ("Asia/Seoul", Country::KR, Currency::KRW));
    assert!(room.active && room.peak.is_empty() && room.holiday_percent == 0);
    assert_eq!((room.generated_until, room.kept_from), (None, None));
}

#[test]
fn invalid_fields_are_rejected_by_name() {
    let peak = Peak {
        days: [jiff::civil::Weekday::Monday].into_iter().collect(),
        from: time("09:00"),
        to: time("10:00"),
        percent: 1,
    };
    let none = RoomDraft::default;
    let peaks = |peak: Peak| RoomDraft { peak: Some(vec![peak]), ..draft() };
    let range = |min, max| Fault::OutOfRange { min, max };
    let percents = range(0, PERCENT_MAX.into());
    let cases: Vec<(RoomDraft, &str, Fault)> = vec![
        (none(), "name", Fault::Missing),
        (RoomDraft { slot_minutes: None, ..draft() }, "slotMinutes", Fault::Missing),
        (RoomDraft { base_price: None, ..draft() }, "basePrice", Fault::Missing),
        (RoomDraft { name: Some(" ".into()), ..draft() }, "name", Fault::Blank),
        (RoomDraft { time_zone: Some("Mars".into()), ..draft() }, "timeZone", Fault::UnknownTimeZone),
        (RoomDraft { country: Some("kr".into()), ..draft() }, "country", Fault::UnknownCountry),
        (RoomDraft { currency: Some("won".into()), ..draft() }, "currency", Fault::UnknownCurrency),
        (RoomDraft { slot_minutes: Some(4), ..draft() }, "slotMinutes", range(5, 1_440)),
        (RoomDraft { slot_minutes: Some(1_441), ..draft() }, "slotMinutes", range(5, 1_440)),
        (RoomDraft { base_price: Some(-1), ..draft() }, "basePrice", range(0, BASE_PRICE_MAX)),
        (RoomDraft { base_price: Some(BASE_PRICE_MAX + 1), ..draft() }, "basePrice", range(0, BASE_PRICE_MAX)),
        (RoomDraft { holiday_percent: Some(PERCENT_MAX + 1), ..draft() }, "holidayPercent", percents.clone()),
        (peaks(Peak { percent: PERCENT_MAX + 1, ..peak }), "peak", percents),
        (peaks(Peak { days: Weekdays::default(), ..peak }), "peak", Fault::EmptyRange),
        (peaks(Peak { to: time("09:00"), ..peak }), "peak", Fault::EmptyRange),
        (peaks(Peak { from: time("24:00"), ..peak }), "peak", Fault::NotATime),
        (
            RoomDraft { peak: Some(vec![peak; PEAKS_MAX + 1]), ..draft() },
            "peak",
            Fault::TooManyItems { max: PEAKS_MAX },
        ),
    ];
    for (draft, field, fault) in cases {
        assert_eq!(world().run(&CreateRoom(draft)), Err(Rejection::invalid(field, fault)));
    }
}

#[test]
fn zone_and_currency_are_fixed_by_first_slots() {
    let mut world = world();
    let id = world.run(&CreateRoom(draft())).unwrap().id;
    let zone = |name: &str| RoomDraft { time_zone: Some(name.into()), ..RoomDraft::default() };
    let currency = |code: &str| RoomDraft { currency: Some(code.into()), ..RoomDraft::default() };
    world.run(&ChangeRoom { id, draft: zone("Europe/Berlin") }).unwrap();
    world.run(&ChangeRoom { id, draft: currency("EUR") }).unwrap();
    set_hours(&mut world, id, "09:00-12:00", &[]);
    world.run(&ChangeRoom { id, draft: zone("Europe/Berlin") }).unwrap();
    generate(&mut world, id);
    let rejected = |field| Err(Rejection::invalid(field, Fault::CannotChange));
    assert_eq!(world.run(&ChangeRoom { id, draft: zone("Asia/Seoul") }), rejected("timeZone"));
    assert_eq!(world.run(&ChangeRoom { id, draft: currency("KRW") }), rejected("currency"));
    world.run(&ChangeRoom { id, draft: currency("EUR") }).expect("the same value is accepted");
    let unknown = RoomId::new(99).unwrap();
    assert_eq!(world.run(&ChangeRoom { id: unknown, draft: draft() }), Err(CalendarRejection::RoomNotFound.into()));
}

#[test]
fn invalid_hours_are_rejected() {
    let mut world = world();
    let room = world.run(&CreateRoom(draft())).unwrap().id;
    let mut set = |weekly: &str, exceptions: Vec<Exception>| {
        world.run(&SetOperatingHours { room, weekly: every_day(weekly), exceptions }).map(|_| ())
    };
    let rejected = |field, fault| Err(Rejection::invalid(field, fault));
    assert_eq!(set("09:00-09:00", Vec::new()), rejected("weekly", Fault::EmptyRange));
    assert_eq!(set("24:00-09:00", Vec::new()), rejected("weekly", Fault::NotATime));
    let many = "09:00-10:00 ".repeat(49);
    assert_eq!(set(&many, Vec::new()), rejected("weekly", Fault::TooManyItems { max: 48 }));
    let on = |date, text: &str| Exception { date, hours: hours(text).into() };
    assert_eq!(set("", vec![on(TODAY, "09:00-09:00")]), rejected("exceptions", Fault::EmptyRange));
    assert_eq!(set("", vec![on(TODAY, ""), on(TODAY, "")]), rejected("exceptions", Fault::Duplicate));
    let many = (0..1_001).map(|days| on(local_time::days_after(TODAY, days), "")).collect();
    assert_eq!(set("", many), rejected("exceptions", Fault::TooManyItems { max: 1_000 }));
    let unknown = RoomId::new(99).unwrap();
    let command = SetOperatingHours { room: unknown, weekly: every_day(""), exceptions: Vec::new() };
    assert_eq!(world.run(&command), Err(CalendarRejection::RoomNotFound.into()));
    assert_eq!(world.ask(|rows, _| hours::of_room(rows, unknown)), Err(CalendarRejection::RoomNotFound.into()));
    assert_eq!(world.ask(|rows, _| hours::of_room(rows, room)), Ok(OperatingHours::default()));
}

#[test]
fn holidays_are_replaced_per_country() {
    let mut world = world();
    let us = Country::parse("US").unwrap();
    let mut set = |country, dates: &[Date]| world.run(&SetHolidays { country, dates: dates.to_vec() });
    let (a, b, c) = (date(2026, 6, 3), date(2026, 6, 6), date(2026, 7, 4));
    set(us, &[c]).unwrap();
    assert_eq!(set(Country::KR, &[b, a, b]), Ok(vec![a, b]), "sorted and deduplicated");
    assert_eq!(set(Country::KR, &[b, c]), Ok(vec![b, c]));
    let many: Vec<Date> = (0..=HOLIDAYS_MAX as u32).map(|days| local_time::days_after(TODAY, days)).collect();
    assert_eq!(set(Country::KR, &many), Err(Rejection::invalid("dates", Fault::TooManyItems { max: HOLIDAYS_MAX })));
    let all = |country| world.ask(|rows, _| Ok(within(rows, &HolidaysOf::all(country))?)).unwrap();
    assert_eq!(all(Country::KR).into_iter().collect::<Vec<_>>(), [b, c]);
    assert_eq!(all(us).into_iter().collect::<Vec<_>>(), [c]);
}

#[test]
fn holidays_apply_to_new_slots_only() {
    let mut world = world();
    let draft = RoomDraft { holiday_percent: Some(50), ..draft() };
    let room = world.run(&CreateRoom(draft)).unwrap().id;
    set_hours_and_rebuild(&mut world, room, "09:00-10:00");
    generate(&mut world, room);
    let last = date(2026, 8, 1);
    world.run(&SetHolidays { country: Country::KR, dates: vec![TOMORROW, last] }).unwrap();
    world.wait(Span::from_hours(24));
    generate(&mut world, room);
    let price = |date| {
        let views = list(&world, room, date, date).unwrap();
        (views[0].final_price, views[0].is_holiday)
    };
    assert_eq!(price(TOMORROW), (10_000, false));
    assert_eq!(price(last), (15_000, true));
}
