//! Reference implementation: slots with their lock in the row, read with one SELECT, locked and confirmed with one
//! UPDATE each, with the usual indexes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use hdrhistogram::Histogram;
use tokio_postgres::{Client, Statement};

use super::requests::{ALL_DAYS, HOURS, SlotKey};
use crate::bench::load::{self, Measured};
use crate::bench::stores::{Database, Databases};

const CONNECTIONS: usize = 16;

const SCHEMA: &str = "
    CREATE TABLE time_slots (
        id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        room_id        bigint NOT NULL,
        slot_date      date NOT NULL,
        slot_time      time NOT NULL,
        status         text NOT NULL DEFAULT 'AVAILABLE',
        reservation_id bigint,
        locked_by      text,
        locked_until   timestamptz,
        base_price     bigint NOT NULL,
        final_price    bigint NOT NULL,
        is_peak_time   boolean NOT NULL DEFAULT false,
        is_holiday     boolean NOT NULL DEFAULT false,
        created_at     timestamptz NOT NULL DEFAULT now(),
        updated_at     timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT uk_room_datetime UNIQUE (room_id, slot_date, slot_time)
    );
    CREATE INDEX idx_status_lookup ON time_slots (room_id, slot_date, status);
    CREATE INDEX idx_availability ON time_slots (status, slot_date, room_id);
    CREATE INDEX idx_lock_expiry ON time_slots (locked_until, status);
    CREATE INDEX idx_locked_by ON time_slots (locked_by);";
const FILL: &str = "INSERT INTO time_slots (room_id, slot_date, slot_time, base_price, final_price)
    SELECT room, current_date + day, make_time(hour, 0, 0), 20000, 20000
    FROM generate_series(1, $1::bigint) room, generate_series(0, 61) day, generate_series(0, 19) hour";
const FIND: &str = "SELECT * FROM time_slots
    WHERE room_id = $1 AND slot_date = $2::text::date AND slot_time = ANY ($3::text[]::time[]) ORDER BY slot_time";
const LOCK: &str = "UPDATE time_slots SET status = 'LOCKED', locked_by = $4, locked_until = now() + interval '5 minutes',
        updated_at = now()
    WHERE room_id = $1 AND slot_date = $2::text::date AND slot_time = ANY ($3::text[]::time[]) AND status = 'AVAILABLE'";
const CONFIRM: &str = "UPDATE time_slots SET status = 'RESERVED', reservation_id = $2, updated_at = now()
    WHERE locked_by = $1 AND status = 'LOCKED'";

pub(super) async fn create(databases: &Databases, rooms: u64) -> anyhow::Result<Database> {
    let database = databases.create("by_hand").await?;
    let client = database.connect().await?;
    client.batch_execute(SCHEMA).await?;
    client.execute(FILL, &[&(rooms as i64)]).await?;
    client.batch_execute("VACUUM ANALYZE time_slots").await?;
    Ok(database)
}

pub(super) async fn measure_ask(database: &Database, time: Duration) -> anyhow::Result<Measured> {
    let mut clients = Vec::new();
    for index in 0..CONNECTIONS {
        clients.push(Reader(ReferenceClient::connect(database, index as u64 * 7_919).await?));
    }
    load::measure("reference: SELECT of two slots", time, clients).await
}

pub(super) async fn measure_book(database: &Database, time: Duration) -> anyhow::Result<Measured> {
    let users: Arc<AtomicU64> = Arc::default();
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Booker { hand: ReferenceClient::connect(database, 0).await?, users: users.clone() });
    }
    load::measure("reference: lock, then confirm", time, clients).await
}

struct ReferenceClient {
    client: Client,
    find: Statement,
    lock: Statement,
    confirm: Statement,
    turn: u64,
    latency: Histogram<u64>,
}

impl ReferenceClient {
    async fn connect(database: &Database, turn: u64) -> anyhow::Result<Self> {
        let client = database.connect().await?;
        let (find, lock) = (client.prepare(FIND).await?, client.prepare(LOCK).await?);
        let confirm = client.prepare(CONFIRM).await?;
        Ok(Self { client, find, lock, confirm, turn, latency: Histogram::new(3)? })
    }

    fn took(&mut self, began: Instant) -> anyhow::Result<()> {
        Ok(self.latency.record(began.elapsed().as_micros() as u64)?)
    }
}

struct Reader(ReferenceClient);

impl load::Client for Reader {
    async fn round(&mut self) -> anyhow::Result<()> {
        let hand = &mut self.0;
        hand.turn += 1;
        let SlotKey { room, day, .. } = ALL_DAYS.at(hand.turn);
        let hour = hand.turn % (HOURS - 1);
        let times = vec![format!("{hour:02}:00"), format!("{:02}:00", hour + 1)];
        let began = Instant::now();
        let rows = hand.client.query(&hand.find, &[&(room as i64), &day.to_string(), &times]).await?;
        ensure!(rows.len() == 2, "{} slots instead of two", rows.len());
        hand.took(began)
    }

    fn latency(&mut self) -> &mut Histogram<u64> {
        &mut self.0.latency
    }
}

struct Booker {
    hand: ReferenceClient,
    users: Arc<AtomicU64>,
}

impl load::Client for Booker {
    async fn round(&mut self) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed);
        let SlotKey { room, day, hour } = ALL_DAYS.at(user);
        let (times, lock) = (vec![format!("{hour:02}:00")], format!("lock-{user}"));
        let hand = &mut self.hand;
        let began = Instant::now();
        let locked = hand.client.execute(&hand.lock, &[&(room as i64), &day.to_string(), &times, &lock]).await?;
        ensure!(locked == 1, "a slot was not locked");
        hand.took(began)?;
        let began = Instant::now();
        let confirmed = hand.client.execute(&hand.confirm, &[&lock, &(user as i64)]).await?;
        ensure!(confirmed == 1, "a lock was not confirmed");
        hand.took(began)
    }

    fn latency(&mut self) -> &mut Histogram<u64> {
        &mut self.hand.latency
    }
}
