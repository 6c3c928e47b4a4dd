//! SQL of stays.

use holdfast_core::Timestamp;
use holdfast_core::command::Attempt;
use holdfast_core::hold::HoldState;
use holdfast_core::id::HoldId;
use holdfast_core::stay::audit::StayAudit;
use holdfast_core::stay::{
    Night, NightId, ReservationState, RoomType, RoomTypeId, StayClaim, StayHold, StayReservation, StayReservationId,
    Tables,
};
use holdfast_core::time::Zone;
use holdfast_engine::store::{Page, StayReservationFilter};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::codec::{Col, Text, date_text, stay_dates};

macro_rules! room_type {
    ($rest:literal) => {
        concat!("SELECT id, name, description, total_quantity, base_price, currency, time_zone FROM room_type ", $rest)
    };
}
macro_rules! night {
    ($rest:literal) => {
        concat!("SELECT target_date, total_quantity, reserved_count, closed, room_type_id FROM room_type_stock ", $rest)
    };
}
macro_rules! hold { ($rest:literal) => { concat!(
    "SELECT id, user_id, room_type_id, check_in, check_out, client_key, price, currency, created_at, expires_at, ",
    "state, reservation_id, replaced_by FROM stay_hold ", $rest) } }
macro_rules! reservation { ($rest:literal) => { concat!(
    "SELECT id, hold_id, user_id, room_type_id, check_in, check_out, price, currency, confirmed_at, cancelled_at ",
    "FROM stay_reservation ", $rest) } }

pub(crate) fn load(connection: &Connection, tables: &mut Tables) -> rusqlite::Result<()> {
    let mut select = connection.prepare_cached(room_type!("WHERE id = ?1"))?;
    for id in tables.room_types.take_wanted() {
        tables.room_types.supply(id, select.query_row([Col(id)], read_room_type).optional()?);
    }
    let mut select = connection.prepare_cached(night!("WHERE room_type_id = ?1 AND target_date = ?2"))?;
    for id in tables.nights.take_wanted() {
        let night = select.query_row(params![Col(id.room_type), date_text(id.date)], read_night).optional()?;
        tables.nights.supply(id, night.map(|(_, night)| night));
    }
    let mut select = connection.prepare_cached(night!("WHERE room_type_id = ?1 AND target_date >= ?2"))?;
    for scan in tables.nights.take_scans_wanted() {
        let from = scan.0;
        for night in select.query_map(params![Col(from.room_type), date_text(from.date)], read_night)? {
            let (id, night) = night?;
            tables.nights.supply(id, Some(night));
        }
        tables.nights.supply_scan(scan);
    }
    let mut select = connection.prepare_cached(hold!("WHERE id = ?1"))?;
    for id in tables.holds.take_wanted() {
        tables.holds.supply(id, select.query_row([Col(id)], read_hold).optional()?);
    }
    let mut select = connection.prepare_cached(reservation!("WHERE id = ?1"))?;
    for id in tables.reservations.take_wanted() {
        tables.reservations.supply(id, select.query_row([Col(id)], read_reservation).optional()?);
    }
    Ok(())
}

pub(crate) fn write(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    for change in tables.room_types.changes() {
        write_room_type(connection, change.row.expect("room types are never deleted"))?;
    }
    write_nights(connection, tables)?;
    write_holds(connection, tables)?;
    write_reservations(connection, tables)?;
    Ok(())
}

/// Every live hold; none was made before `made_from`.
pub(crate) fn for_each_live_hold(
    connection: &Connection,
    made_from: HoldId,
    now: Timestamp,
    mut each: impl FnMut(StayHold),
) -> rusqlite::Result<()> {
    let mut select = connection.prepare(hold!("WHERE id >= ?1 AND state = 'HELD' AND expires_at > ?2 ORDER BY id"))?;
    for hold in select.query_map(params![Col(made_from), Col(now)], read_hold)? {
        each(hold?);
    }
    Ok(())
}

/// Deletes at most `limit` holds made before `made_before`.
pub(crate) fn tidy(connection: &Connection, made_before: HoldId, limit: usize) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "DELETE FROM stay_hold WHERE id IN (SELECT id FROM stay_hold WHERE id < ?1 ORDER BY id LIMIT ?2)",
        )?
        .execute(params![Col(made_before), limit])
}

pub(crate) fn room_types(connection: &Connection, page: Page<RoomTypeId>) -> rusqlite::Result<Vec<RoomType>> {
    connection
        .prepare_cached(room_type!("WHERE id > ?1 ORDER BY id LIMIT ?2"))?
        .query_map(params![page.after.map_or(0, RoomTypeId::get), page.limit + 1], read_room_type)?
        .collect()
}

pub(crate) fn reservations(
    connection: &Connection,
    filter: StayReservationFilter,
    page: Page<StayReservationId>,
) -> rusqlite::Result<Vec<StayReservation>> {
    // Only the conditions asked for are written, so that each combination uses the index it has.
    let (user, room_type) = (filter.user.map(Col), filter.room_type.map(Col));
    let (after, limit) = (page.after.map_or(0, StayReservationId::get), page.limit + 1);
    let mut sql = reservation!("WHERE id > :after").to_owned();
    let mut values: Vec<(&str, &dyn ToSql)> = vec![(":after", &after), (":limit", &limit)];
    if let Some(user) = &user {
        sql.push_str(" AND user_id = :user");
        values.push((":user", user));
    }
    if let Some(room_type) = &room_type {
        // The plus keeps the broader index out of the way when the narrower one of the user serves.
        sql.push_str(if user.is_some() { " AND +room_type_id = :room_type" } else { " AND room_type_id = :room_type" });
        values.push((":room_type", room_type));
    }
    match filter.confirmed {
        Some(true) => sql.push_str(" AND cancelled_at IS NULL"),
        Some(false) => sql.push_str(" AND cancelled_at IS NOT NULL"),
        None => {}
    }
    sql.push_str(" ORDER BY id LIMIT :limit");
    connection.prepare_cached(&sql)?.query_map(&*values, read_reservation)?.collect()
}

pub(crate) fn audit(connection: &Connection, audit: &mut StayAudit) -> rusqlite::Result<()> {
    for room_type in connection.prepare(room_type!(""))?.query_map([], read_room_type)? {
        audit.room_type(&room_type?);
    }
    for night in connection.prepare(night!(""))?.query_map([], read_night)? {
        let (id, night) = night?;
        audit.night(id, night);
    }
    for hold in connection.prepare(hold!(""))?.query_map([], read_hold)? {
        audit.hold(&hold?);
    }
    for reservation in connection.prepare(reservation!(""))?.query_map([], read_reservation)? {
        audit.reservation(&reservation?);
    }
    Ok(())
}

fn read_room_type(row: &Row<'_>) -> rusqlite::Result<RoomType> {
    let (Col(id), Col(currency)) = (row.get(0)?, row.get(5)?);
    let zone = row.get_ref(6)?.as_str()?;
    Ok(RoomType {
        id,
        name: row.get_ref(1)?.as_str()?.into(),
        description: row.get_ref(2)?.as_str_or_null()?.map(Into::into),
        total_quantity: row.get(3)?,
        base_price: row.get(4)?,
        currency,
        zone: Zone::parse(zone).ok_or_else(|| FromSqlError::Other(format!("unknown time zone {zone}").into()))?,
    })
}

fn write_room_type(connection: &Connection, room_type: &RoomType) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO room_type VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET
               name = excluded.name, description = excluded.description, total_quantity = excluded.total_quantity,
               base_price = excluded.base_price, currency = excluded.currency, time_zone = excluded.time_zone",
        )?
        .execute(params![
            Col(room_type.id),
            room_type.name,
            room_type.description,
            room_type.total_quantity,
            room_type.base_price,
            room_type.currency.as_str(),
            room_type.zone.name(),
        ])
        .map(|_| ())
}

fn read_night(row: &Row<'_>) -> rusqlite::Result<(NightId, Night)> {
    let (Col(date), Col(room_type)) = (row.get(0)?, row.get(4)?);
    let night = Night { total_quantity: row.get(1)?, reserved: row.get(2)?, closed: row.get(3)? };
    Ok((NightId { room_type, date }, night))
}

fn write_nights(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO room_type_stock VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut update = connection.prepare_cached(
        "UPDATE room_type_stock SET total_quantity = ?3, reserved_count = ?4, closed = ?5
         WHERE room_type_id = ?1 AND target_date = ?2",
    )?;
    for change in tables.nights.changes() {
        let (id, night) = (change.key, change.row.expect("nights are never deleted"));
        let write = if change.is_new { &mut insert } else { &mut update };
        let written = write.execute(params![
            Col(id.room_type),
            date_text(id.date),
            night.total_quantity,
            night.reserved,
            night.closed,
        ])?;
        assert_eq!(written, 1, "a night that was loaded is there to be updated");
    }
    Ok(())
}

fn read_hold(row: &Row<'_>) -> rusqlite::Result<StayHold> {
    let (Col(id), Col(owner), Col(room_type)) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let (Col(check_in), Col(check_out), Col(client_key)) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let (Col(currency), Col(created_at), Col(expires_at)) = (row.get(7)?, row.get(8)?, row.get(9)?);
    let state = match row.get_ref(10)?.as_str()? {
        "HELD" => HoldState::Held,
        "CONFIRMED" => HoldState::Confirmed { record: row.get(11)? },
        "CANCELLED" => HoldState::Cancelled,
        "REPLACED" => {
            let Col(by) = row.get(12)?;
            HoldState::Replaced { by }
        }
        other => return Err(FromSqlError::Other(format!("unknown state {other}").into()).into()),
    };
    let dates = stay_dates(check_in, check_out)?;
    let claim = StayClaim { room_type, dates, client_key, price: row.get(6)?, currency };
    Ok(StayHold { id, owner, created_at, expires_at, state, attempts: Attempt::default(), claim })
}

fn write_holds(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO stay_hold VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")?;
    let mut update = connection
        .prepare_cached("UPDATE stay_hold SET state = ?2, reservation_id = ?3, replaced_by = ?4 WHERE id = ?1")?;
    for change in tables.holds.changes() {
        let hold = change.row.expect("holds are cleared away by time, not deleted");
        let (state, record, by) = match hold.state {
            HoldState::Held => ("HELD", None, None),
            HoldState::Confirming => unreachable!("here a hold is confirmed in one commit"),
            HoldState::Confirmed { record } => ("CONFIRMED", Some(record), None),
            HoldState::Cancelled => ("CANCELLED", None, None),
            HoldState::Replaced { by } => ("REPLACED", None, Some(Col(by))),
        };
        if !change.is_new {
            let updated = update.execute(params![Col(hold.id), state, record, by])?;
            assert_eq!(updated, 1, "a hold that was loaded is there to be updated");
            continue;
        }
        insert.execute(params![
            Col(hold.id),
            Col(hold.owner),
            Col(hold.room_type),
            date_text(hold.dates.check_in),
            date_text(hold.dates.check_out),
            Text::<36>::of(hold.client_key),
            hold.price,
            hold.currency.as_str(),
            Col(hold.created_at),
            Col(hold.expires_at),
            state,
            record,
            by,
        ])?;
    }
    Ok(())
}

fn read_reservation(row: &Row<'_>) -> rusqlite::Result<StayReservation> {
    let (Col(id), Col(hold), Col(user), Col(room_type)) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    let (Col(check_in), Col(check_out), Col(currency)) = (row.get(4)?, row.get(5)?, row.get(7)?);
    let Col(confirmed_at) = row.get(8)?;
    let state = match row.get(9)? {
        Some(Col(at)) => ReservationState::Cancelled { at },
        None => ReservationState::Confirmed,
    };
    let dates = stay_dates(check_in, check_out)?;
    Ok(StayReservation { id, hold, user, room_type, dates, price: row.get(6)?, currency, confirmed_at, state })
}

fn write_reservations(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO stay_reservation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    let mut update = connection.prepare_cached("UPDATE stay_reservation SET cancelled_at = ?2 WHERE id = ?1")?;
    for change in tables.reservations.changes() {
        let reservation = change.row.expect("reservations are never deleted");
        let cancelled_at = match reservation.state {
            ReservationState::Confirmed => None,
            ReservationState::Cancelled { at } => Some(Col(at)),
        };
        if !change.is_new {
            let updated = update.execute(params![Col(reservation.id), cancelled_at])?;
            assert_eq!(updated, 1, "a reservation that was loaded is there to be updated");
            continue;
        }
        insert.execute(params![
            Col(reservation.id),
            Col(reservation.hold),
            Col(reservation.user),
            Col(reservation.room_type),
            date_text(reservation.dates.check_in),
            date_text(reservation.dates.check_out),
            reservation.price,
            reservation.currency.as_str(),
            Col(reservation.confirmed_at),
            cancelled_at,
        ])?;
    }
    Ok(())
}
