//! Lists of stays, and everything that goes through whole tables.

use futures_util::TryStreamExt as _;
use holdfast_core::Timestamp;
use holdfast_core::id::HoldId;
use holdfast_core::stay::audit::StayAudit;
use holdfast_core::stay::{RoomType, RoomTypeId, StayHold, StayReservation, StayReservationId};
use holdfast_engine::StoreError;
use holdfast_engine::store::{Page, StayReservationFilter};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::load::{read_hold, read_night, read_reservation, read_room_type};
use super::{hold, night, reservation, room_type};
use crate::codec::Col;
use crate::error::explain;
use crate::pipeline::{Pipeline, Ticket, params};

const TIDY_HOLDS: &str = "DELETE FROM stay_hold WHERE id IN
    (SELECT id FROM stay_hold WHERE id < $1 ORDER BY id LIMIT $2) RETURNING 1";

pub(super) const TIDIES: &[&str] = &[TIDY_HOLDS];

/// In order of number: the primary key.
pub(crate) async fn room_types(client: &Client, page: Page<RoomTypeId>) -> Result<Vec<RoomType>, StoreError> {
    let (after, limit) = (page.after.map_or(0, RoomTypeId::get) as i64, page.limit as i64 + 1);
    let sql = room_type!("WHERE id > $1 ORDER BY id LIMIT $2");
    let rows = client.query_typed(sql, &[(&after, Type::INT8), (&limit, Type::INT8)]).await;
    rows.map_err(|error| explain(&error))?.iter().map(read_room_type).collect()
}

/// Each combination has an index that gives its rows in order:
///
/// | asked for | index |
/// | --- | --- |
/// | a user, and whatever else | `stay_reservation_by_user` |
/// | a room type, with or without a state | `stay_reservation_by_room_type` |
/// | cancelled ones | `stay_reservation_cancelled` |
/// | all, or confirmed ones, of which most are | `stay_reservation_pk` |
pub(crate) async fn reservations(
    client: &Client,
    filter: StayReservationFilter,
    page: Page<StayReservationId>,
) -> Result<Vec<StayReservation>, StoreError> {
    // Only the conditions asked for are written, so that each combination uses the index it has.
    let (user, room_type) = (filter.user.map(Col), filter.room_type.map(Col));
    let (after, limit) = (page.after.map_or(0, StayReservationId::get) as i64, page.limit as i64 + 1);
    let mut sql = reservation!("WHERE id > $1").to_owned();
    let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&after, Type::INT8), (&limit, Type::INT8)];
    if let Some(user) = &user {
        values.push((user, Type::INT8));
        sql.push_str(&format!(" AND user_id = ${}", values.len()));
    }
    if let Some(id) = &room_type {
        values.push((id, Type::INT8));
        // The sum keeps the broader index out of the way when the narrower one of the user serves.
        let column = if user.is_some() { "room_type_id + 0" } else { "room_type_id" };
        sql.push_str(&format!(" AND {column} = ${}", values.len()));
    }
    match filter.confirmed {
        Some(true) => sql.push_str(" AND cancelled_at IS NULL"),
        Some(false) => sql.push_str(" AND cancelled_at IS NOT NULL"),
        None => {}
    }
    sql.push_str(" ORDER BY id LIMIT $2");
    let rows = client.query_typed(&sql, &values).await;
    rows.map_err(|error| explain(&error))?.iter().map(read_reservation).collect()
}

/// Shows every row but holds.
pub(crate) async fn audit_durable(client: &Client, audit: &mut StayAudit) -> Result<(), StoreError> {
    each(client, room_type!(""), &[], |row| {
        audit.room_type(&read_room_type(&row)?);
        Ok(())
    })
    .await?;
    each(client, night!("room_type_stock"), &[], |row| {
        let (id, night) = read_night(&row)?;
        audit.night(id, night);
        Ok(())
    })
    .await?;
    each(client, reservation!(""), &[], |row| {
        audit.reservation(&read_reservation(&row)?);
        Ok(())
    })
    .await
}

pub(crate) async fn audit_holds(client: &Client, audit: &mut StayAudit) -> Result<(), StoreError> {
    each(client, hold!(""), &[], |row| {
        audit.hold(&read_hold(&row)?);
        Ok(())
    })
    .await
}

/// Every live hold, in slices of `slice`; none was made before `made_from`.
pub(crate) async fn live_holds(
    client: &Client,
    made_from: HoldId,
    now: Timestamp,
    slice: usize,
    mut each_slice: impl FnMut(&[StayHold]) + Send,
) -> Result<(), StoreError> {
    let mut holds = Vec::with_capacity(slice);
    let sql = hold!("WHERE id >= $1 AND state = 'HELD' AND expires_at > $2 ORDER BY id");
    let values: [(&(dyn ToSql + Sync), Type); 2] = [(&Col(made_from), Type::UUID), (&Col(now), Type::TIMESTAMPTZ)];
    each(client, sql, &values, |row| {
        holds.push(read_hold(&row)?);
        if holds.len() == slice {
            each_slice(&holds);
            holds.clear();
        }
        Ok(())
    })
    .await?;
    each_slice(&holds);
    Ok(())
}

/// Deletes at most `limit` holds made before `made_before`.
pub(crate) fn tidy(pipeline: &mut Pipeline<'_>, made_before: HoldId, limit: usize) -> Ticket {
    pipeline.send(TIDY_HOLDS, params![Col(made_before), limit as i64])
}

/// Row by row as they come: the library takes no more from the network than is asked for.
async fn each(
    client: &Client,
    sql: &str,
    values: &[(&(dyn ToSql + Sync), Type)],
    mut show: impl FnMut(Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let values = values.iter().map(|(value, kind)| (*value, kind.clone()));
    let rows = client.query_typed_raw(sql, values).await.map_err(|error| explain(&error))?;
    let mut rows = std::pin::pin!(rows);
    while let Some(row) = rows.try_next().await.map_err(|error| explain(&error))? {
        show(row)?;
    }
    Ok(())
}
