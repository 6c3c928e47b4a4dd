//! Creating and reading bookings.

use super::*;
use crate::money::Currency;
use crate::time::Span;

#[test]
fn new_booking_is_pending_with_total_price() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let created = club.try_book(slot, 3).unwrap();
    let (booking, now) = (created.booking, club.world.now);
    assert!(created.is_new);
    assert_eq!((booking.status(), booking.total, booking.currency), (BookingStatus::Pending, 30_000, Currency::KRW));
    assert_eq!((&booking.user, booking.slot, booking.players), (&user(1), slot, 3));
    assert_eq!(booking.unit_price, 10_000);
    assert_eq!((booking.created_at, booking.deadline), (now, now + Span::from_secs(60)));
    assert_eq!((booking.failure_reason(), booking.refund()), (None, None));
    assert_eq!(club.booked(slot), 0, "places are not counted before the course service replies");
    assert_eq!(club.drop_subjects(), ["booking.created", "slot.reserve"]);
}

#[test]
fn booking_with_places_is_confirmed_in_history() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 3);
    club.world.wait(Span::from_millis(80));
    club.deliver();
    assert_eq!((club.status(booking.id), club.booked(slot)), (BookingStatus::Confirmed, 3));
    let history = club.view(booking.id).history;
    let steps: Vec<_> = history.iter().map(|entry| (entry.action, entry.at, entry.by.clone())).collect();
    let later = booking.created_at + Span::from_millis(80);
    assert_eq!(
        steps,
        [
            (BookingAction::Created, booking.created_at, By::User(user(1))),
            (BookingAction::Confirmed, later, By::System)
        ]
    );
    club.inspect();
}

#[test]
fn same_key_returns_current_booking() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let book = CreateBooking { user: user(1), key: key("a"), slot, players: 2 };
    let first = club.run(&book).unwrap();
    club.deliver();
    let repeated = club.run(&book).unwrap();
    assert_eq!((repeated.booking.id, repeated.is_new), (first.booking.id, false));
    assert_eq!(repeated.booking.status(), BookingStatus::Confirmed);
    assert_eq!(club.drop_subjects(), Vec::<&str>::new());
    club.world.wait(Span::from_millis(24 * 3_600_000 - 1));
    assert_eq!(club.run(&book).unwrap().booking.id, first.booking.id);
    club.inspect();
}

#[test]
fn key_can_be_reused_after_a_day() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let book = |players| CreateBooking { user: user(1), key: key("a"), slot, players };
    let first = club.run(&book(2)).unwrap();
    club.deliver();
    club.world.wait(Span::from_hours(24));
    let second = club.run(&book(1)).unwrap();
    assert!(second.is_new && second.booking.id != first.booking.id);
    club.deliver();
    assert_eq!(club.run(&book(1)).unwrap().booking.id, second.booking.id);
    assert_eq!(club.booked(slot), 3);
    club.inspect();
}

#[test]
fn key_is_bound_to_request_and_user() {
    let mut club = Club::new();
    let (slot, other) = (club.slot(4), club.slot(4));
    let book = CreateBooking { user: user(1), key: key("a"), slot, players: 2 };
    let first = club.run(&book).unwrap().booking;
    for changed in [
        CreateBooking { players: 1, ..book.clone() },
        CreateBooking { slot: other, ..book.clone() },
        CreateBooking { slot: unknown_slot(), ..book.clone() },
        CreateBooking { players: 5, ..book.clone() },
    ] {
        assert_eq!(club.run(&changed).unwrap_err(), Rejection::IdempotencyKeyReused, "checked first");
    }
    let others = club.run(&CreateBooking { user: user(2), ..book }).unwrap();
    assert!(others.is_new && others.booking.id != first.id);
    club.inspect();
}

#[test]
fn key_is_nonblank_bounded_text() {
    let parse = |text: &str| IdempotencyKey::parse("idempotencyKey", text);
    assert_eq!(parse("주문-1 b").unwrap().as_str(), "주문-1 b");
    assert_eq!(invalid(parse("  ")), ("idempotencyKey", Fault::Blank));
    assert_eq!(invalid(parse(&"k".repeat(256))), ("idempotencyKey", Fault::TooLong { max: 255 }));
    assert_eq!(invalid(parse("a\u{0}")), ("idempotencyKey", Fault::ControlCharacter));
}

#[test]
fn invalid_bookings_are_rejected_at_once() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let past = club.world.now;
    assert_eq!(tee_rejection(club.try_book(unknown_slot(), 1)), TeeRejection::SlotNotFound);
    assert_eq!(invalid(club.try_book(slot, 5)), ("playerCount", Fault::OutOfRange { min: 1, max: 4 }));
    let any = Fault::OutOfRange { min: 1, max: SLOT_PLAYERS_MAX.into() };
    assert_eq!(invalid(club.try_book(unknown_slot(), 0)), ("playerCount", any.clone()), "checked before the slot");
    assert_eq!(invalid(club.try_book(slot, u32::MAX)), ("playerCount", any));
    club.world.now = club.find_slot(slot).tee_off;
    assert_eq!(
        invalid(club.try_book(slot, 5)),
        ("gameTimeSlotId", Fault::InThePast),
        "the slot's time is checked before its players"
    );
    club.world.now = club.find_slot(slot).tee_off + Span::from_millis(-1);
    club.book(slot, 4);
    club.world.now = past;
    club.inspect();
}

#[test]
fn slot_without_replica_is_unknown() {
    let mut club = Club::new();
    let course = club.course();
    let slot = club.run(&CreateSlots { course, slots: vec![draft()] }).unwrap()[0].id;
    assert_eq!(tee_rejection(club.try_book(slot, 1)), TeeRejection::SlotNotFound);
    club.deliver();
    club.book(slot, 1);
}

#[test]
fn booking_of_full_or_closed_slot_fails_later() {
    let mut club = Club::new();
    let (full, closed) = (club.slot(4), club.slot(4));
    club.confirmed(full, 3);
    club.run(&CloseSlot { slot: closed, cancel_bookings: false }).unwrap();
    club.deliver();
    let [too_many, of_closed] = [(full, 2), (closed, 1)].map(|(slot, players)| club.book(slot, players).id);
    club.deliver();
    assert_eq!(club.booking(too_many).failure_reason(), Some(FailureReason::SlotFull));
    assert_eq!(club.booking(of_closed).failure_reason(), Some(FailureReason::SlotClosed));
    let last = club.view(of_closed).history.last().cloned().unwrap();
    assert_eq!(
        (last.action, last.by, last.reason.as_deref()),
        (BookingAction::Failed, By::System, Some("SLOT_CLOSED"))
    );
    club.confirmed(full, 1);
    assert_eq!(club.find_slot(full).status(), SlotStatus::FullyBooked);
    club.inspect();
}

#[test]
fn price_and_policy_are_those_at_booking_time() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let before = club.confirmed(slot, 1);
    let tee_off = before.tee_off;
    club.world.limits.tee.refund = RefundPolicy::DEFAULT.with_last_day(30).unwrap();
    let after = club.confirmed(slot, 1);
    club.world.now = tee_off + Span::from_hours(-1);
    assert_eq!(club.quote(before.id, &By::User(user(1))).unwrap().percent, 0);
    assert_eq!(club.quote(after.id, &By::User(user(1))).unwrap().percent, 30);
}

#[test]
fn booking_of_other_user_is_forbidden() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let id = club.book(slot, 1).id;
    let view = |actor: Actor| club.world.ask(|rows, _| booking::view(rows, id, &actor));
    assert_eq!(view(Actor::User(user(2))).unwrap_err(), Rejection::Forbidden);
    assert_eq!(view(Actor::User(user(1))).unwrap(), view(Actor::Admin).unwrap());
    let unknown = club.world.ask(|rows, _| booking::view(rows, unknown_booking(), &Actor::User(user(2))));
    assert_eq!(tee_rejection(unknown), TeeRejection::BookingNotFound);
}

#[test]
fn booking_numbers_are_unique_and_round_trip() {
    let number = |id| BookingNumber(BookingId::new(id).unwrap()).to_string();
    let ids = [1, 2, 3, 15, 1_000, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, (1 << 53) - 1];
    for id in ids {
        let text = number(id);
        assert_eq!(text.len(), if id < 1 << 30 { 9 } else { 14 });
        assert!(text.starts_with("BK-") && !text[3..].contains(['I', 'L', 'O', 'U']), "{text}");
        assert_eq!(BookingNumber::parse(&text).unwrap().0.get(), id);
        assert_eq!(BookingNumber::parse(&text.to_lowercase()).unwrap().0.get(), id);
    }
    let first: std::collections::BTreeSet<String> = (1..=100_000).map(number).collect();
    assert_eq!(first.len(), 100_000);
    for text in ["", "BK-", "BK-000000", "BK-00000", "AB-123456", "BK-ILOU00"] {
        assert_eq!(BookingNumber::parse(text), None, "{text:?}");
    }
    assert_eq!(BookingNumber::parse("BK-BTXKH5QMRF3"), None, "the first booking has a short number");
}
