//! Reference implementation: a shop's transactions on PostgreSQL, one to reserve (see `stores::locking`) and one to
//! pay. Paying finds the reservation, locks and lowers the stock, confirms the reservation, debits the account and
//! inserts the order.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::ensure;
use hdrhistogram::Histogram;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use super::fixture::{PRICE, Workload};
use crate::bench::load::{self, Measured};
use crate::bench::stores::databases::{Database, Databases};
use crate::bench::stores::locking::{self, BEGIN, CONNECTIONS, Customer};

const SCHEMA: &str = "
    CREATE TABLE users (id bigint PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0));
    CREATE TABLE orders (
        id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id      bigint NOT NULL,
        total_amount bigint NOT NULL,
        status       text NOT NULL,
        created_at   timestamptz NOT NULL
    );
    CREATE INDEX orders_user ON orders (user_id);
    CREATE TABLE order_item (
        order_id          bigint NOT NULL,
        product_option_id bigint NOT NULL,
        quantity          integer NOT NULL,
        price             bigint NOT NULL,
        PRIMARY KEY (order_id, product_option_id)
    );";

const FIND_RESERVATION: &str = "SELECT id, product_option_id, quantity FROM inventory_reservation
    WHERE user_id = $1 AND status = 'RESERVED' AND expires_at > now() FOR UPDATE";
const LOCK: &str = "SELECT stock_quantity FROM inventory WHERE product_option_id = $1 FOR UPDATE";
const TAKE: &str = "UPDATE inventory SET stock_quantity = stock_quantity - $2 WHERE product_option_id = $1";
const CONFIRM: &str = "UPDATE inventory_reservation SET status = 'CONFIRMED', updated_at = now() WHERE id = $1";
const MONEY: &str = "UPDATE users SET balance = balance - $2 WHERE id = $1 AND balance >= $2";
const ORDER: &str = "INSERT INTO orders (user_id, total_amount, status, created_at)
    VALUES ($1, $2, 'PAID', now()) RETURNING id";
const ITEM: &str = "INSERT INTO order_item VALUES ($1, $2, $3, $4)";

pub(crate) async fn create(databases: &Databases, users: u32) -> anyhow::Result<Database> {
    let database = locking::create(databases).await?;
    let client = database.connect().await?;
    client.batch_execute(SCHEMA).await?;
    let fill = "INSERT INTO users SELECT i, 1000000000 FROM generate_series(1, $1::bigint) AS i";
    client.execute(fill, &[&i64::from(users)]).await?;
    client.batch_execute("VACUUM ANALYZE users").await?;
    Ok(database)
}

pub(crate) async fn add_history(database: &Database, reservations: u32) -> anyhow::Result<()> {
    locking::add_history(database, reservations).await
}

pub(crate) async fn measure(
    name: &str,
    database: &Database,
    workload: Workload,
    time: Duration,
) -> anyhow::Result<Measured> {
    let users = Arc::new(AtomicU64::new(0));
    let mut buyers = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let customer = Customer::connect(database, &users, workload.is_hot()).await?;
        let payment = if workload.only_reserves() { None } else { Some(Payment::prepare(&customer).await?) };
        buyers.push(Buyer { customer, payment, latency: Histogram::new(3)? });
    }
    load::measure(name, time, buyers).await
}

struct Buyer {
    customer: Customer,
    payment: Option<Payment>,
    latency: Histogram<u64>,
}

impl load::Client for Buyer {
    async fn round(&mut self) -> anyhow::Result<()> {
        let (user, item) = self.customer.next();
        let began = Instant::now();
        self.customer.reserve(user, item).await?;
        self.latency.record(began.elapsed().as_micros() as u64)?;
        if let Some(payment) = &self.payment {
            let began = Instant::now();
            payment.pay(&self.customer, user).await?;
            self.latency.record(began.elapsed().as_micros() as u64)?;
        }
        Ok(())
    }

    fn latency(&mut self) -> &mut Histogram<u64> {
        &mut self.latency
    }
}

struct Payment {
    own: Statement,
    lock: Statement,
    take: Statement,
    confirm: Statement,
    money: Statement,
    order: Statement,
    item: Statement,
}

impl Payment {
    async fn prepare(customer: &Customer) -> anyhow::Result<Self> {
        let client = &customer.client;
        Ok(Self {
            own: client.prepare(FIND_RESERVATION).await?,
            lock: client.prepare(LOCK).await?,
            take: client.prepare(TAKE).await?,
            confirm: client.prepare(CONFIRM).await?,
            money: client.prepare(MONEY).await?,
            order: client.prepare(ORDER).await?,
            item: client.prepare(ITEM).await?,
        })
    }

    async fn pay(&self, customer: &Customer, user: i64) -> anyhow::Result<()> {
        let (client, params): (_, [&(dyn ToSql + Sync); 1]) = (&customer.client, [&user]);
        // Sent together, as drivers of connection pools do.
        let (started, own) = tokio::join!(client.batch_execute(BEGIN), client.query_one(&self.own, &params));
        started?;
        let own = own?;
        let (reservation, item, quantity): (i64, i64, i32) = (own.get(0), own.get(1), own.get(2));
        let stock: i32 = client.query_one(&self.lock, &[&item]).await?.get(0);
        ensure!(stock >= quantity, "item {item} has run out");
        let amount = PRICE * i64::from(quantity);
        client.execute(&self.take, &[&item, &quantity]).await?;
        client.execute(&self.confirm, &[&reservation]).await?;
        ensure!(client.execute(&self.money, &[&user, &amount]).await? == 1, "user {user} has no money");
        let order: i64 = client.query_one(&self.order, &[&user, &amount]).await?.get(0);
        client.execute(&self.item, &[&order, &item, &quantity, &PRICE]).await?;
        Ok(client.batch_execute("COMMIT").await?)
    }
}
