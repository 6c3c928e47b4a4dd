//! Generating slots ahead of time, and purging old ones.

use jiff::civil::Date;

use super::grid::{Occupied, generate_day};
use super::holiday::{self, HolidaysOf};
use super::hours::{self, OperatingHours};
use super::local_time::{DayRange, SlotStart, day_after, day_before, days_after};
use super::rebuild::rebuild_some;
use super::room::{self, Room, RoomId};
use super::slot::{self, Slot, SlotId, SlotsOf};
use super::{BULK_WEIGHT, DAYS_AHEAD_MAX, DAYS_PER_COMMAND_MAX, SLOTS_PER_COMMAND_MAX};
use crate::command::{Command, Context, Decision, NeedRows, writes};
use crate::id::Sequence;
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Minimum number of days for which slots are kept; longer than a lock on them may live.
const KEEP_DAYS_MIN: u32 = 2;

/// Key of an entry in the generation log of a room. Numbers grow with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GenerationId {
    pub room: RoomId,
    pub number: u64,
}

/// Log entry of generated slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Local date of the generation.
    pub generation_date: Date,
    pub slots_created: u32,
    pub generated_until: Date,
    pub created_at: Timestamp,
}

impl Row for Generation {}

/// Generates the missing slots of a room: those of today, and of the days after the last generated one, up to `until`
/// or as many days ahead as the settings say. Generated days are left unchanged. Today's slots include those that have
/// begun; they cannot be locked, but complete the day in lists. A room without hours has no slots to generate.
///
/// Generates at most [`SLOTS_PER_COMMAND_MAX`] slots; to be repeated until `done`. A pending rebuild is finished first.
#[derive(Clone, Debug)]
pub struct GenerateSlots {
    pub room: RoomId,
    pub until: Option<Date>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    pub created: u32,
    /// Last day that has its slots; `None` if no day has.
    pub generated_until: Option<Date>,
    /// Whether no slots remain to be generated.
    pub done: bool,
}

impl Command for GenerateSlots {
    type Outcome = Generated;
    const NAME: &'static str = "calendar.slots.generate";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Generated> {
        rows.ids.request(&Sequence::Generation);
        rows.calendar.hours.request(&self.room);
        let room = room::find(rows, self.room)?;
        let has_hours = rows.calendar.hours.get(&self.room)?.is_some();
        let hours = hours::find(rows, self.room)?;
        let today = room.zone.today(at.now);
        let until = self.until(today, at)?;
        if !room.active || !has_hours {
            return Ok(Generated { created: 0, generated_until: room.generated_until, done: true });
        }
        let rebuilt = rebuild_some(rows, at, &room, &hours)?;
        if !rebuilt.done {
            return Ok(Generated { created: rebuilt.created, generated_until: room.generated_until, done: false });
        }
        let (slots, last) = generate_missing(rows, &room, &hours, today, until)?;
        let created = slots.len() as u32;
        for (start, slot) in slots {
            rows.calendar.slots.insert(SlotId { room: self.room, start }, slot);
        }
        let generated_until = room.generated_until.map_or(last, |before| before.max(last));
        let changed = Room {
            generated_until: Some(generated_until),
            kept_from: Some(room.kept_from.unwrap_or(today)),
            ..room.clone()
        };
        // The room is written with new slots even if it is unchanged, so that two servers generating its slots
        // conflict.
        if changed != room || created > 0 {
            rows.calendar.rooms.put(self.room, changed);
        }
        add_log_entry(rows, at, &room, created, generated_until)?;
        Ok(Generated {
            created: created + rebuilt.created,
            generated_until: Some(generated_until),
            done: generated_until >= until,
        })
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        BULK_WEIGHT
    }
}

impl GenerateSlots {
    /// Validates the command without executing it.
    pub fn check(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let room = room::find(rows, self.room)?;
        self.until(room.zone.today(at.now), at)?;
        Ok(())
    }

    fn until(&self, today: Date, at: &Context<'_>) -> Result<Date, Rejection> {
        let Some(until) = self.until else {
            return Ok(days_after(today, at.limits.calendar.days_ahead.min(DAYS_AHEAD_MAX)));
        };
        check_until(until, today, today)?;
        Ok(until)
    }
}

/// Checks that slots can be generated up to this day in any time zone.
pub fn check_anywhere(until: Date, at: &Context<'_>) -> Result<(), Rejection> {
    let today = at.now.to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
    check_until(until, today.yesterday().unwrap_or(today), day_after(today))
}

/// Checks `until` where today is between these two days, depending on the time zone.
fn check_until(until: Date, earliest: Date, latest: Date) -> Result<(), Rejection> {
    if until < earliest {
        return Err(Rejection::invalid("until", Fault::InThePast));
    }
    if until > days_after(latest, DAYS_AHEAD_MAX) {
        return Err(Rejection::invalid("until", Fault::TooFarAhead { days_max: DAYS_AHEAD_MAX }));
    }
    Ok(())
}

/// Generates slots of missing days, at most those of one command, and returns the last complete day.
fn generate_missing(
    rows: &mut WorkingSet,
    room: &Room,
    hours: &OperatingHours,
    today: Date,
    until: Date,
) -> Decision<(Vec<(SlotStart, Slot)>, Date)> {
    let first = room.generated_until.map_or(today, |last| day_after(last).max(today));
    let missing_days = (first <= until).then(|| DayRange { first, last: until }.beginning(DAYS_PER_COMMAND_MAX));
    // Today is always included: the room may have got hours after the day was generated.
    let ranges = [Some(DayRange { first: today, last: today }), missing_days];
    let mut existing = Ok(Vec::new());
    for days in ranges.into_iter().flatten() {
        let found = slot::scan(rows, SlotsOf { room: room.id, days: days.widened() });
        existing = existing.and_then(|mut slots: Vec<(SlotId, Slot)>| {
            slots.extend(found?);
            Ok::<_, NeedRows>(slots)
        });
    }
    let last = missing_days.map_or(today, |days| days.last);
    let holidays = holiday::within(rows, &HolidaysOf { country: room.country, days: DayRange { first: today, last } });
    let (existing, holidays) = (existing?, holidays?);
    let mut occupied = Occupied::default();
    for (id, slot) in existing {
        let (begins_at, ends_at) = slot.moments(id.start, room);
        occupied.occupy(begins_at, ends_at);
    }
    let mut slots = generate_day(room, hours, &holidays, today, &mut occupied);
    let mut complete = today;
    for date in missing_days.into_iter().flat_map(DayRange::days).filter(|date| *date > today) {
        let day = generate_day(room, hours, &holidays, date, &mut occupied);
        if slots.len() + day.len() > SLOTS_PER_COMMAND_MAX {
            break;
        }
        slots.extend(day);
        complete = date;
    }
    Ok((slots, complete))
}

/// Adds a log entry if slots were generated.
pub(super) fn add_log_entry(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    room: &Room,
    created: u32,
    until: Date,
) -> Decision<()> {
    if created == 0 {
        return Ok(());
    }
    let number = rows.next_id(Sequence::Generation)?;
    let generation = Generation {
        generation_date: room.zone.today(at.now),
        slots_created: created,
        generated_until: until,
        created_at: at.now,
    };
    rows.calendar.generations.insert(GenerationId { room: room.id, number }, generation);
    Ok(())
}

/// Purges the slots of a room that are past their retention, some days at a time; to be repeated until `done`.
/// Reservations are kept.
#[derive(Clone, Debug)]
pub struct ClearOldSlots {
    pub room: RoomId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleared {
    pub deleted: u32,
    pub done: bool,
}

impl Command for ClearOldSlots {
    type Outcome = Cleared;
    const NAME: &'static str = "calendar.slots.clear";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Cleared> {
        let room = room::find(rows, self.room)?;
        let days_kept = at.limits.calendar.keep_days.max(KEEP_DAYS_MIN);
        let kept_from = room.zone.today(at.now).saturating_sub(jiff::Span::new().days(days_kept));
        let Some(first) = room.kept_from.filter(|first| *first < kept_from) else {
            return Ok(Cleared { deleted: 0, done: true });
        };
        let old = DayRange { first, last: day_before(kept_from) }.beginning(DAYS_PER_COMMAND_MAX);
        let slots = slot::scan(rows, SlotsOf { room: self.room, days: old })?;
        // Purges whole days only: the day that exceeds the bound is left to the next command.
        let (next, deleted) = match slots.get(SLOTS_PER_COMMAND_MAX) {
            Some((id, _)) => {
                (id.start.date(), slots.partition_point(|(other, _)| other.start.date() < id.start.date()))
            }
            None => (day_after(old.last), slots.len()),
        };
        for (id, _) in &slots[..deleted] {
            rows.calendar.slots.delete(*id);
        }
        rows.calendar.rooms.put(self.room, Room { kept_from: Some(next), ..room });
        Ok(Cleared { deleted: deleted as u32, done: next >= kept_from })
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        BULK_WEIGHT
    }
}
