//! Near-term slots: those of the next days, which most clients request. A store may cache them apart from other rows.
//!
//! A part is what is cached and invalidated as one: a room with its near-term slots. To a store it is opaque.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{DayRange, Room, RoomId, Slot, SlotId, SlotsOf};
use crate::table::{Scan as _, TableSet as _};
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Maximum number of parts that one query may take from a cache; larger queries bypass it.
const PARTS_REQUESTED_MAX: usize = 4;
/// Size of a room itself, in slots.
const ROOM_SIZE: usize = 6;
/// Days from today that are near: seven ahead in any time zone.
const NEAR_TERM_DAYS: RangeInclusive<i32> = -1..=8;
/// Days whose changes are announced; more than are cached, because a day may begin meanwhile.
const INTENT_DAYS: RangeInclusive<i32> = -3..=10;

/// A part. Displayed as its name in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(RoomId);

impl std::fmt::Display for PartId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "slots:{}", self.0)
    }
}

/// Near-term rows of a part, as read at one time.
#[derive(Debug)]
pub struct CachedPart {
    id: RoomId,
    /// `None`: the room does not exist.
    room: Option<Room>,
    days: DayRange,
    /// In order.
    slots: Vec<(SlotId, Slot)>,
}

impl CachedPart {
    /// Returns a request for all near-term rows of the part.
    pub fn requests(PartId(id): PartId, now: Timestamp) -> WorkingSet {
        let (days, mut rows) = (days_around(now, &NEAR_TERM_DAYS), WorkingSet::default());
        rows.calendar.rooms.request(&id);
        // Marks the range as requested; it cannot be complete yet.
        rows.calendar.slots.scan(&SlotsOf { room: id, days }).ok();
        rows
    }

    /// Returns the part from the rows that [`requests`](Self::requests) requested at `now`.
    pub fn from_rows(PartId(id): PartId, now: Timestamp, rows: &WorkingSet) -> Self {
        let mut slots: Vec<(SlotId, Slot)> = rows.calendar.slots.rows().map(|(id, slot)| (*id, *slot)).collect();
        slots.sort_unstable_by_key(|(id, _)| *id);
        let room = rows.calendar.rooms.rows().next().map(|(_, room)| room.clone());
        Self { id, room, days: days_around(now, &NEAR_TERM_DAYS), slots }
    }

    pub fn id(&self) -> PartId {
        PartId(self.id)
    }

    /// Returns the size in rows.
    pub fn size(&self) -> usize {
        ROOM_SIZE + self.slots.len()
    }

    pub fn exists(&self) -> bool {
        self.room.is_some()
    }

    /// Fills requested rows of this part; the rest stays requested.
    pub fn answer(&self, rows: &mut WorkingSet) {
        let known = SlotsOf { room: self.id, days: self.days }.range();
        let calendar = &mut rows.calendar;
        let (rooms, slots) = (&mut calendar.rooms, &mut calendar.slots);
        for id in rooms.take_requested() {
            if id == self.id { rooms.fill(id, self.room.clone()) } else { rooms.request_elsewhere([id]) }
        }
        for id in slots.take_requested() {
            if known.contains(&id) { slots.fill(id, self.slot(id)) } else { slots.request_elsewhere([id]) }
        }
        for scan in slots.take_scans_requested() {
            let asked = scan.range();
            if known.contains(asked.start()) && known.contains(asked.end()) {
                for (id, slot) in self.slots_in(&asked) {
                    slots.fill(*id, Some(*slot));
                }
                slots.fill_scan(scan);
            } else {
                // Requested again.
                slots.scan(&scan).ok();
            }
        }
    }

    fn slot(&self, id: SlotId) -> Option<Slot> {
        self.slots.binary_search_by_key(&id, |(id, _)| *id).ok().map(|index| self.slots[index].1)
    }

    fn slots_in(&self, range: &RangeInclusive<SlotId>) -> &[(SlotId, Slot)] {
        let first = self.slots.partition_point(|(id, _)| id < range.start());
        let end = self.slots.partition_point(|(id, _)| id <= range.end());
        &self.slots[first..end]
    }
}

/// Returns the parts whose rows are requested, if they are few.
pub fn parts_requested(rows: &WorkingSet) -> Vec<PartId> {
    let slots = &rows.calendar.slots;
    let of_scans = slots.scans_requested().iter().map(|scan| scan.room);
    let rooms: BTreeSet<RoomId> = slots.requested().map(|id| id.room).chain(of_scans).collect();
    if rooms.len() > PARTS_REQUESTED_MAX { Vec::new() } else { rooms.into_iter().map(PartId).collect() }
}

/// Whether near-term rows of this part are requested.
pub fn is_requested(rows: &WorkingSet, PartId(room): PartId, now: Timestamp) -> bool {
    let (days, slots) = (days_around(now, &NEAR_TERM_DAYS), &rows.calendar.slots);
    slots.requested().any(|id| id.room == room && days.contains(id.start.date()))
        || slots
            .scans_requested()
            .iter()
            .any(|scan| scan.room == room && days.contains(scan.days.first) && days.contains(scan.days.last))
}

/// Returns the parts with changes that caches may contain.
pub fn parts_changed(rows: &WorkingSet, now: Timestamp) -> Vec<PartId> {
    let days = days_around(now, &INTENT_DAYS);
    let mut rooms: BTreeSet<RoomId> = rows.calendar.rooms.changes().iter().map(|change| *change.key).collect();
    if rows.calendar.slots.has_changes() {
        let slots = rows.calendar.slots.changes();
        rooms
            .extend(slots.iter().filter(|change| days.contains(change.key.start.date())).map(|change| change.key.room));
    }
    rooms.into_iter().map(PartId).collect()
}

fn days_around(now: Timestamp, days: &RangeInclusive<i32>) -> DayRange {
    let today = now.to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |days: i32| today.saturating_add(jiff::Span::new().days(days));
    DayRange { first: day(*days.start()), last: day(*days.end()) }
}
