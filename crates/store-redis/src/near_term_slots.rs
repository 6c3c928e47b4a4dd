//! Near-term slot cache: slots of the next days, which most clients request. An entry is valid while the room has the
//! cache version under which it was read, see [`cache_versions`](crate::cache_versions).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use holdfast_core::calendar::{DayRange, Room, RoomId, Slot, SlotId, SlotsOf};
use holdfast_core::table::{Scan as _, TableSet as _};
use holdfast_core::{Timestamp, WorkingSet};
use parking_lot::{Mutex, MutexGuard};

/// Maximum number of rooms that one query may take from the cache; larger queries bypass it.
const ROOMS_ASKED_MAX: usize = 4;
/// Capacity in slots: those of ten thousand rooms, about 200 MB. When exceeded, the whole cache is evicted.
const KEPT_MAX: usize = 2_500_000;
/// Size of a room itself, in slots.
const ROOM_SIZE: usize = 6;
/// Days from today that the cache covers: seven ahead in any time zone.
const NEAR_TERM_DAYS: RangeInclusive<i32> = -1..=8;
/// Days whose changes are intent; more than are cached, because a day may begin meanwhile.
const INTENT_DAYS: RangeInclusive<i32> = -3..=10;

#[derive(Default)]
pub(crate) struct NearTermSlots(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    rooms: HashMap<RoomId, (Validity, Arc<CachedRoom>)>,
    size: usize,
    /// Rooms that a caller is loading into the cache.
    being_read: HashSet<RoomId>,
}

/// Version of a cache entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub cache_version: String,
    /// Number of the connection to Redis: after a restart of Redis, an older cache version may reappear.
    pub connection: u64,
}

/// Cached room with its near-term slots.
pub(crate) struct CachedRoom {
    id: RoomId,
    /// `None`: the room does not exist.
    room: Option<Room>,
    days: DayRange,
    /// In order.
    slots: Vec<(SlotId, Slot)>,
}

impl NearTermSlots {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }

    pub(crate) fn cached_under(&self, room: RoomId, under: &Validity) -> Option<Arc<CachedRoom>> {
        self.kept().rooms.get(&room).filter(|(cached_under, _)| cached_under == under).map(|(_, room)| room.clone())
    }

    pub(crate) fn keep(&self, under: Validity, room: Arc<CachedRoom>) {
        let mut forgotten = HashMap::new();
        let mut kept = self.kept();
        if kept.size + room.size() > KEPT_MAX {
            forgotten = std::mem::take(&mut kept.rooms);
            kept.size = 0;
        }
        kept.size += room.size();
        if let Some((_, before)) = kept.rooms.insert(room.id, (under, room)) {
            kept.size -= before.size();
        }
        // Dropped after the lock is released.
        drop(kept);
        drop(forgotten);
    }

    /// Lets one caller at a time load a room; other callers read it without caching.
    pub(crate) fn begin_reading(&self, room: RoomId) -> Option<Reading<'_>> {
        // Created lazily: dropping one takes the lock that is held here.
        self.kept().being_read.insert(room).then(|| Reading { near_term_slots: self, room })
    }
}

/// Exclusive right to load a room into the cache.
pub(crate) struct Reading<'a> {
    near_term_slots: &'a NearTermSlots,
    room: RoomId,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.near_term_slots.kept().being_read.remove(&self.room);
    }
}

impl CachedRoom {
    /// Returns the days to cache, and a request for all rows of the room in them.
    pub(crate) fn requests(id: RoomId, now: Timestamp) -> (DayRange, WorkingSet) {
        let (days, mut rows) = (days_around(now, &NEAR_TERM_DAYS), WorkingSet::default());
        rows.calendar.rooms.request(&id);
        // Marks the range as requested; it cannot be complete yet.
        rows.calendar.slots.scan(&SlotsOf { room: id, days }).ok();
        (days, rows)
    }

    pub(crate) fn from_rows(id: RoomId, days: DayRange, rows: &WorkingSet) -> Self {
        let mut slots: Vec<(SlotId, Slot)> = rows.calendar.slots.rows().map(|(id, slot)| (*id, *slot)).collect();
        slots.sort_unstable_by_key(|(id, _)| *id);
        let room = rows.calendar.rooms.rows().next().map(|(_, room)| room.clone());
        Self { id, room, days, slots }
    }

    /// In slots.
    fn size(&self) -> usize {
        ROOM_SIZE + self.slots.len()
    }

    pub(crate) fn is_there(&self) -> bool {
        self.room.is_some()
    }

    /// Fills requested rows of this room; the rest stays requested.
    pub(crate) fn answer(&self, rows: &mut WorkingSet) {
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

/// Returns the rooms whose slots are requested, if they are few.
pub(crate) fn rooms_asked(rows: &WorkingSet) -> Vec<RoomId> {
    let slots = &rows.calendar.slots;
    let of_scans = slots.scans_requested().iter().map(|scan| scan.room);
    let rooms: BTreeSet<RoomId> = slots.requested().map(|id| id.room).chain(of_scans).collect();
    if rooms.len() > ROOMS_ASKED_MAX { Vec::new() } else { rooms.into_iter().collect() }
}

/// Whether near-term slots of this room are requested.
pub(crate) fn is_requested(rows: &WorkingSet, room: RoomId, now: Timestamp) -> bool {
    let (days, slots) = (days_around(now, &NEAR_TERM_DAYS), &rows.calendar.slots);
    slots.requested().any(|id| id.room == room && days.contains(id.start.date()))
        || slots
            .scans_requested()
            .iter()
            .any(|scan| scan.room == room && days.contains(scan.days.first) && days.contains(scan.days.last))
}

/// Returns the rooms with changes that caches may contain.
pub(crate) fn rooms_changed(rows: &WorkingSet, now: Timestamp) -> Vec<RoomId> {
    let days = days_around(now, &INTENT_DAYS);
    let mut rooms: BTreeSet<RoomId> = rows.calendar.rooms.changes().iter().map(|change| *change.key).collect();
    if rows.calendar.slots.has_changes() {
        let slots = rows.calendar.slots.changes();
        rooms
            .extend(slots.iter().filter(|change| days.contains(change.key.start.date())).map(|change| change.key.room));
    }
    rooms.into_iter().collect()
}

fn days_around(now: Timestamp, days: &RangeInclusive<i32>) -> DayRange {
    let today = now.to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |days: i32| today.saturating_add(jiff::Span::new().days(days));
    DayRange { first: day(*days.start()), last: day(*days.end()) }
}
