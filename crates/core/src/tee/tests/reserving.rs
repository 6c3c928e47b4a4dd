//! What the course service does with requests for places: once per booking, for good.

use super::*;

/// A club whose slot takes four, and a request for two places nobody has asked for yet.
fn asked() -> (Club, Places) {
    let mut club = Club::new();
    let slot = club.slot(4);
    (club, Places { booking: no_booking(), slot, players: 2 })
}

fn answers(club: &mut Club) -> Vec<Message> {
    club.lose()
}

#[test]
fn a_repeated_request_does_nothing_and_one_that_was_forgotten_is_answered_as_before() {
    let (mut club, places) = asked();
    assert_eq!(club.receive(Message::SlotReserve(places)), Handled::Done);
    let first = answers(&mut club);
    assert_eq!(first, [Message::SlotReserved { places, version: Some(2) }]);
    assert_eq!(club.receive(Message::SlotReserve(places)), Handled::Repeated);
    assert_eq!(answers(&mut club), []);
    club.forget_inbox();
    assert_eq!(club.receive(Message::SlotReserve(places)), Handled::Done);
    assert_eq!(answers(&mut club), first, "word for word");
    let slot = club.find_slot(places.slot);
    assert_eq!((slot.booked, slot.version), (2, 2));
}

#[test]
fn a_refusal_is_for_good_too() {
    let (mut club, places) = asked();
    let many = Places { players: 5, ..places };
    let refusal = [Message::SlotReserveFailed { places: many, reason: FailureReason::SlotFull, words: None }];
    for _ in 0..2 {
        club.receive(Message::SlotReserve(many));
        assert_eq!(answers(&mut club), refusal);
        club.forget_inbox();
    }
    club.receive(Message::SlotRelease(many));
    assert_eq!(answers(&mut club), [Message::SlotReleased(many)]);
    club.receive(Message::SlotReserve(many));
    assert_eq!(answers(&mut club), refusal);
    assert_eq!(club.booked(places.slot), 0);
}

#[test]
fn closed_is_said_before_full_and_what_is_not_there_is_said_too() {
    let (mut club, places) = asked();
    let unknown = Places { slot: no_slot(), ..places };
    club.receive(Message::SlotReserve(unknown));
    assert_eq!(
        answers(&mut club),
        [Message::SlotReserveFailed { places: unknown, reason: FailureReason::SlotNotFound, words: None }]
    );
    club.run(&CloseSlot { slot: places.slot, cancel_bookings: false }).unwrap();
    answers(&mut club);
    let closed = Places { booking: BookingId::new(998).unwrap(), players: 5, ..places };
    club.receive(Message::SlotReserve(closed));
    assert_eq!(
        answers(&mut club),
        [Message::SlotReserveFailed { places: closed, reason: FailureReason::SlotClosed, words: None }]
    );
}

#[test]
fn a_release_gives_the_places_back_once() {
    let (mut club, places) = asked();
    let other = Places { booking: BookingId::new(998).unwrap(), ..places };
    club.receive(Message::SlotReserve(places));
    club.receive(Message::SlotReserve(other));
    assert_eq!(club.booked(places.slot), 4);
    answers(&mut club);
    for _ in 0..3 {
        club.receive(Message::SlotRelease(places));
        assert_eq!(answers(&mut club), [Message::SlotReleased(places)]);
        let slot = club.find_slot(places.slot);
        assert_eq!((slot.booked, slot.version, slot.status()), (2, 4, SlotStatus::Available));
        club.forget_inbox();
    }
    club.receive(Message::SlotReserve(places));
    let refusal = Message::SlotReserveFailed { places, reason: FailureReason::SlotReleased, words: None };
    assert_eq!(answers(&mut club), [refusal], "what was given back stays given back");
    assert_eq!(club.booked(places.slot), 2);
}

#[test]
fn a_release_that_overtakes_its_request_makes_the_request_be_refused() {
    let (mut club, places) = asked();
    club.receive(Message::SlotRelease(places));
    club.receive(Message::SlotReserve(places));
    let refusal = Message::SlotReserveFailed { places, reason: FailureReason::SlotReleased, words: None };
    assert_eq!(answers(&mut club), [Message::SlotReleased(places), refusal]);
    assert_eq!(club.booked(places.slot), 0);
}

#[test]
fn what_is_given_back_is_what_was_given_whatever_the_release_says() {
    let (mut club, places) = asked();
    club.receive(Message::SlotReserve(places));
    club.receive(Message::SlotRelease(Places { players: 1, slot: no_slot(), ..places }));
    assert_eq!(club.booked(places.slot), 0);
}

#[test]
fn an_answer_about_another_slot_changes_no_booking_and_a_second_slot_is_refused() {
    let mut club = Club::new();
    let (slot, other) =
        (club.slot(4), club.slot_of(CourseId::new(1).unwrap(), SlotDraft { start: start("10:00"), ..draft() }));
    let booking = club.book(slot, 2);
    club.lose();
    let places = Places { booking: booking.id, slot: other, players: 2 };
    club.receive(Message::SlotReserved { places, version: None });
    club.receive(Message::SlotReserveFailed { places, reason: FailureReason::SlotFull, words: None });
    assert_eq!(club.status(booking.id), BookingStatus::Pending);
    club.receive(Message::SlotReserve(Places { slot, ..places }));
    club.receive(Message::SlotReserve(Places { booking: no_booking(), slot, players: 1 }));
    club.lose();
    let second = Places { booking: no_booking(), slot: other, players: 1 };
    club.forget_inbox();
    club.receive(Message::SlotReserve(second));
    let refusal = Message::SlotReserveFailed { places: second, reason: FailureReason::SlotRefused, words: None };
    assert_eq!(answers(&mut club), [refusal]);
    assert_eq!((club.booked(slot), club.booked(other)), (3, 0));
}

#[test]
fn older_news_of_a_slot_never_replaces_newer() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let known = |club: &Club| club.world.ask(|rows, _| known_slot::find(rows, slot)).unwrap();
    club.run(&CloseSlot { slot, cancel_bookings: false }).unwrap();
    let closed = club.lose();
    club.run(&ReopenSlot { slot }).unwrap();
    club.deliver();
    assert_eq!((known(&club).closed, known(&club).version), (false, 3));
    assert_eq!(club.receive(closed[0].clone()), Handled::Done);
    assert_eq!((known(&club).closed, known(&club).version), (false, 3));
}
