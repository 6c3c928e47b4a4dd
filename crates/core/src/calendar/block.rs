//! Taking slots off sale, and putting them back.

use std::sync::Arc;

use super::BLOCK_SLOTS_MAX;
use super::confirm::settle;
use super::lock::{LockedSlot, Purpose, RoomClaim, RoomLock, place};
use super::reservation::free;
use super::room::{self, Room, RoomId};
use super::slot::{self, LockedBy, Slot, SlotId, SlotState, SlotView, check_starts, not_available};
use super::wall::SlotStart;
use crate::command::{Attempt, Command, Context, Decision, Stop, Writes};
use crate::event::Event;
use crate::hold::{self, HoldState, Remembered as _, TryId};
use crate::id::{HoldId, ID_MAX, UserId};
use crate::rejection::{CalendarRejection, Rejection};
use crate::rows::Rows;
use crate::unit::{Holder, Kind};

/// Why a slot is not for sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStatus {
    Blocked,
    Maintenance,
}

/// Takes slots off sale, all or none; a locked or reserved one is refused. One that is off sale already takes the new
/// status.
///
/// Where live and durable rows lie in two stores, this has the shape of a confirmation: the slots are locked and pinned by
/// the house, recorded as blocked, and released. So nobody locks a slot in the moment in which it is blocked.
#[derive(Clone, Debug)]
pub struct BlockSlots {
    /// Makes the id of the house's own lock, together with the time of the decision.
    pub random: [u8; 10],
    pub room: RoomId,
    pub slots: Vec<SlotStart>,
    pub status: BlockStatus,
}

impl Command for BlockSlots {
    type Outcome = Vec<SlotView>;
    const NAME: &'static str = "calendar.slots.block";
    const WRITES: Writes = Writes::Both;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Vec<SlotView>> {
        let (room, slots) = changeable(rows, at, self.room, &self.slots)?;
        Ok(self.block(rows, &room, slots))
    }

    fn prepare(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Attempt> {
        rows.holders.want(&Holder { kind: Kind::Room, user: house() });
        let (room, slots) = changeable(rows, at, self.room, &self.slots)?;
        let line = |(id, slot): &(SlotId, Slot)| LockedSlot { start: id.start, minutes: slot.minutes, price: 0 };
        let claim = RoomClaim {
            room: self.room,
            slots: slots.iter().map(line).collect(),
            total: 0,
            currency: room.currency,
            purpose: Purpose::Block,
        };
        let id = HoldId::new(at.now, self.random);
        let lock = place(rows, id, house(), at.now + at.limits.calendar.lock_ttl, claim, at.now)?;
        let pinned = hold::pin(rows, &lock, at.now)?;
        let attempt = pinned.attempts;
        rows.calendar.locks.put(lock.id, pinned);
        Ok(attempt)
    }

    fn record(&self, rows: &mut Rows, _at: &Context<'_>, attempt: Attempt) -> Decision<Vec<SlotView>> {
        let ids = ids(self.room, &self.slots)?;
        for id in &ids {
            rows.calendar.slots.want(id);
        }
        rows.calendar.rooms.want(&self.room);
        // What was prepared has been lost: prepare again.
        let Some(lock) = self.own_lock(rows, ids[0], attempt)? else { return Err(Stop::Busy) };
        let of = TryId { hold: lock.id, attempt };
        if rows.decisions.get(&of)?.is_some() {
            return Err(Stop::Busy);
        }
        let room = room::find(rows, self.room)?;
        let mut slots = Vec::with_capacity(ids.len());
        for id in ids {
            let slot = there(rows, id)?;
            if matches!(slot.state, SlotState::Reserved { .. }) {
                return Err(not_available(id.start).into());
            }
            slots.push((id, slot));
        }
        // There is no record of it but the slots; a decision needs a number all the same.
        hold::decide(rows, of, self.room.get());
        Ok(self.block(rows, &room, slots))
    }

    fn finish(
        &self,
        rows: &mut Rows,
        at: &Context<'_>,
        attempt: Attempt,
        outcome: Option<&Vec<SlotView>>,
    ) -> Decision<()> {
        let ids = ids(self.room, &self.slots)?;
        let Some(lock) = self.own_lock(rows, ids[0], attempt)? else { return Ok(()) };
        RoomLock::want_derived(rows, &lock);
        settle(rows, TryId { hold: lock.id, attempt }, outcome.map(|_| self.room.get()), at.now)
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        1 + self.slots.len().min(BLOCK_SLOTS_MAX) / 8
    }
}

impl BlockSlots {
    fn block(&self, rows: &mut Rows, room: &Room, slots: Vec<(SlotId, Slot)>) -> Vec<SlotView> {
        let state = SlotState::from(self.status);
        let mut changed = Vec::new();
        let mut views = Vec::with_capacity(slots.len());
        for (id, slot) in slots {
            let blocked = Slot { state, ..slot };
            if blocked != slot {
                rows.calendar.slots.put(id, blocked);
                changed.push(id.start);
            }
            views.push(blocked.view(id, room, LockedBy::Nobody));
        }
        if !changed.is_empty() {
            let slots: Arc<[SlotStart]> = changed.into();
            rows.emit(Event::RoomSlotsBlocked { room: self.room, slots, status: self.status });
        }
        views
    }

    /// The lock that `prepare` made, found over one of its slots: its id has the time in it, which nobody else remembers.
    fn own_lock(&self, rows: &mut Rows, id: SlotId, attempt: Attempt) -> Decision<Option<RoomLock>> {
        let Some(pointer) = rows.calendar.by_slot.get(&id)?.copied() else { return Ok(None) };
        let lock = rows.calendar.locks.get(&pointer.hold)?.cloned();
        Ok(lock.filter(|lock| {
            let is_own = lock.id == HoldId::new(lock.created_at, self.random);
            is_own && lock.state == HoldState::Confirming && lock.attempts == attempt
        }))
    }
}

/// Puts slots back on sale, all or none; a locked or reserved one is refused. Those outside the present hours disappear.
#[derive(Clone, Debug)]
pub struct UnblockSlots {
    pub room: RoomId,
    pub slots: Vec<SlotStart>,
}

impl Command for UnblockSlots {
    /// Those that are still there.
    type Outcome = Vec<SlotView>;
    const NAME: &'static str = "calendar.slots.unblock";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Vec<SlotView>> {
        let (room, slots) = changeable(rows, at, self.room, &self.slots)?;
        let mut views = Vec::with_capacity(slots.len());
        for (id, slot) in slots {
            if slot.state != SlotState::Free {
                free(rows, id, slot);
            }
            let freed = Slot { state: SlotState::Free, ..slot };
            if freed.is_there(LockedBy::Nobody) {
                views.push(freed.view(id, &room, LockedBy::Nobody));
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

/// Whose locks those of the house itself are. They never outlast the command that makes them.
fn house() -> UserId {
    UserId::new(ID_MAX).expect("the largest id is one")
}

fn ids(room: RoomId, starts: &[SlotStart]) -> Result<Vec<SlotId>, Rejection> {
    Ok(check_starts(starts, BLOCK_SLOTS_MAX)?.into_iter().map(|start| SlotId { room, start }).collect())
}

/// The slots, if all are there and nobody has or is about to have any of them.
fn changeable(
    rows: &mut Rows,
    at: &Context<'_>,
    room: RoomId,
    starts: &[SlotStart],
) -> Decision<(Room, Vec<(SlotId, Slot)>)> {
    let ids = ids(room, starts)?;
    rows.calendar.rooms.want(&room);
    for id in &ids {
        slot::want(rows, *id);
    }
    let room = room::find(rows, room)?;
    let mut slots = Vec::with_capacity(ids.len());
    for id in ids {
        let slot = rows.calendar.slots.get(&id)?.copied();
        let locked_by = slot::locked_by(rows, id, at.now)?;
        let Some(slot) = slot.filter(|slot| slot.is_there(locked_by)) else { return Err(not_found(id).into()) };
        match (slot.state, locked_by) {
            (SlotState::Reserved { .. }, _) | (_, LockedBy::Lock(_)) => return Err(not_available(id.start).into()),
            (_, LockedBy::InDoubt) => return Err(Stop::Busy),
            (_, LockedBy::Nobody) => slots.push((id, slot)),
        }
    }
    Ok((room, slots))
}

fn there(rows: &mut Rows, id: SlotId) -> Decision<Slot> {
    Ok(rows.calendar.slots.get(&id)?.copied().ok_or(not_found(id))?)
}

fn not_found(id: SlotId) -> CalendarRejection {
    CalendarRejection::SlotNotFound { date: id.start.date(), time: id.start.time() }
}
