//! Blocking slots for sale, and unblocking them.

use std::sync::Arc;

use super::BLOCK_SLOTS_MAX;
use super::line::{LockedSlot, SlotsItem};
use super::local_time::SlotStart;
use super::reservation::free_slot;
use super::room::{self, Room, RoomId};
use super::slot::{self, LockedBy, Slot, SlotId, SlotState, SlotView, check_starts, not_available};
use crate::command::{Command, Context, Decision, Stop, TwoPhase, writes};
use crate::event::Event;
use crate::hold::{AttemptId, Decided, Extras, Item, Origin, Placement, confirm, owner, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{CalendarRejection, Rejection};
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Reason why a slot is not for sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStatus {
    Blocked,
    Maintenance,
}

/// Blocks slots, all or none; rejected if one is locked or reserved. A slot that is blocked already takes the new
/// status.
///
/// Where live and durable rows lie in two stores, this runs as a confirm attempt: the slots are locked by the system
/// user and prepared, recorded as blocked, then released. So no other lock is placed while they are being blocked.
#[derive(Clone, Debug)]
pub struct BlockSlots {
    /// Random part of the id of the system user's lock; the rest is the time of the decision.
    pub random: [u8; 10],
    pub room: RoomId,
    pub slots: Vec<SlotStart>,
    pub status: BlockStatus,
}

impl Command for BlockSlots {
    type Outcome = Vec<SlotView>;
    const NAME: &'static str = "calendar.slots.block";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Vec<SlotView>> {
        let (room, slots) = changeable(rows, at, self.room, &self.slots)?;
        Ok(self.block(rows, &room, slots))
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        1 + self.slots.len().min(BLOCK_SLOTS_MAX) / 8
    }
}

impl TwoPhase for BlockSlots {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        owner::request(rows, Kind::Room, &UserId::SYSTEM);
        let (room, slots) = changeable(rows, at, self.room, &self.slots)?;
        let line = |(id, slot): &(SlotId, Slot)| LockedSlot { start: id.start, minutes: slot.minutes, price: 0 };
        let lock = Placement {
            id: HoldId::new(at.now, self.random),
            owner: UserId::SYSTEM,
            origin: Origin::System,
            created_at: at.now,
            expires_at: at.end_after(at.limits.calendar.lock_ttl),
            currency: room.currency,
            lines: [(0, Item::Slots(SlotsItem { room: self.room, slots: slots.iter().map(line).collect() }))],
            extras: Extras::default(),
        }
        .into_hold();
        place::insert(rows, &lock, at.now)?;
        confirm::prepare(rows, &lock, at.now)
    }

    fn record(&self, rows: &mut WorkingSet, _at: &Context<'_>, prepared: &AttemptId) -> Decision<Vec<SlotView>> {
        let ids = ids(self.room, &self.slots)?;
        for id in &ids {
            rows.calendar.slots.request(id);
        }
        rows.calendar.rooms.request(&self.room);
        confirm::find_prepared(rows, *prepared)?.ok_or(Stop::Retry)?;
        if rows.decisions.get(prepared)?.is_some() {
            return Err(Stop::Retry);
        }
        let room = room::find(rows, self.room)?;
        let mut slots = Vec::with_capacity(ids.len());
        for id in ids {
            let slot = find_slot(rows, id)?;
            if matches!(slot.state, SlotState::Reserved { .. }) {
                return Err(not_available(id.start).into());
            }
            slots.push((id, slot));
        }
        rows.decisions.put(*prepared, Decided::Committed);
        Ok(self.block(rows, &room, slots))
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        _outcome: Option<&Vec<SlotView>>,
    ) -> Decision<()> {
        // The system user's lock ends in the same way for every outcome.
        confirm::finish(rows, *prepared, None, at.now)
    }
}

impl BlockSlots {
    fn block(&self, rows: &mut WorkingSet, room: &Room, slots: Vec<(SlotId, Slot)>) -> Vec<SlotView> {
        let state = SlotState::from(self.status);
        let mut changed = Vec::new();
        let mut views = Vec::with_capacity(slots.len());
        for (id, slot) in slots {
            let blocked = Slot { state, ..slot };
            if blocked != slot {
                rows.calendar.slots.put(id, blocked);
                changed.push(id.start);
            }
            views.push(blocked.view(id, room, LockedBy::None));
        }
        if !changed.is_empty() {
            let slots: Arc<[SlotStart]> = changed.into();
            rows.emit(Event::RoomSlotsBlocked { room: self.room, slots, status: self.status });
        }
        views
    }
}

/// Unblocks slots, all or none; rejected if one is locked or reserved. Slots outside the present hours are deleted.
#[derive(Clone, Debug)]
pub struct UnblockSlots {
    pub room: RoomId,
    pub slots: Vec<SlotStart>,
}

impl Command for UnblockSlots {
    /// The slots that still exist.
    type Outcome = Vec<SlotView>;
    const NAME: &'static str = "calendar.slots.unblock";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Vec<SlotView>> {
        let (room, slots) = changeable(rows, at, self.room, &self.slots)?;
        let mut views = Vec::with_capacity(slots.len());
        for (id, slot) in slots {
            if slot.state != SlotState::Free {
                free_slot(rows, id, slot);
            }
            let freed = Slot { state: SlotState::Free, ..slot };
            if freed.exists(LockedBy::None) {
                views.push(freed.view(id, &room, LockedBy::None));
            }
        }
        Ok(views)
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        1 + self.slots.len().min(BLOCK_SLOTS_MAX) / 8
    }
}

fn ids(room: RoomId, starts: &[SlotStart]) -> Result<Vec<SlotId>, Rejection> {
    Ok(check_starts(starts, BLOCK_SLOTS_MAX)?.into_iter().map(|start| SlotId { room, start }).collect())
}

/// Returns the slots if all of them exist, and none is reserved or locked.
fn changeable(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    room: RoomId,
    starts: &[SlotStart],
) -> Decision<(Room, Vec<(SlotId, Slot)>)> {
    let ids = ids(room, starts)?;
    rows.calendar.rooms.request(&room);
    for id in &ids {
        slot::request_rows(rows, *id);
    }
    let room = room::find(rows, room)?;
    let mut slots = Vec::with_capacity(ids.len());
    for id in ids {
        let slot = rows.calendar.slots.get(&id)?.copied();
        let locked_by = slot::locked_by(rows, id, at.now)?;
        let Some(slot) = slot.filter(|slot| slot.exists(locked_by)) else { return Err(not_found(id).into()) };
        match (slot.state, locked_by) {
            (SlotState::Reserved { .. }, _) | (_, LockedBy::Lock(_)) => return Err(not_available(id.start).into()),
            (_, LockedBy::Prepared) => return Err(Stop::Retry),
            (_, LockedBy::None) => slots.push((id, slot)),
        }
    }
    Ok((room, slots))
}

fn find_slot(rows: &mut WorkingSet, id: SlotId) -> Decision<Slot> {
    Ok(rows.calendar.slots.get(&id)?.copied().ok_or(not_found(id))?)
}

fn not_found(id: SlotId) -> CalendarRejection {
    CalendarRejection::SlotNotFound { date: id.start.date(), time: id.start.time() }
}
