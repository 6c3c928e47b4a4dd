//! Opening hours of rooms.

use std::sync::Arc;

use jiff::civil::{Date, DateTime, Weekday};

use super::local_time::{LocalTime, day_after, day_before, local_datetime};
use super::room::{self, RoomId};
use crate::command::Decision;
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::time::{Timestamp, Zone};
use crate::working_set::WorkingSet;

/// Maximum number of open intervals per day.
pub const OPEN_INTERVALS_PER_DAY_MAX: usize = 48;
pub const EXCEPTIONS_MAX: usize = 1_000;

/// Interval of a day in which a room is open. `to` before `from` is a time of the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenInterval {
    pub from: LocalTime,
    pub to: LocalTime,
}

/// A date with its own hours; empty if the room is closed. Hours that began the evening before still apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    pub date: Date,
    pub hours: Arc<[OpenInterval]>,
}

/// Hours of a room, and the progress of rebuilding its slots for them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OperatingHours {
    /// Monday first.
    pub weekly: [Arc<[OpenInterval]>; 7],
    /// Ordered by date.
    pub exceptions: Arc<[Exception]>,
    /// Days whose slots do not match these hours yet.
    pub rebuild: Option<Rebuild>,
}

impl Row for OperatingHours {}

/// Pending rebuild of the days `next` to `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuild {
    pub next: Date,
    pub until: Date,
    /// First day of a second pass, because locks prevented slots or the room was inactive.
    pub again_from: Option<Date>,
    /// Whether this is the second pass. It keeps the slots of the first pass and adds only missing ones.
    pub is_again: bool,
}

impl OperatingHours {
    /// Validates hours given by a client.
    pub fn new(weekly: [Vec<OpenInterval>; 7], mut exceptions: Vec<Exception>) -> Result<Self, Rejection> {
        weekly.iter().try_for_each(|hours| check("weekly", hours))?;
        exceptions.iter().try_for_each(|exception| check("exceptions", &exception.hours))?;
        if exceptions.len() > EXCEPTIONS_MAX {
            return Err(Rejection::invalid("exceptions", Fault::TooManyItems { max: EXCEPTIONS_MAX }));
        }
        exceptions.sort_by_key(|exception| exception.date);
        if exceptions.windows(2).any(|pair| pair[0].date == pair[1].date) {
            return Err(Rejection::invalid("exceptions", Fault::Duplicate));
        }
        Ok(Self { weekly: weekly.map(Into::into), exceptions: exceptions.into(), rebuild: None })
    }

    pub fn weekly_on(&self, day: Weekday) -> &[OpenInterval] {
        &self.weekly[day.to_monday_zero_offset() as usize]
    }

    /// Returns the hours that begin on a date.
    pub fn on(&self, date: Date) -> &[OpenInterval] {
        match self.exceptions.binary_search_by_key(&date, |exception| exception.date) {
            Ok(index) => &self.exceptions[index].hours,
            Err(_) => self.weekly_on(date.weekday()),
        }
    }

    /// Whether the room is open for the whole interval, which is shorter than a day and begins on `date`.
    pub fn cover(&self, zone: &Zone, date: Date, begins_at: Timestamp, ends_at: Timestamp) -> bool {
        let mut open: Vec<(Timestamp, Timestamp)> = [day_before(date), date, day_after(date)]
            .into_iter()
            .flat_map(|date| self.on(date).iter().map(move |hours| hours.on(date)))
            .map(|interval| interval.moments(zone))
            .collect();
        open.sort_unstable();
        // Adjacent intervals count as one.
        let mut open_until = begins_at;
        for (opens_at, closes_at) in open {
            if opens_at <= open_until {
                open_until = open_until.max(closes_at);
            }
        }
        open_until >= ends_at
    }
}

/// Open interval on a specific date, in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DatedInterval {
    pub(super) from: DateTime,
    pub(super) to: DateTime,
}

impl OpenInterval {
    pub(super) fn on(self, date: Date) -> DatedInterval {
        let last = if self.runs_past_midnight() { day_after(date) } else { date };
        DatedInterval { from: local_datetime(date, self.from), to: local_datetime(last, self.to) }
    }

    pub(super) fn runs_past_midnight(self) -> bool {
        self.to < self.from
    }
}

impl DatedInterval {
    /// Returns the instants of opening and closing. A local time that the clocks skip is reached when they jump.
    pub(super) fn moments(self, zone: &Zone) -> (Timestamp, Timestamp) {
        (zone.moment_of(self.from).reached(), zone.moment_of(self.to).reached())
    }
}

/// Returns the hours of an existing room.
pub fn of_room(rows: &mut WorkingSet, room: RoomId) -> Decision<OperatingHours> {
    rows.calendar.hours.request(&room);
    room::find(rows, room)?;
    find(rows, room)
}

/// Returns the rooms that have hours.
pub fn given(rows: &mut WorkingSet, rooms: &[RoomId]) -> Decision<Vec<RoomId>> {
    for room in rooms {
        rows.calendar.hours.request(room);
    }
    let mut given = Vec::new();
    for room in rooms {
        if rows.calendar.hours.get(room)?.is_some() {
            given.push(*room);
        }
    }
    Ok(given)
}

/// Returns the hours of a room; a room without hours is closed.
pub(super) fn find(rows: &mut WorkingSet, room: RoomId) -> Decision<OperatingHours> {
    Ok(rows.calendar.hours.get(&room)?.cloned().unwrap_or_default())
}

fn check(field: &'static str, hours: &[OpenInterval]) -> Result<(), Rejection> {
    if hours.len() > OPEN_INTERVALS_PER_DAY_MAX {
        return Err(Rejection::invalid(field, Fault::TooManyItems { max: OPEN_INTERVALS_PER_DAY_MAX }));
    }
    if hours.iter().any(|hours| hours.from == LocalTime::MIDNIGHT_AFTER) {
        return Err(Rejection::invalid(field, Fault::NotATime));
    }
    if hours.iter().any(|hours| hours.from == hours.to) {
        return Err(Rejection::invalid(field, Fault::EmptyRange));
    }
    Ok(())
}
