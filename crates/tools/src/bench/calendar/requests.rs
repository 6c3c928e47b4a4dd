//! Requests of clients, spread over rooms, days and hours.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use holdfast_core::time::Zone;
use holdfast_engine::{Clock as _, SystemClock};
use jiff::civil::Date;
use tokio::task::JoinSet;

use crate::bench::http::{Connection, Scenario};

pub(super) const ROOMS: u64 = 200;
/// From tomorrow on, so that all of them can still be booked.
const DAYS: u64 = 58;
pub(super) const HOURS: u64 = 20;

/// Range of rooms and days that requests spread over.
#[derive(Clone, Copy)]
pub(super) struct SlotRange {
    pub rooms: u64,
    /// From tomorrow on.
    pub days: u64,
}

/// All days of a few rooms.
pub(super) const ALL_DAYS: SlotRange = SlotRange { rooms: ROOMS, days: DAYS };

/// Room, day and hour of a slot.
pub(super) struct SlotKey {
    pub room: u64,
    pub day: Date,
    pub hour: u64,
}

impl SlotRange {
    /// Returns the slot of a number, distinct until all are taken: rooms vary first, then days, then hours.
    pub(super) fn at(self, number: u64) -> SlotKey {
        let Self { rooms, days } = self;
        let tomorrow = today().tomorrow().unwrap_or(Date::MAX);
        let day = tomorrow.saturating_add(jiff::Span::new().days(((number / rooms) % days) as i64));
        SlotKey { room: 1 + number % rooms, day, hour: (number / rooms / days) % HOURS }
    }

    /// Returns a scattered slot, so that neighbouring requests share no cache lines.
    fn scattered(self, turn: u64) -> SlotKey {
        self.at(turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20)
    }
}

pub(super) fn today() -> Date {
    Zone::parse("Asia/Seoul").expect("the default zone").today(SystemClock.now())
}

/// Client that asks whether two slots are available.
pub(super) struct ReadAvailability {
    range: SlotRange,
    turn: u64,
}

impl ReadAvailability {
    pub(super) fn scattered_in(range: SlotRange) -> impl Fn(usize) -> Self {
        move |index| Self { range, turn: index as u64 * 7_919 }
    }
}

impl Scenario for ReadAvailability {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        self.turn += 1;
        read_availability(connection, &self.range.scattered(self.turn)).await
    }
}

async fn read_availability(connection: &mut Connection, SlotKey { room, day, hour }: &SlotKey) -> anyhow::Result<()> {
    let hour = hour % (HOURS - 1);
    let body = format!(r#"{{"date":"{day}","times":["{hour:02}:00","{:02}:00"]}}"#, hour + 1);
    let status = connection.post(&format!("/v1/rooms/{room}/availability"), Some(7), body.as_bytes()).await?;
    ensure!(status == 200, "availability was answered with {status}");
    Ok(())
}

/// Asks for every day of every room once, as many at a time as there are connections. Returns requests per second.
pub(super) async fn read_each_day(address: SocketAddr, connections: usize, range: SlotRange) -> anyhow::Result<f64> {
    let (next, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let all = range.rooms * range.days;
    let mut asking = JoinSet::new();
    for _ in 0..connections {
        let (next, mut connection) = (next.clone(), Connection::open(address).await?);
        asking.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= all {
                    return anyhow::Ok(());
                }
                read_availability(&mut connection, &range.at(number)).await?;
            }
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked??;
    }
    Ok(all as f64 / began.elapsed().as_secs_f64())
}

/// Client that reads all slots of a day.
pub(super) struct ReadDay {
    turn: u64,
}

impl ReadDay {
    pub(super) fn new(index: usize) -> Self {
        Self { turn: index as u64 * 7_919 }
    }
}

impl Scenario for ReadDay {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        self.turn += 1;
        let SlotKey { room, day, .. } = ALL_DAYS.scattered(self.turn);
        let status = connection.get(&format!("/v1/rooms/{room}/slots?date={day}")).await?;
        ensure!(status == 200, "a day was answered with {status}");
        Ok(())
    }
}

/// Clients that each book a slot of their own.
pub(super) struct Book {
    users: Arc<AtomicU64>,
}

impl Book {
    pub(super) fn scenarios() -> impl Fn(usize) -> Self {
        let users: Arc<AtomicU64> = Arc::default();
        move |_| Self { users: users.clone() }
    }
}

impl Scenario for Book {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed);
        ensure!(user < ROOMS * DAYS * HOURS, "all slots are taken; measure for a shorter time");
        let lock = lock(connection, user + 1, &ALL_DAYS.at(user)).await?.context("another client has the slot")?;
        let status = connection.post(&format!("/v1/locks/{lock}/confirm"), Some(user + 1), b"").await?;
        ensure!(status == 201, "a confirmation was answered with {status}");
        Ok(())
    }
}

/// Clients that lock and release any slot. A slot may be locked by another client.
pub(super) struct LockAndRelease {
    range: SlotRange,
    users: Arc<AtomicU64>,
}

impl LockAndRelease {
    pub(super) fn scattered_in(range: SlotRange) -> impl Fn(usize) -> Self {
        let users: Arc<AtomicU64> = Arc::default();
        move |_| Self { range, users: users.clone() }
    }
}

impl Scenario for LockAndRelease {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(lock) = lock(connection, user, &self.range.scattered(user)).await? else { return Ok(()) };
        let status = connection.delete(&format!("/v1/locks/{lock}"), user).await?;
        ensure!(status == 204, "a release was answered with {status}");
        Ok(())
    }
}

/// Returns the id of the lock; `None` if another client has the slot.
async fn lock(connection: &mut Connection, user: u64, slot: &SlotKey) -> anyhow::Result<Option<String>> {
    let SlotKey { room, day, hour } = slot;
    let body = format!(r#"{{"date":"{day}","times":["{hour:02}:00"]}}"#);
    let status = connection.post(&format!("/v1/rooms/{room}/locks"), Some(user), body.as_bytes()).await?;
    if status == 409 {
        return Ok(None);
    }
    ensure!(status == 201, "a lock was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
    // The id is the first member of the response.
    let id = connection.body().get(11..47).context("an answer without an id")?;
    Ok(Some(std::str::from_utf8(id)?.to_owned()))
}
