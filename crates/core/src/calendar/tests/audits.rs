//! An audit finds what is wrong, whatever it is.

use super::*;
use crate::audit::Audit;
use crate::hold::HoldState;

/// What an audit says of a world in which everything was done right, and then something is shown differently.
fn findings(show: impl Fn(&mut CalendarAudit, &Shown)) -> Vec<String> {
    let mut world = world();
    let room = room(&mut world);
    let lock = lock(&mut world, room, 1, &slots_at(TOMORROW, &["09:00"])).unwrap();
    let reservation = reserve(&mut world, room, 2, &slots_at(TOMORROW, &["10:00"]));
    let id = |text: &str| SlotId { room, start: slot_at(TOMORROW, text) };
    let tables = &world.memory.calendar;
    let slot = |text: &str| tables.slots.rows().find(|(other, _)| **other == id(text)).map(|(_, slot)| *slot).unwrap();
    let shown = Shown { lock, reservation, room, free: slot("11:00"), reserved: slot("10:00") };
    let mut audit = Audit::new(world.now);
    let calendar = &mut audit.calendar;
    tables.rooms.rows().for_each(|(_, room)| calendar.room(room));
    tables.slots.rows().for_each(|(id, slot)| calendar.slot(*id, *slot));
    tables.locks.rows().for_each(|(_, lock)| calendar.lock(lock));
    tables.reservations.rows().for_each(|(_, reservation)| calendar.reservation(reservation));
    show(calendar, &shown);
    assert!(audit.records() > 100);
    audit.finish()
}

struct Shown {
    lock: RoomLock,
    reservation: RoomReservation,
    room: RoomId,
    free: Slot,
    reserved: Slot,
}

impl Shown {
    fn id(&self, text: &str) -> SlotId {
        SlotId { room: self.room, start: slot_at(TOMORROW, text) }
    }
}

#[test]
fn what_was_done_right_is_right() {
    assert_eq!(findings(|_, _| {}), [""; 0]);
}

#[test]
fn slots_that_overlap_are_found() {
    let found = findings(|audit, shown| audit.slot(shown.id("11:30"), shown.free));
    assert_eq!(found, ["room 1, slot 2026-06-02 11:30: overlaps the slot of 2026-06-02 11:00"]);
    let elsewhere = SlotId { room: RoomId::new(9).unwrap(), start: slot_at(TOMORROW, "09:00") };
    let found = findings(|audit, shown| audit.slot(elsewhere, shown.free));
    assert_eq!(found, ["room 9, slot 2026-06-02 09:00: there is no such room"]);
}

#[test]
fn a_reserved_slot_without_reservation_is_found_and_the_other_way_round() {
    let found = findings(|audit, shown| audit.slot(shown.id("11:00"), shown.reserved));
    assert_eq!(found, ["room 1, slot 2026-06-02 11:00: reserved, but not by reservation 1"]);
    let found = findings(|audit, shown| audit.slot(shown.id("10:00"), shown.free));
    assert_eq!(found, ["room 1, slot 2026-06-02 10:00: of reservation 1, but not reserved"]);
    let found = findings(|audit, shown| {
        let id = RoomReservationId::new(2).unwrap();
        let lock = HoldId::earliest_at(shown.lock.created_at);
        audit.reservation(&RoomReservation { id, lock, ..shown.reservation.clone() });
    });
    let twice = "room 1, slot 2026-06-02 10:00: sold twice, to reservations 1 and 2";
    assert!(found.contains(&twice.to_string()), "{found:?}");
}

#[test]
fn a_slot_locked_twice_or_locked_and_not_free_is_found() {
    let found = findings(|audit, shown| audit.lock(&shown.lock));
    assert_eq!(found, ["room 1, slot 2026-06-02 09:00: locked 2 times"]);
    let found = findings(|audit, shown| audit.held(shown.id("10:00"), 1, false));
    assert_eq!(found, ["room 1, slot 2026-06-02 10:00: locked, but not free"]);
    let found = findings(|audit, shown| audit.held(shown.id("10:00"), 1, true));
    assert_eq!(found, [""; 0], "between two steps it may be both");
    let found = findings(|audit, shown| audit.held(shown.id("11:00"), 2, false));
    assert_eq!(found, [""; 0], "one of them is in its last second");
}

#[test]
fn a_lock_confirmed_twice_or_for_nothing_is_found() {
    let id = RoomReservationId::new(2).unwrap();
    let cancelled = |shown: &Shown| RoomReservationState::Cancelled { at: shown.lock.created_at };
    let found = findings(|audit, shown| {
        audit.reservation(&RoomReservation { id, state: cancelled(shown), ..shown.reservation.clone() });
    });
    assert!(found.len() == 1 && found[0].contains("confirmed twice"), "{found:?}");
    let found = findings(|audit, shown| {
        audit.lock(&RoomLock { state: HoldState::Confirmed { record: 7 }, ..shown.lock.clone() });
    });
    assert!(found.len() == 1 && found[0].ends_with("confirmed, but reservation 7 is not its own"), "{found:?}");
    let found = findings(|audit, shown| {
        let state = RoomReservationState::Cancelled { at: shown.lock.created_at };
        audit.reservation(&RoomReservation { state, ..shown.reservation.clone() });
    });
    assert!(found.contains(&"reservation 1: there are two of that number".to_string()), "{found:?}");
}

#[test]
fn totals_and_times_that_cannot_be_are_found() {
    let found = findings(|audit, shown| {
        let mut lock = RoomLock { state: HoldState::Cancelled, ..shown.lock.clone() };
        lock.claim.total += 1;
        lock.expires_at = lock.created_at;
        audit.lock(&lock);
    });
    assert!(found.len() == 2 && found[0].ends_with("ends before it begins"), "{found:?}");
    assert!(found[1].ends_with("its slots do not add up to its total"));
    let found = findings(|audit, shown| {
        let (id, lock) = (RoomReservationId::new(2).unwrap(), shown.lock.id);
        let state = RoomReservationState::Cancelled { at: shown.lock.created_at };
        audit.reservation(&RoomReservation { id, lock, state, total: 1, ..shown.reservation.clone() });
    });
    assert_eq!(found, ["reservation 2: its slots do not add up to its total"]);
}
