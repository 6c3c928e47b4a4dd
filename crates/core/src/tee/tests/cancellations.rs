//! Cancelling, completing, timing out, and messages that cross them in flight.

use super::*;
use crate::time::Span;

#[test]
fn cancelling_releases_the_places() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 3);
    let reason = Some("비가 와서".into());
    let cancelled = club.run(&CancelBooking { id: booking.id, by: By::User(user(1)), reason }).unwrap();
    assert_eq!(cancelled.status(), BookingStatus::Cancelled);
    assert_eq!((cancelled.refund().unwrap().percent, cancelled.released_at), (100, None));
    club.inspect();
    let view = club.view(booking.id);
    assert_eq!((club.booked(slot), view.booking.released_at), (0, Some(club.world.now)));
    let last = view.history.last().unwrap();
    assert_eq!((last.by.clone(), last.reason.as_deref()), (By::User(user(1)), Some("비가 와서")));
    assert_eq!(club.actions(booking.id), [BookingAction::Created, BookingAction::Confirmed, BookingAction::Cancelled]);
}

#[test]
fn reason_may_be_blank_but_is_bounded() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let id = club.confirmed(slot, 1).id;
    let reason = Some("가".repeat(1_001));
    let long = club.run(&CancelBooking { id, by: By::Admin, reason });
    assert_eq!(invalid(long), ("reason", Fault::TooLong { max: 1_000 }));
    club.run(&CancelBooking { id, by: By::Admin, reason: Some(" ".into()) }).unwrap();
    assert_eq!(club.view(id).history.last().unwrap().reason, None);
}

#[test]
fn booking_is_cancelled_by_owner_or_admin_only() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let id = club.confirmed(slot, 1).id;
    assert_eq!(tee_rejection(club.cancel(unknown_booking(), By::User(user(2)))), TeeRejection::BookingNotFound);
    assert_eq!(club.cancel(id, By::User(user(2))).unwrap_err(), Rejection::Forbidden);
    assert_eq!(club.quote(id, &By::User(user(2))).unwrap_err(), Rejection::Forbidden);
    club.cancel(id, By::User(user(1))).unwrap();
    assert_eq!(
        club.cancel(id, By::User(user(2))).unwrap_err(),
        Rejection::Forbidden,
        "ownership is checked before the state"
    );
    let repeated = TeeRejection::BookingNotCancellable { ended_as: Some(BookingStatus::Cancelled) };
    assert_eq!(tee_rejection(club.cancel(id, By::Admin)), repeated);
}

#[test]
fn customer_cannot_cancel_after_tee_off() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let (confirmed, second) = (club.confirmed(slot, 1), club.confirmed(slot, 1));
    club.world.now = confirmed.tee_off + Span::from_millis(-1);
    assert_eq!(club.quote(confirmed.id, &By::User(user(1))).unwrap().rule, RefundRule::LastDay);
    let pending = club.book(slot, 1);
    club.world.now = confirmed.tee_off;
    let late = TeeRejection::BookingNotCancellable { ended_as: None };
    for id in [confirmed.id, pending.id] {
        assert_eq!(tee_rejection(club.cancel(id, By::User(user(1)))), late);
        assert_eq!(tee_rejection(club.quote(id, &By::User(user(1)))), late);
    }
    assert_eq!(club.cancel(confirmed.id, By::Admin).unwrap().refund().unwrap().percent, 100);
    assert_eq!(club.cancel(second.id, By::System).unwrap().refund().unwrap().percent, 100);
    club.inspect();
}

#[test]
fn pending_booking_is_cancelled_in_any_order() {
    for release_first in [false, true] {
        let mut club = Club::new();
        let slot = club.slot(4);
        let booking = club.book(slot, 2);
        let [created, reserve] = club.drop_messages().try_into().unwrap();
        club.cancel(booking.id, By::User(user(1))).unwrap();
        let [cancelled, release] = club.drop_messages().try_into().unwrap();
        assert_eq!(release, Message::SlotRelease(booking.places()));
        let order = if release_first { [release, reserve] } else { [reserve, release] };
        for message in order.into_iter().chain([created, cancelled]) {
            club.receive(message);
        }
        club.inspect();
        assert_eq!((club.booked(slot), club.status(booking.id)), (0, BookingStatus::Cancelled));
        assert_eq!(club.booking(booking.id).refund().unwrap().rule, RefundRule::Pending);
    }
}

#[test]
fn booking_without_reply_times_out() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 2);
    club.drop_messages();
    let time_out = TimeOutBooking { id: booking.id };
    club.world.wait(Span::from_millis(59_999));
    assert_eq!(club.run(&time_out).unwrap(), None);
    club.world.wait(Span::from_millis(1));
    let failed = club.run(&time_out).unwrap().unwrap();
    assert_eq!(failed.failure_reason(), Some(FailureReason::SagaTimeout));
    assert_eq!(club.run(&time_out).unwrap(), None, "it fails once");
    assert_eq!(tee_rejection(club.run(&TimeOutBooking { id: unknown_booking() })), TeeRejection::BookingNotFound);
    club.inspect();
    assert_eq!(club.actions(booking.id), [BookingAction::Created, BookingAction::Failed]);
}

#[test]
fn late_reply_before_timeout_check_counts() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 2);
    club.world.wait(Span::from_secs(3_600));
    club.deliver();
    assert_eq!(club.status(booking.id), BookingStatus::Confirmed);
    assert_eq!(club.run(&TimeOutBooking { id: booking.id }).unwrap(), None);
}

#[test]
fn late_places_are_released() {
    for is_cancelled in [false, true] {
        let mut club = Club::new();
        let slot = club.slot(4);
        let booking = club.book(slot, 2);
        let reserve = club.drop_messages().pop().unwrap();
        club.receive(reserve);
        let reserved = club.drop_messages().pop().unwrap();
        assert_eq!(club.booked(slot), 2);
        if is_cancelled {
            club.cancel(booking.id, By::User(user(1))).unwrap();
        } else {
            club.world.wait(Span::from_secs(60));
            club.run(&TimeOutBooking { id: booking.id }).unwrap().unwrap();
        }
        club.drop_messages();
        club.receive(reserved);
        let compensation = club.drop_messages().pop().unwrap();
        assert_eq!(compensation, Message::SlotRelease(booking.places()));
        club.receive(compensation);
        club.inspect();
        assert_eq!(club.booked(slot), 0);
    }
}

#[test]
fn late_reply_after_release_is_ignored() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 2);
    club.cancel(booking.id, By::Admin).unwrap();
    club.deliver();
    club.purge_inbox();
    club.receive(Message::SlotReserved { places: booking.places(), version: Some(2) });
    assert_eq!(club.drop_subjects(), Vec::<&str>::new());
}

#[test]
fn attendance_requires_confirmed_booking() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let (first, second, pending) = (club.confirmed(slot, 1), club.confirmed(slot, 1), club.book(slot, 1));
    let completed = club.run(&CompleteBooking { id: first.id }).unwrap();
    assert_eq!((completed.status(), completed.refund()), (BookingStatus::Completed, None));
    let no_show = club.run(&NoShowBooking { id: second.id }).unwrap();
    assert_eq!(no_show.refund().unwrap(), Refund { percent: 0, amount: 0, rule: RefundRule::NoShow });
    let invalid = |from, to| TeeRejection::InvalidStateTransition { from, to };
    assert_eq!(
        tee_rejection(club.run(&CompleteBooking { id: pending.id })),
        invalid(BookingStatus::Pending, BookingStatus::Completed)
    );
    assert_eq!(
        tee_rejection(club.run(&NoShowBooking { id: first.id })),
        invalid(BookingStatus::Completed, BookingStatus::NoShow)
    );
    assert_eq!(tee_rejection(club.run(&CompleteBooking { id: unknown_booking() })), TeeRejection::BookingNotFound);
    assert_eq!(tee_rejection(club.run(&NoShowBooking { id: unknown_booking() })), TeeRejection::BookingNotFound);
    club.inspect();
    assert_eq!(club.booked(slot), 3, "completed and missed bookings keep their places");
    assert_eq!(club.view(first.id).history.last().unwrap().by, By::Admin);
}
