//! The auditor reports every violation.

use super::*;
use crate::hold::{Item, Line, Records};

/// A hotel of one room type with a reserved night and a held one.
struct Sold {
    hotel: Hotel,
    room_type: RoomType,
    reservation: StayReservation,
    hold: Hold,
}

fn sold() -> Sold {
    let mut hotel = Hotel::new(Mode::SingleCommit, 2);
    let confirmed = hotel.place(1, 1, 2).unwrap();
    let reservation = hotel.confirm(confirmed.id).unwrap();
    let hold = hotel.place(2, 3, 4).unwrap();
    let room_type = hotel.world.ask(|rows, _| room_type::find(rows, hotel.room_type)).unwrap();
    Sold { hotel, room_type, reservation, hold }
}

/// Asserts the findings after `spoil` has added an inconsistent record.
fn check(finding: &str, spoil: impl FnOnce(&mut Audit, &Sold)) {
    let sold = sold();
    let mut audit = sold.hotel.audit();
    let records = audit.records();
    spoil(&mut audit, &sold);
    assert!(audit.records() > records);
    assert_eq!(audit.finish().join("; "), finding);
}

#[test]
fn consistent_rows_have_no_findings() {
    assert_eq!(sold().hotel.audit().finish(), [""; 0]);
}

#[test]
fn oversold_nights_are_found() {
    check("room type 1, night 2025-11-05: oversold: 1 reserved + 2 held of 2", |audit, sold| {
        audit.stay.held(NightId { room_type: sold.room_type.id, date: day(1) }, 2);
    });
    let findings = "room type 1, night 2025-11-05: oversold: 1 reserved + 0 held of 0; \
                    room type 1, night 2025-11-07: oversold: 0 reserved + 1 held of 0";
    check(findings, |audit, sold| {
        audit.stay.room_type(&RoomType { total_quantity: 0, ..sold.room_type.clone() });
    });
}

#[test]
fn wrong_counts_are_found() {
    let night = |date| NightId { room_type: RoomTypeId::new(1).unwrap(), date };
    check("room type 1, night 2025-11-05: 2 counted as reserved, but 1 reservations found", |audit, _| {
        audit.stay.night(night(day(1)), Night { total_quantity: 2, reserved: 2, closed: false });
    });
    check("room type 1, night 2025-11-06: 1 counted as reserved, but 0 reservations found", |audit, _| {
        audit.stay.night(night(day(2)), Night { total_quantity: 2, reserved: 1, closed: false });
    });
    check("room type 9, night 2025-11-05: the room type does not exist", |audit, _| {
        audit.stay.held(NightId { room_type: RoomTypeId::new(9).unwrap(), date: day(1) }, 1);
    });
}

#[test]
fn wrong_reservations_are_found() {
    check("stay reservation 1: number is not unique", |audit, sold| {
        let state = StayReservationState::Cancelled { at: sold.hotel.world.now };
        audit_reservation(audit, &StayReservation { state, ..sold.reservation.clone() });
    });
    let confirmed = sold().reservation.hold;
    let cancelled = |sold: &Sold| StayReservation {
        id: StayReservationId::new(2).unwrap(),
        state: StayReservationState::Cancelled { at: sold.hotel.world.now },
        ..sold.reservation.clone()
    };
    check(&format!("hold {confirmed}: confirmed twice, as stay reservation [2] too"), |audit, sold| {
        audit_reservation(audit, &cancelled(sold));
    });
}

#[test]
fn wrong_holds_are_found() {
    let Sold { hold, .. } = sold();
    let other = HoldId::new(hold.created_at, [99; 10]);
    check(&format!("hold {}: confirmed, but stay reservation 7 is not its own", hold.id), |audit, sold| {
        audit.hold(&sold.hold.confirmed(Records::Shared(7)));
    });
    check(&format!("hold {other}: ends before it begins"), |audit, sold| {
        audit.hold(&Hold { id: other, expires_at: sold.hold.created_at, ..sold.hold.clone() });
    });
    check(&format!("hold {other}: live at the same time as {} under the same key", hold.id), |audit, sold| {
        let item = StayItem { client_key: Some(key(99)), ..sold.hold.item::<StayItem>().clone() };
        let line = Line { item: Item::Stay(item), ..sold.hold.lines[0].clone() };
        audit.hold(&Hold { id: other, lines: [line].into(), ..sold.hold.clone() });
    });
    check(&format!("hold {other}: live at the same time as {} under the same key", hold.id), |audit, sold| {
        audit.hold(&Hold { id: other, owner: id(9), ..sold.hold.clone() });
    });
}

#[test]
fn past_nights_are_checked_with_their_own_total() {
    let Sold { mut hotel, .. } = sold();
    hotel.world.wait(Span::from_hours(48));
    hotel.change(RoomTypeDraft { total_quantity: Some(0), ..RoomTypeDraft::default() }).unwrap();
    assert_eq!(hotel.audit().finish(), [""; 0]);
}
