//! The auditor reports every violation.

use super::*;
use crate::hold::{HoldState, Line, Records};

/// Returns the findings for a consistent room after `change` has added an inconsistent record.
fn findings(change: impl Fn(&mut Audit, &Consistent)) -> Vec<String> {
    let mut world = world();
    let room = room(&mut world);
    let lock = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let reservation = reserve(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"]));
    let id = |text: &str| SlotId { room, start: slot_at(TOMORROW, text) };
    let tables = &world.memory.calendar;
    let slot = |text: &str| tables.slots.rows().find(|(other, _)| **other == id(text)).map(|(_, slot)| *slot).unwrap();
    let original = Consistent { lock, reservation, room, free: slot("11:00"), reserved: slot("10:00") };
    let mut audit = all_records(&world);
    change(&mut audit, &original);
    assert!(audit.records() > 100);
    audit.finish()
}

struct Consistent {
    lock: Hold,
    reservation: RoomReservation,
    room: RoomId,
    free: Slot,
    reserved: Slot,
}

impl Consistent {
    fn id(&self, text: &str) -> SlotId {
        SlotId { room: self.room, start: slot_at(TOMORROW, text) }
    }
}

#[test]
fn consistent_room_has_no_findings() {
    assert_eq!(findings(|_, _| {}), [""; 0]);
}

#[test]
fn overlapping_slots_are_found() {
    let found = findings(|audit, original| audit.calendar.slot(original.id("11:30"), original.free));
    assert_eq!(found, ["room 1, slot 2026-06-02 11:30: overlaps the slot of 2026-06-02 11:00"]);
    let unknown_room = SlotId { room: RoomId::new(9).unwrap(), start: slot_at(TOMORROW, "09:00") };
    let found = findings(|audit, original| audit.calendar.slot(unknown_room, original.free));
    assert_eq!(found, ["room 9, slot 2026-06-02 09:00: the room does not exist"]);
}

#[test]
fn mismatched_slot_and_reservation_are_found() {
    let found = findings(|audit, original| audit.calendar.slot(original.id("11:00"), original.reserved));
    assert_eq!(found, ["room 1, slot 2026-06-02 11:00: reserved, but not by reservation 1"]);
    let found = findings(|audit, original| audit.calendar.slot(original.id("10:00"), original.free));
    assert_eq!(found, ["room 1, slot 2026-06-02 10:00: in reservation 1, but not reserved"]);
    let found = findings(|audit, original| {
        let id = RoomReservationId::new(2).unwrap();
        let lock = HoldId::earliest_at(original.lock.created_at);
        audit_reservation(audit, &RoomReservation { id, lock, ..original.reservation.clone() });
    });
    let twice = "room 1, slot 2026-06-02 10:00: sold twice, to reservations 1 and 2";
    assert!(found.contains(&twice.to_string()), "{found:?}");
}

#[test]
fn slot_locked_twice_or_not_free_is_found() {
    let found = findings(|audit, original| audit.hold(&original.lock));
    assert_eq!(found, ["room 1, slot 2026-06-02 09:00: locked 2 times"]);
    let found = findings(|audit, original| audit.calendar.held(original.id("10:00"), 1, false));
    assert_eq!(found, ["room 1, slot 2026-06-02 10:00: locked, but not free"]);
    let found = findings(|audit, original| audit.calendar.held(original.id("10:00"), 1, true));
    assert_eq!(found, [""; 0], "a prepared lock may be reserved already");
    let found = findings(|audit, original| audit.calendar.held(original.id("11:00"), 2, false));
    assert_eq!(found, [""; 0], "one of the locks is in its last second");
}

#[test]
fn mismatched_lock_and_reservation_are_found() {
    let id = RoomReservationId::new(2).unwrap();
    let cancelled = |original: &Consistent| RoomReservationState::Cancelled { at: original.lock.created_at };
    let found = findings(|audit, original| {
        audit_reservation(audit, &RoomReservation { id, state: cancelled(original), ..original.reservation.clone() });
    });
    assert!(found.len() == 1 && found[0].ends_with("confirmed twice, as room reservation [2] too"), "{found:?}");
    let found = findings(|audit, original| {
        audit.hold(&original.lock.confirmed(Records::Shared(7)));
    });
    assert!(found.len() == 1 && found[0].ends_with("confirmed, but room reservation 7 is not its own"), "{found:?}");
    let found = findings(|audit, original| {
        let state = RoomReservationState::Cancelled { at: original.lock.created_at };
        audit_reservation(audit, &RoomReservation { state, ..original.reservation.clone() });
    });
    assert!(found.contains(&"room reservation 1: number is not unique".to_string()), "{found:?}");
}

#[test]
fn wrong_totals_and_times_are_found() {
    let found = findings(|audit, original| {
        let mut lock = Hold { state: HoldState::Cancelled, ..original.lock.clone() };
        lock.lines = [Line { price: lock.lines[0].price + 1, ..lock.lines[0].clone() }].into();
        lock.expires_at = lock.created_at;
        audit.hold(&lock);
    });
    assert!(found.len() == 2 && found[0].ends_with("ends before it begins"), "{found:?}");
    assert!(found[1].ends_with("its total differs from the sum of its slots"));
    let found = findings(|audit, original| {
        let (id, lock) = (RoomReservationId::new(2).unwrap(), original.lock.id);
        let state = RoomReservationState::Cancelled { at: original.lock.created_at };
        audit_reservation(audit, &RoomReservation { id, lock, state, total: 1, ..original.reservation.clone() });
    });
    assert_eq!(found, ["reservation 2: its total differs from the sum of its slots"]);
}
