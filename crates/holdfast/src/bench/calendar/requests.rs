//! What clients ask: spread over rooms, days and hours.

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
/// From tomorrow on: all of them can still be booked.
pub(super) const DAYS: u64 = 58;
pub(super) const HOURS: u64 = 20;

/// A room, a day and an hour.
pub(super) struct Place {
    pub room: u64,
    pub day: Date,
    pub hour: u64,
}

/// Each number has its own, until all are taken.
pub(super) fn place(number: u64) -> Place {
    let tomorrow = today().tomorrow().unwrap_or(Date::MAX);
    let days = (number / ROOMS) % DAYS;
    let day = tomorrow.saturating_add(jiff::Span::new().days(days as i64));
    Place { room: 1 + number % ROOMS, day, hour: (number / ROOMS / DAYS) % HOURS }
}

pub(super) fn today() -> Date {
    Zone::parse("Asia/Seoul").expect("the default zone").today(SystemClock.now())
}

/// Whether two slots can be had.
pub(super) struct Ask {
    turn: u64,
}

impl Ask {
    pub(super) fn new(index: usize) -> Self {
        Self { turn: index as u64 * 7_919 }
    }

    async fn ask(&self, connection: &mut Connection) -> anyhow::Result<()> {
        let Place { room, day, .. } = place(self.turn);
        let hour = self.turn % (HOURS - 1);
        let body = format!(r#"{{"date":"{day}","times":["{hour:02}:00","{:02}:00"]}}"#, hour + 1);
        let status = connection.post(&format!("/v1/rooms/{room}/availability"), Some(7), body.as_bytes()).await?;
        ensure!(status == 200, "availability was answered with {status}");
        Ok(())
    }
}

impl Scenario for Ask {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        self.turn += 1;
        self.ask(connection).await
    }
}

/// Asks for every day of every room once, as many at a time as there are connections; tells how many in a second.
pub(super) async fn ask_each_day(address: SocketAddr, connections: usize) -> anyhow::Result<f64> {
    let (next, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut asking = JoinSet::new();
    for _ in 0..connections {
        let (next, mut connection) = (next.clone(), Connection::open(address).await?);
        asking.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= ROOMS * DAYS {
                    return anyhow::Ok(());
                }
                Ask { turn: number }.ask(&mut connection).await?;
            }
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked??;
    }
    Ok((ROOMS * DAYS) as f64 / began.elapsed().as_secs_f64())
}

/// All slots of a day.
pub(super) struct Day {
    turn: u64,
}

impl Day {
    pub(super) fn new(index: usize) -> Self {
        Self { turn: index as u64 * 7_919 }
    }
}

impl Scenario for Day {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        self.turn += 1;
        let Place { room, day, .. } = place(self.turn);
        let status = connection.get(&format!("/v1/rooms/{room}/slots?date={day}")).await?;
        ensure!(status == 200, "a day was answered with {status}");
        Ok(())
    }
}

/// Everybody books one slot that nobody else wants.
pub(super) struct Book {
    people: Arc<AtomicU64>,
}

impl Book {
    pub(super) fn scenarios() -> impl Fn(usize) -> Self {
        let people: Arc<AtomicU64> = Arc::default();
        move |_| Self { people: people.clone() }
    }
}

impl Scenario for Book {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let person = self.people.fetch_add(1, Ordering::Relaxed);
        ensure!(person < ROOMS * DAYS * HOURS, "all slots are taken; measure for a shorter time");
        let Place { room, day, hour } = place(person);
        let body = format!(r#"{{"date":"{day}","times":["{hour:02}:00"]}}"#);
        let status = connection.post(&format!("/v1/rooms/{room}/locks"), Some(person + 1), body.as_bytes()).await?;
        ensure!(status == 201, "a lock was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
        // The id is the first member of the answer.
        let id = connection.body().get(11..47).context("an answer without an id")?;
        let path = format!("/v1/locks/{}/confirm", std::str::from_utf8(id)?);
        let status = connection.post(&path, Some(person + 1), b"").await?;
        ensure!(status == 201, "a confirmation was answered with {status}");
        Ok(())
    }
}
