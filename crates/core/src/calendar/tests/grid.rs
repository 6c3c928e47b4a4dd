//! Slots of a day, and their prices.

use std::collections::BTreeSet;

use super::*;
use crate::calendar::grid::make_slots;
use crate::calendar::local_time::parse_weekday;
use crate::calendar::pricing::price;
use crate::calendar::room::{self, ChangeRoom};

fn new_room(draft: RoomDraft) -> Room {
    world().run(&CreateRoom(draft)).unwrap()
}

/// Returns the times of the slots that start on a date.
fn times(zone: &str, date: Date, minutes: u32, text: &str) -> String {
    let room = new_room(RoomDraft { time_zone: Some(zone.into()), slot_minutes: Some(minutes), ..draft() });
    let hours = OperatingHours::new(every_day(text), Vec::new()).unwrap();
    let days = DayRange { first: date, last: date };
    let slots = make_slots(&room, &hours, &BTreeSet::new(), days);
    slots.iter().map(|(start, _)| start.time().to_string()).collect::<Vec<_>>().join(" ")
}

/// Zone, date, minutes of a slot, hours of every day, and the expected slots of that date.
type Case = (&'static str, Date, u32, &'static str, &'static str);

#[test]
fn ordinary_days_have_whole_slots_only() {
    let cases: [Case; 9] = [
        ("Asia/Seoul", TODAY, 60, "09:00-17:30", "09:00 10:00 11:00 12:00 13:00 14:00 15:00 16:00"),
        ("Asia/Seoul", TODAY, 60, "22:00-24:00", "22:00 23:00"),
        ("Asia/Seoul", TODAY, 60, "22:00-00:00", "22:00 23:00"),
        ("Asia/Seoul", TODAY, 60, "09:00-09:59", ""),
        ("Asia/Seoul", TODAY, 90, "09:00-12:00 13:00-15:00", "09:00 10:30 13:00"),
        // Past midnight: each slot belongs to the date on which it starts.
        ("Asia/Seoul", TODAY, 60, "22:00-02:00", "00:00 01:00 22:00 23:00"),
        ("Asia/Seoul", TODAY, 90, "22:30-03:00", "00:00 01:30 22:30"),
        // Overlapping openings yield no overlapping slots.
        ("Asia/Seoul", TODAY, 60, "09:00-12:00 10:30-13:00", "09:00 10:00 11:00"),
        ("Asia/Seoul", TODAY, 1_440, "00:00-24:00", "00:00"),
    ];
    check(&cases);
}

#[test]
fn clock_changes_keep_local_times_unique() {
    let spring = date(2026, 3, 29);
    let autumn = date(2026, 10, 25);
    let cases: [Case; 26] = [
        // Seoul has no clock changes.
        ("Asia/Seoul", spring, 60, "00:00-04:00", "00:00 01:00 02:00 03:00"),
        // Berlin: 02:00 becomes 03:00.
        ("Europe/Berlin", spring, 60, "00:00-05:00", "00:00 01:00 03:00 04:00"),
        ("Europe/Berlin", spring, 30, "01:00-04:00", "01:00 01:30 03:00 03:30"),
        ("Europe/Berlin", spring, 60, "00:30-05:30", "00:30 01:30 03:30 04:30"),
        ("Europe/Berlin", spring, 90, "00:30-06:00", "00:30 03:30"),
        // 02:30 is skipped, so the opening ends at the jump: half an hour remains, less than a slot.
        ("Europe/Berlin", spring, 60, "01:30-02:30", ""),
        ("Europe/Berlin", spring, 30, "01:30-02:30", "01:30"),
        ("Europe/Berlin", spring, 60, "02:00-03:00", ""),
        ("Europe/Berlin", spring, 60, "22:00-04:00", "00:00 01:00 03:00 22:00 23:00"),
        // Berlin: 03:00 becomes 02:00 again.
        ("Europe/Berlin", autumn, 60, "00:00-05:00", "00:00 01:00 02:00 03:00 04:00"),
        ("Europe/Berlin", autumn, 30, "01:30-03:30", "01:30 02:00 02:30 03:00"),
        ("Europe/Berlin", autumn, 60, "02:00-03:00", "02:00"),
        ("Europe/Berlin", autumn, 60, "22:00-04:00", "00:00 01:00 02:00 03:00 22:00 23:00"),
        // An hour of real time from the first 02:30 ends at the second 02:30.
        ("Europe/Berlin", autumn, 60, "01:30-03:00", "01:30 02:30"),
        // New York, both changes.
        ("America/New_York", date(2026, 3, 8), 60, "00:00-05:00", "00:00 01:00 03:00 04:00"),
        ("America/New_York", date(2026, 11, 1), 60, "00:00-04:00", "00:00 01:00 02:00 03:00"),
        // Lord Howe: half an hour. The slot of 01:30 ends at 03:00 local time, so 02:30 would overlap it.
        ("Australia/Lord_Howe", date(2026, 10, 4), 60, "00:30-05:30", "00:30 01:30 03:30 04:30"),
        ("Australia/Lord_Howe", date(2026, 10, 4), 30, "01:00-04:00", "01:00 01:30 02:30 03:00 03:30"),
        ("Australia/Lord_Howe", date(2026, 4, 5), 30, "01:00-03:00", "01:00 01:30 02:00 02:30"),
        ("Australia/Lord_Howe", date(2026, 4, 5), 60, "00:30-03:30", "00:30 01:30 02:30"),
        // Santiago and Cairo: midnight is skipped.
        ("America/Santiago", date(2026, 9, 6), 60, "00:00-03:00", "01:00 02:00"),
        ("America/Santiago", date(2026, 9, 5), 60, "22:00-24:00", "22:00 23:00"),
        ("America/Santiago", date(2026, 9, 6), 60, "22:00-02:00", "01:00 22:00 23:00"),
        ("Africa/Cairo", date(2026, 4, 24), 60, "00:00-03:00", "01:00 02:00"),
        // Samoa: a whole day is skipped.
        ("Pacific/Apia", date(2011, 12, 30), 60, "09:00-12:00", ""),
        ("Pacific/Apia", date(2011, 12, 31), 60, "22:00-01:00", "00:00 22:00 23:00"),
    ];
    check(&cases);
}

fn check(cases: &[Case]) {
    for (zone, date, minutes, hours, expected) in cases {
        assert_eq!(times(zone, *date, *minutes, hours), *expected, "{zone} {date}, {minutes} min, {hours}");
    }
}

#[test]
fn slots_never_overlap_across_clock_changes() {
    for zone in ["Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Africa/Casablanca"] {
        for minutes in [25, 60, 90] {
            let room = new_room(RoomDraft { time_zone: Some(zone.into()), slot_minutes: Some(minutes), ..draft() });
            let hours = OperatingHours::new(every_day("00:15-23:50 22:00-03:00"), Vec::new()).unwrap();
            let days = DayRange { first: date(2026, 1, 1), last: date(2027, 12, 31) };
            let slots = make_slots(&room, &hours, &BTreeSet::new(), days);
            assert!(slots.len() > 365 * 20);
            for pair in slots.windows(2) {
                let (_, end) = pair[0].1.moments(pair[0].0, &room);
                let (begin, _) = pair[1].1.moments(pair[1].0, &room);
                assert!(pair[0].0 < pair[1].0 && end <= begin, "{zone} {} and {}", pair[0].0, pair[1].0);
            }
        }
    }
}

#[test]
fn exception_replaces_hours_of_its_date_only() {
    let room = new_room(draft());
    let closed = Exception { date: TOMORROW, hours: Vec::new().into() };
    let short = Exception { date: date(2026, 6, 3), hours: hours("10:00-11:00").into() };
    let hours = OperatingHours::new(every_day("22:00-01:00"), vec![short, closed]).unwrap();
    let days = DayRange { first: TODAY, last: date(2026, 6, 4) };
    let slots = make_slots(&room, &hours, &BTreeSet::new(), days);
    let slots: Vec<String> = slots.iter().map(|(start, _)| start.to_string()[8..].to_string()).collect();
    assert_eq!(slots, ["01 00:00", "01 22:00", "01 23:00", "02 00:00", "03 10:00", "04 22:00", "04 23:00"]);
}

#[test]
fn surcharges_add_up_and_round_half_up() {
    let days = |names: &[&str]| names.iter().filter_map(|name| parse_weekday(name)).collect::<Weekdays>();
    let peak = |names: &[&str], from, to, percent| Peak { days: days(names), from: time(from), to: time(to), percent };
    let room = new_room(RoomDraft {
        base_price: Some(999),
        peak: Some(vec![
            peak(&["mon", "tue"], "18:00", "20:00", 50),
            peak(&["mon"], "19:00", "21:00", 30),
            peak(&["fri"], "22:00", "02:00", 10),
            peak(&["wed"], "12:00", "13:00", 0),
        ]),
        holiday_percent: Some(25),
        ..draft()
    });
    // Date, time, holiday; final price, peak time.
    let cases = [
        (1, "17:59", false, 999, false),
        (1, "18:00", false, 1_499, true), // 1498.5
        (1, "19:00", false, 1_499, true), // the higher of two surcharges
        (1, "20:00", false, 1_299, true), // 1298.7
        (1, "18:00", true, 1_748, true),  // 1748.25
        (1, "21:00", true, 1_249, false), // 1248.75
        (2, "18:00", false, 1_499, true),
        (3, "18:00", false, 999, false),
        (3, "12:00", false, 999, true),
        (5, "22:00", false, 1_099, true), // 1098.9
        (6, "01:59", false, 1_099, true), // the window of Friday
        (6, "02:00", false, 999, false),
        (6, "22:00", false, 999, false),
        (5, "01:00", false, 999, false),
    ];
    for (day, text, is_holiday, final_price, is_peak) in cases {
        let price = price(&room, slot_at(date(2026, 6, day), text), is_holiday);
        assert_eq!((price.final_price, price.is_peak), (final_price, is_peak), "{day} {text}");
        assert_eq!((price.base_price, price.is_holiday), (999, is_holiday));
    }
}

#[test]
fn largest_revenue_is_below_two_to_the_53() {
    let slots_max = i64::from(RANGE_DAYS_MAX) * i64::from(local_time::DAY_MINUTES / room::SLOT_MINUTES_MIN);
    let price_max = room::BASE_PRICE_MAX * (100 + 2 * i64::from(room::PERCENT_MAX)) / 100;
    assert!(price_max.checked_mul(slots_max).unwrap() < 1 << 53);
}

#[test]
fn room_change_applies_to_new_slots_only() {
    let mut world = world();
    let id = room(&mut world);
    let draft = RoomDraft { slot_minutes: Some(30), base_price: Some(7), ..RoomDraft::default() };
    world.run(&ChangeRoom { id, draft }).unwrap();
    assert_eq!(day(&mut world, id, TOMORROW), "09:00 10:00 11:00");
    assert_eq!(generate(&mut world, id), 0);
    world.wait(Span::from_hours(24));
    assert_eq!(generate(&mut world, id), 6, "the slots of the new day");
    let last = date(2026, 8, 1);
    assert_eq!(day(&mut world, id, last), "09:00 09:30 10:00 10:30 11:00 11:30");
    let views = list(&world, id, last, last).unwrap();
    assert_eq!((views[0].final_price, views[0].minutes), (7, 30));
}
