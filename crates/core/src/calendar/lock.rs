//! Placing locks on slots, and replacing the user's own.

use std::collections::BTreeSet;

use super::LOCK_SLOTS_MAX;
use super::line::{LockedSlot, SlotsItem};
use super::local_time::SlotStart;
use super::room::{self, Room, RoomId};
use super::slot::{self, LockedBy, Slot, SlotId, SlotState, check_starts, not_available};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Extras, Hold, Item, Origin, Placement, cancel, owner, place};
use crate::id::{HoldId, UserId};
use crate::rejection::{Fault, Rejection};
use crate::time::{Span, Timestamp};
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Locks slots, all or none. Live locks of the same user that overlap are replaced as a whole, in the same commit:
/// their other slots become free.
#[derive(Clone, Debug)]
pub struct LockSlots {
    /// Random part of the lock's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub room: RoomId,
    pub user: UserId,
    pub slots: Vec<SlotStart>,
    /// TTL of the lock, at least a second; values above the setting are reduced to it.
    pub ttl: Option<Span>,
}

impl Command for LockSlots {
    type Outcome = Hold;
    const NAME: &'static str = "calendar.lock.place";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let ids = self.check()?;
        let expires_at = at.end_after(self.ttl(at)?);
        self.request_rows(rows, &ids);
        let room = room::find(rows, self.room)?;
        let id = HoldId::new(at.now, self.random);
        let replaced = self.replace_own(rows, &ids, id, at.now)?;
        hold::check_hold_limit(rows, at, Kind::Room, &self.user)?;
        let mut slots = Vec::with_capacity(ids.len());
        for id in ids {
            slots.push(lockable(rows, &room, id, replaced.contains(&id), at.now)?);
        }
        let total = slots.iter().map(|slot| slot.price).sum();
        let lock = Placement {
            id,
            owner: self.user.clone(),
            origin: Origin::Lock,
            created_at: at.now,
            expires_at,
            currency: room.currency,
            lines: [(total, Item::Slots(SlotsItem { room: self.room, slots: slots.into() }))],
            extras: Extras::of_new_hold(&at.limits.hold),
        }
        .into_hold();
        place::insert(rows, &lock, at.now)?;
        rows.emit(Event::HoldPlaced(lock.clone()));
        Ok(lock)
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        1 + self.slots.len().min(LOCK_SLOTS_MAX) / 8
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

impl LockSlots {
    fn check(&self) -> Result<Vec<SlotId>, Rejection> {
        let starts = check_starts(&self.slots, LOCK_SLOTS_MAX)?;
        Ok(starts.into_iter().map(|start| SlotId { room: self.room, start }).collect())
    }

    fn ttl(&self, at: &Context<'_>) -> Result<Span, Rejection> {
        let ttl_max = at.limits.calendar.lock_ttl;
        match self.ttl {
            Some(ttl) if ttl < Span::from_secs(1) => {
                let fault = Fault::OutOfRange { min: 1, max: ttl_max.as_millis() / 1_000 };
                Err(Rejection::invalid("ttlSeconds", fault))
            }
            Some(ttl) => Ok(ttl.min(ttl_max)),
            None => Ok(ttl_max),
        }
    }

    fn request_rows(&self, rows: &mut WorkingSet, ids: &[SlotId]) {
        rows.calendar.rooms.request(&self.room);
        owner::request(rows, Kind::Room, &self.user);
        for id in ids {
            slot::request_rows(rows, *id);
        }
    }

    /// Ends the user's live locks on any of these slots, and returns all slots of those locks.
    fn replace_own(
        &self,
        rows: &mut WorkingSet,
        ids: &[SlotId],
        by: HoldId,
        now: Timestamp,
    ) -> Decision<BTreeSet<SlotId>> {
        let mut lock_ids = BTreeSet::new();
        for id in ids {
            if let Some(entry) = rows.calendar.by_slot.get(id)?
                && entry.expires_at > now
            {
                lock_ids.insert(entry.hold);
            }
        }
        // All locks are requested at once; lock by lock, each would need a load round.
        for lock in &lock_ids {
            rows.holds.request(lock);
        }
        let mut own = Vec::new();
        for id in &lock_ids {
            // A prepared lock is not live. Its slots are found as prepared in `lockable`, which backs off.
            let is_own = |lock: &&Hold| lock.owner == self.user && lock.origin == Origin::Lock && lock.is_live(now);
            own.extend(rows.holds.get(id)?.filter(is_own).cloned());
        }
        for lock in &own {
            place::request_indexes(rows, lock);
        }
        let mut replaced = BTreeSet::new();
        for lock in own {
            cancel::replace(rows, &lock, by, now)?;
            replaced.extend(lock.items::<SlotsItem>().flat_map(SlotsItem::ids));
        }
        Ok(replaced)
    }
}

/// Returns the line of a slot that can be locked. `was_own` is set if this command has replaced a lock on it, because
/// that lock may be the only reason why the slot still exists.
pub(super) fn lockable(
    rows: &mut WorkingSet,
    room: &Room,
    id: SlotId,
    was_own: bool,
    now: Timestamp,
) -> Decision<LockedSlot> {
    let slot = rows.calendar.slots.get(&id)?.copied();
    let locked_by = slot::locked_by(rows, id, now)?;
    let is_for_sale =
        |slot: &Slot| slot.state == SlotState::Free && (slot.exists(locked_by) || was_own) && !has_begun(room, id, now);
    match (slot.filter(is_for_sale), locked_by) {
        (None, _) | (_, LockedBy::Lock(_)) => Err(not_available(id.start).into()),
        (_, LockedBy::Prepared) => Err(Stop::Retry),
        (Some(slot), LockedBy::None) => {
            Ok(LockedSlot { start: id.start, minutes: slot.minutes, price: slot.final_price })
        }
    }
}

fn has_begun(room: &Room, id: SlotId, now: Timestamp) -> bool {
    id.start.begins_at(&room.zone) <= now
}
