//! One slot of a room, and lists of slots.

use std::ops::RangeInclusive;

use jiff::civil::Date;

use super::LIST_DAYS_MAX;
use super::block::BlockStatus;
use super::grid::ends_at;
use super::local_time::{DayRange, LocalTime, SlotStart};
use super::reservation::RoomReservationId;
use super::room::{self, Room, RoomId};
use crate::command::{Context, Decision, NeedRows};
use crate::hold;
use crate::id::HoldId;
use crate::money::Currency;
use crate::rejection::{CalendarRejection, Fault, Rejection};
use crate::table::{Row, Scan};
use crate::time::Timestamp;
use crate::unit::Unit;
use crate::working_set::WorkingSet;

/// Key of a slot of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId {
    pub room: RoomId,
    pub start: SlotStart,
}

impl SlotId {
    pub fn unit(self) -> Unit {
        room::unit(self.room, self.start.minutes())
    }

    /// Returns the slot of a room unit.
    pub fn of(unit: Unit) -> Self {
        Self {
            room: RoomId::new(unit.resource).expect("units are made from rooms"),
            start: SlotStart::from_minutes(unit.part).expect("units are made from starts"),
        }
    }
}

/// Durable state of a slot. Locks are live rows, and not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub minutes: u16,
    pub state: SlotState,
    /// Fixed when the slot was generated.
    pub base_price: i64,
    pub final_price: i64,
    pub is_peak: bool,
    pub is_holiday: bool,
    /// The slot was in use when the hours changed, and is kept until it becomes free.
    pub outside_hours: bool,
}

impl Row for Slot {
    /// Enough for a week of ten thousand rooms.
    const CACHE_FACTOR: usize = 20;
    const CACHED_ON_INSERT: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    Free,
    Reserved { reservation: RoomReservationId },
    Blocked,
    Maintenance,
}

/// Scan of the slots of a room that start in a range of days.
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

    /// Prefetches the whole day, because further queries of the same day are likely.
    fn prefetch(key: &SlotId) -> Option<Self> {
        let day = key.start.date();
        Some(Self { room: key.room, days: DayRange { first: day, last: day } })
    }
}

/// A slot as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView {
    pub date: Date,
    pub time: LocalTime,
    pub minutes: u16,
    pub status: SlotStatus,
    pub base_price: i64,
    pub final_price: i64,
    pub currency: Currency,
    pub is_peak: bool,
    pub is_holiday: bool,
    pub reservation: Option<RoomReservationId>,
}

/// Status of a slot at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotStatus {
    Available,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
}

/// Returns the keys of the slots of some days, in order, for [`views`]. Listing takes two queries, because slots and
/// locks must be read together and the keys are not known before. Otherwise a lock that is confirmed between two reads
/// would appear neither as lock nor as reservation.
pub fn ids(rows: &mut WorkingSet, room: RoomId, from: Date, to: Date) -> Decision<Vec<SlotId>> {
    let days = DayRange::new(from, to, LIST_DAYS_MAX)?;
    rows.calendar.rooms.request(&room);
    let ids = rows.calendar.slots.scan(&SlotsOf { room, days });
    room::find(rows, room)?;
    Ok(ids?)
}

/// Returns the present state of these slots, without those that no longer exist.
pub fn views(rows: &mut WorkingSet, at: &Context<'_>, room: RoomId, ids: &[SlotId]) -> Decision<Vec<SlotView>> {
    rows.calendar.rooms.request(&room);
    for id in ids {
        request_rows(rows, *id);
    }
    let room = room::find(rows, room)?;
    let mut views = Vec::with_capacity(ids.len());
    for id in ids {
        let locked_by = locked_by(rows, *id, at.now)?;
        let slot = rows.calendar.slots.get(id)?.copied();
        if let Some(slot) = slot.filter(|slot| slot.exists(locked_by)) {
            views.push(slot.view(*id, &room, locked_by));
        }
    }
    Ok(views)
}

/// Returns all slots in a range, in order.
pub(super) fn scan(rows: &mut WorkingSet, range: SlotsOf) -> Result<Vec<(SlotId, Slot)>, NeedRows> {
    let slots = &mut rows.calendar.slots;
    let ids = slots.scan(&range)?;
    ids.into_iter().map(|id| Ok((id, *slots.get(&id)?.expect("a scanned slot exists")))).collect()
}

/// Requests a slot together with its held quantity, so that a lock that is being confirmed is seen either as lock or as
/// reservation.
pub(super) fn request_rows(rows: &mut WorkingSet, id: SlotId) {
    rows.calendar.slots.request(&id);
    rows.calendar.by_slot.request(&id);
    rows.held.request(&id.unit());
}

/// Lock on a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockedBy {
    None,
    Lock(HoldId),
    /// Prepared by a confirm attempt, whose outcome decides.
    Prepared,
}

/// Returns the live lock on a slot.
pub(super) fn locked_by(rows: &mut WorkingSet, id: SlotId, now: Timestamp) -> Decision<LockedBy> {
    if hold::has_prepared(rows, id.unit())? {
        return Ok(LockedBy::Prepared);
    }
    if hold::available(rows, id.unit(), 1, 0, now)? > 0 {
        return Ok(LockedBy::None);
    }
    // Read after the count, because lists load the index entries of held slots only.
    Ok(match rows.calendar.by_slot.get(&id)? {
        Some(lock) if lock.expires_at > now => LockedBy::Lock(lock.hold),
        Some(_) | None => LockedBy::None,
    })
}

impl Slot {
    /// Whether the slot still exists. A slot outside the hours ceases to exist with its last use, even if its row
    /// remains.
    pub(super) fn exists(&self, locked_by: LockedBy) -> bool {
        !(self.outside_hours && self.state == SlotState::Free && locked_by == LockedBy::None)
    }

    pub(super) fn status(&self, locked_by: LockedBy) -> SlotStatus {
        match (self.state, locked_by) {
            (SlotState::Free, LockedBy::None) => SlotStatus::Available,
            (SlotState::Free, LockedBy::Lock(_) | LockedBy::Prepared) => SlotStatus::Locked,
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

    /// Returns the instants of start and end.
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

/// Validates the starts given by a client, and returns them in order: at least one, at most `max`, each once.
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
