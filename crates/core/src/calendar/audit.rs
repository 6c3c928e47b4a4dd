//! Consistency rules of rooms: slots do not overlap; reserved slots and reservations match; a slot has at most one live
//! lock, and only while it is free.

use std::collections::{BTreeMap, HashMap};

use super::line::SlotsItem;
use super::reservation::{RoomReservation, RoomReservationId, RoomReservationState};
use super::room::{Room, RoomId};
use super::slot::{Slot, SlotId, SlotState};
use crate::hold::{HOLD_TTL_MAX, Hold, Line, Status};
use crate::time::Timestamp;
use crate::unit::Units;

/// Collects records in any order; [`finish`](Self::finish) returns the violations.
#[derive(Debug)]
pub struct CalendarAudit {
    now: Timestamp,
    rooms: HashMap<RoomId, Room>,
    slots: BTreeMap<SlotId, Slot>,
    reserved: HashMap<SlotId, RoomReservationId>,
    /// Number of live locks per slot, and whether one of them is prepared.
    held: BTreeMap<SlotId, (u32, bool)>,
    findings: Vec<String>,
    records: u64,
}

impl CalendarAudit {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            rooms: HashMap::new(),
            slots: BTreeMap::new(),
            reserved: HashMap::new(),
            held: BTreeMap::new(),
            findings: Vec::new(),
            records: 0,
        }
    }

    pub fn room(&mut self, room: &Room) {
        self.records += 1;
        self.rooms.insert(room.id, room.clone());
    }

    pub fn slot(&mut self, id: SlotId, slot: Slot) {
        self.records += 1;
        self.slots.insert(id, slot);
    }

    pub fn line(&mut self, hold: &Hold, line: &Line, item: &SlotsItem) {
        match hold.status(self.now) {
            status @ (Status::Held | Status::Prepared) => {
                for id in item.ids() {
                    self.hold(id, 1, status == Status::Prepared);
                }
            }
            Status::Confirmed | Status::Cancelled | Status::Replaced | Status::Expired => {}
        }
        if item.slots.iter().map(|slot| slot.price).sum::<i64>() != line.price {
            self.findings.push(format!("hold {}: its total differs from the sum of its slots", hold.id));
        }
    }

    /// Adds the quantity that is counted as held of a slot, where locks cannot be listed. `prepared` is set if some of it
    /// is prepared. A lock in its last second may be counted beside the next one, so a quantity above one counts as
    /// one.
    pub fn held(&mut self, id: SlotId, quantity: u32, prepared: bool) {
        self.records += 1;
        self.hold(id, quantity.min(1), prepared);
    }

    /// Returns the units that could be held, from the slots collected so far. A lock lives at most a day, so earlier
    /// slots are skipped.
    pub(crate) fn units(&self) -> Vec<Units> {
        let earliest = self.now - HOLD_TTL_MAX - HOLD_TTL_MAX;
        let can_be_held =
            |id: &&SlotId| self.rooms.get(&id.room).is_some_and(|room| id.start.begins_at(&room.zone) >= earliest);
        let unit = |id: &SlotId| Units { first: id.unit(), last_part: id.start.minutes() };
        self.slots.keys().filter(can_be_held).map(unit).collect()
    }

    pub fn reservation(&mut self, reservation: &RoomReservation) {
        self.records += 1;
        if reservation.slots.iter().map(|slot| slot.price).sum::<i64>() != reservation.total {
            self.findings.push(format!("reservation {}: its total differs from the sum of its slots", reservation.id));
        }
        if reservation.state == RoomReservationState::Confirmed {
            for id in reservation.ids() {
                if let Some(other) = self.reserved.insert(id, reservation.id) {
                    let slot = slot_label(id);
                    self.findings.push(format!("{slot}: sold twice, to reservations {other} and {}", reservation.id));
                }
            }
        }
    }

    /// Returns the number of records collected.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(mut self) -> Vec<String> {
        self.check_slots();
        self.check_reserved();
        self.check_held();
        self.findings.sort();
        self.findings
    }

    fn hold(&mut self, id: SlotId, quantity: u32, prepared: bool) {
        let held = self.held.entry(id).or_default();
        held.0 += quantity;
        held.1 |= prepared;
    }

    fn check_slots(&mut self) {
        let mut last: Option<(SlotId, Timestamp)> = None;
        for (id, slot) in &self.slots {
            let Some(room) = self.rooms.get(&id.room) else {
                self.findings.push(format!("{}: the room does not exist", slot_label(*id)));
                continue;
            };
            let (begins_at, ends_at) = slot.moments(id.start, room);
            if let Some((other, end)) = last
                && other.room == id.room
                && end > begins_at
            {
                self.findings.push(format!("{}: overlaps the slot of {}", slot_label(*id), other.start));
            }
            last = Some((*id, ends_at));
        }
    }

    fn check_reserved(&mut self) {
        for (id, slot) in &self.slots {
            let SlotState::Reserved { reservation } = slot.state else { continue };
            if self.reserved.get(id) != Some(&reservation) {
                self.findings.push(format!("{}: reserved, but not by reservation {reservation}", slot_label(*id)));
            }
        }
        for (id, reservation) in &self.reserved {
            match self.slots.get(id).map(|slot| slot.state) {
                Some(SlotState::Reserved { reservation: other }) if other == *reservation => {}
                // Old slots are purged.
                None if self.rooms.get(&id.room).is_some_and(|room| id.start.date() < room.zone.today(self.now)) => {}
                _ => self.findings.push(format!("{}: in reservation {reservation}, but not reserved", slot_label(*id))),
            }
        }
    }

    fn check_held(&mut self) {
        for (id, (quantity, is_prepared)) in &self.held {
            if *quantity > 1 {
                self.findings.push(format!("{}: locked {quantity} times", slot_label(*id)));
            }
            // A slot with a prepared lock may be reserved already.
            let is_free = self.slots.get(id).is_some_and(|slot| slot.state == SlotState::Free);
            if *quantity > 0 && !is_free && !is_prepared {
                self.findings.push(format!("{}: locked, but not free", slot_label(*id)));
            }
        }
    }
}

fn slot_label(id: SlotId) -> String {
    format!("room {}, slot {}", id.room, id.start)
}
