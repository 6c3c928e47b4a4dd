//! Slots of a day, computed from room, hours and holidays without rows.
//!
//! A slot lasts its minutes of real time, independent of clock changes. Candidates start at every step of
//! `slot_minutes` in local time, from the opening on. A slot is generated if
//! - the clocks show its start, so not where they jump over it;
//! - the room is open until the slot ends, so only whole slots;
//! - it overlaps no other slot in real time. Where clocks jump, a candidate may start before the last slot has ended.
//!
//! Where clocks are set back, a local time occurs twice and the first one counts, so each occurs once. Hours past
//! midnight belong to the date on which they begin, their slots to the date on which each slot starts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;

use super::hours::OperatingHours;
use super::local_time::{DayRange, LocalTime, SlotStart, day_before};
use super::pricing::price;
use super::room::Room;
use super::slot::{Slot, SlotState};
use crate::time::{Span, Timestamp};

/// Returns all slots of a range of days without existing slots.
pub fn make_slots(
    room: &Room,
    hours: &OperatingHours,
    holidays: &BTreeSet<Date>,
    days: DayRange,
) -> Vec<(SlotStart, Slot)> {
    let mut occupied = Occupied::default();
    days.days().flat_map(|date| generate_day(room, hours, holidays, date, &mut occupied)).collect()
}

/// Returns the slots of a date that overlap no occupied time, and occupies their time.
pub(super) fn generate_day(
    room: &Room,
    hours: &OperatingHours,
    holidays: &BTreeSet<Date>,
    date: Date,
    occupied: &mut Occupied,
) -> Vec<(SlotStart, Slot)> {
    let is_holiday = holidays.contains(&date);
    let mut slots = Vec::new();
    for (start, begins_at) in starts(room, hours, date) {
        if occupied.try_occupy(begins_at, ends_at(begins_at, room.slot_minutes)) {
            slots.push((start, new_slot(room, start, is_holiday)));
        }
    }
    slots
}

/// Returns the end of a slot of `minutes`.
pub(super) fn ends_at(begins_at: Timestamp, minutes: u16) -> Timestamp {
    begins_at + Span::from_secs(i64::from(minutes) * 60)
}

/// Occupied intervals of a room's real time, without overlaps.
#[derive(Debug, Default)]
pub(super) struct Occupied(BTreeMap<Timestamp, Timestamp>);

impl Occupied {
    /// Occupies an interval unless it overlaps an occupied one; returns whether it did.
    pub(super) fn try_occupy(&mut self, begins_at: Timestamp, ends_at: Timestamp) -> bool {
        let last_before = self.0.range(..ends_at).next_back();
        if last_before.is_some_and(|(_, end)| *end > begins_at) {
            return false;
        }
        self.0.insert(begins_at, ends_at);
        true
    }

    /// Occupies the time of an existing slot. It may overlap an occupied interval if the rules of the time zone have
    /// changed since.
    pub(super) fn occupy(&mut self, begins_at: Timestamp, ends_at: Timestamp) {
        let end = self.0.entry(begins_at).or_insert(ends_at);
        *end = ends_at.max(*end);
    }
}

/// Returns all starts on a date from which a whole slot fits into the hours, in order; the slots may overlap.
fn starts(room: &Room, hours: &OperatingHours, date: Date) -> Vec<(SlotStart, Timestamp)> {
    let previous = day_before(date);
    let from_day_before =
        hours.on(previous).iter().filter(|hours| hours.runs_past_midnight()).map(|hours| hours.on(previous));
    let intervals = from_day_before.chain(hours.on(date).iter().map(|hours| hours.on(date)));
    let mut starts = Vec::new();
    for interval in intervals {
        let (_, closes_at) = interval.moments(&room.zone);
        let mut local = interval.from;
        while local < interval.to && local.date() <= date {
            if local.date() == date
                && let Some(begins_at) = room.zone.moment_of(local).shown()
                && ends_at(begins_at, room.slot_minutes) <= closes_at
            {
                let time = LocalTime::from_minutes(local.hour() as u16 * 60 + local.minute() as u16);
                let start = time.and_then(|time| SlotStart::new(date, time));
                starts.push((start.expect("slots are generated for 1970 or later"), begins_at));
            }
            let Ok(next) = local.checked_add(i32::from(room.slot_minutes).minutes()) else { break };
            local = next;
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
