//! New hours for a room, and what they do to its coming slots: free ones are replaced, those in use stay, and no new one
//! overlaps one that stays.
//!
//! That is done some days at a time, so that nobody waits long; the hours remember how far it has come. Locks are live rows
//! and are only looked at. Where live and durable rows lie in two stores, a slot may be locked in the moment in which it is
//! deleted here; confirming that lock finds no free slot of its length, and is refused.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::generation::log;
use super::holiday::{self, HolidaysOf};
use super::hours::{self, Exception, OpenHours, OperatingHours, Rebuild};
use super::making::{Taken, make_day};
use super::reservation::RoomReservationId;
use super::room::{self, Room, RoomId};
use super::slot::{self, LockedBy, Slot, SlotId, SlotState, SlotsOf};
use super::wall::{DayRange, SlotStart, day_after, days_after};
use super::{BULK_WEIGHT, DAYS_AHEAD_MAX, DAYS_PER_COMMAND_MAX, SLOTS_PER_COMMAND_MAX};
use crate::command::{Command, Context, Decision, Writes};
use crate::id::Sequence;
use crate::rows::Rows;

/// Gives a room its hours, and begins to rebuild its slots from tomorrow on. One that never had any gets them from
/// [`GenerateSlots`](super::generation::GenerateSlots) only.
#[derive(Clone, Debug)]
pub struct SetOperatingHours {
    pub room: RoomId,
    /// Monday first.
    pub weekly: [Vec<OpenHours>; 7],
    pub exceptions: Vec<Exception>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoursSet {
    pub hours: OperatingHours,
    /// What has been rebuilt so far. Unless that is `done`, [`RebuildSlots`] goes on.
    pub rebuilt: Rebuilt,
}

impl Command for SetOperatingHours {
    type Outcome = HoursSet;
    const NAME: &'static str = "calendar.hours.set";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<HoursSet> {
        let hours = OperatingHours::new(self.weekly.clone(), self.exceptions.clone())?;
        rows.ids.want(&Sequence::Generation);
        rows.calendar.hours.want(&self.room);
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
        // These days are not made a second time, only rebuilt.
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

/// Goes on with what [`SetOperatingHours`] began; to be repeated until it is `done`.
#[derive(Clone, Debug)]
pub struct RebuildSlots {
    pub room: RoomId,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rebuilt {
    pub created: u32,
    pub deleted: u32,
    /// Those with a slot that is now outside the hours, on the days rebuilt by this command. They stay as they are.
    pub affected: Vec<RoomReservationId>,
    pub done: bool,
}

impl Command for RebuildSlots {
    type Outcome = Rebuilt;
    const NAME: &'static str = "calendar.slots.rebuild";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Rebuilt> {
        rows.ids.want(&Sequence::Generation);
        rows.calendar.hours.want(&self.room);
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

/// Rebuilds the next days, as many as one command may.
pub(super) fn rebuild_some(
    rows: &mut Rows,
    at: &Context<'_>,
    room: &Room,
    hours: &OperatingHours,
) -> Decision<Rebuilt> {
    let nothing = Rebuilt { done: true, ..Rebuilt::default() };
    let Some(pending) = hours.rebuild else { return Ok(nothing) };
    let first = pending.next.max(day_after(room.zone.today(at.now)));
    if first > pending.until {
        // These days have come before anything was done about them.
        rows.calendar.hours.put(room.id, OperatingHours { rebuild: None, ..hours.clone() });
        return Ok(nothing);
    }
    let ahead = DayRange { first, last: pending.until }.beginning(DAYS_PER_COMMAND_MAX);
    let there = slot::scan(rows, SlotsOf { room: room.id, days: ahead.widened() });
    let holidays = holiday::within(rows, &HolidaysOf { country: room.country, days: ahead });
    let mut part = Part::new(room, hours, there?, holidays?, ahead, pending);
    part.sort_out(rows, at)?;
    let written = part.write(rows);
    // Written with its slots although it stays as it is: two servers never make slots of one room at the same time.
    rows.calendar.rooms.put(room.id, room.clone());
    log(rows, at, room, written.created, part.days.last)?;

    let done = part.days.last >= pending.until;
    let again_from = pending.again_from.or(if room.active { part.locked_on } else { Some(first) });
    let next = if done { again_from } else { Some(day_after(part.days.last)) };
    let again_from = again_from.filter(|_| !done);
    let is_again = done || pending.is_again;
    let rebuild = next.map(|next| Rebuild { next, until: pending.until, again_from, is_again });
    rows.calendar.hours.put(room.id, OperatingHours { rebuild, ..hours.clone() });
    Ok(Rebuilt { done, ..written })
}

/// The days one command rebuilds.
struct Part<'a> {
    room: &'a Room,
    hours: &'a OperatingHours,
    holidays: BTreeSet<Date>,
    days: DayRange,
    /// Free slots may go up to here: a new one of the last day may reach into the next day, where those that are to be
    /// replaced later must not be in its way, nor overlap it.
    clear_until: Date,
    /// These days have been rebuilt before.
    is_again: bool,
    there: Vec<(SlotId, Slot)>,
    /// Where slots would begin if nothing were in the way, and how long they would be.
    grid: BTreeSet<(SlotStart, u16)>,
    /// Free, nobody's, and not to stay as they are.
    free: BTreeMap<SlotId, Slot>,
    taken: Taken,
    /// The first day on which a locked slot may be in the way.
    locked_on: Option<Date>,
}

impl<'a> Part<'a> {
    fn new(
        room: &'a Room,
        hours: &'a OperatingHours,
        there: Vec<(SlotId, Slot)>,
        holidays: BTreeSet<Date>,
        ahead: DayRange,
        pending: Rebuild,
    ) -> Self {
        let mut old = BTreeMap::new();
        for (id, _) in &there {
            *old.entry(id.start.date()).or_insert(0) += 1;
        }
        let mut days = DayRange { last: ahead.first, ..ahead };
        let (mut work, mut grid) = (0, BTreeSet::new());
        for date in ahead.days() {
            let new = make_day(room, hours, &holidays, date, &mut Taken::default());
            work += new.len().max(old.get(&date).copied().unwrap_or(0));
            if work > SLOTS_PER_COMMAND_MAX {
                break;
            }
            grid.extend(new.into_iter().map(|(start, slot)| (start, slot.minutes)));
            days.last = date;
        }
        let clear_until = day_after(days.last).min(pending.until);
        let (is_again, free, taken) = (pending.is_again, BTreeMap::new(), Taken::default());
        Self { room, hours, holidays, days, clear_until, is_again, there, grid, free, taken, locked_on: None }
    }

    /// What stays, and what goes.
    fn sort_out(&mut self, rows: &mut Rows, at: &Context<'_>) -> Decision<()> {
        let may_go = |id: &SlotId, slot: &Slot| {
            slot.state == SlotState::Free && (self.days.first..=self.clear_until).contains(&id.start.date())
        };
        for (id, _) in self.there.iter().filter(|(id, slot)| may_go(id, slot)) {
            slot::want(rows, *id);
        }
        for (id, slot) in &self.there {
            let is_free = may_go(id, slot);
            let stays = self.is_again && !slot.outside_hours;
            if is_free && !stays && slot::locked_by(rows, *id, at.now)? == LockedBy::Nobody {
                self.free.insert(*id, *slot);
                continue;
            }
            let (begins_at, ends_at) = slot.moments(id.start, self.room);
            self.taken.keep(begins_at, ends_at);
            if is_free && self.days.contains(id.start.date()) && self.is_outside(id, slot) {
                // A new slot of the day before may reach into this one.
                let date = id.start.date();
                self.locked_on = self.locked_on.or(Some(date.yesterday().unwrap_or(date)));
            }
        }
        Ok(())
    }

    /// Whether a slot that is in use does not belong to the hours, and is no more once nobody uses it. One that is only locked
    /// has to be where a new one would be.
    fn is_outside(&self, id: &SlotId, slot: &Slot) -> bool {
        let (begins_at, ends_at) = slot.moments(id.start, self.room);
        let is_misplaced = slot.state == SlotState::Free
            && if self.is_again { slot.outside_hours } else { !self.grid.contains(&(id.start, slot.minutes)) };
        is_misplaced || !self.hours.cover(&self.room.zone, id.start.date(), begins_at, ends_at)
    }

    fn write(&mut self, rows: &mut Rows) -> Rebuilt {
        let mut rebuilt = Rebuilt::default();
        let mut affected = BTreeSet::new();
        for (id, slot) in &self.there {
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
                let slots = make_day(self.room, self.hours, &self.holidays, date, &mut self.taken);
                new.extend(slots.into_iter().map(|(start, slot)| (SlotId { room: self.room.id, start }, slot)));
            }
        }
        for (id, old) in &self.free {
            let (begins_at, ends_at) = old.moments(id.start, self.room);
            if new.get(id) == Some(old) {
                // One that would be made again just so is there already.
                new.remove(id);
            } else if id.start.date() > self.days.last && self.taken.take(begins_at, ends_at) {
                // Its turn comes later.
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
