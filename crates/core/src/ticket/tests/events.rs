//! Validation and changes of events.

use super::*;
use crate::event::Event;
use crate::rejection::Fault;
use crate::ticket::event::{ChangeEvent, SetPaused};
use crate::ticket::plan::SEAT_TEXT_CHARS_MAX;

fn with_name(name: &str) -> EventDraft {
    EventDraft { name: Some(name.into()), ..EventDraft::default() }
}

fn creating(draft: EventDraft, seats: Vec<SeatDraft>) -> CreateEvent {
    CreateEvent { draft, currency: None, seats }
}

fn invalid<T>(field: &'static str, fault: Fault) -> Result<T, Rejection> {
    Err(Rejection::invalid(field, fault))
}

#[test]
fn event_has_defaults() {
    let mut world = World::new();
    let event = world.run(&creating(with_name("Concert"), seats(&[3]))).unwrap();
    let expected = TicketEvent {
        id: EventId::new(1).unwrap(),
        name: "Concert".into(),
        starts_at: None,
        sales_open_at: None,
        currency: crate::money::Currency::KRW,
        max_concurrent: 800,
        queue_enabled: true,
        max_seats_per_user: 10,
        seat_count: 3,
        paused: false,
        revision: 1,
    };
    assert_eq!(event, expected);
    assert_eq!(world.run(&creating(with_name("Another"), seats(&[1]))).unwrap().id.get(), 2);
}

#[test]
fn invalid_fields_are_rejected_by_name() {
    let check = |command: CreateEvent, field, fault| {
        assert_eq!(World::new().run(&command), invalid(field, fault));
    };
    let seat = |label: &str, section: Option<&str>, price| SeatDraft {
        label: label.into(),
        section: section.map(Into::into),
        price,
    };
    let with = |seats: Vec<SeatDraft>| creating(with_name("Concert"), seats);
    check(creating(EventDraft::default(), seats(&[1])), "name", Fault::Missing);
    check(creating(with_name(" "), seats(&[1])), "name", Fault::Blank);
    check(with(Vec::new()), "seats", Fault::Blank);
    check(with(seats(&[SEATS_MAX, 1])), "seats", Fault::TooManyItems { max: 100_000 });
    check(with(vec![seat(" ", None, 1)]), "seats.label", Fault::Blank);
    let long = "x".repeat(SEAT_TEXT_CHARS_MAX + 1);
    check(with(vec![seat(&long, None, 1)]), "seats.label", Fault::TooLong { max: SEAT_TEXT_CHARS_MAX });
    check(with(vec![seat("A1", Some(""), 1)]), "seats.section", Fault::Blank);
    let range = Fault::OutOfRange { min: 0, max: crate::money::PRICE_MAX };
    check(with(vec![seat("A1", None, -1)]), "seats.price", range);
    check(with(vec![seat("A1", Some("L"), 1), seat("A1", Some("L"), 2)]), "seats", Fault::Duplicate);
    check(CreateEvent { currency: Some("won".into()), ..with(seats(&[1])) }, "currency", Fault::UnknownCurrency);
    let none_inside = EventDraft { max_concurrent: Some(0), ..with_name("Concert") };
    check(creating(none_inside, seats(&[1])), "maxConcurrent", Fault::OutOfRange { min: 1, max: 1_000_000 });
    let no_seats = EventDraft { max_seats_per_user: Some(0), ..with_name("Concert") };
    check(creating(no_seats, seats(&[1])), "maxSeatsPerUser", Fault::OutOfRange { min: 1, max: 100_000 });
}

#[test]
fn label_is_unique_per_section() {
    let seat = |section: &str| SeatDraft { label: "A1".into(), section: Some(section.into()), price: 0 };
    let created = World::new().run(&creating(with_name("Concert"), vec![seat("left"), seat("right")]));
    assert_eq!(created.unwrap().seat_count, 2);
}

#[test]
fn change_keeps_absent_fields() {
    let mut hall = Hall::new(Mode::SingleCommit, &[2]);
    let (event, opens_at) = (hall.event, hall.world.now);
    let change = |draft| ChangeEvent { id: event, draft };
    let draft = EventDraft { sales_open_at: Some(Some(opens_at)), max_concurrent: Some(5), ..EventDraft::default() };
    let changed = hall.run(&change(draft)).unwrap();
    assert_eq!((changed.sales_open_at, changed.max_concurrent), (Some(opens_at), 5));
    assert_eq!((&*changed.name, changed.seat_count), ("Concert", 2));
    let draft = EventDraft { sales_open_at: Some(None), ..with_name("Opera") };
    let changed = hall.run(&change(draft)).unwrap();
    assert_eq!((&*changed.name, changed.sales_open_at, changed.max_concurrent), ("Opera", None, 5));
    assert_eq!(changed.revision, 3, "each change increments the revision");
    assert_eq!(hall.run(&change(with_name("Opera"))).unwrap().revision, 3, "an ineffective change does not count");
    let rejected = hall.run(&change(with_name("")));
    assert_eq!(rejected, invalid("name", Fault::Blank));
    let unknown = ChangeEvent { id: EventId::new(77).unwrap(), draft: EventDraft::default() };
    assert_eq!(hall.run(&unknown), Err(TicketRejection::EventNotFound.into()));
}

#[test]
fn pause_and_resume_are_idempotent() {
    let mut hall = Hall::new(Mode::SingleCommit, &[1]);
    let event = hall.event;
    for paused in [true, true, false, false] {
        assert_eq!(hall.run(&SetPaused { event, paused }).unwrap().paused, paused);
        assert_eq!(hall.view().event.paused, paused);
    }
    let unknown = SetPaused { event: EventId::new(77).unwrap(), paused: true };
    assert_eq!(hall.run(&unknown), Err(TicketRejection::EventNotFound.into()));
}

#[test]
fn seat_id_contains_event_and_position() {
    let seat = EventId::new(7).unwrap().seat(12);
    assert_eq!((seat.get(), seat.event().get(), seat.position()), (7_000_012, 7, 12));
    assert_eq!(SeatId::new(7_000_012), Some(seat));
    assert_eq!(seat_of(seat_unit(seat)), Some(seat));
    assert_eq!(seat_of(event_unit(seat.event())), None);
    for impossible in [0, 12, 7_000_000, 7_100_001, ID_MAX, u64::MAX] {
        assert_eq!(SeatId::new(impossible), None, "{impossible}");
    }
    let last = EventId::new(EVENT_ID_MAX).unwrap();
    assert!(last.seat(SEATS_MAX).get() <= ID_MAX);
    assert_eq!(EventId::new(EVENT_ID_MAX + 1), None);
    assert_eq!(EventId::new(0), None);
}

#[test]
fn remaining_excludes_held_and_reserved() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[6]);
        assert_eq!((hall.view().event.seat_count, hall.remaining()), (6, 6));
        hall.hold(1, &[1, 2]).unwrap();
        let reservation = hall.reserve(2, &[3]).unwrap();
        assert_eq!((hall.map().as_str(), hall.remaining()), ("hhR...", 3));
        hall.cancel_reservation(reservation.id).unwrap();
        hall.world.wait(Span::from_secs(300));
        assert_eq!((hall.map().as_str(), hall.remaining()), ("......", 6));
        assert_eq!(hall.audit(), [""; 0]);
    }
}

#[test]
fn seat_events_are_emitted_in_order() {
    for mode in MODES {
        let mut hall = Hall::new(mode, &[4]);
        hall.hold(1, &[1]).unwrap();
        let held = hall.hold(1, &[1, 2]).unwrap();
        hall.confirm(held.id).unwrap();
        let reservation = hall.reserve(2, &[3]).unwrap();
        hall.cancel_reservation(reservation.id).unwrap();
        let cancelled = hall.hold(2, &[3]).unwrap();
        hall.cancel(cancelled.id).unwrap();
        let actual: Vec<(&str, bool, u64)> = hall
            .world
            .events
            .iter()
            .map(|event| {
                let name = match event {
                    Event::HoldPlaced(_) => "held",
                    Event::HoldReplaced(_) => "replaced",
                    Event::HoldCancelled(_) => "cancelled",
                    Event::SeatsReserved(_) => "reserved",
                    Event::SeatsCancelled(_) => "given back",
                    other => panic!("{other:?}"),
                };
                (name, event.is_durable(), event.owner().and_then(UserId::number).unwrap())
            })
            .collect();
        let expected = [
            ("held", false, 1),
            ("replaced", false, 1),
            ("held", false, 1),
            ("reserved", true, 1),
            ("reserved", true, 2),
            ("given back", true, 2),
            ("held", false, 2),
            ("cancelled", false, 2),
        ];
        assert_eq!(actual, expected);
    }
}

#[test]
fn seats_of_unknown_event_are_not_found() {
    let unknown = EventId::new(77).unwrap();
    assert_eq!(World::new().ask(|rows, at| seat_map(rows, at, unknown)), Err(TicketRejection::EventNotFound.into()));
    assert_eq!(World::new().ask(|rows, at| view(rows, at, unknown)), Err(TicketRejection::EventNotFound.into()));
}
