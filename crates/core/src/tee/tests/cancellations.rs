//! Cancelling, completing, timing out, and everything that crosses it on its way.

use super::*;
use crate::time::Span;

#[test]
fn cancelling_a_confirmed_booking_gives_its_places_back() {
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
    assert_eq!((last.by, last.reason.as_deref()), (By::User(user(1)), Some("비가 와서")));
    assert_eq!(club.actions(booking.id), [BookingAction::Created, BookingAction::Confirmed, BookingAction::Cancelled]);
}

#[test]
fn a_reason_may_be_blank_but_not_long() {
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
fn only_its_owner_an_admin_or_the_system_cancels_a_booking() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let id = club.confirmed(slot, 1).id;
    assert_eq!(refused(club.cancel(no_booking(), By::User(user(2)))), TeeRejection::BookingNotFound);
    assert_eq!(club.cancel(id, By::User(user(2))).unwrap_err(), Rejection::Forbidden);
    assert_eq!(club.quote(id, By::User(user(2))).unwrap_err(), Rejection::Forbidden);
    club.cancel(id, By::User(user(1))).unwrap();
    assert_eq!(club.cancel(id, By::User(user(2))).unwrap_err(), Rejection::Forbidden, "said before its state is");
    let again = TeeRejection::BookingNotCancellable { ended_as: Some(BookingStatus::Cancelled) };
    assert_eq!(refused(club.cancel(id, By::Admin)), again);
}

#[test]
fn after_tee_off_the_customer_cannot_cancel_any_more_but_others_can() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let (confirmed, second) = (club.confirmed(slot, 1), club.confirmed(slot, 1));
    club.world.now = confirmed.tee_off + Span::from_millis(-1);
    assert_eq!(club.quote(confirmed.id, By::User(user(1))).unwrap().rule, RefundRule::LastDay);
    let pending = club.book(slot, 1);
    club.world.now = confirmed.tee_off;
    let late = TeeRejection::BookingNotCancellable { ended_as: None };
    for id in [confirmed.id, pending.id] {
        assert_eq!(refused(club.cancel(id, By::User(user(1)))), late);
        assert_eq!(refused(club.quote(id, By::User(user(1)))), late);
    }
    assert_eq!(club.cancel(confirmed.id, By::Admin).unwrap().refund().unwrap().percent, 100);
    assert_eq!(club.cancel(second.id, By::System).unwrap().refund().unwrap().percent, 100);
    club.inspect();
}

#[test]
fn cancelled_while_pending_its_places_are_released_whichever_message_comes_first() {
    for release_first in [false, true] {
        let mut club = Club::new();
        let slot = club.slot(4);
        let booking = club.book(slot, 2);
        let [created, reserve] = club.lose().try_into().unwrap();
        club.cancel(booking.id, By::User(user(1))).unwrap();
        let [cancelled, release] = club.lose().try_into().unwrap();
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
fn who_gets_no_answer_in_time_fails() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 2);
    club.lose();
    let time_out = TimeOutBooking { id: booking.id };
    club.world.wait(Span::from_millis(59_999));
    assert_eq!(club.run(&time_out).unwrap(), None);
    club.world.wait(Span::from_millis(1));
    let failed = club.run(&time_out).unwrap().unwrap();
    assert_eq!(failed.failure_reason(), Some(FailureReason::SagaTimeout));
    assert_eq!(club.run(&time_out).unwrap(), None, "once");
    assert_eq!(refused(club.run(&TimeOutBooking { id: no_booking() })), TeeRejection::BookingNotFound);
    club.inspect();
    assert_eq!(club.actions(booking.id), [BookingAction::Created, BookingAction::Failed]);
}

#[test]
fn an_answer_that_comes_after_the_time_but_before_anybody_looked_still_counts() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 2);
    club.world.wait(Span::from_secs(3_600));
    club.deliver();
    assert_eq!(club.status(booking.id), BookingStatus::Confirmed);
    assert_eq!(club.run(&TimeOutBooking { id: booking.id }).unwrap(), None);
}

#[test]
fn places_that_come_after_the_booking_timed_out_or_was_cancelled_are_given_back() {
    for is_cancelled in [false, true] {
        let mut club = Club::new();
        let slot = club.slot(4);
        let booking = club.book(slot, 2);
        let reserve = club.lose().pop().unwrap();
        club.receive(reserve);
        let reserved = club.lose().pop().unwrap();
        assert_eq!(club.booked(slot), 2);
        if is_cancelled {
            club.cancel(booking.id, By::User(user(1))).unwrap();
        } else {
            club.world.wait(Span::from_secs(60));
            club.run(&TimeOutBooking { id: booking.id }).unwrap().unwrap();
        }
        club.lose();
        club.receive(reserved);
        let compensation = club.lose().pop().unwrap();
        assert_eq!(compensation, Message::SlotRelease(booking.places()));
        club.receive(compensation);
        club.inspect();
        assert_eq!(club.booked(slot), 0);
    }
}

#[test]
fn once_the_places_are_known_to_be_back_a_late_answer_needs_no_compensation() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 2);
    club.cancel(booking.id, By::Admin).unwrap();
    club.deliver();
    club.forget_inbox();
    club.receive(Message::SlotReserved { places: booking.places(), version: Some(2) });
    assert_eq!(club.lose_subjects(), Vec::<&str>::new());
}

#[test]
fn completed_and_no_show_come_from_confirmed_only() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let (first, second, pending) = (club.confirmed(slot, 1), club.confirmed(slot, 1), club.book(slot, 1));
    let completed = club.run(&CompleteBooking { id: first.id }).unwrap();
    assert_eq!((completed.status(), completed.refund()), (BookingStatus::Completed, None));
    let no_show = club.run(&NoShowBooking { id: second.id }).unwrap();
    assert_eq!(no_show.refund().unwrap(), Refund { percent: 0, amount: 0, rule: RefundRule::NoShow });
    let invalid = |from, to| TeeRejection::InvalidStateTransition { from, to };
    assert_eq!(
        refused(club.run(&CompleteBooking { id: pending.id })),
        invalid(BookingStatus::Pending, BookingStatus::Completed)
    );
    assert_eq!(
        refused(club.run(&NoShowBooking { id: first.id })),
        invalid(BookingStatus::Completed, BookingStatus::NoShow)
    );
    assert_eq!(refused(club.run(&CompleteBooking { id: no_booking() })), TeeRejection::BookingNotFound);
    assert_eq!(refused(club.run(&NoShowBooking { id: no_booking() })), TeeRejection::BookingNotFound);
    club.inspect();
    assert_eq!(club.booked(slot), 3, "who came or not had a place");
    assert_eq!(club.view(first.id).history.last().unwrap().by, By::Admin);
}
