//! Locks on slots: placing, replacing and releasing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::LOCK_SLOTS_MAX;
use super::local_time::SlotStart;
use super::room::{self, Room, RoomId};
use super::slot::{self, LockedBy, Slot, SlotId, SlotState, check_starts, not_available};
use crate::actor::Actor;
use crate::command::{Attempt, Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Claim, Hold, HoldState, Indexed, Status};
use crate::id::{HoldId, UserId};
use crate::money::Currency;
use crate::rejection::{CalendarRejection, Fault, Rejection};
use crate::table::Row;
use crate::time::{Span, Timestamp};
use crate::unit::{Holder, Kind, Unit};
use crate::working_set::WorkingSet;

/// A hold on one or more slots of a room.
pub type RoomLock = Hold<RoomClaim>;

/// Claim of a lock, and its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomClaim {
    pub room: RoomId,
    /// In order of their start.
    pub slots: Arc<[LockedSlot]>,
    pub total: i64,
    pub currency: Currency,
    pub purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedSlot {
    pub start: SlotStart,
    pub minutes: u16,
    pub price: i64,
}

/// Purpose of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Placed by a customer, to be confirmed.
    Reserve,
    /// Placed by the system user while slots are being blocked, where live and durable rows lie in two stores. It
    /// becomes no reservation.
    Block,
}

impl Claim for RoomClaim {
    const KIND: Kind = Kind::Room;

    fn lines(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.ids().map(|id| (id.unit(), 1))
    }
}

impl RoomClaim {
    pub fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.slots.iter().map(|slot| SlotId { room: self.room, start: slot.start })
    }
}

/// Index entry of a lock, valid until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveLock {
    pub hold: HoldId,
    pub expires_at: Timestamp,
}

impl Row for LiveLock {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

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
    type Outcome = RoomLock;
    const NAME: &'static str = "calendar.lock.insert_lock";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<RoomLock> {
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
        let claim = RoomClaim {
            room: self.room,
            total: slots.iter().map(|slot| slot.price).sum(),
            slots: slots.into(),
            currency: room.currency,
            purpose: Purpose::Reserve,
        };
        let lock = insert_lock(rows, id, self.user.clone(), expires_at, claim, at.now)?;
        rows.emit(Event::RoomSlotsLocked(lock.clone()));
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
        rows.holders.request(&Holder { kind: Kind::Room, user: self.user.clone() });
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
            rows.calendar.locks.request(lock);
        }
        let mut own = Vec::new();
        for id in &lock_ids {
            // A prepared lock is not live. Its slots are found as prepared in `lockable`, which backs off.
            if let Some(lock) = rows.calendar.locks.get(id)?
                && lock.owner == self.user
                && lock.is_live(now)
            {
                own.push(lock.clone());
            }
        }
        for lock in &own {
            RoomLock::request_indexes(rows, lock);
        }
        let mut replaced = BTreeSet::new();
        for lock in own {
            let state = HoldState::Replaced { by };
            end(rows, &lock, state, now)?;
            replaced.extend(lock.ids());
            rows.emit(Event::RoomSlotsReleased(Hold { state, ..lock }));
        }
        Ok(replaced)
    }
}

/// Returns the line of a slot that can be locked. `was_own` is set if this command has replaced a lock on it, because
/// that lock may be the only reason why the slot still exists.
fn lockable(rows: &mut WorkingSet, room: &Room, id: SlotId, was_own: bool, now: Timestamp) -> Decision<LockedSlot> {
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

/// Inserts a lock. The caller has checked that its slots are free.
pub(super) fn insert_lock(
    rows: &mut WorkingSet,
    id: HoldId,
    owner: UserId,
    expires_at: Timestamp,
    claim: RoomClaim,
    now: Timestamp,
) -> Decision<RoomLock> {
    let (state, attempts) = (HoldState::Held, Attempt::default());
    let lock = RoomLock { id, owner, created_at: now, expires_at, state, attempts, claim };
    RoomLock::index(rows, &lock, now)?;
    rows.calendar.locks.insert(lock.id, lock.clone());
    Ok(lock)
}

/// Releases a live lock.
#[derive(Clone, Debug)]
pub struct ReleaseLock {
    pub id: HoldId,
    pub actor: Actor,
}

impl Command for ReleaseLock {
    type Outcome = ();
    const NAME: &'static str = "calendar.lock.release";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let lock = find_open(rows, self.id, &self.actor, at.now)?;
        end(rows, &lock, HoldState::Cancelled, at.now)?;
        rows.emit(Event::RoomSlotsReleased(Hold { state: HoldState::Cancelled, ..lock }));
        Ok(())
    }
}

/// Returns the lock to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<RoomLock> {
    let lock = rows.calendar.locks.get(&id)?.cloned().ok_or(CalendarRejection::LockNotFound)?;
    actor.must_own(&lock.owner)?;
    Ok(lock)
}

/// Counts of a live lock, and its entries by slot.
impl Indexed for RoomLock {
    fn request_indexes(rows: &mut WorkingSet, lock: &Self) {
        hold::request_counts(rows, &lock.owner, &lock.claim);
        lock.ids().for_each(|id| rows.calendar.by_slot.request(&id));
    }

    fn index(rows: &mut WorkingSet, lock: &Self, now: Timestamp) -> Decision<()> {
        hold::count(rows, lock, now)?;
        for id in lock.ids() {
            rows.calendar.by_slot.put(id, LiveLock { hold: lock.id, expires_at: lock.expires_at });
        }
        Ok(())
    }
}

/// Ends a live lock before its time, and deletes its index entries.
pub(super) fn end(rows: &mut WorkingSet, lock: &RoomLock, state: HoldState, now: Timestamp) -> Decision<()> {
    hold::uncount(rows, lock, now)?;
    for id in lock.ids() {
        if rows.calendar.by_slot.get(&id)?.is_some_and(|entry| entry.hold == lock.id) {
            rows.calendar.by_slot.delete(id);
        }
    }
    rows.calendar.locks.put(lock.id, RoomLock { state, ..lock.clone() });
    Ok(())
}

/// Returns the lock for a change, to its owner or an operator. An unknown lock is rejected as not locked.
pub(super) fn find_for_change(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<RoomLock> {
    match find(rows, id, actor) {
        Err(Stop::Rejected(Rejection::Calendar(CalendarRejection::LockNotFound))) => {
            Err(CalendarRejection::SlotNotLocked { reservation: None }.into())
        }
        found => found,
    }
}

/// Returns the lock if `actor` can still confirm or release it, and requests its index entries.
pub(super) fn find_open(rows: &mut WorkingSet, id: HoldId, actor: &Actor, now: Timestamp) -> Decision<RoomLock> {
    let lock = find_for_change(rows, id, actor)?;
    let reservation = match (lock.status(now), lock.purpose) {
        (Status::Held, _) => {
            RoomLock::request_indexes(rows, &lock);
            return Ok(lock);
        }
        (Status::Prepared, _) => return Err(Stop::Retry),
        (Status::Confirmed { record }, Purpose::Reserve) => Some(record),
        (Status::Confirmed { .. } | Status::Expired | Status::Replaced | Status::Cancelled, _) => None,
    };
    Err(CalendarRejection::SlotNotLocked { reservation }.into())
}
