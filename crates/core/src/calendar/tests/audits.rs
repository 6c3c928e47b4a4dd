//! The auditor reports every violation.

use super::*;
use crate::audit::Audit;
use crate::hold::HoldState;

/// Returns the findings for a consistent room after `change` has added an inconsistent record.
fn findings(change: impl Fn(&mut CalendarAudit, &Consistent)) -> Vec<String> {
    let mut world = world();
    let room = room(&mut world);
    let lock = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let reservation = reserve(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"]));
    let id = |text: &str| SlotId { room, start: slot_at(TOMORROW, text) };
    let tables = &world.memory.calendar;
    let slot = |text: &str| tables.slots.rows().find(|(other, _)| **other == id(text)).map(|(_, slot)| *slot).unwrap();
    let original = Consistent { lock, reservation, room, free: slot("11:00"), reserved: slot("10:00") };
    let mut audit = Audit::new(world.now);
    let calendar = &mut audit.calendar;
    tables.rooms.rows().for_each(|(_, room)| calendar.room(room));
    tables.slots.rows().for_each(|(id, slot)| calendar.slot(*id, *slot));
    tables.locks.rows().for_each(|(_, lock)| calendar.lock(lock));
    tables.reservations.rows().for_each(|(_, reservation)| calendar.reservation(reservation));
    change(calendar, &original);
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
    let found = findings(|audit, original| audit.slot(original.id("11:30"), original.free));
    assert_eq!(found, ["room 1, slot 2026-06-02 11:30: overlaps the slot of 2026-06-02 11:00"]);
    let unknown_room = SlotId { room: RoomId::new(9).unwrap(), start: slot_at(TOMORROW, "09:00") };
    let found = findings(|audit, original| audit.slot(unknown_room, original.free));
    assert_eq!(found, ["room 9, slot 2026-06-02 09:00: the room does not exist"]);
}

#[test]
fn mismatched_slot_and_reservation_are_found() {
    let found = findings(|audit, original| audit.slot(original.id("11:00"), original.reserved));
    assert_eq!(found, ["room 1, slot 2026-06-02 11:00: reserved, but not by reservation 1"]);
    let found = findings(|audit, original| audit.slot(original.id("10:00"), original.free));
    assert_eq!(found, ["room 1, slot 2026-06-02 10:00: in reservation 1, but not reserved"]);
    let found = findings(|audit, original| {
        let id = RoomReservationId::new(2).unwrap();
        let lock = HoldId::earliest_at(original.lock.created_at);
        audit.reservation(&RoomReservation { id, lock, ..original.reservation.clone() });
    });
    let twice = "room 1, slot 2026-06-02 10:00: sold twice, to reservations 1 and 2";
    assert!(found.contains(&twice.to_string()), "{found:?}");
}

#[test]
fn slot_locked_twice_or_not_free_is_found() {
    let found = findings(|audit, original| audit.lock(&original.lock));
    assert_eq!(found, ["room 1, slot 2026-06-02 09:00: locked 2 times"]);
    let found = findings(|audit, original| audit.held(original.id("10:00"), 1, false));
    assert_eq!(found, ["room 1, slot 2026-06-02 10:00: locked, but not free"]);
    let found = findings(|audit, original| audit.held(original.id("10:00"), 1, true));
    assert_eq!(found, [""; 0], "a prepared lock may be reserved already");
    let found = findings(|audit, original| audit.held(original.id("11:00"), 2, false));
    assert_eq!(found, [""; 0], "one of the locks is in its last second");
}

#[test]
fn mismatched_lock_and_reservation_are_found() {
    let id = RoomReservationId::new(2).unwrap();
    let cancelled = |original: &Consistent| RoomReservationState::Cancelled { at: original.lock.created_at };
    let found = findings(|audit, original| {
        audit.reservation(&RoomReservation { id, state: cancelled(original), ..original.reservation.clone() });
    });
    assert!(found.len() == 1 && found[0].contains("confirmed twice"), "{found:?}");
    let found = findings(|audit, original| {
        audit.lock(&Hold { state: HoldState::Confirmed, ..original.lock.clone() });
    });
    assert!(found.len() == 1 && found[0].ends_with("confirmed, but reservation 7 is not its own"), "{found:?}");
    let found = findings(|audit, original| {
        let state = RoomReservationState::Cancelled { at: original.lock.created_at };
        audit.reservation(&RoomReservation { state, ..original.reservation.clone() });
    });
    assert!(found.contains(&"reservation 1: number is not unique".to_string()), "{found:?}");
}

#[test]
fn wrong_totals_and_times_are_found() {
    let found = findings(|audit, original| {
        let mut lock = Hold { state: HoldState::Cancelled, ..original.lock.clone() };
        lock.claim.total += 1;
        lock.expires_at = lock.created_at;
        audit.lock(&lock);
    });
    assert!(found.len() == 2 && found[0].ends_with("ends before it begins"), "{found:?}");
    assert!(found[1].ends_with("its total differs from the sum of its slots"));
    let found = findings(|audit, original| {
        let (id, lock) = (RoomReservationId::new(2).unwrap(), original.lock.id);
        let state = RoomReservationState::Cancelled { at: original.lock.created_at };
        audit.reservation(&RoomReservation { id, lock, state, total: 1, ..original.reservation.clone() });
    });
    assert_eq!(found, ["reservation 2: its total differs from the sum of its slots"]);
}
