//! Goods, customers and their orders.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;
use holdfast_engine::{Clock as _, SystemClock};

use crate::bench::http::{Connection, Scenario};

pub(crate) const OPTIONS: u32 = 1_000;
pub(crate) const PRICE: i64 = 21_000;
/// Balance of every account: more than any customer spends.
const BALANCE: i64 = 1_000_000_000;
/// Stock of every option: more than a run can sell.
const PIECES: u32 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Workload {
    ReserveSpread,
    ReserveHot,
    OrderSpread,
    OrderHot,
}

impl Workload {
    pub(crate) const ALL: [Self; 4] = [Self::ReserveSpread, Self::ReserveHot, Self::OrderSpread, Self::OrderHot];

    pub(crate) fn only_reserves(self) -> bool {
        matches!(self, Self::ReserveSpread | Self::ReserveHot)
    }

    pub(crate) fn is_hot(self) -> bool {
        matches!(self, Self::ReserveHot | Self::OrderHot)
    }
}

/// Statements that give users 1 to `users` a cart, spread over all options; as many after them have the contended one.
/// Each has an account with money. Valid for `SQLite` and PostgreSQL.
pub(crate) fn fill(users: u32) -> Vec<String> {
    let numbers = |last: u32| {
        format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last}) INSERT INTO")
    };
    let (all, last_user) = (users * 2, users * 2 + 1);
    vec![
        format!(
            "INSERT INTO product (id, name, currency, first_option_id, option_count)
            VALUES (1, 'beans', 'KRW', 1, {OPTIONS})"
        ),
        format!(
            "{} product_option (id, product_id, product_name, option_code, currency, price, is_active)
            SELECT i, 1, 'beans', 'ETH-HD-200', 'KRW', {PRICE}, TRUE FROM n",
            numbers(OPTIONS)
        ),
        format!(
            "{} inventory (product_option_id, received_quantity, sold_quantity)
            SELECT i, {PIECES}, 0 FROM n",
            numbers(OPTIONS)
        ),
        format!(
            "{} users (id, name, currency, balance, charged)
            SELECT i, 'customer', 'KRW', {BALANCE}, {BALANCE} FROM n",
            numbers(last_user)
        ),
        format!(
            "{} cart_item (user_id, product_option_id, quantity)
            SELECT i, CASE WHEN i > {users} THEN 1 ELSE 1 + CAST(i % 1000003 AS bigint) * 7919 % {OPTIONS} END, 1 FROM n",
            numbers(all)
        ),
        format!(
            "INSERT INTO sequence VALUES ('users', {last_user} + 1), ('product', 2), ('product_option', {OPTIONS} + 1)
            ON CONFLICT (name) DO UPDATE SET next = excluded.next"
        ),
    ]
}

/// SQL dialect for `history`; in terms of `i`, the number, and `ms`, the time.
pub(crate) struct Dialect {
    pub hold_id: &'static str,
    pub moment: fn(&str) -> String,
}

/// Statements that create old reservations, a tenth of them on the contended option: one half paid within the last
/// month, the other expired within the last day (older ones are purged).
pub(crate) fn history(dialect: &Dialect, users: u32, reservations: u32) -> Vec<String> {
    let Dialect { hold_id, moment } = dialect;
    let now_ms = SystemClock.now().as_millis();
    let half = reservations / 2;
    let numbered = |first: u32, last: u32, span_ms: i64| {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}),
            old AS (SELECT i, CASE WHEN i % 10 = 0 THEN 1 ELSE 1 + i % {OPTIONS} END AS item,
                {now_ms} - {span_ms} - 3600000 + (i - {first}) * CAST({span_ms} AS bigint) / {half} AS ms FROM n)
            INSERT INTO"
        )
    };
    let (month, day) = (numbered(1, half, 28 * 86_400_000), numbered(half + 1, half * 2, 22 * 3_600_000));
    let (user, at, ends) = (users * 2 + 1, moment("ms"), moment("ms + 1800000"));
    vec![
        format!("{month} orders (id, hold_id, user_id, total_amount, discount_amount, paid_amount, currency, created_at)
            SELECT i, {hold_id}, {user}, {PRICE}, 0, {PRICE}, 'KRW', {at} FROM old"),
        format!("{month} order_item (order_id, line_no, id, product_option_id, product_name, option_code, quantity, unit_price)
            SELECT i, 0, i, item, 'beans', 'ETH-HD-200', 1, {PRICE} FROM old"),
        format!("{day} order_hold (id, user_id, created_at, expires_at, currency, total_amount, state)
            SELECT {hold_id}, 1000000000 + i, {at}, {ends}, 'KRW', {PRICE}, 'HELD' FROM old"),
        format!("{day} inventory_reservation
                (hold_id, line_no, id, product_option_id, product_name, option_code, quantity, unit_price)
            SELECT {hold_id}, 0, i, item, 'beans', 'ETH-HD-200', 1, {PRICE} FROM old"),
        "UPDATE inventory SET sold_quantity =
            (SELECT count(*) FROM order_item WHERE order_item.product_option_id = inventory.product_option_id)"
            .to_owned(),
        format!("INSERT INTO sequence VALUES ('orders', {half} + 1), ('inventory_reservation', {reservations} + 1)
            ON CONFLICT (name) DO UPDATE SET next = excluded.next"),
    ]
}

/// Clients that reserve their cart, and pay for it if the workload includes that.
#[derive(Clone)]
pub(crate) struct Customers {
    /// Last user number.
    users: Arc<AtomicU64>,
    pays: bool,
}

impl Customers {
    pub(crate) fn new(workload: Workload, users: u32) -> Self {
        let first = if workload.is_hot() { users.into() } else { 0 };
        Self { users: Arc::new(AtomicU64::new(first)), pays: !workload.only_reserves() }
    }
}

impl Scenario for Customers {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        let body = format!(r#"{{"userId":{user}}}"#);
        let status = connection.post("/api/order/reserve", Some(user), body.as_bytes()).await?;
        ensure!(
            status == 200,
            "a reservation was answered with {status}: {}",
            String::from_utf8_lossy(connection.body())
        );
        if self.pays {
            let status = connection.post("/api/order", Some(user), body.as_bytes()).await?;
            ensure!(status == 201, "paying was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
        }
        Ok(())
    }
}
