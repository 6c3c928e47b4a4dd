//! The product on the same servers, over HTTP.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::databases::{Database, Databases};
use super::redis::Redis;
use super::table::Workload;
use crate::bench::holds::{
    DAYS, FIRST_DATE, HOT_DATE, PlaceHold, QUANTITY, ROOM_TYPES, create_room_types, hot_night, spread_night,
};
use crate::bench::http;
use crate::bench::load::Measured;
use crate::bench::server_process::Server;

/// Creates a database with room types and no holds.
pub(crate) async fn create(databases: &Databases) -> anyhow::Result<Database> {
    let database = databases.create("product").await?;
    // The server creates its tables.
    let server = Server::holdfast_on(&database.url, None)?;
    create_room_types(server.address).await?;
    Ok(database)
}

/// Adds confirmed reservations of the last month on the very nights that are requested later, a tenth of them on the
/// contended one.
pub(crate) async fn add_history(database: &Database, reservations: u32) -> anyhow::Result<()> {
    let client = database.connect().await?;
    // Ids of holds start with their time, as real ones do; the store finds expired holds by it.
    let insert = format!(
        "INSERT INTO stay_reservation
            (id, hold_id, line_no, user_id, room_type_id, check_in, check_out, quantity, price, currency, confirmed_at)
        SELECT i, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(i), 15, '0'))::uuid,
            0, 1000000000 + i, room_type, night, night + 1, 1, 90000, 'KRW', at
        FROM generate_series(1, {reservations}::bigint) AS i
        CROSS JOIN LATERAL (SELECT
            CASE WHEN i % 10 = 0 THEN 1 ELSE 1 + (i - i / 10) % {ROOM_TYPES} END AS room_type,
            CASE WHEN i % 10 = 0 THEN date '{HOT_DATE}'
                ELSE date '{FIRST_DATE}' + ((i - i / 10) / {ROOM_TYPES} % {DAYS})::integer END AS night,
            now() - interval '30 days' + interval '29 days' * (i::float / {reservations}) AS at
        ) AS stay
        ORDER BY i"
    );
    let count = format!(
        "INSERT INTO room_type_stock (room_type_id, target_date, total_quantity, reserved_count, closed)
        SELECT room_type_id, check_in, {QUANTITY}, count(*), false FROM stay_reservation
        GROUP BY room_type_id, check_in ORDER BY room_type_id, check_in"
    );
    let number = format!(
        "INSERT INTO sequence VALUES ('stay_reservation', {reservations} + 1)
        ON CONFLICT (name) DO UPDATE SET next = excluded.next"
    );
    for statement in [&insert, &count, &number, "VACUUM ANALYZE"] {
        client.batch_execute(statement).await?;
    }
    Ok(())
}

pub(crate) async fn measure(
    name: &str,
    database: &Database,
    redis: Option<&Redis>,
    users: &Arc<AtomicU64>,
    workload: Workload,
    (connections, time): (usize, Duration),
) -> anyhow::Result<Measured> {
    let server = Server::holdfast_on(&database.url, redis.map(|redis| redis.url.as_str()))?;
    let night = if workload == Workload::Hot { hot_night } else { spread_night };
    let place = |_| PlaceHold { users: users.clone(), night, confirm: workload == Workload::Confirm };
    http::measure(name, server.address, connections, time, place).await
}
