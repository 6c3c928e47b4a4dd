//! The auditor reports every violation.

use super::*;

/// A club with a slot, a confirmed booking and a cancelled one.
struct Scenario {
    club: Club,
    slot: TeeSlot,
    confirmed: Booking,
    cancelled: Booking,
}

fn scenario() -> Scenario {
    let mut club = Club::new();
    let slot = club.slot(4);
    let (confirmed, cancelled) = (club.confirmed(slot, 2).id, club.confirmed(slot, 1).id);
    club.cancel(cancelled, By::Admin).unwrap();
    club.inspect();
    let (slot, confirmed, cancelled) = (club.find_slot(slot), club.booking(confirmed), club.booking(cancelled));
    Scenario { club, slot, confirmed, cancelled }
}

/// Asserts that the findings contain `finding` after `spoil` has added an inconsistent record.
fn check(finding: &str, spoil: impl FnOnce(&mut TeeAudit, &Scenario)) {
    check_when(false, finding, spoil);
}

fn check_at_rest(finding: &str, spoil: impl Fn(&mut TeeAudit, &Scenario)) {
    check_when(true, finding, &spoil);
    let scenario = scenario();
    let mut audit = TeeAudit::new();
    pass_records(&scenario.club.world, &mut audit);
    spoil(&mut audit, &scenario);
    let findings = audit.finish().join("; ");
    assert!(!findings.contains(finding), "{findings}: messages may still be in flight");
}

fn check_when(is_at_rest: bool, finding: &str, spoil: impl FnOnce(&mut TeeAudit, &Scenario)) {
    let scenario = scenario();
    let mut audit = TeeAudit::new();
    pass_records(&scenario.club.world, &mut audit);
    let records = audit.records();
    spoil(&mut audit, &scenario);
    assert!(audit.records() > records);
    if is_at_rest {
        audit.at_rest();
    }
    let findings = audit.finish().join("; ");
    assert!(findings.contains(finding), "{finding:?} is not in {findings:?}");
}

fn slot_booking(scenario: &Scenario, state: SlotBookingState) -> SlotBooking {
    SlotBooking { slot: scenario.slot.id, players: 2, state }
}

const RESERVED: SlotBookingState = SlotBookingState::Reserved { version: 2 };

#[test]
fn unbalanced_places_are_found() {
    check("slot 1: 3 counted as booked, but 2 reserved", |audit, scenario| {
        audit.slot(&TeeSlot { booked: 3, ..scenario.slot.clone() });
    });
    check("slot 1: oversold: 2 booked of 1", |audit, scenario| {
        audit.slot(&TeeSlot { max_players: 1, ..scenario.slot.clone() });
    });
    check("booking 999: has places in slot 999, which does not exist", |audit, scenario| {
        audit.slot_booking(unknown_booking(), SlotBooking { slot: unknown_slot(), ..slot_booking(scenario, RESERVED) });
    });
}

#[test]
fn slots_without_course_or_time_are_found() {
    check("slot 1: course 999 does not exist", |audit, scenario| {
        audit.slot(&TeeSlot { course: CourseId::new(999).unwrap(), ..scenario.slot.clone() });
    });
    check("slot 999: is not the slot at 2025-11-20 07:30", |audit, scenario| {
        audit.slot(&TeeSlot { id: unknown_slot(), ..scenario.slot.clone() });
    });
    check("slot 999: at 2025-11-20 07:40, but does not exist", |audit, scenario| {
        let (course, date) = (scenario.slot.course, scenario.slot.date);
        audit.slot_time(SlotTimeId { course, date, start: start("07:40") }, SlotTime { slot: unknown_slot() });
    });
}

#[test]
fn inconsistent_bookings_are_found() {
    check("booking 1: number is not unique", |audit, scenario| audit.booking(&scenario.confirmed));
    check("booking 999: its amounts do not add up", |audit, scenario| {
        audit.booking(&Booking { id: unknown_booking(), total: 5, ..scenario.confirmed.clone() });
    });
    check("booking 999: its refund is not 100 % of its total", |audit, scenario| {
        let refund = Refund { percent: 100, amount: 5, rule: RefundRule::Admin };
        let state = BookingState::NoShow { at: scenario.confirmed.created_at, refund };
        audit.booking(&Booking { id: unknown_booking(), state, ..scenario.confirmed.clone() });
    });
    check("booking 999: released, but CONFIRMED", |audit, scenario| {
        let released_at = Some(scenario.confirmed.created_at);
        audit.booking(&Booking { id: unknown_booking(), released_at, ..scenario.confirmed.clone() });
    });
}

#[test]
fn rows_without_their_booking_are_found() {
    check("booking 2: CANCELLED does not match its entry", |audit, scenario| {
        audit.open_booking(OpenBookingId { slot: scenario.slot.id, booking: scenario.cancelled.id });
    });
    let new = |audit: &mut TeeAudit, scenario: &Scenario| {
        audit.booking(&Booking { id: unknown_booking(), ..scenario.confirmed.clone() });
    };
    check("booking 999: CONFIRMED does not match its entry", new);
    check("booking 999: its history does not match its revision", new);
    let key = |booking| KeyUse { booking, slot: unknown_slot(), players: 1 };
    check("booking 999: its key belongs to another request", |audit, scenario| {
        new(audit, scenario);
        audit.key_use(key(unknown_booking()));
    });
    check("booking 1: created under two keys", |audit, scenario| audit.key_use(key(scenario.confirmed.id)));
    check("booking 999: does not exist", |audit, _| audit.key_use(key(unknown_booking())));
    check("booking 999: does not exist", |audit, _| {
        audit.open_booking(OpenBookingId { slot: unknown_slot(), booking: unknown_booking() });
    });
    check("booking 999: does not exist", |audit, _| audit.history(HistoryId { booking: unknown_booking(), number: 1 }));
    check("booking 1: its history does not match its revision", |audit, scenario| {
        audit.history(HistoryId { booking: scenario.confirmed.id, number: 99 });
    });
}

#[test]
fn repeated_or_missing_notification_is_found() {
    let (id, notice) = (NotificationId::new(999).unwrap(), |kind| NoticeId { booking: unknown_booking(), kind });
    check("notification 999: CONFIRMED of booking 1 was notified more than once", |audit, scenario| {
        let Booking { id: booking, user, created_at, .. } = scenario.confirmed.clone();
        audit.notification(&Notification { id, booking, user, kind: BookingAction::Confirmed, created_at });
    });
    check("notification 999: of booking 999 does not exist", |audit, _| {
        audit.notice(notice(BookingAction::Failed), Notice { notification: id });
    });
}

#[test]
fn disagreeing_services_are_found() {
    check("booking 1: CONFIRMED, but has no places", |audit, scenario| {
        audit.slot_booking(scenario.confirmed.id, slot_booking(scenario, SlotBookingState::Released));
    });
    check("booking 1: CONFIRMED, but has no places", |audit, scenario| {
        audit.slot_booking(scenario.confirmed.id, SlotBooking { players: 1, ..slot_booking(scenario, RESERVED) });
    });
    let replica = |scenario: &Scenario| SlotReplica {
        course: scenario.slot.course,
        tee_off: scenario.slot.tee_off,
        max_players: 4,
        price: 0,
        currency: scenario.slot.currency,
        closed: true,
        version: 1,
    };
    check("slot 1: its replica is newer than the slot", |audit, scenario| {
        audit.slot_replica(scenario.slot.id, SlotReplica { version: 99, ..replica(scenario) });
    });
    check("slot 999: its replica is newer than the slot", |audit, scenario| {
        audit.slot_replica(unknown_slot(), replica(scenario));
    });
    check_at_rest("slot 1: its replica is not current", |audit, scenario| {
        audit.slot_replica(scenario.slot.id, replica(scenario));
    });
    check_at_rest("booking 2: has places in slot 1 without a confirmed booking", |audit, scenario| {
        audit.slot_booking(scenario.cancelled.id, slot_booking(scenario, RESERVED));
    });
    check_at_rest("booking 999: still pending", |audit, scenario| {
        let state = BookingState::Pending;
        audit.booking(&Booking { id: unknown_booking(), state, ..scenario.confirmed.clone() });
    });
}

#[test]
fn rows_of_one_service_are_audited_alone() {
    let scenario = scenario();
    let tables = &scenario.club.world.memory.tee;
    let mut course = TeeAudit::new();
    tables.courses.rows().for_each(|(_, row)| course.course(row));
    tables.slots.rows().for_each(|(_, row)| course.slot(row));
    tables.slot_times.rows().for_each(|(id, row)| course.slot_time(*id, *row));
    tables.slot_bookings.rows().for_each(|(id, row)| course.slot_booking(*id, *row));
    course.at_rest();
    assert_eq!(course.finish(), Vec::<String>::new());
    let mut booking = TeeAudit::new();
    tables.bookings.rows().for_each(|(_, row)| booking.booking(row));
    tables.booking_keys.rows().for_each(|(_, row)| booking.key_use(*row));
    tables.slot_replicas.rows().for_each(|(id, row)| booking.slot_replica(*id, *row));
    tables.by_slot.rows().for_each(|(id, _)| booking.open_booking(*id));
    tables.history.rows().for_each(|(id, _)| booking.history(*id));
    booking.at_rest();
    assert_eq!(booking.finish(), Vec::<String>::new());
}
