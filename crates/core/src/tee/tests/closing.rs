//! Closing and reopening slots.

use super::*;

fn close(club: &mut Club, slot: TeeSlotId, cancel_bookings: bool) -> TeeSlot {
    club.run(&CloseSlot { slot, cancel_bookings }).unwrap()
}

#[test]
fn closed_slot_keeps_its_bookings() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 3);
    let closed = close(&mut club, slot, false);
    assert_eq!((closed.status(), closed.booked, closed.version), (SlotStatus::Closed, 3, 3));
    club.deliver();
    assert_eq!(club.status(booking.id), BookingStatus::Confirmed);
    assert_eq!(club.run(&ReopenSlot { slot }).unwrap().status(), SlotStatus::Available);
    club.confirmed(slot, 1);
    close(&mut club, slot, false);
    assert_eq!(club.run(&ReopenSlot { slot }).unwrap().status(), SlotStatus::FullyBooked, "a full slot stays full");
    club.inspect();
}

#[test]
fn close_and_reopen_are_idempotent() {
    let mut club = Club::new();
    let slot = club.slot(4);
    assert_eq!(club.run(&ReopenSlot { slot }).unwrap(), club.find_slot(slot));
    let closed = close(&mut club, slot, false);
    assert_eq!(club.drop_subjects(), ["slot.changed"]);
    assert_eq!(close(&mut club, slot, false), closed);
    assert_eq!(club.drop_subjects(), Vec::<&str>::new());
    assert_eq!(tee_rejection(club.run(&ReopenSlot { slot: unknown_slot() })), TeeRejection::SlotNotFound);
    let unknown = club.run(&CloseSlot { slot: unknown_slot(), cancel_bookings: true });
    assert_eq!(tee_rejection(unknown), TeeRejection::SlotNotFound);
}

#[test]
fn close_cancels_bookings_with_full_refund() {
    let mut club = Club::new();
    let (slot, other) = (club.slot(4), club.slot(4));
    let done = club.confirmed(slot, 1);
    club.run(&CompleteBooking { id: done.id }).unwrap();
    let of_other_slot = club.confirmed(other, 1);
    let confirmed = club.confirmed(slot, 2);
    let pending = club.book(slot, 1);
    club.world.now = confirmed.tee_off;
    close(&mut club, slot, true);
    club.inspect();
    for id in [confirmed.id, pending.id] {
        let booking = club.booking(id);
        let refund = booking.refund().unwrap();
        assert_eq!((refund.percent, refund.amount, refund.rule), (100, booking.total, RefundRule::System));
        let last = club.view(id).history.last().cloned().unwrap();
        let reason = last.reason.as_deref();
        assert_eq!((last.action, last.by, reason), (BookingAction::Cancelled, By::System, Some("SLOT_CLOSED")));
    }
    assert_eq!(
        (club.status(done.id), club.status(of_other_slot.id)),
        (BookingStatus::Completed, BookingStatus::Confirmed)
    );
    assert_eq!(club.booked(slot), 1, "completed bookings are kept");
}

#[test]
fn closed_slot_can_cancel_bookings_later() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 2);
    let closed = close(&mut club, slot, false);
    club.deliver();
    assert_eq!(close(&mut club, slot, true), closed, "the slot itself is unchanged");
    club.inspect();
    assert_eq!((club.status(booking.id), club.booked(slot)), (BookingStatus::Cancelled, 0));
}

#[test]
fn cancellation_is_bounded_per_command() {
    let mut club = Club::new();
    let slot = club.slot(250);
    for _ in 0..250 {
        club.book(slot, 1);
    }
    club.deliver();
    close(&mut club, slot, true);
    let closed = club.drop_messages().pop().unwrap();
    let open = |club: &Club| club.world.memory.tee.by_slot.rows().count();
    let mut results = Vec::new();
    for _ in 0..4 {
        let handled = club.receive(closed.clone());
        results.push((handled, open(&club)));
    }
    assert_eq!(results, [(Handled::More, 150), (Handled::More, 50), (Handled::Done, 0), (Handled::Repeated, 0)]);
    club.deliver();
    assert_eq!(club.booked(slot), 0);
}

#[test]
fn late_closing_spares_later_bookings() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let before = club.confirmed(slot, 1);
    close(&mut club, slot, true);
    let closed = club.drop_messages().pop().unwrap();
    club.run(&ReopenSlot { slot }).unwrap();
    club.deliver();
    let (confirmed, pending) = (club.confirmed(slot, 1), club.book(slot, 1));
    club.receive(closed);
    let statuses = [before.id, confirmed.id, pending.id].map(|id| club.status(id));
    assert_eq!(statuses, [BookingStatus::Cancelled, BookingStatus::Confirmed, BookingStatus::Pending]);
    club.deliver();
    assert_eq!((club.status(pending.id), club.booked(slot)), (BookingStatus::Confirmed, 2));
}
