//! Identifiers, order and addressing of messages.

use super::*;

#[test]
fn message_ids_are_deterministic_and_parse() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 1);
    club.cancel(booking.id, By::Admin).unwrap();
    club.run(&CloseSlot { slot, cancel_bookings: true }).unwrap();
    club.deliver();
    let ids: Vec<String> = club.world.events.iter().map(|event| message(event).id().to_string()).collect();
    assert_eq!(
        ids,
        [
            "slot.changed:1:1",
            "booking.created:1",
            "slot.reserve:1",
            "slot.reserved:1",
            "booking.confirmed:1",
            "booking.cancelled:1",
            "slot.release:1",
            "slot.changed:1:3",
            "slot.closed:1:3",
            "slot.released:1",
        ]
    );
    for id in ids {
        assert_eq!(MessageId::parse(&id).unwrap().to_string(), id);
    }
    for text in
        ["", "slot.reserve", "slot.reserve:", "slot.reserve:x", "slot.gone:1", "slot.reserve:1:0", "slot.reserve:01"]
    {
        assert_eq!(MessageId::parse(text), None, "{text:?}");
    }
}

#[test]
fn ordering_keys_and_owners_of_messages() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.confirmed(slot, 1);
    for event in &club.world.events {
        let message = message(event);
        let is_of_slot = message.subject() == Subject::SlotChanged;
        let expected = if is_of_slot { OrderingKey::Slot(slot) } else { OrderingKey::Booking(booking.id) };
        assert_eq!((message.ordering_key(), message.slot()), (expected, slot));
        assert_eq!(event.owner(), message.subject().is_public().then_some(&user(1)));
        assert!(event.is_durable());
    }
    let closed = Message::SlotClosed { slot, version: 3 };
    assert_eq!((closed.ordering_key(), closed.slot()), (OrderingKey::Slot(slot), slot));
}

#[test]
fn subject_has_one_producer_and_consumer() {
    for subject in Subject::ALL {
        assert!(subject.consumer().is_none_or(|service| service == subject.stream()));
    }
    assert_eq!(Subject::BookingCreated.stream(), Service::Notify, "with the other events of bookings");
    let routes: Vec<String> = Subject::ALL
        .iter()
        .map(|subject| {
            let consumer = subject.consumer().map_or("none", Service::as_str);
            format!("{subject}: {} to {consumer}", subject.producer())
        })
        .collect();
    assert_eq!(
        routes,
        [
            "slot.reserve: booking to course",
            "slot.reserved: course to booking",
            "slot.reserve.failed: course to booking",
            "slot.release: booking to course",
            "slot.released: course to booking",
            "slot.changed: course to booking",
            "slot.closed: course to booking",
            "booking.created: booking to none",
            "booking.confirmed: booking to notify",
            "booking.failed: booking to notify",
            "booking.cancelled: booking to notify",
            "booking.completed: booking to notify",
            "booking.no_show: booking to notify",
        ]
    );
}

#[test]
fn message_without_consumer_leaves_no_rows() {
    let mut club = Club::new();
    let slot = club.slot(4);
    club.book(slot, 1);
    let created = club.drop_messages().remove(0);
    let before = club.world.memory.tee.inbox.rows().count();
    assert_eq!(club.receive(created), Handled::Done);
    assert_eq!(club.world.memory.tee.inbox.rows().count(), before);
}

#[test]
fn reply_to_unknown_booking_is_rejected() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let places = Allotment { booking: unknown_booking(), slot, players: 1 };
    let answers = [
        Message::SlotReserved { places, version: Some(2) },
        Message::SlotReserveFailed { places, reason: FailureReason::SlotFull, words: None },
        Message::SlotReleased(places),
    ];
    let before = club.world.memory.tee.inbox.rows().count();
    for answer in answers {
        assert_eq!(tee_rejection(club.run(&Receive::new(answer))), TeeRejection::BookingNotFound);
    }
    assert_eq!(club.world.memory.tee.inbox.rows().count(), before);
}

#[test]
fn string_enums_parse_their_names() {
    for reason in FailureReason::ALL {
        assert_eq!(FailureReason::parse(reason.as_str()), Some(*reason));
    }
    assert_eq!(BookingStatus::parse("NO_SHOW"), Some(BookingStatus::NoShow));
    assert_eq!(BookingStatus::parse("no_show"), None);
}

fn message(event: &Event) -> &Message {
    let Event::Tee(message) = event else { panic!("{event:?}") };
    message
}
