//! Placing holds, and the answers to queries about availability.

use super::*;
use crate::command::Attempt;
use crate::hold::{Item, Line, LineState};
use crate::money::Currency;
use crate::stay::place::PlaceStayHolds;

#[test]
fn hold_claims_a_room_for_each_night() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 2);
    let command = hotel.placing(7, 1, 4);
    let hold = hotel.run(&command).unwrap();
    let now = hotel.world.now;
    let item = StayItem {
        quantity: 1,
        room_type: hotel.room_type,
        dates: StayDates { check_in: day(1), check_out: day(4) },
        client_key: Some(command.client_key),
    };
    let expected = Hold {
        id: HoldId::new(now, command.random),
        owner: id(7),
        origin: Origin::Stay,
        created_at: now,
        expires_at: now + Span::from_secs(600),
        pay_by: None,
        state: HoldState::Held,
        version: 0,
        extensions: 0,
        attempt: Attempt(0),
        currency: Currency::KRW,
        lines: [Line { index: 0, state: LineState::Held, price: 3 * PRICE, item: Item::Stay(item) }].into(),
        extras: None,
    };
    assert_eq!(hold, expected);
    assert_eq!(hotel.hold(hold.id), hold);
    assert_eq!(hotel.counts(0, 5), [(0, 0, 2), (0, 1, 1), (0, 1, 1), (0, 1, 1), (0, 0, 2)]);
    assert_eq!(hotel.world.events, [Event::HoldPlaced(hold)]);
}

#[test]
fn hold_needs_a_free_room_on_each_night() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    hotel.place(1, 2, 3).unwrap();
    assert_eq!(hotel.place(2, 0, 5), Err(full(2)), "the first night without a room is named");
    assert_eq!(hotel.place(2, 2, 3), Err(full(2)));
    hotel.place(2, 0, 2).unwrap();
    hotel.place(3, 3, 5).unwrap();
    assert_eq!(hotel.counts(0, 5), [(0, 1, 0); 5]);
    assert_eq!(hotel.availability(0, 5).unwrap().available, 0);
}

#[test]
fn availability_is_that_of_least_night() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 5);
    hotel.place(1, 1, 3).unwrap();
    hotel.place(2, 2, 4).unwrap();
    assert_eq!(hotel.counts(0, 4), [(0, 0, 5), (0, 1, 4), (0, 2, 3), (0, 1, 4)]);
    assert_eq!(hotel.availability(0, 4).unwrap().available, 3);
    hotel.availability(0, 366).expect("366 nights are accepted");
    let fault = Fault::TooManyNights { max: 366 };
    assert_eq!(hotel.availability(0, 367), Err(Rejection::invalid("checkOut", fault)));
    assert_eq!(hotel.availability(1, 1), Err(Rejection::invalid("checkOut", Fault::EmptyRange)));
    hotel.room_type = RoomTypeId::new(99).unwrap();
    assert_eq!(hotel.availability(0, 1), Err(StayRejection::RoomTypeNotFound.into()));
}

#[test]
fn hold_ends_when_its_ttl_is_over() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    hotel.place(1, 1, 2).unwrap();
    hotel.world.wait(Span::from_millis(599_999));
    assert_eq!(hotel.place(2, 1, 2), Err(full(1)));
    hotel.world.wait(Span::from_millis(1));
    hotel.place(2, 1, 2).unwrap();
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn dates_of_hold_are_bounded() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 9);
    let ahead = DAYS_AHEAD_MAX as i32;
    for (check_in, check_out, field, fault) in [
        (3, 3, "checkOut", Fault::EmptyRange),
        (3, 2, "checkOut", Fault::EmptyRange),
        (1, 92, "checkOut", Fault::TooManyNights { max: 90 }),
        (-1, 1, "checkIn", Fault::InThePast),
        (ahead + 1, ahead + 2, "checkIn", Fault::TooFarAhead { days_max: DAYS_AHEAD_MAX }),
    ] {
        assert_eq!(hotel.place(1, check_in, check_out), Err(Rejection::invalid(field, fault)), "{check_in}");
    }
    hotel.place(1, 0, 1).expect("tonight is accepted");
    hotel.place(1, 1, 91).expect("90 nights are accepted");
    hotel.place(1, ahead, ahead + 1).expect("the last day is accepted");
}

#[test]
fn today_is_that_of_room_type() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    // 06:30 UTC: 15:30 in Seoul, 20:30 of the day before in Honolulu.
    let honolulu = RoomTypeDraft { time_zone: Some("Pacific/Honolulu".into()), ..draft(1) };
    let seoul = hotel.room_type;
    hotel.room_type = hotel.run(&CreateRoomType(honolulu)).unwrap().id;
    hotel.place(1, -1, 0).unwrap();
    hotel.room_type = seoul;
    assert_eq!(hotel.place(1, -1, 0), Err(Rejection::invalid("checkIn", Fault::InThePast)));
}

#[test]
fn price_is_fixed_when_hold_is_placed() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 2);
        let hold = hotel.place(1, 1, 3).unwrap();
        hotel.change(RoomTypeDraft { base_price: Some(1), ..RoomTypeDraft::default() }).unwrap();
        assert_eq!(hotel.hold(hold.id).total(), 2 * PRICE);
        assert_eq!(hotel.confirm(hold.id).unwrap().price, 2 * PRICE);
        assert_eq!(hotel.place(2, 1, 3).unwrap().total(), 2);
    }
}

#[test]
fn hold_needs_a_room_type() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    hotel.room_type = RoomTypeId::new(99).unwrap();
    assert_eq!(hotel.place(1, 1, 2), Err(StayRejection::RoomTypeNotFound.into()));
}

#[test]
fn live_holds_per_user_are_limited() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 9);
    hotel.world.limits.holds_per_user_max = 2;
    let first = hotel.place(1, 1, 2).unwrap();
    hotel.place(1, 2, 3).unwrap();
    assert_eq!(hotel.place(1, 3, 4), Err(Rejection::TooManyHolds { max: 2 }));
    hotel.place(2, 3, 4).expect("the limit is per user");
    hotel.place(1, 2, 3).expect("a replaced hold is not counted");
    hotel.confirm(first.id).unwrap();
    hotel.place(1, 3, 4).expect("a confirmed hold is not counted");
    assert_eq!(hotel.place(1, 4, 5), Err(Rejection::TooManyHolds { max: 2 }));
    hotel.world.wait(Span::from_secs(600));
    hotel.place(1, 4, 5).expect("an expired hold is not counted");
}

#[test]
fn rejected_hold_changes_nothing() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    hotel.place(1, 1, 2).unwrap();
    let (before, events) = (hotel.rows(), hotel.world.events.len());
    hotel.place(2, 0, 3).unwrap_err();
    assert_eq!((hotel.rows(), hotel.world.events.len()), (before, events));
}

#[test]
fn batch_lines_are_independent() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let lines = vec![hotel.placing(1, 1, 2), hotel.placing(2, 0, 2), hotel.placing(3, 2, 3), hotel.placing(4, 3, 3)];
    let results = hotel.run(&PlaceStayHolds(lines)).unwrap();
    let placed: Vec<_> =
        results.iter().map(|result| result.as_ref().ok().map(|hold| hold.owner.number().unwrap())).collect();
    assert_eq!(placed, [Some(1), None, Some(3), None]);
    assert_eq!(results[1], Err(full(1)), "a line sees the holds of earlier lines");
    assert_eq!(results[3], Err(Rejection::invalid("checkOut", Fault::EmptyRange)));
    assert_eq!(hotel.counts(0, 4), [(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1)]);
    assert_eq!(hotel.run(&PlaceStayHolds(Vec::new())), Ok(Vec::new()));
}

#[test]
fn client_hold_key_is_uuid_or_ulid() {
    let parse = ClientHoldKey::parse;
    let uuid = parse("C0FFEE00-0000-4000-8000-000000000001").unwrap();
    assert_eq!(uuid.to_string(), "c0ffee00-0000-4000-8000-000000000001");
    assert_eq!(parse("c0ffee00000040008000000000000001"), Some(uuid));
    let lower = parse("01arz3ndektsv4rrffq69g5fav").unwrap();
    assert_eq!(lower.to_string(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    for malformed in
        ["", "abc", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU", "{c0ffee00-0000-4000-8000-00000000000}"]
    {
        assert_eq!(parse(malformed), None, "{malformed}");
    }
}
