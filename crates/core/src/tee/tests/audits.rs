//! What is wrong with a store is found.

use super::*;

/// A club with a slot, somebody who is confirmed and somebody who has cancelled.
struct Played {
    club: Club,
    slot: TeeSlot,
    confirmed: Booking,
    cancelled: Booking,
}

fn played() -> Played {
    let mut club = Club::new();
    let slot = club.slot(4);
    let (confirmed, cancelled) = (club.confirmed(slot, 2).id, club.confirmed(slot, 1).id);
    club.cancel(cancelled, By::Admin).unwrap();
    club.inspect();
    let (slot, confirmed, cancelled) = (club.find_slot(slot), club.booking(confirmed), club.booking(cancelled));
    Played { club, slot, confirmed, cancelled }
}

/// `spoil` has added something to all that is there; this is among what is found.
fn check(finding: &str, spoil: impl FnOnce(&mut TeeAudit, &Played)) {
    check_when(false, finding, spoil);
}

fn check_at_rest(finding: &str, spoil: impl Fn(&mut TeeAudit, &Played)) {
    check_when(true, finding, &spoil);
    let played = played();
    let mut audit = TeeAudit::new();
    show(&played.club.world, &mut audit);
    spoil(&mut audit, &played);
    let findings = audit.finish().join("; ");
    assert!(!findings.contains(finding), "{findings}: messages may still be under way");
}

fn check_when(is_at_rest: bool, finding: &str, spoil: impl FnOnce(&mut TeeAudit, &Played)) {
    let played = played();
    let mut audit = TeeAudit::new();
    show(&played.club.world, &mut audit);
    let records = audit.records();
    spoil(&mut audit, &played);
    assert!(audit.records() > records);
    if is_at_rest {
        audit.at_rest();
    }
    let findings = audit.finish().join("; ");
    assert!(findings.contains(finding), "{finding:?} is not in {findings:?}");
}

fn slot_booking(played: &Played, state: SlotBookingState) -> SlotBooking {
    SlotBooking { slot: played.slot.id, players: 2, state }
}

const RESERVED: SlotBookingState = SlotBookingState::Reserved { version: 2 };

#[test]
fn places_from_nowhere_are_found() {
    check("slot 1: 3 counted as booked, 2 reserved", |audit, played| {
        audit.slot(&TeeSlot { booked: 3, ..played.slot.clone() });
    });
    check("slot 1: oversold: 2 booked of 1", |audit, played| {
        audit.slot(&TeeSlot { max_players: 1, ..played.slot.clone() });
    });
    check("booking 999: has places in slot 999, which is not there", |audit, played| {
        audit.slot_booking(no_booking(), SlotBooking { slot: no_slot(), ..slot_booking(played, RESERVED) });
    });
}

#[test]
fn slots_without_course_or_time_are_found() {
    check("slot 1: there is no course 999", |audit, played| {
        audit.slot(&TeeSlot { course: CourseId::new(999).unwrap(), ..played.slot.clone() });
    });
    check("slot 999: is not the slot at 2025-11-20 07:30", |audit, played| {
        audit.slot(&TeeSlot { id: no_slot(), ..played.slot.clone() });
    });
    check("slot 999: at 2025-11-20 07:40, but not there", |audit, played| {
        let (course, date) = (played.slot.course, played.slot.date);
        audit.slot_time(SlotTimeId { course, date, start: start("07:40") }, SlotTime { slot: no_slot() });
    });
}

#[test]
fn bookings_that_do_not_add_up_are_found() {
    check("booking 1: there are two of that number", |audit, played| audit.booking(&played.confirmed));
    check("booking 999: its amounts do not add up", |audit, played| {
        audit.booking(&Booking { id: no_booking(), total: 5, ..played.confirmed.clone() });
    });
    check("booking 999: its refund is not 100 % of its total", |audit, played| {
        let refund = Refund { percent: 100, amount: 5, rule: RefundRule::Admin };
        let state = BookingState::NoShow { at: played.confirmed.created_at, refund };
        audit.booking(&Booking { id: no_booking(), state, ..played.confirmed.clone() });
    });
    check("booking 999: released, but CONFIRMED", |audit, played| {
        let released_at = Some(played.confirmed.created_at);
        audit.booking(&Booking { id: no_booking(), released_at, ..played.confirmed.clone() });
    });
}

#[test]
fn what_belongs_to_a_booking_is_found_if_it_does_not() {
    check("booking 2: CANCELLED, but listed as open", |audit, played| {
        audit.open_booking(OpenBookingId { slot: played.slot.id, booking: played.cancelled.id });
    });
    let new = |audit: &mut TeeAudit, played: &Played| {
        audit.booking(&Booking { id: no_booking(), ..played.confirmed.clone() });
    };
    check("booking 999: CONFIRMED, but listed as open or not", new);
    check("booking 999: its history is not its own", new);
    let key = |booking| KeyUse { booking, slot: no_slot(), players: 1 };
    check("booking 999: was made under no key of its own", |audit, played| {
        new(audit, played);
        audit.key_use(key(no_booking()));
    });
    check("booking 1: made under two keys", |audit, played| audit.key_use(key(played.confirmed.id)));
    check("booking 999: there is none", |audit, _| audit.key_use(key(no_booking())));
    check("booking 999: there is none", |audit, _| {
        audit.open_booking(OpenBookingId { slot: no_slot(), booking: no_booking() });
    });
    check("booking 999: there is none", |audit, _| audit.history(HistoryId { booking: no_booking(), number: 1 }));
    check("booking 1: its history is not its own", |audit, played| {
        audit.history(HistoryId { booking: played.confirmed.id, number: 99 });
    });
}

#[test]
fn what_was_told_twice_or_is_gone_is_found() {
    let (id, notice) = (NotificationId::new(999).unwrap(), |kind| NoticeId { booking: no_booking(), kind });
    check("notification 999: CONFIRMED of booking 1 was told more than once", |audit, played| {
        let Booking { id: booking, user, created_at, .. } = played.confirmed;
        audit.notification(&Notification { id, booking, user, kind: BookingAction::Confirmed, created_at });
    });
    check("notification 999: of booking 999 is not there", |audit, _| {
        audit.notice(notice(BookingAction::Failed), Notice { notification: id });
    });
}

#[test]
fn services_that_disagree_are_found() {
    check("booking 1: CONFIRMED, but has no places", |audit, played| {
        audit.slot_booking(played.confirmed.id, slot_booking(played, SlotBookingState::Released));
    });
    check("booking 1: CONFIRMED, but has no places", |audit, played| {
        audit.slot_booking(played.confirmed.id, SlotBooking { players: 1, ..slot_booking(played, RESERVED) });
    });
    let known = |played: &Played| KnownSlot {
        course: played.slot.course,
        tee_off: played.slot.tee_off,
        max_players: 4,
        price: 0,
        currency: played.slot.currency,
        closed: true,
        version: 1,
    };
    check("slot 1: is known better than it is", |audit, played| {
        audit.known_slot(played.slot.id, KnownSlot { version: 99, ..known(played) });
    });
    check("slot 999: is known better than it is", |audit, played| audit.known_slot(no_slot(), known(played)));
    check_at_rest("slot 1: is not known as it is", |audit, played| audit.known_slot(played.slot.id, known(played)));
    check_at_rest("booking 2: has places in slot 1 and should not", |audit, played| {
        audit.slot_booking(played.cancelled.id, slot_booking(played, RESERVED));
    });
    check_at_rest("booking 999: still pending", |audit, played| {
        let state = BookingState::Pending;
        audit.booking(&Booking { id: no_booking(), state, ..played.confirmed.clone() });
    });
}

#[test]
fn a_store_with_the_rows_of_one_service_is_asked_about_that_service_alone() {
    let played = played();
    let tables = &played.club.world.memory.tee;
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
    tables.known_slots.rows().for_each(|(id, row)| booking.known_slot(*id, *row));
    tables.by_slot.rows().for_each(|(id, _)| booking.open_booking(*id));
    tables.history.rows().for_each(|(id, _)| booking.history(*id));
    booking.at_rest();
    assert_eq!(booking.finish(), Vec::<String>::new());
}
