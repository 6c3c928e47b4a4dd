//! Changing the hours of a room, and rebuilding its future slots: free ones are replaced, used ones stay, and no new
//! slot overlaps one that stays.
//!
//! Slots are rebuilt some days at a time to keep each command short; the hours record the progress. Locks are live rows
//! and are only read. Where live and durable rows lie in two stores, a slot may be locked while it is deleted here.
//! Confirming that lock finds no free slot of its length, and is rejected.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::generation::add_log_entry;
use super::grid::{Occupied, generate_day};
use super::holiday::{self, HolidaysOf};
use super::hours::{self, Exception, OpenInterval, OperatingHours, Rebuild};
use super::local_time::{DayRange, SlotStart, day_after, days_after};
use super::reservation::RoomReservationId;
use super::room::{self, Room, RoomId};
use super::slot::{self, LockedBy, Slot, SlotId, SlotState, SlotsOf};
use super::{BULK_WEIGHT, DAYS_AHEAD_MAX, DAYS_PER_COMMAND_MAX, SLOTS_PER_COMMAND_MAX};
use crate::command::{Command, Context, Decision, writes};
use crate::id::Sequence;
use crate::working_set::WorkingSet;

/// Sets the hours of a room, and begins to rebuild its slots from tomorrow on. A room without generated slots gets them
/// only from [`GenerateSlots`](super::generation::GenerateSlots).
#[derive(Clone, Debug)]
pub struct SetOperatingHours {
    pub room: RoomId,
    /// Monday first.
    pub weekly: [Vec<OpenInterval>; 7],
    pub exceptions: Vec<Exception>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoursSet {
    pub hours: OperatingHours,
    /// Progress of the rebuild. Unless `done`, [`RebuildSlots`] continues.
    pub rebuilt: Rebuilt,
}

impl Command for SetOperatingHours {
    type Outcome = HoursSet;
    const NAME: &'static str = "calendar.hours.set";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<HoursSet> {
        let hours = OperatingHours::new(self.weekly.clone(), self.exceptions.clone())?;
        rows.ids.request(&Sequence::Generation);
        rows.calendar.hours.request(&self.room);
        let room = room::find(rows, self.room)?;
        hours::find(rows, self.room)?;
        let Some(last) = room.generated_until else {
            rows.calendar.hours.put(self.room, hours.clone());
            return Ok(HoursSet { hours, rebuilt: Rebuilt { done: true, ..Rebuilt::default() } });
        };
        let today = room.zone.today(at.now);
        let until = last.max(days_after(today, at.limits.calendar.days_ahead.clamp(1, DAYS_AHEAD_MAX)));
        let pending = Rebuild { next: day_after(today), until, again_from: None, is_again: false };
        let hours = OperatingHours { rebuild: Some(pending), ..hours };
        // These days count as generated, because the rebuild creates their slots.
        let room = Room { generated_until: Some(until), kept_from: Some(room.kept_from.unwrap_or(today)), ..room };
        rows.calendar.rooms.put(self.room, room.clone());
        rows.calendar.hours.put(self.room, hours.clone());
        let rebuilt = rebuild_some(rows, at, &room, &hours)?;
        Ok(HoursSet { hours: hours::find(rows, self.room)?, rebuilt })
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        BULK_WEIGHT
    }
}

/// Continues the rebuild that [`SetOperatingHours`] began; to be repeated until `done`.
#[derive(Clone, Debug)]
pub struct RebuildSlots {
    pub room: RoomId,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rebuilt {
    pub created: u32,
    pub deleted: u32,
    /// Reservations with a slot that is now outside the hours, on the days rebuilt by this command. They stay
    /// unchanged.
    pub affected: Vec<RoomReservationId>,
    pub done: bool,
}

impl Command for RebuildSlots {
    type Outcome = Rebuilt;
    const NAME: &'static str = "calendar.slots.rebuild";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Rebuilt> {
        rows.ids.request(&Sequence::Generation);
        rows.calendar.hours.request(&self.room);
        let room = room::find(rows, self.room)?;
        let hours = hours::find(rows, self.room)?;
        rebuild_some(rows, at, &room, &hours)
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        BULK_WEIGHT
    }
}

/// Rebuilds the next days, at most those of one command.
pub(super) fn rebuild_some(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    room: &Room,
    hours: &OperatingHours,
) -> Decision<Rebuilt> {
    let nothing = Rebuilt { done: true, ..Rebuilt::default() };
    let Some(pending) = hours.rebuild else { return Ok(nothing) };
    let first = pending.next.max(day_after(room.zone.today(at.now)));
    if first > pending.until {
        // All remaining days have passed.
        rows.calendar.hours.put(room.id, OperatingHours { rebuild: None, ..hours.clone() });
        return Ok(nothing);
    }
    let pending_days = DayRange { first, last: pending.until }.beginning(DAYS_PER_COMMAND_MAX);
    let existing = slot::scan(rows, SlotsOf { room: room.id, days: pending_days.widened() });
    let holidays = holiday::within(rows, &HolidaysOf { country: room.country, days: pending_days });
    let mut portion = Portion::new(room, hours, existing?, holidays?, pending_days, pending);
    portion.partition(rows, at)?;
    let written = portion.write(rows);
    // The room is written even though it is unchanged, so that two servers generating its slots conflict.
    rows.calendar.rooms.put(room.id, room.clone());
    add_log_entry(rows, at, room, written.created, portion.days.last)?;

    let done = portion.days.last >= pending.until;
    let again_from = pending.again_from.or(if room.active { portion.locked_on } else { Some(first) });
    let next = if done { again_from } else { Some(day_after(portion.days.last)) };
    let again_from = again_from.filter(|_| !done);
    let is_again = done || pending.is_again;
    let rebuild = next.map(|next| Rebuild { next, until: pending.until, again_from, is_again });
    rows.calendar.hours.put(room.id, OperatingHours { rebuild, ..hours.clone() });
    Ok(Rebuilt { done, ..written })
}

/// Days that one command rebuilds.
struct Portion<'a> {
    room: &'a Room,
    hours: &'a OperatingHours,
    holidays: BTreeSet<Date>,
    days: DayRange,
    /// Last day on which free slots may be deleted. A new slot of the last rebuilt day may reach into the next day,
    /// where free slots that a later command replaces must not prevent or overlap it.
    deletable_until: Date,
    /// Whether this is the second pass.
    is_again: bool,
    existing: Vec<(SlotId, Slot)>,
    /// Start and minutes of the slots as if no other slot existed.
    grid: BTreeSet<(SlotStart, u16)>,
    /// Free and unlocked slots that may be replaced.
    free: BTreeMap<SlotId, Slot>,
    occupied: Occupied,
    /// First day on which a locked slot may prevent a new one.
    locked_on: Option<Date>,
}

impl<'a> Portion<'a> {
    fn new(
        room: &'a Room,
        hours: &'a OperatingHours,
        existing: Vec<(SlotId, Slot)>,
        holidays: BTreeSet<Date>,
        pending_days: DayRange,
        pending: Rebuild,
    ) -> Self {
        let mut old = BTreeMap::new();
        for (id, _) in &existing {
            *old.entry(id.start.date()).or_insert(0) += 1;
        }
        let mut days = DayRange { last: pending_days.first, ..pending_days };
        let (mut slots_count, mut grid) = (0, BTreeSet::new());
        for date in pending_days.days() {
            let new = generate_day(room, hours, &holidays, date, &mut Occupied::default());
            slots_count += new.len().max(old.get(&date).copied().unwrap_or(0));
            if slots_count > SLOTS_PER_COMMAND_MAX {
                break;
            }
            grid.extend(new.into_iter().map(|(start, slot)| (start, slot.minutes)));
            days.last = date;
        }
        let deletable_until = day_after(days.last).min(pending.until);
        let (is_again, free, occupied) = (pending.is_again, BTreeMap::new(), Occupied::default());
        Self { room, hours, holidays, days, deletable_until, is_again, existing, grid, free, occupied, locked_on: None }
    }

    /// Divides the existing slots into free ones and those that stay.
    fn partition(&mut self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let is_deletable = |id: &SlotId, slot: &Slot| {
            slot.state == SlotState::Free && (self.days.first..=self.deletable_until).contains(&id.start.date())
        };
        for (id, _) in self.existing.iter().filter(|(id, slot)| is_deletable(id, slot)) {
            slot::request_rows(rows, *id);
        }
        for (id, slot) in &self.existing {
            let is_free = is_deletable(id, slot);
            let stays = self.is_again && !slot.outside_hours;
            if is_free && !stays && slot::locked_by(rows, *id, at.now)? == LockedBy::None {
                self.free.insert(*id, *slot);
                continue;
            }
            let (begins_at, ends_at) = slot.moments(id.start, self.room);
            self.occupied.occupy(begins_at, ends_at);
            if is_free && self.days.contains(id.start.date()) && self.is_outside(id, slot) {
                // A new slot of the day before may reach into this one.
                let date = id.start.date();
                self.locked_on = self.locked_on.or(Some(date.yesterday().unwrap_or(date)));
            }
        }
        Ok(())
    }

    /// Whether a used slot does not belong to the hours, so that it is deleted once it is free. A slot that is only
    /// locked must also be where a new slot would be.
    fn is_outside(&self, id: &SlotId, slot: &Slot) -> bool {
        let (begins_at, ends_at) = slot.moments(id.start, self.room);
        let is_misplaced = slot.state == SlotState::Free
            && if self.is_again { slot.outside_hours } else { !self.grid.contains(&(id.start, slot.minutes)) };
        is_misplaced || !self.hours.cover(&self.room.zone, id.start.date(), begins_at, ends_at)
    }

    fn write(&mut self, rows: &mut WorkingSet) -> Rebuilt {
        let mut rebuilt = Rebuilt::default();
        let mut affected = BTreeSet::new();
        for (id, slot) in &self.existing {
            if self.free.contains_key(id) || !self.days.contains(id.start.date()) {
                continue;
            }
            let outside_hours = self.is_outside(id, slot);
            if let SlotState::Reserved { reservation } = slot.state
                && outside_hours
            {
                affected.insert(reservation);
            }
            if slot.outside_hours != outside_hours {
                rows.calendar.slots.put(*id, Slot { outside_hours, ..*slot });
            }
        }
        let mut new = BTreeMap::new();
        if self.room.active {
            for date in self.days.days() {
                let slots = generate_day(self.room, self.hours, &self.holidays, date, &mut self.occupied);
                new.extend(slots.into_iter().map(|(start, slot)| (SlotId { room: self.room.id, start }, slot)));
            }
        }
        for (id, old) in &self.free {
            let (begins_at, ends_at) = old.moments(id.start, self.room);
            if new.get(id) == Some(old) {
                // The same slot would be generated again.
                new.remove(id);
            } else if id.start.date() > self.days.last && self.occupied.try_occupy(begins_at, ends_at) {
                // A later command rebuilds its day.
            } else {
                rows.calendar.slots.delete(*id);
                rebuilt.deleted += 1;
            }
        }
        rebuilt.created = new.len() as u32;
        for (id, slot) in new {
            rows.calendar.slots.insert(id, slot);
        }
        rebuilt.affected = affected.into_iter().collect();
        rebuilt
    }
}
