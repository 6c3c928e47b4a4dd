//! Reservation requests at the course service: decided once per booking, for good.

use super::*;

/// Creates a club with a slot for four players, and an unsent request for two places.
fn club_and_request() -> (Club, Allotment) {
    let mut club = Club::new();
    let slot = club.slot(4);
    (club, Allotment { booking: unknown_booking(), slot, players: 2 })
}

fn replies(club: &mut Club) -> Vec<Message> {
    club.drop_messages()
}

#[test]
fn repeated_request_gets_the_same_reply() {
    let (mut club, places) = club_and_request();
    assert_eq!(club.receive(Message::SlotReserve(places)), Handled::Done);
    let first = replies(&mut club);
    assert_eq!(first, [Message::SlotReserved { places, version: Some(2) }]);
    assert_eq!(club.receive(Message::SlotReserve(places)), Handled::Repeated);
    assert_eq!(replies(&mut club), []);
    club.purge_inbox();
    assert_eq!(club.receive(Message::SlotReserve(places)), Handled::Done);
    assert_eq!(replies(&mut club), first, "the same reply");
    let slot = club.find_slot(places.slot);
    assert_eq!((slot.booked, slot.version), (2, 2));
}

#[test]
fn failure_is_final() {
    let (mut club, places) = club_and_request();
    let many = Allotment { players: 5, ..places };
    let failure = [Message::SlotReserveFailed { places: many, reason: FailureReason::SlotFull, words: None }];
    for _ in 0..2 {
        club.receive(Message::SlotReserve(many));
        assert_eq!(replies(&mut club), failure);
        club.purge_inbox();
    }
    club.receive(Message::SlotRelease(many));
    assert_eq!(replies(&mut club), [Message::SlotReleased(many)]);
    club.receive(Message::SlotReserve(many));
    assert_eq!(replies(&mut club), failure);
    assert_eq!(club.booked(places.slot), 0);
}

#[test]
fn closed_is_checked_before_full() {
    let (mut club, places) = club_and_request();
    let unknown = Allotment { slot: unknown_slot(), ..places };
    club.receive(Message::SlotReserve(unknown));
    assert_eq!(
        replies(&mut club),
        [Message::SlotReserveFailed { places: unknown, reason: FailureReason::SlotNotFound, words: None }]
    );
    club.run(&CloseSlot { slot: places.slot, cancel_bookings: false }).unwrap();
    replies(&mut club);
    let closed = Allotment { booking: BookingId::new(998).unwrap(), players: 5, ..places };
    club.receive(Message::SlotReserve(closed));
    assert_eq!(
        replies(&mut club),
        [Message::SlotReserveFailed { places: closed, reason: FailureReason::SlotClosed, words: None }]
    );
}

#[test]
fn release_frees_the_places_once() {
    let (mut club, places) = club_and_request();
    let other = Allotment { booking: BookingId::new(998).unwrap(), ..places };
    club.receive(Message::SlotReserve(places));
    club.receive(Message::SlotReserve(other));
    assert_eq!(club.booked(places.slot), 4);
    replies(&mut club);
    for _ in 0..3 {
        club.receive(Message::SlotRelease(places));
        assert_eq!(replies(&mut club), [Message::SlotReleased(places)]);
        let slot = club.find_slot(places.slot);
        assert_eq!((slot.booked, slot.version, slot.status()), (2, 4, SlotStatus::Available));
        club.purge_inbox();
    }
    club.receive(Message::SlotReserve(places));
    let failure = Message::SlotReserveFailed { places, reason: FailureReason::SlotReleased, words: None };
    assert_eq!(replies(&mut club), [failure], "released places stay released");
    assert_eq!(club.booked(places.slot), 2);
}

#[test]
fn release_before_request_fails_the_request() {
    let (mut club, places) = club_and_request();
    club.receive(Message::SlotRelease(places));
    club.receive(Message::SlotReserve(places));
    let failure = Message::SlotReserveFailed { places, reason: FailureReason::SlotReleased, words: None };
    assert_eq!(replies(&mut club), [Message::SlotReleased(places), failure]);
    assert_eq!(club.booked(places.slot), 0);
}

#[test]
fn release_frees_the_reserved_places_only() {
    let (mut club, places) = club_and_request();
    club.receive(Message::SlotReserve(places));
    club.receive(Message::SlotRelease(Allotment { players: 1, slot: unknown_slot(), ..places }));
    assert_eq!(club.booked(places.slot), 0);
}

#[test]
fn reply_for_other_slot_is_ignored() {
    let mut club = Club::new();
    let (slot, other) =
        (club.slot(4), club.slot_of(CourseId::new(1).unwrap(), SlotDraft { start: start("10:00"), ..draft() }));
    let booking = club.book(slot, 2);
    club.drop_messages();
    let places = Allotment { booking: booking.id, slot: other, players: 2 };
    club.receive(Message::SlotReserved { places, version: None });
    club.receive(Message::SlotReserveFailed { places, reason: FailureReason::SlotFull, words: None });
    assert_eq!(club.status(booking.id), BookingStatus::Pending);
    club.receive(Message::SlotReserve(Allotment { slot, ..places }));
    club.receive(Message::SlotReserve(Allotment { booking: unknown_booking(), slot, players: 1 }));
    club.drop_messages();
    let second = Allotment { booking: unknown_booking(), slot: other, players: 1 };
    club.purge_inbox();
    club.receive(Message::SlotReserve(second));
    let failure = Message::SlotReserveFailed { places: second, reason: FailureReason::SlotRefused, words: None };
    assert_eq!(replies(&mut club), [failure]);
    assert_eq!((club.booked(slot), club.booked(other)), (3, 0));
}

#[test]
fn older_replica_never_replaces_newer() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let replica = |club: &Club| club.world.ask(|rows, _| slot_replica::find(rows, slot)).unwrap();
    club.run(&CloseSlot { slot, cancel_bookings: false }).unwrap();
    let closed = club.drop_messages();
    club.run(&ReopenSlot { slot }).unwrap();
    club.deliver();
    assert_eq!((replica(&club).closed, replica(&club).version), (false, 3));
    assert_eq!(club.receive(closed[0].clone()), Handled::Done);
    assert_eq!((replica(&club).closed, replica(&club).version), (false, 3));
}
