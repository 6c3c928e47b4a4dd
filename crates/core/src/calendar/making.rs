//! Which slots a day has. Pure: room, hours and holidays in, slots out.
//!
//! A slot lasts its minutes of real time, whatever the clocks show meanwhile. Slots are tried at every step of
//! `slot_minutes` on the wall, from the opening on. One is made if
//! - the clocks show its beginning at all: not where they jump over it;
//! - the room is still open when it really ends: whole slots only;
//! - it overlaps no other, in real time. Where clocks jump, the next step may come before the last slot has ended.
//!
//! Where clocks are set back, a wall time comes twice and the first one counts, so each is there once. Hours that run past
//! midnight belong to the date on which they begin, their slots to the date on which each slot begins.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;

use super::hours::OperatingHours;
use super::pricing::price;
use super::room::Room;
use super::slot::{Slot, SlotState};
use super::wall::{DayRange, SlotStart, WallTime, day_before};
use crate::time::{Span, Timestamp};

/// All slots of some days, if there are none yet.
pub fn make_slots(
    room: &Room,
    hours: &OperatingHours,
    holidays: &BTreeSet<Date>,
    days: DayRange,
) -> Vec<(SlotStart, Slot)> {
    let mut taken = Taken::default();
    days.days().flat_map(|date| make_day(room, hours, holidays, date, &mut taken)).collect()
}

/// The slots of a date that overlap nothing that is taken; they are taken then too.
pub(super) fn make_day(
    room: &Room,
    hours: &OperatingHours,
    holidays: &BTreeSet<Date>,
    date: Date,
    taken: &mut Taken,
) -> Vec<(SlotStart, Slot)> {
    let is_holiday = holidays.contains(&date);
    let mut slots = Vec::new();
    for (start, begins_at) in starts(room, hours, date) {
        if taken.take(begins_at, ends_at(begins_at, room.slot_minutes)) {
            slots.push((start, new_slot(room, start, is_holiday)));
        }
    }
    slots
}

/// When a slot of so many minutes ends.
pub(super) fn ends_at(begins_at: Timestamp, minutes: u16) -> Timestamp {
    begins_at + Span::from_secs(i64::from(minutes) * 60)
}

/// What is taken of a room's real time, without overlaps.
#[derive(Debug, Default)]
pub(super) struct Taken(BTreeMap<Timestamp, Timestamp>);

impl Taken {
    /// Takes a stretch of time, unless some of it is taken.
    pub(super) fn take(&mut self, begins_at: Timestamp, ends_at: Timestamp) -> bool {
        let last_before = self.0.range(..ends_at).next_back();
        if last_before.is_some_and(|(_, end)| *end > begins_at) {
            return false;
        }
        self.0.insert(begins_at, ends_at);
        true
    }

    /// Takes what is there already. Its end may lie in what is taken, should zones have changed their rules since.
    pub(super) fn keep(&mut self, begins_at: Timestamp, ends_at: Timestamp) {
        let end = self.0.entry(begins_at).or_insert(ends_at);
        *end = ends_at.max(*end);
    }
}

/// Every beginning on a date from which a whole slot fits into the hours, in order; they may overlap.
fn starts(room: &Room, hours: &OperatingHours, date: Date) -> Vec<(SlotStart, Timestamp)> {
    let eve = day_before(date);
    let since_eve = hours.on(eve).iter().filter(|hours| hours.runs_past_midnight()).map(|hours| hours.on(eve));
    let openings = since_eve.chain(hours.on(date).iter().map(|hours| hours.on(date)));
    let mut starts = Vec::new();
    for opening in openings {
        let (_, closes_at) = opening.moments(&room.zone);
        let mut clock = opening.from;
        while clock < opening.to && clock.date() <= date {
            if clock.date() == date
                && let Some(begins_at) = room.zone.moment_of(clock).shown()
                && ends_at(begins_at, room.slot_minutes) <= closes_at
            {
                let time = WallTime::from_minutes(clock.hour() as u16 * 60 + clock.minute() as u16);
                let start = time.and_then(|time| SlotStart::new(date, time));
                starts.push((start.expect("slots are made today or later"), begins_at));
            }
            let Ok(next) = clock.checked_add(i32::from(room.slot_minutes).minutes()) else { break };
            clock = next;
        }
    }
    starts.sort_unstable();
    starts
}

fn new_slot(room: &Room, start: SlotStart, is_holiday: bool) -> Slot {
    let price = price(room, start, is_holiday);
    Slot {
        minutes: room.slot_minutes,
        state: SlotState::Free,
        base_price: price.base_price,
        final_price: price.final_price,
        is_peak: price.is_peak,
        is_holiday: price.is_holiday,
        outside_hours: false,
    }
}
