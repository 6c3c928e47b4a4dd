//! Declared rows as values, and back.

use std::collections::BTreeSet;

use jiff::civil::date;

use super::{ChildRows, Column, LiveChange as _, StoredRow, TableRow, Type, Value, ValueReader, Values, registry};
use crate::Timestamp;
use crate::calendar::{
    LocalTime, ReservedSlot, RoomId, RoomReservation, RoomReservationId, RoomReservationState, SlotStart,
};
use crate::command::Attempt;
use crate::hold::owner::{OwnerHolds, OwnerPage};
use crate::hold::{Extras, Hold, HoldState, Item, Origin, Placement};
use crate::id::{HoldId, UserId};
use crate::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use crate::money::Currency;
use crate::stay::{ClientHoldKey, DatesKey, LiveHold, NightId, RoomTypeId, StayDates, StayItem, night_unit};
use crate::table::{Change, decode_row};
use crate::ticket::{EventId, SeatPointer};
use crate::unit::{CapacityFence, Kind, Resource, Tally, Unit};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

fn stay_item() -> StayItem {
    StayItem {
        quantity: 1,
        room_type: RoomTypeId::new(9).unwrap(),
        dates: StayDates { check_in: date(2027, 3, 1), check_out: date(2027, 3, 4) },
        client_key: ClientHoldKey::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    }
}

fn hold(state: HoldState) -> Hold {
    let created_at = at(1_800_000_000_123);
    let placement = Placement {
        extras: Extras::default(),
        id: HoldId::new(created_at, [7; 10]),
        owner: user(5),
        origin: Origin::Stay,
        created_at,
        expires_at: at(1_800_000_600_000),
        currency: Currency::KRW,
        lines: [(300_000, Item::Stay(stay_item()))],
    };
    Hold { state, attempt: Attempt(3), ..placement.into_hold() }
}

fn encoded<K, V: TableRow<K>>(key: &K, row: &V) -> Vec<u8> {
    let mut encoded = Vec::new();
    Change { is_new: true, is_remade: false, key, row: Some(row) }.encode(&mut encoded);
    encoded
}

fn assert_live_round_trip<K, V: TableRow<K> + PartialEq>(key: &K, row: &V) {
    let encoded = encoded(key, row);
    let StoredRow { values, lines } = decode_row(V::SPEC, &encoded).unwrap();
    assert_eq!(V::take(key, &mut ValueReader::new(values), lines).as_ref(), Some(row), "{encoded:?}");
}

fn name_of<K, V: TableRow<K>>(key: &K) -> String {
    let mut name = String::new();
    V::write_name(key, &mut name);
    name
}

#[test]
fn live_rows_round_trip() {
    let by = HoldId::new(at(5), [1; 10]);
    let states = [HoldState::Held, HoldState::Prepared, HoldState::Cancelled, HoldState::Replaced { by }];
    for state in states.into_iter().chain([HoldState::Confirmed]) {
        let hold = hold(state);
        let id = hold.id;
        assert_live_round_trip(&id, &hold);
        let extras =
            Extras { refund: None, reference: Some("order 7".into()), metadata: vec![("a".into(), "b\0".into())] };
        assert_live_round_trip(&id, &Hold { extras: Some(extras.into()), pay_by: Some(at(5_000)), ..hold });
    }
    let unit = Unit { kind: Kind::Shop, resource: 1, part: 0 };
    assert_live_round_trip(&unit, &Tally::from_lines(2, [(1_800_000_000, 3), (1_800_000_001, 1)]).unwrap());
    assert_live_round_trip(&unit, &Tally::from_lines(1, []).unwrap());
    let fence = CapacityFence { capacity: 4, ends_at: at(99) };
    assert_live_round_trip(&Resource { kind: Kind::Stay, id: 1 }, &fence);
    for expires_at in [None, Some(at(99))] {
        let pointer = SeatPointer { hold: by, owner: user(7), expires_at };
        assert_live_round_trip(&EventId::new(1).unwrap().seat(3), &pointer);
    }
    let id = IdempotencyRecordId { caller: "user 5".into(), key: "k".into() };
    let response = b"any bytes \0 at all".to_vec();
    assert_live_round_trip(&id, &IdempotencyRecord { fingerprint: [0x20; 32], response, expires_at: at(1) });
}

#[test]
fn damaged_live_rows_are_rejected() {
    let hold = hold(HoldState::Held);
    let encoded = encoded(&hold.id, &hold);
    let read = |bytes: &[u8]| {
        let StoredRow { values, lines } = decode_row(Hold::SPEC, bytes)?;
        Hold::take(&hold.id, &mut ValueReader::new(values), lines)
    };
    for length in 0..encoded.len() {
        assert_ne!(read(&encoded[..length]).as_ref(), Some(&hold), "{length} bytes");
    }
    let other_version = [&[encoded[0] + 1], &encoded[1..]].concat();
    assert_eq!(read(&other_version), None);
}

/// Names that the contract documents.
#[test]
fn live_rows_have_documented_names() {
    let StayItem { room_type, dates, client_key, .. } = stay_item();
    let key = client_key.unwrap();
    let hold = hold(HoldState::Held).id;
    assert_eq!(name_of::<_, Hold>(&hold), format!("hold:{hold}"));
    let by_dates = DatesKey { user: user(5), room_type, dates };
    assert_eq!(name_of::<_, LiveHold>(&by_dates), "hold:idx:5:9:2027-03-01:2027-03-04");
    let by_client_key = crate::stay::ClientKey { key, room_type, dates };
    assert_eq!(
        name_of::<_, LiveHold>(&by_client_key),
        "hold:snapshot:01ARZ3NDEKTSV4RRFFQ69G5FAV:9:2027-03-01:2027-03-04"
    );
    assert_eq!(name_of::<_, Tally>(&night_unit(room_type, date(2027, 3, 1))), "hold-count:9:2027-03-01");
    assert_eq!(name_of::<_, Tally>(&Unit { kind: Kind::Ticket, resource: 3, part: 0 }), "seat:count:3");
    assert_eq!(name_of::<_, OwnerHolds>(&OwnerPage::first(Kind::Room, &user(5))), "holds:room:5:0");
}

#[test]
fn record_round_trips_and_computed_is_checked() {
    let slot = |day| ReservedSlot {
        start: SlotStart::new(date(2027, 3, day), LocalTime::parse_end("09:30").unwrap()).unwrap(),
        minutes: 30,
        price: 1_000,
    };
    let reservation = RoomReservation {
        id: RoomReservationId::new(4).unwrap(),
        lock: HoldId::new(at(5), [1; 10]),
        line: 0,
        room: RoomId::new(2).unwrap(),
        user: user(5),
        slots: [slot(1), slot(3)].into(),
        total: 2_000,
        currency: Currency::KRW,
        confirmed_at: at(10),
        state: RoomReservationState::Cancelled { at: at(11) },
    };
    let (mut values, mut lines) = (Values::default(), Vec::new());
    RoomReservation::put_key(&reservation.id, &mut values);
    reservation.put(&mut values);
    reservation.put_child_rows(&mut lines);
    let stored = |values: &Values<'_>| StoredRow {
        values: values.0.iter().cloned().map(Value::into_owned).collect(),
        lines: lines
            .iter()
            .map(|line| ValueReader::new(line.0.iter().cloned().map(Value::into_owned).collect()))
            .collect(),
    };
    let read = |values: &Values<'_>| stored(values).read::<RoomReservationId, RoomReservation>();
    assert_eq!(read(&values), Some((reservation.id, reservation.clone())));
    let last_date = RoomReservation::SPEC.columns().position(|column| column.name == "last_date").unwrap();
    assert_eq!(values.0[last_date], Value::Date(date(2027, 3, 3)));
    values.0[last_date] = Value::Date(date(2027, 3, 2));
    assert_eq!(read(&values), None);
}

#[test]
fn types_of_columns_follow_from_fields() {
    let spec = <crate::stay::Night as TableRow<NightId>>::SPEC;
    let column = |name, kind| Column { name, kind, is_nullable: false };
    assert_eq!(spec.key, [column("room_type_id", Type::Big), column("target_date", Type::Date)]);
    assert_eq!(spec.fixed, []);
    let changing =
        [column("total_quantity", Type::Int), column("reserved_count", Type::Int), column("closed", Type::Bool)];
    assert_eq!(spec.changing, changing);
}

#[test]
fn tables_and_columns_are_declared_once() {
    let mut tables = BTreeSet::new();
    for (_, table) in registry::tables() {
        let spec = table.spec();
        // Confirmed holds are rows of the same table as holds.
        if !tables.insert(spec.table) {
            assert_eq!(spec.table, "hold");
            continue;
        }
        let names: BTreeSet<_> = spec.columns().map(|column| column.name).collect();
        assert_eq!(names.len(), spec.columns().count(), "{}", spec.table);
        if let Some(ChildRows { table, .. }) = spec.child_rows {
            assert!(tables.insert(table), "{table}");
        }
    }
}
