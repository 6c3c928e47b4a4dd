//! Availability of slots for a caller.

use super::LOCK_SLOTS_MAX;
use super::local_time::SlotStart;
use super::room::{self, RoomId};
use super::slot::{self, LockedBy, SlotId, SlotState, check_starts};
use crate::command::{Context, Decision};
use crate::hold::Origin;
use crate::id::UserId;
use crate::money::Currency;
use crate::working_set::WorkingSet;

/// Availability of the requested slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    pub room: RoomId,
    pub result: AvailabilityResult,
    /// Sum of the slots that the caller could lock now.
    pub total_price: i64,
    pub currency: Currency,
    /// In order of their start.
    pub slots: Vec<RequestedSlot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvailabilityResult {
    /// All slots are free, or locked by the caller.
    Available,
    /// Some slots are locked by other users.
    PartiallyAvailable,
    /// Some slots cannot become available by the end of a lock.
    Unavailable,
    /// All slots are locked by other users.
    TemporarilyUnavailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedSlot {
    pub start: SlotStart,
    pub status: RequestedSlotStatus,
    /// `None` if the slot does not exist.
    pub price: Option<i64>,
}

/// Status of a slot for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedSlotStatus {
    Available,
    LockedByCaller,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
    /// The slot has begun.
    Past,
    /// The slot does not exist.
    Missing,
}

pub fn availability(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    room: RoomId,
    user: Option<&UserId>,
    starts: &[SlotStart],
) -> Decision<Availability> {
    let starts = check_starts(starts, LOCK_SLOTS_MAX)?;
    let ids: Vec<SlotId> = starts.into_iter().map(|start| SlotId { room, start }).collect();
    rows.calendar.rooms.request(&room);
    for id in &ids {
        slot::request_rows(rows, *id);
    }
    let room_row = room::find(rows, room)?;
    if user.is_some() {
        request_locks(rows, at, &ids)?;
    }
    let mut slots = Vec::with_capacity(ids.len());
    for id in ids {
        let locked_by = slot::locked_by(rows, id, at.now)?;
        let slot = rows.calendar.slots.get(&id)?.copied().filter(|slot| slot.exists(locked_by));
        let status = match slot.map(|slot| slot.state) {
            None => RequestedSlotStatus::Missing,
            Some(SlotState::Reserved { .. }) => RequestedSlotStatus::Reserved,
            Some(SlotState::Blocked) => RequestedSlotStatus::Blocked,
            Some(SlotState::Maintenance) => RequestedSlotStatus::Maintenance,
            Some(SlotState::Free) if id.start.begins_at(&room_row.zone) <= at.now => RequestedSlotStatus::Past,
            Some(SlotState::Free) => free_status(rows, locked_by, user)?,
        };
        slots.push(RequestedSlot { start: id.start, status, price: slot.map(|slot| slot.final_price) });
    }
    let is_lockable = |slot: &&RequestedSlot| {
        matches!(slot.status, RequestedSlotStatus::Available | RequestedSlotStatus::LockedByCaller)
    };
    let total_price = slots.iter().filter(is_lockable).filter_map(|slot| slot.price).sum();
    Ok(Availability { room, result: result(&slots), total_price, currency: room_row.currency, slots })
}

/// Combines the statuses: any slot that cannot become available decides, then slots locked by other users.
fn result(slots: &[RequestedSlot]) -> AvailabilityResult {
    let (mut free, mut locked) = (0, 0);
    for slot in slots {
        match slot.status {
            RequestedSlotStatus::Available | RequestedSlotStatus::LockedByCaller => free += 1,
            RequestedSlotStatus::Locked => locked += 1,
            RequestedSlotStatus::Reserved
            | RequestedSlotStatus::Blocked
            | RequestedSlotStatus::Maintenance
            | RequestedSlotStatus::Past
            | RequestedSlotStatus::Missing => return AvailabilityResult::Unavailable,
        }
    }
    match (free, locked) {
        (_, 0) => AvailabilityResult::Available,
        (0, _) => AvailabilityResult::TemporarilyUnavailable,
        _ => AvailabilityResult::PartiallyAvailable,
    }
}

/// Requests all locks on the slots at once, to read their owners.
fn request_locks(rows: &mut WorkingSet, at: &Context<'_>, ids: &[SlotId]) -> Decision<()> {
    for id in ids {
        if let LockedBy::Lock(lock) = slot::locked_by(rows, *id, at.now)? {
            rows.holds.request(&lock);
        }
    }
    Ok(())
}

fn free_status(rows: &mut WorkingSet, locked_by: LockedBy, user: Option<&UserId>) -> Decision<RequestedSlotStatus> {
    Ok(match (locked_by, user) {
        (LockedBy::None, _) => RequestedSlotStatus::Available,
        (LockedBy::Lock(lock), Some(user)) => match rows.holds.get(&lock)? {
            Some(lock) if lock.owner == *user && lock.origin == Origin::Lock => RequestedSlotStatus::LockedByCaller,
            Some(_) | None => RequestedSlotStatus::Locked,
        },
        (LockedBy::Lock(_) | LockedBy::Prepared, _) => RequestedSlotStatus::Locked,
    })
}
