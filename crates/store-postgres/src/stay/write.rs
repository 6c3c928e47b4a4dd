//! Writing what a batch changed in stays: one statement per table for new rows, one for changed ones.

use holdfast_core::hold::HoldState;
use holdfast_core::id::HoldId;
use holdfast_core::stay::{Night, NightId, ReservationState, RoomType, StayHold, StayReservation, Tables};
use holdfast_core::table::{Change, TableSet as _};

use crate::codec::Col;
use crate::pipeline::{Param, Pipeline, column};

const INSERT_ROOM_TYPES: &str = "INSERT INTO room_type
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[], $5::bigint[], $6::text[], $7::text[])";
const UPDATE_ROOM_TYPES: &str = "WITH written AS (
        UPDATE room_type AS old SET name = new.name, description = new.description,
            total_quantity = new.total_quantity, base_price = new.base_price, currency = new.currency,
            time_zone = new.time_zone, version = old.version + 1
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[], $5::bigint[], $6::text[], $7::text[])
            AS new (id, name, description, total_quantity, base_price, currency, time_zone)
        WHERE old.id = new.id RETURNING 1)
    SELECT expect_rows(count(*), cardinality($1)) FROM written";
const INSERT_NIGHTS: &str = "INSERT INTO room_type_stock
    SELECT * FROM unnest($1::bigint[], $2::date[], $3::integer[], $4::integer[], $5::boolean[])";
const UPDATE_NIGHTS: &str = "WITH written AS (
        UPDATE room_type_stock AS old SET total_quantity = new.total_quantity, reserved_count = new.reserved_count,
            closed = new.closed, version = old.version + 1
        FROM unnest($1::bigint[], $2::date[], $3::integer[], $4::integer[], $5::boolean[])
            AS new (room_type_id, target_date, total_quantity, reserved_count, closed)
        WHERE old.room_type_id = new.room_type_id AND old.target_date = new.target_date RETURNING 1)
    SELECT expect_rows(count(*), cardinality($1)) FROM written";
const INSERT_RESERVATIONS: &str = "INSERT INTO stay_reservation
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::date[], $6::date[], $7::bigint[],
        $8::text[], $9::timestamptz[], $10::timestamptz[])";
const UPDATE_RESERVATIONS: &str = "WITH written AS (
        UPDATE stay_reservation AS old SET cancelled_at = new.cancelled_at, version = old.version + 1
        FROM unnest($1::bigint[], $2::timestamptz[]) AS new (id, cancelled_at)
        WHERE old.id = new.id RETURNING 1)
    SELECT expect_rows(count(*), cardinality($1)) FROM written";
const INSERT_HOLDS: &str = "INSERT INTO stay_hold
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::date[], $5::date[], $6::text[], $7::bigint[],
        $8::text[], $9::timestamptz[], $10::timestamptz[], $11::text[], $12::bigint[], $13::uuid[])";
const UPDATE_HOLDS: &str = "WITH written AS (
        UPDATE stay_hold AS old SET state = new.state, reservation_id = new.reservation_id,
            replaced_by = new.replaced_by, version = old.version + 1
        FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::uuid[]) AS new (id, state, reservation_id, replaced_by)
        WHERE old.id = new.id RETURNING 1)
    SELECT expect_rows(count(*), cardinality($1)) FROM written";

pub(super) const STATEMENTS: &[&str] = &[
    INSERT_ROOM_TYPES,
    UPDATE_ROOM_TYPES,
    INSERT_NIGHTS,
    UPDATE_NIGHTS,
    INSERT_RESERVATIONS,
    UPDATE_RESERVATIONS,
    INSERT_HOLDS,
    UPDATE_HOLDS,
];

/// All but holds.
pub(crate) fn write<'a>(pipeline: &mut Pipeline<'a>, tables: &'a Tables) {
    let (new, changed) = split(tables.room_types.changes(), "room types are never deleted");
    send(pipeline, INSERT_ROOM_TYPES, &new, room_type_columns);
    send(pipeline, UPDATE_ROOM_TYPES, &changed, room_type_columns);
    let (new, changed) = split(tables.nights.changes(), "nights are never deleted");
    send(pipeline, INSERT_NIGHTS, &new, night_columns);
    send(pipeline, UPDATE_NIGHTS, &changed, night_columns);
    let (new, changed) = split(tables.reservations.changes(), "reservations are never deleted");
    send(pipeline, INSERT_RESERVATIONS, &new, reservation_columns);
    send(pipeline, UPDATE_RESERVATIONS, &changed, |reservations| {
        vec![
            column(reservations, |(_, reservation)| Col(reservation.id)),
            column(reservations, |(_, reservation)| cancelled_at(reservation)),
        ]
    });
}

/// Whether [`write`] would write anything.
pub(crate) fn has_durable_changes(tables: &Tables) -> bool {
    tables.room_types.has_changes() || tables.nights.has_changes() || tables.reservations.has_changes()
}

/// For a server that has the database to itself.
pub(crate) fn write_holds<'a>(pipeline: &mut Pipeline<'a>, tables: &'a Tables) {
    let (new, changed) = split(tables.holds.changes(), "holds are cleared away by time, not deleted");
    send(pipeline, INSERT_HOLDS, &new, hold_columns);
    send(pipeline, UPDATE_HOLDS, &changed, |holds| {
        vec![
            column(holds, |(_, hold)| Col(hold.id)),
            column(holds, |(_, hold)| state(hold).0),
            column(holds, |(_, hold)| state(hold).1),
            column(holds, |(_, hold)| state(hold).2),
        ]
    });
}

/// Rows with their keys: those the database does not have yet, and those it has.
type Keyed<'a, K, V> = Vec<(&'a K, &'a V)>;

fn split<'a, K, V>(changes: Vec<Change<'a, K, V>>, never_deleted: &str) -> (Keyed<'a, K, V>, Keyed<'a, K, V>) {
    let (mut new, mut changed) = (Vec::new(), Vec::new());
    for change in changes {
        let row = (change.key, change.row.expect(never_deleted));
        if change.is_new { new.push(row) } else { changed.push(row) }
    }
    (new, changed)
}

fn send<'a, R>(
    pipeline: &mut Pipeline<'a>,
    sql: &'static str,
    rows: &[R],
    columns: impl FnOnce(&[R]) -> Vec<Param<'a>>,
) {
    if !rows.is_empty() {
        pipeline.send(sql, columns(rows));
    }
}

fn room_type_columns<'a, K>(rows: &[(&'a K, &'a RoomType)]) -> Vec<Param<'a>> {
    vec![
        column(rows, |(_, room_type)| Col(room_type.id)),
        column(rows, |(_, room_type)| &*room_type.name),
        column(rows, |(_, room_type)| room_type.description.as_deref()),
        column(rows, |(_, room_type)| Col(room_type.total_quantity)),
        column(rows, |(_, room_type)| room_type.base_price),
        column(rows, |(_, room_type)| Col(room_type.currency)),
        column(rows, |(_, room_type)| room_type.zone.name()),
    ]
}

fn night_columns<'a>(rows: &[(&'a NightId, &'a Night)]) -> Vec<Param<'a>> {
    vec![
        column(rows, |(id, _)| Col(id.room_type)),
        column(rows, |(id, _)| Col(id.date)),
        column(rows, |(_, night)| Col(night.total_quantity)),
        column(rows, |(_, night)| Col(night.reserved)),
        column(rows, |(_, night)| night.closed),
    ]
}

fn reservation_columns<'a, K>(rows: &[(&'a K, &'a StayReservation)]) -> Vec<Param<'a>> {
    vec![
        column(rows, |(_, reservation)| Col(reservation.id)),
        column(rows, |(_, reservation)| Col(reservation.hold)),
        column(rows, |(_, reservation)| Col(reservation.user)),
        column(rows, |(_, reservation)| Col(reservation.room_type)),
        column(rows, |(_, reservation)| Col(reservation.dates.check_in)),
        column(rows, |(_, reservation)| Col(reservation.dates.check_out)),
        column(rows, |(_, reservation)| reservation.price),
        column(rows, |(_, reservation)| Col(reservation.currency)),
        column(rows, |(_, reservation)| Col(reservation.confirmed_at)),
        column(rows, |(_, reservation)| cancelled_at(reservation)),
    ]
}

fn hold_columns<'a, K>(rows: &[(&'a K, &'a StayHold)]) -> Vec<Param<'a>> {
    vec![
        column(rows, |(_, hold)| Col(hold.id)),
        column(rows, |(_, hold)| Col(hold.owner)),
        column(rows, |(_, hold)| Col(hold.room_type)),
        column(rows, |(_, hold)| Col(hold.dates.check_in)),
        column(rows, |(_, hold)| Col(hold.dates.check_out)),
        column(rows, |(_, hold)| Col(hold.client_key)),
        column(rows, |(_, hold)| hold.price),
        column(rows, |(_, hold)| Col(hold.currency)),
        column(rows, |(_, hold)| Col(hold.created_at)),
        column(rows, |(_, hold)| Col(hold.expires_at)),
        column(rows, |(_, hold)| state(hold).0),
        column(rows, |(_, hold)| state(hold).1),
        column(rows, |(_, hold)| state(hold).2),
    ]
}

/// State, reservation, replacement.
fn state(hold: &StayHold) -> (&'static str, Option<Col<u64>>, Option<Col<HoldId>>) {
    match hold.state {
        HoldState::Held => ("HELD", None, None),
        HoldState::Confirming => unreachable!("here a hold is confirmed in one commit"),
        HoldState::Confirmed { record } => ("CONFIRMED", Some(Col(record)), None),
        HoldState::Cancelled => ("CANCELLED", None, None),
        HoldState::Replaced { by } => ("REPLACED", None, Some(Col(by))),
    }
}

fn cancelled_at(reservation: &StayReservation) -> Option<Col<holdfast_core::Timestamp>> {
    match reservation.state {
        ReservationState::Confirmed => None,
        ReservationState::Cancelled { at } => Some(Col(at)),
    }
}
