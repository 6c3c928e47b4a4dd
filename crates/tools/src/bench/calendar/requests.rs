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
const DAYS: u64 = 58;
pub(super) const HOURS: u64 = 20;

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub rooms: u64,
    /// From tomorrow on.
    pub days: u64,
}

/// All days of a few rooms.
pub(super) const ALL_DAYS: Places = Places { rooms: ROOMS, days: DAYS };

/// A room, a day and an hour.
pub(super) struct Place {
    pub room: u64,
    pub day: Date,
    pub hour: u64,
}

impl Places {
    /// Each number has its own, until all are taken: the rooms one after another, then the days, then the hours.
    pub(super) fn at(self, number: u64) -> Place {
        let Self { rooms, days } = self;
        let tomorrow = today().tomorrow().unwrap_or(Date::MAX);
        let day = tomorrow.saturating_add(jiff::Span::new().days(((number / rooms) % days) as i64));
        Place { room: 1 + number % rooms, day, hour: (number / rooms / days) % HOURS }
    }

    /// Scattered, so that nothing lies where the last one lay.
    fn anywhere(self, turn: u64) -> Place {
        self.at(turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20)
    }
}

pub(super) fn today() -> Date {
    Zone::parse("Asia/Seoul").expect("the default zone").today(SystemClock.now())
}

/// Whether two slots can be had.
pub(super) struct Ask {
    places: Places,
    turn: u64,
}

impl Ask {
    pub(super) fn anywhere_in(places: Places) -> impl Fn(usize) -> Self {
        move |index| Self { places, turn: index as u64 * 7_919 }
    }
}

impl Scenario for Ask {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        self.turn += 1;
        ask(connection, &self.places.anywhere(self.turn)).await
    }
}

async fn ask(connection: &mut Connection, Place { room, day, hour }: &Place) -> anyhow::Result<()> {
    let hour = hour % (HOURS - 1);
    let body = format!(r#"{{"date":"{day}","times":["{hour:02}:00","{:02}:00"]}}"#, hour + 1);
    let status = connection.post(&format!("/v1/rooms/{room}/availability"), Some(7), body.as_bytes()).await?;
    ensure!(status == 200, "availability was answered with {status}");
    Ok(())
}

/// Asks for every day of every room once, as many at a time as there are connections; tells how many in a second.
pub(super) async fn ask_each_day(address: SocketAddr, connections: usize, places: Places) -> anyhow::Result<f64> {
    let (next, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let all = places.rooms * places.days;
    let mut asking = JoinSet::new();
    for _ in 0..connections {
        let (next, mut connection) = (next.clone(), Connection::open(address).await?);
        asking.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= all {
                    return anyhow::Ok(());
                }
                ask(&mut connection, &places.at(number)).await?;
            }
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked??;
    }
    Ok(all as f64 / began.elapsed().as_secs_f64())
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
        let Place { room, day, .. } = ALL_DAYS.anywhere(self.turn);
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
        let lock = lock(connection, person + 1, &ALL_DAYS.at(person)).await?.context("somebody else has it")?;
        let status = connection.post(&format!("/v1/locks/{lock}/confirm"), Some(person + 1), b"").await?;
        ensure!(status == 201, "a confirmation was answered with {status}");
        Ok(())
    }
}

/// Everybody locks a slot anywhere and lets it go; or finds that somebody else has it for the moment.
pub(super) struct LockAndRelease {
    places: Places,
    people: Arc<AtomicU64>,
}

impl LockAndRelease {
    pub(super) fn anywhere_in(places: Places) -> impl Fn(usize) -> Self {
        let people: Arc<AtomicU64> = Arc::default();
        move |_| Self { places, people: people.clone() }
    }
}

impl Scenario for LockAndRelease {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let person = self.people.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(lock) = lock(connection, person, &self.places.anywhere(person)).await? else { return Ok(()) };
        let status = connection.delete(&format!("/v1/locks/{lock}"), person).await?;
        ensure!(status == 204, "a release was answered with {status}");
        Ok(())
    }
}

/// The id of the lock; `None` if somebody else has the slot.
async fn lock(connection: &mut Connection, person: u64, place: &Place) -> anyhow::Result<Option<String>> {
    let Place { room, day, hour } = place;
    let body = format!(r#"{{"date":"{day}","times":["{hour:02}:00"]}}"#);
    let status = connection.post(&format!("/v1/rooms/{room}/locks"), Some(person), body.as_bytes()).await?;
    if status == 409 {
        return Ok(None);
    }
    ensure!(status == 201, "a lock was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
    // The id is the first member of the answer.
    let id = connection.body().get(11..47).context("an answer without an id")?;
    Ok(Some(std::str::from_utf8(id)?.to_owned()))
}
