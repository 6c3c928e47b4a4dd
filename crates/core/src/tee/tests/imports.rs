//! Imported events of a booking service with another store.

use super::super::import::ImportBookingEvent;
use super::*;
use crate::command::Stop;
use crate::time::Span;

fn external_event(booking: u64, at: Option<Timestamp>) -> BookingPublished {
    let booking = BookingId::new(booking).unwrap();
    let (action, user) = (BookingAction::Confirmed, user(7));
    BookingPublished { action, booking, user, created_at: at, at, data: "{}".into() }
}

fn import(club: &mut Club, id: &str, event: BookingPublished) -> Handled {
    club.run(&ImportBookingEvent { key: MessageKey::parse(id).unwrap(), published: event }).unwrap()
}

#[test]
fn external_event_is_imported_once() {
    let mut club = Club::new();
    assert_eq!(import(&mut club, "a", external_event(1, None)), Handled::Done);
    assert_eq!(import(&mut club, "a", external_event(1, None)), Handled::Repeated);
    assert_eq!(import(&mut club, "b", external_event(1, None)), Handled::Done, "another id is another event");
    club.purge_inbox();
    assert_eq!(
        import(&mut club, "a", external_event(1, None)),
        Handled::Repeated,
        "imports are recorded longer than messages"
    );
    assert_eq!(club.world.events.len(), 2);
    for event in &club.world.events {
        assert!(event.is_durable() && event.owner() == Some(&user(7)));
    }
}

#[test]
fn import_keeps_event_time_unless_in_future() {
    let mut club = Club::new();
    let now = club.world.now;
    let [earlier, later] = [now - Span::from_hours(1), now + Span::from_hours(1)];
    for (given, expected) in [(Some(earlier), earlier), (Some(later), now), (None, now)] {
        import(&mut club, &format!("{given:?}"), external_event(1, given));
        let Some(Event::BookingPublished(event)) = club.world.events.last() else { panic!("the event is published") };
        assert_eq!(event.at, Some(expected));
    }
}

/// Two servers import: the one with the second event may be faster.
#[test]
fn creation_event_is_imported_first() {
    let mut club = Club::new();
    let now = club.world.now;
    let confirmed = external_event(1, Some(now));
    let created = BookingPublished { action: BookingAction::Created, ..confirmed.clone() };
    let import_step = |club: &mut Club, id: &str, event: &BookingPublished| {
        let command = ImportBookingEvent { key: MessageKey::parse(id).unwrap(), published: event.clone() };
        club.world.step(Writes::Durable, |rows, at| command.decide(rows, at))
    };
    assert_eq!(import_step(&mut club, "booking.confirmed:1", &confirmed), Err(Stop::Retry));
    assert_eq!(import_step(&mut club, "booking.created:1", &created), Ok(Handled::Done));
    assert_eq!(import_step(&mut club, "booking.confirmed:1", &confirmed), Ok(Handled::Done));
    let old = external_event(2, Some(now - Span::from_secs(10)));
    assert_eq!(
        import_step(&mut club, "booking.confirmed:2", &old),
        Ok(Handled::Done),
        "the wait for the creation event is bounded"
    );
    let ahead = external_event(3, Some(now + Span::from_hours(1)));
    assert_eq!(
        import_step(&mut club, "booking.confirmed:3", &ahead),
        Ok(Handled::Done),
        "a creation time in the future is not waited for"
    );
    assert_eq!(
        import_step(&mut club, "f00d", &external_event(4, Some(now))),
        Ok(Handled::Done),
        "a key in a foreign format implies no order"
    );
}

#[test]
fn events_of_own_bookings_are_not_imported() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let own = club.confirmed(slot, 1);
    let before = club.world.events.len();
    let same = BookingPublished { user: own.user, ..external_event(own.id.get(), Some(own.created_at)) };
    assert_eq!(import(&mut club, "booking.confirmed:1", same.clone()), Handled::Repeated);
    assert_eq!(club.world.events.len(), before);
    let another = BookingPublished { created_at: Some(own.created_at + Span::from_secs(1)), ..same };
    assert_eq!(
        import(&mut club, "booking.confirmed:1", another),
        Handled::Done,
        "another booking with the same number"
    );
}

#[test]
fn message_key_has_up_to_200_characters() {
    for id in ["x", "0195d2a1-7c1e-7e2f-9d52-000000000001", &"가".repeat(200)] {
        assert_eq!(MessageKey::parse(id).unwrap().as_str(), id);
    }
    for id in ["", " ", "a\0b", &"x".repeat(201)] {
        assert_eq!(MessageKey::parse(id), None, "{id:?}");
    }
    let places = Allotment { booking: unknown_booking(), slot: unknown_slot(), players: 1 };
    assert_eq!(MessageKey::of(&Message::SlotReserve(places)).as_str(), "slot.reserve:999");
}

#[test]
fn reply_without_version_keeps_slot_version() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 1);
    club.drop_messages();
    club.receive(Message::SlotReserved { places: booking.places(), version: None });
    assert_eq!(club.status(booking.id), BookingStatus::Confirmed);
    club.receive(Message::SlotClosed { slot, version: 2 });
    assert_eq!(club.status(booking.id), BookingStatus::Cancelled);
}
