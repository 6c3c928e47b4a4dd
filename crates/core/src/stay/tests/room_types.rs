//! Room types, their capacity, and nights that are closed for sale.

use super::*;
use crate::command::{Stop, Writes};
use crate::money::Currency;
use crate::stay::room_type::{self, TOTAL_QUANTITY_MAX};
use crate::time::Zone;

fn rooms(total_quantity: u32) -> RoomTypeDraft {
    RoomTypeDraft { total_quantity: Some(total_quantity), ..RoomTypeDraft::default() }
}

#[test]
fn room_type_has_defaults() {
    let hotel = Hotel::new(Mode::SingleCommit, 3);
    let found = hotel.world.ask(|rows, _| room_type::find(rows, hotel.room_type)).unwrap();
    let expected = RoomType {
        id: RoomTypeId::new(1).unwrap(),
        name: "Double".into(),
        description: None,
        total_quantity: 3,
        base_price: PRICE,
        currency: Currency::KRW,
        zone: Zone::parse("Asia/Seoul").unwrap(),
    };
    assert_eq!(found, expected);
}

#[test]
fn fields_of_room_type_are_checked() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 1);
    let text = |text: &str| Some(text.to_owned());
    let too_many = Fault::OutOfRange { min: 0, max: TOTAL_QUANTITY_MAX.into() };
    for (draft, rejection) in [
        (RoomTypeDraft { name: None, ..draft(1) }, Rejection::invalid("name", Fault::Missing)),
        (RoomTypeDraft { total_quantity: None, ..draft(1) }, Rejection::invalid("totalQuantity", Fault::Missing)),
        (RoomTypeDraft { base_price: None, ..draft(1) }, Rejection::invalid("basePrice", Fault::Missing)),
        (draft(TOTAL_QUANTITY_MAX + 1), Rejection::invalid("totalQuantity", too_many)),
        (RoomTypeDraft { currency: text("krw"), ..draft(1) }, Rejection::invalid("currency", Fault::UnknownCurrency)),
        (
            RoomTypeDraft { time_zone: text("Asia/Nowhere"), ..draft(1) },
            Rejection::invalid("timeZone", Fault::UnknownTimeZone),
        ),
    ] {
        assert_eq!(hotel.run(&CreateRoomType(draft)), Err(rejection));
    }
    for draft in [
        RoomTypeDraft { name: text(" "), ..draft(1) },
        RoomTypeDraft { base_price: Some(-1), ..draft(1) },
        RoomTypeDraft { description: Some(text(&"x".repeat(10_001))), ..draft(1) },
    ] {
        assert!(matches!(hotel.run(&CreateRoomType(draft)), Err(Rejection::InvalidInput { .. })));
    }
    hotel.run(&CreateRoomType(draft(TOTAL_QUANTITY_MAX))).unwrap();
}

#[test]
fn change_keeps_absent_fields() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 3);
        let described = RoomTypeDraft { description: Some(Some("Sea view".into())), ..RoomTypeDraft::default() };
        let before = hotel.change(described).unwrap();
        assert_eq!(before.description.as_deref(), Some("Sea view"));
        let renamed = RoomTypeDraft { name: Some("Twin".into()), ..RoomTypeDraft::default() };
        assert_eq!(hotel.change(renamed).unwrap(), RoomType { name: "Twin".into(), ..before.clone() });
        let bare = RoomTypeDraft { description: Some(None), ..RoomTypeDraft::default() };
        assert_eq!(hotel.change(bare).unwrap().description, None);
        hotel.room_type = RoomTypeId::new(99).unwrap();
        assert_eq!(hotel.change(rooms(1)), Err(StayRejection::RoomTypeNotFound.into()));
    }
}

#[test]
fn total_covers_reserved_and_held_rooms() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 5);
        let confirmed = hotel.place(1, 1, 3).unwrap();
        hotel.confirm(confirmed.id).unwrap();
        hotel.place(2, 2, 4).unwrap();
        let in_use =
            |days| Err(StayRejection::RoomsInUse { date: day(days), in_use: if days == 2 { 2 } else { 1 } }.into());
        assert_eq!(hotel.change(rooms(1)), in_use(2));
        assert_eq!(hotel.change(rooms(0)), in_use(1), "the first night is named");
        hotel.change(rooms(2)).unwrap();
        assert_eq!(hotel.counts(1, 4), [(1, 0, 1), (1, 1, 0), (0, 1, 1)]);
        hotel.world.wait(Span::from_secs(600));
        hotel.change(rooms(1)).expect("expired holds need no room");
        hotel.change(rooms(9)).unwrap();
        assert_eq!(hotel.counts(1, 2), [(1, 0, 8)]);
        assert_eq!(hotel.audit().finish(), [""; 0]);
    }
}

#[test]
fn past_nights_do_not_bound_the_total() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 1);
        let hold = hotel.place(1, 0, 1).unwrap();
        hotel.confirm(hold.id).unwrap();
        hotel.change(rooms(0)).unwrap_err();
        hotel.world.wait(Span::from_hours(24));
        hotel.change(rooms(0)).unwrap();
        assert_eq!(hotel.audit().finish(), [""; 0]);
    }
}

#[test]
fn total_covers_nights_that_zone_makes_future() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 1);
        let hold = hotel.place(1, 0, 1).unwrap();
        hotel.confirm(hold.id).unwrap();
        // In Seoul the night is past, in Honolulu it is today.
        hotel.world.wait(Span::from_hours(24));
        let moved = RoomTypeDraft { time_zone: Some("Pacific/Honolulu".into()), ..rooms(0) };
        assert_eq!(hotel.change(moved), Err(StayRejection::RoomsInUse { date: TODAY, in_use: 1 }.into()));
        hotel.change(rooms(0)).unwrap();
        let moved = RoomTypeDraft { time_zone: Some("Pacific/Honolulu".into()), ..RoomTypeDraft::default() };
        assert_eq!(hotel.change(moved), Err(StayRejection::RoomsInUse { date: TODAY, in_use: 1 }.into()));
    }
}

#[test]
fn fence_binds_holds_until_change_is_finished() {
    let mut hotel = Hotel::new(Mode::Steps, 2);
    hotel.place(1, 1, 2).unwrap();
    let lower = ChangeRoomType { id: hotel.room_type, draft: rooms(1) };
    let attempt = hotel.world.prepare(&lower).unwrap();
    assert_eq!(hotel.place(2, 1, 2), Err(full(1)), "the lower capacity already counts");
    assert_eq!(hotel.world.prepare(&lower), Err(Stop::Retry), "one fence per room type");
    let changed = hotel.world.record(&lower, attempt).unwrap();
    hotel.world.finish(&lower, attempt, Some(&changed));
    assert_eq!(hotel.place(2, 1, 2), Err(full(1)));
    assert_eq!(hotel.counts(1, 2), [(0, 1, 0)]);
}

#[test]
fn aborted_change_removes_its_fence() {
    let mut hotel = Hotel::new(Mode::Steps, 2);
    let lower = ChangeRoomType { id: hotel.room_type, draft: rooms(1) };
    let attempt = hotel.world.prepare(&lower).unwrap();
    hotel.world.finish(&lower, attempt, None);
    hotel.place(1, 1, 2).unwrap();
    hotel.place(2, 1, 2).expect("the fence is removed");
    let late = hotel.world.record(&lower, attempt);
    assert!(late.is_err(), "a change without its fence is not recorded: {late:?}");
    assert_eq!(hotel.audit().finish(), [""; 0]);
}

#[test]
fn lower_total_backs_off_from_prepared_hold() {
    let mut hotel = Hotel::new(Mode::Steps, 1);
    let hold = hotel.place(1, 1, 2).unwrap();
    let confirm = ConfirmStayHold::new(hold.id, Actor::Admin);
    let attempt = hotel.world.prepare(&confirm).unwrap();
    let lower = ChangeRoomType { id: hotel.room_type, draft: rooms(0) };
    assert_eq!(hotel.world.prepare(&lower), Err(Stop::Retry));
    hotel.world.finish(&confirm, attempt, None);
    hotel.cancel(hold.id).unwrap();
    hotel.change(rooms(0)).unwrap();
}

#[test]
fn closed_nights_are_not_sold() {
    for mode in MODES {
        let mut hotel = Hotel::new(mode, 2);
        let hold = hotel.place(1, 1, 4).unwrap();
        let dates = hotel.set_closed(2, 4, true).unwrap();
        assert_eq!(dates, StayDates { check_in: day(2), check_out: day(4) });
        assert_eq!(hotel.place(2, 1, 3), Err(full(2)));
        assert_eq!(hotel.place(2, 3, 5), Err(full(3)));
        hotel.place(2, 4, 5).expect("`to` is exclusive");
        assert_eq!(hotel.counts(1, 4), [(0, 1, 1), (0, 1, 0), (0, 1, 0)]);
        let closed: Vec<bool> = hotel.availability(1, 5).unwrap().nights.iter().map(|night| night.closed).collect();
        assert_eq!(closed, [false, true, true, false]);
        let reservation = hotel.confirm(hold.id).expect("what is held stays");
        assert_eq!(hotel.counts(1, 4), [(1, 0, 1), (1, 0, 0), (1, 0, 0)]);
        hotel.set_closed(2, 3, false).unwrap();
        hotel.place(2, 1, 3).unwrap();
        hotel.cancel_reservation(reservation.id).expect("what is confirmed can be cancelled");
        assert_eq!(hotel.place(3, 3, 4), Err(full(3)), "cancelling opens no night");
        assert_eq!(hotel.audit().finish(), [""; 0]);
    }
}

#[test]
fn closed_range_is_checked() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 2);
    assert_eq!(hotel.set_closed(2, 2, true), Err(Rejection::invalid("to", Fault::EmptyRange)));
    let fault = Fault::TooManyNights { max: 366 };
    assert_eq!(hotel.set_closed(0, 367, true), Err(Rejection::invalid("to", fault)));
    hotel.set_closed(0, 366, true).unwrap();
    hotel.room_type = RoomTypeId::new(99).unwrap();
    assert_eq!(hotel.set_closed(0, 1, true), Err(StayRejection::RoomTypeNotFound.into()));
}

#[test]
fn closing_writes_only_changed_nights() {
    let mut hotel = Hotel::new(Mode::SingleCommit, 2);
    hotel.set_closed(0, 3, false).unwrap();
    assert_eq!(hotel.world.memory.stay.nights.rows().count(), 0);
    hotel.set_closed(1, 2, true).unwrap();
    let before = hotel.rows();
    let close = SetNightsClosed { room_type: hotel.room_type, from: day(1), to: day(2), closed: true };
    hotel.world.step(Writes::Durable, |rows, at| close.decide(rows, at)).unwrap();
    assert_eq!(hotel.rows(), before);
}
