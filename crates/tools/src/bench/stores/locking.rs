//! Reference implementation: the usual transaction of a shop on PostgreSQL for one order. It counts the customer's
//! reservations, locks the item, sums its reservations, inserts a row and commits, with an index for each query.
//!
//! Favourable conditions: prepared statements, a BEGIN that is pipelined with the first of them, no cart to read and no
//! foreign key to check.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use hdrhistogram::Histogram;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use super::databases::{Database, Databases};
use super::table::Workload;
use crate::bench::holds::spread_night;
use crate::bench::load::{self, Measured};

pub(crate) const CONNECTIONS: usize = 16;

/// Not analyzed while the table is empty: the planner would keep scanning it instead of using its indexes.
const SCHEMA: &str = "
    CREATE TABLE inventory (
        product_option_id bigint PRIMARY KEY,
        stock_quantity    integer NOT NULL
    );
    CREATE TABLE inventory_reservation (
        id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        product_option_id bigint NOT NULL,
        user_id           bigint NOT NULL,
        quantity          integer NOT NULL,
        status            text NOT NULL,
        reserved_at       timestamptz NOT NULL,
        expires_at        timestamptz NOT NULL,
        updated_at        timestamptz NOT NULL
    );
    CREATE INDEX inventory_reservation_option_status ON inventory_reservation (product_option_id, status);
    CREATE INDEX inventory_reservation_user_status_expires ON inventory_reservation (user_id, status, expires_at);
    CREATE INDEX inventory_reservation_expires_at ON inventory_reservation (expires_at);
    INSERT INTO inventory SELECT item, 1000000000 FROM generate_series(1, 1000) AS item;
    ANALYZE inventory;";

pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const COUNT_OWN: &str = "SELECT count(*) FROM inventory_reservation
    WHERE user_id = $1 AND status IN ('RESERVED', 'CONFIRMED') AND expires_at > now()";
const LOCK_ITEM: &str = "SELECT stock_quantity FROM inventory WHERE product_option_id = $1 FOR UPDATE";
const SUM_RESERVED: &str = "SELECT sum(quantity) FROM inventory_reservation
    WHERE product_option_id = $1 AND status IN ('RESERVED', 'CONFIRMED')";
const INSERT: &str = "INSERT INTO inventory_reservation
        (product_option_id, user_id, quantity, status, reserved_at, expires_at, updated_at)
    VALUES ($1, $2, 1, 'RESERVED', now(), now() + interval '30 minutes', now()) RETURNING id";

/// Rows of the last two months, a tenth of them on the contended item: one half paid, the other expired. This design
/// never removes either from the sum.
const ADD_HISTORY: &str = "INSERT INTO inventory_reservation
        (product_option_id, user_id, quantity, status, reserved_at, expires_at, updated_at)
    SELECT CASE WHEN i % 10 = 0 THEN 1 ELSE 1 + (i - i / 10) % 1000 END, 1000000000 + i, 1,
        CASE WHEN i % 20 < 10 THEN 'CONFIRMED' ELSE 'RESERVED' END,
        at, at + interval '30 minutes', at + interval '5 minutes'
    FROM generate_series(1, $1::bigint) AS i
    CROSS JOIN LATERAL (SELECT now() - interval '60 days' + interval '59 days' * (i::float / $1) AS at) AS moment
    ORDER BY i";

pub(crate) async fn create(databases: &Databases) -> anyhow::Result<Database> {
    let database = databases.create("locking").await?;
    database.connect().await?.batch_execute(SCHEMA).await?;
    Ok(database)
}

pub(crate) async fn add_history(database: &Database, reservations: u32) -> anyhow::Result<()> {
    let client = database.connect().await?;
    client.execute(ADD_HISTORY, &[&i64::from(reservations)]).await?;
    Ok(client.batch_execute("VACUUM ANALYZE").await?)
}

pub(crate) async fn measure(
    name: &str,
    database: &Database,
    users: &Arc<AtomicU64>,
    workload: Workload,
    time: Duration,
) -> anyhow::Result<Measured> {
    let mut customers = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        customers.push(Customer::connect(database, users, workload == Workload::Hot).await?);
    }
    load::measure(name, time, customers).await
}

pub(crate) struct Customer {
    pub client: Client,
    count_own: Statement,
    lock_item: Statement,
    sum_reserved: Statement,
    insert: Statement,
    users: Arc<AtomicU64>,
    hot: bool,
    latency: Histogram<u64>,
}

impl load::Client for Customer {
    async fn round(&mut self) -> anyhow::Result<()> {
        let (user, item) = self.next();
        let began = Instant::now();
        self.reserve(user, item).await?;
        self.latency.record(began.elapsed().as_micros() as u64)?;
        Ok(())
    }

    fn latency(&mut self) -> &mut Histogram<u64> {
        &mut self.latency
    }
}

impl Customer {
    pub(crate) async fn connect(database: &Database, users: &Arc<AtomicU64>, hot: bool) -> anyhow::Result<Self> {
        let client = database.connect().await?;
        Ok(Self {
            count_own: client.prepare(COUNT_OWN).await?,
            lock_item: client.prepare(LOCK_ITEM).await?,
            sum_reserved: client.prepare(SUM_RESERVED).await?,
            insert: client.prepare(INSERT).await?,
            client,
            users: users.clone(),
            hot,
            latency: Histogram::new(3)?,
        })
    }

    /// Returns a new user, and the item it wants.
    pub(crate) fn next(&self) -> (i64, i64) {
        let user = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        (user as i64, if self.hot { 1 } else { spread_night(user).0 as i64 })
    }

    pub(crate) async fn reserve(&self, user: i64, item: i64) -> anyhow::Result<()> {
        let (client, params): (_, [&(dyn ToSql + Sync); 1]) = (&self.client, [&user]);
        // Sent together, as drivers of connection pools do.
        let (started, own) = tokio::join!(client.batch_execute(BEGIN), client.query_one(&self.count_own, &params));
        started?;
        ensure!(own?.get::<_, i64>(0) == 0, "user {user} has reserved already");
        let stock: i32 = client.query_one(&self.lock_item, &[&item]).await?.get(0);
        let reserved: Option<i64> = client.query_one(&self.sum_reserved, &[&item]).await?.get(0);
        ensure!(i64::from(stock) - reserved.unwrap_or(0) >= 1, "item {item} has run out");
        client.query_one(&self.insert, &[&item, &user]).await?;
        Ok(client.batch_execute("COMMIT").await?)
    }
}
