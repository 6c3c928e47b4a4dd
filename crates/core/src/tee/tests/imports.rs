//! What a booking service elsewhere told.

use super::super::import::ImportBookingEvent;
use super::*;
use crate::command::Stop;
use crate::time::Span;

fn told(booking: u64, at: Option<Timestamp>) -> BookingTold {
    let booking = BookingId::new(booking).unwrap();
    let (action, user) = (BookingAction::Confirmed, user(7));
    BookingTold { action, booking, user, created_at: at, at, data: "{}".into() }
}

fn import(club: &mut Club, id: &str, told: BookingTold) -> Handled {
    club.run(&ImportBookingEvent { key: MessageKey::parse(id).unwrap(), told }).unwrap()
}

#[test]
fn an_event_from_elsewhere_is_told_once_by_its_id_and_belongs_to_its_user() {
    let mut club = Club::new();
    assert_eq!(import(&mut club, "a", told(1, None)), Handled::Done);
    assert_eq!(import(&mut club, "a", told(1, None)), Handled::Repeated);
    assert_eq!(import(&mut club, "b", told(1, None)), Handled::Done, "another id, another event");
    club.forget_inbox();
    assert_eq!(import(&mut club, "a", told(1, None)), Handled::Repeated, "it is noted for longer than messages are");
    assert_eq!(club.world.events.len(), 2);
    for event in &club.world.events {
        assert!(event.is_durable() && event.owner() == Some(user(7)));
    }
}

#[test]
fn it_happened_when_it_is_said_to_have_but_never_in_the_future() {
    let mut club = Club::new();
    let now = club.world.now;
    let [earlier, later] = [now - Span::from_hours(1), now + Span::from_hours(1)];
    for (said, expected) in [(Some(earlier), earlier), (Some(later), now), (None, now)] {
        import(&mut club, &format!("{said:?}"), told(1, said));
        let Some(Event::BookingTold(told)) = club.world.events.last() else { panic!("it is told") };
        assert_eq!(told.at, Some(expected));
    }
}

/// Two servers import: the one that got the second event may be faster.
#[test]
fn what_happened_to_a_new_booking_is_told_after_its_making() {
    let mut club = Club::new();
    let now = club.world.now;
    let confirmed = told(1, Some(now));
    let made = BookingTold { action: BookingAction::Created, ..confirmed.clone() };
    let early = |club: &mut Club, id: &str, told: &BookingTold| {
        let command = ImportBookingEvent { key: MessageKey::parse(id).unwrap(), told: told.clone() };
        club.world.step(ImportBookingEvent::WRITES, |rows, at| command.decide(rows, at))
    };
    assert_eq!(early(&mut club, "booking.confirmed:1", &confirmed), Err(Stop::Busy));
    assert_eq!(early(&mut club, "booking.created:1", &made), Ok(Handled::Done));
    assert_eq!(early(&mut club, "booking.confirmed:1", &confirmed), Ok(Handled::Done));
    let old = told(2, Some(now - Span::from_secs(10)));
    assert_eq!(
        early(&mut club, "booking.confirmed:2", &old),
        Ok(Handled::Done),
        "its making is not waited for for ever"
    );
    let ahead = told(3, Some(now + Span::from_hours(1)));
    assert_eq!(early(&mut club, "booking.confirmed:3", &ahead), Ok(Handled::Done), "nor where clocks go wrong");
    assert_eq!(early(&mut club, "f00d", &told(4, Some(now))), Ok(Handled::Done), "a name of somebody else's");
}

#[test]
fn of_bookings_in_this_very_store_nothing_is_told_again() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let ours = club.confirmed(slot, 1);
    let before = club.world.events.len();
    let same = BookingTold { user: ours.user, ..told(ours.id.get(), Some(ours.created_at)) };
    assert_eq!(import(&mut club, "booking.confirmed:1", same.clone()), Handled::Repeated);
    assert_eq!(club.world.events.len(), before);
    let another = BookingTold { created_at: Some(ours.created_at + Span::from_secs(1)), ..same };
    assert_eq!(import(&mut club, "booking.confirmed:1", another), Handled::Done, "only the number is the same");
}

#[test]
fn any_id_of_up_to_two_hundred_characters_is_one() {
    for id in ["x", "0195d2a1-7c1e-7e2f-9d52-000000000001", &"가".repeat(200)] {
        assert_eq!(MessageKey::parse(id).unwrap().as_str(), id);
    }
    for id in ["", " ", "a\0b", &"x".repeat(201)] {
        assert_eq!(MessageKey::parse(id), None, "{id:?}");
    }
    let places = Places { booking: no_booking(), slot: no_slot(), players: 1 };
    assert_eq!(MessageKey::of(&Message::SlotReserve(places)).as_str(), "slot.reserve:999");
}

#[test]
fn places_without_a_version_rest_on_the_one_the_booking_was_made_from() {
    let mut club = Club::new();
    let slot = club.slot(4);
    let booking = club.book(slot, 1);
    club.lose();
    club.receive(Message::SlotReserved { places: booking.places(), version: None });
    assert_eq!(club.status(booking.id), BookingStatus::Confirmed);
    club.receive(Message::SlotClosed { slot, version: 2 });
    assert_eq!(club.status(booking.id), BookingStatus::Cancelled);
}
