//! One slot of a room, and the list of them.

use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::LIST_DAYS_MAX;
use super::block::BlockStatus;
use super::making::ends_at;
use super::reservation::RoomReservationId;
use super::room::{self, Room, RoomId};
use super::wall::{DayRange, SlotStart, WallTime};
use crate::command::{Context, Decision, Missing};
use crate::hold;
use crate::id::HoldId;
use crate::money::Currency;
use crate::rejection::{CalendarRejection, Fault, Rejection};
use crate::rows::Rows;
use crate::table::{Row, Scan};
use crate::time::Timestamp;
use crate::unit::Unit;

/// One slot of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId {
    pub room: RoomId,
    pub start: SlotStart,
}

impl SlotId {
    pub fn unit(self) -> Unit {
        room::unit(self.room, self.start.minutes())
    }

    /// The slot of a unit of rooms.
    pub fn of(unit: Unit) -> Self {
        Self {
            room: RoomId::new(unit.resource).expect("units are made from rooms"),
            start: SlotStart::from_minutes(unit.part).expect("units are made from starts"),
        }
    }
}

/// What is recorded of a slot. That it is locked is not: locks are live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub minutes: u16,
    pub state: SlotState,
    /// Frozen when the slot was made.
    pub base_price: i64,
    pub final_price: i64,
    pub is_peak: bool,
    pub is_holiday: bool,
    /// It was kept, because it was in use, when the hours became others. Once nobody uses it, it is no more.
    pub outside_hours: bool,
}

impl Row for Slot {
    /// A week of ten thousand rooms.
    const CACHED_TIMES: usize = 20;
    const KEPT_WHEN_MADE: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    Free,
    Reserved { reservation: RoomReservationId },
    Blocked,
    Maintenance,
}

/// The slots of a room that begin on some days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsOf {
    pub room: RoomId,
    pub days: DayRange,
}

impl Scan<SlotId> for SlotsOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<SlotId> {
        let id = |start| SlotId { room: self.room, start };
        id(SlotStart::first_of(self.days.first))..=id(SlotStart::last_of(self.days.last))
    }

    /// The whole day: who asks for an hour of it is not the last.
    fn around(key: &SlotId) -> Option<Self> {
        let day = key.start.date();
        Some(Self { room: key.room, days: DayRange { first: day, last: day } })
    }
}

/// A slot as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView {
    pub date: Date,
    pub time: WallTime,
    pub minutes: u16,
    pub status: SlotStatus,
    pub base_price: i64,
    pub final_price: i64,
    pub currency: Currency,
    pub is_peak: bool,
    pub is_holiday: bool,
    pub reservation: Option<RoomReservationId>,
}

/// What a slot is at a given moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotStatus {
    Available,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
}

/// The slots there are on some days, in order; what they are is told by [`views`]. Asked in two queries, because slots and
/// locks have to be looked up together, and which slots there are is not known before: a lock that becomes a reservation in
/// between would else be seen as neither.
pub fn ids(rows: &mut Rows, room: RoomId, from: Date, to: Date) -> Decision<Vec<SlotId>> {
    let days = DayRange::new(from, to, LIST_DAYS_MAX)?;
    rows.calendar.rooms.want(&room);
    let ids = rows.calendar.slots.scan(&SlotsOf { room, days });
    room::find(rows, room)?;
    Ok(ids?)
}

/// These slots as they are now; without those that are no more.
pub fn views(rows: &mut Rows, at: &Context<'_>, room: RoomId, ids: &[SlotId]) -> Decision<Vec<SlotView>> {
    rows.calendar.rooms.want(&room);
    for id in ids {
        want(rows, *id);
    }
    let room = room::find(rows, room)?;
    let mut views = Vec::with_capacity(ids.len());
    for id in ids {
        let locked_by = locked_by(rows, *id, at.now)?;
        let slot = rows.calendar.slots.get(id)?.copied();
        if let Some(slot) = slot.filter(|slot| slot.is_there(locked_by)) {
            views.push(slot.view(*id, &room, locked_by));
        }
    }
    Ok(views)
}

/// All slots in a range, in order.
pub(super) fn scan(rows: &mut Rows, range: SlotsOf) -> Result<Vec<(SlotId, Slot)>, Missing> {
    let slots = &mut rows.calendar.slots;
    let ids = slots.scan(&range)?;
    ids.into_iter().map(|id| Ok((id, *slots.get(&id)?.expect("a slot that was found is there")))).collect()
}

/// Says that a slot will be needed, with what is held of it: both are looked up together, so that a lock that becomes a
/// reservation meanwhile is seen as one or the other.
pub(super) fn want(rows: &mut Rows, id: SlotId) {
    rows.calendar.slots.want(&id);
    rows.calendar.by_slot.want(&id);
    rows.held.want(&id.unit());
}

/// Who keeps a slot for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockedBy {
    Nobody,
    Lock(HoldId),
    /// Somebody is between two steps; how that ends decides.
    InDoubt,
}

/// Whose live lock is on a slot.
pub(super) fn locked_by(rows: &mut Rows, id: SlotId, now: Timestamp) -> Decision<LockedBy> {
    if hold::is_in_doubt(rows, id.unit())? {
        return Ok(LockedBy::InDoubt);
    }
    if hold::available(rows, id.unit(), 1, 0, now)? > 0 {
        return Ok(LockedBy::Nobody);
    }
    // What is held is counted to the full second. A slot has one lock at most, so the pointer to it knows better: a lock
    // past its time counts as free at once.
    Ok(match rows.calendar.by_slot.get(&id)? {
        Some(pointer) if pointer.expires_at > now => LockedBy::Lock(pointer.hold),
        Some(_) | None => LockedBy::Nobody,
    })
}

impl Slot {
    /// Whether it still exists: one outside the hours ends with its last use, though its row may be left.
    pub(super) fn is_there(&self, locked_by: LockedBy) -> bool {
        !(self.outside_hours && self.state == SlotState::Free && locked_by == LockedBy::Nobody)
    }

    pub(super) fn status(&self, locked_by: LockedBy) -> SlotStatus {
        match (self.state, locked_by) {
            (SlotState::Free, LockedBy::Nobody) => SlotStatus::Available,
            (SlotState::Free, LockedBy::Lock(_) | LockedBy::InDoubt) => SlotStatus::Locked,
            (SlotState::Reserved { .. }, _) => SlotStatus::Reserved,
            (SlotState::Blocked, _) => SlotStatus::Blocked,
            (SlotState::Maintenance, _) => SlotStatus::Maintenance,
        }
    }

    pub(super) fn view(&self, id: SlotId, room: &Room, locked_by: LockedBy) -> SlotView {
        SlotView {
            date: id.start.date(),
            time: id.start.time(),
            minutes: self.minutes,
            status: self.status(locked_by),
            base_price: self.base_price,
            final_price: self.final_price,
            currency: room.currency,
            is_peak: self.is_peak,
            is_holiday: self.is_holiday,
            reservation: match self.state {
                SlotState::Reserved { reservation } => Some(reservation),
                SlotState::Free | SlotState::Blocked | SlotState::Maintenance => None,
            },
        }
    }

    /// From when until when it really is.
    pub(super) fn moments(&self, start: SlotStart, room: &Room) -> (Timestamp, Timestamp) {
        let begins_at = start.begins_at(&room.zone);
        (begins_at, ends_at(begins_at, self.minutes))
    }
}

impl From<BlockStatus> for SlotState {
    fn from(status: BlockStatus) -> Self {
        match status {
            BlockStatus::Blocked => Self::Blocked,
            BlockStatus::Maintenance => Self::Maintenance,
        }
    }
}

pub(super) fn not_available(start: SlotStart) -> CalendarRejection {
    CalendarRejection::SlotNotAvailable { date: start.date(), time: start.time() }
}

/// The starts a caller names, in order: some, not too many, each once.
pub(super) fn check_starts(starts: &[SlotStart], max: usize) -> Result<Vec<SlotStart>, Rejection> {
    if starts.is_empty() {
        return Err(Rejection::invalid("times", Fault::Missing));
    }
    if starts.len() > max {
        return Err(Rejection::invalid("times", Fault::TooManyItems { max }));
    }
    let mut sorted = starts.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Rejection::invalid("times", Fault::Duplicate));
    }
    Ok(sorted)
}
