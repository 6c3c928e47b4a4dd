//! Polling: a short line and a long one, beside a handler that does nothing, and on Redis beside ZRANK itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use super::super::child::Server;
use super::super::http::{Connection, Scenario, measure};
use super::super::load::{Measured, in_turns};
use super::super::report::Report;
use super::{Args, create_event};

const CEILING: &str = "empty handler, GET";
const SHORT: u64 = 1_000;

/// A short line and a long one on the embedded store.
pub(super) async fn embedded(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let ceiling = Server::ceiling()?;
    let before = poll(CEILING, &ceiling, 1, SHORT, args.connections, args.time).await?;
    let data = tempfile::tempdir()?;
    let server = Server::holdfast(data.path())?;
    let [short, long] = lines(&server, args).await?;
    let after = poll(CEILING, &ceiling, 1, SHORT, args.connections, args.time).await?;
    let top = f64::midpoint(before.per_second, after.per_second);
    report.add(CEILING, "req", before.per_second, &before.latency, None);
    report.add(&format!("{CEILING}, again"), "req", after.per_second, &after.latency, None);
    add(report, "embedded", args, &short, &long, (CEILING, top));
    Ok(())
}

/// The same in a cluster, beside ZRANK on the same Redis.
pub(super) async fn cluster(args: &Args, server: &Server, redis: &str, report: &mut Report) -> anyhow::Result<()> {
    let [short, long] = lines(server, args).await?;
    // The event of the long line is the second: before it came the sale.
    let raw = zrank(redis, args.waiting / 2).await?;
    let none = Histogram::new(3)?;
    report.add("ZRANK, redis-benchmark, 50 connections", "req", raw, &none, None);
    add(report, "cluster", args, &short, &long, ("ZRANK", raw));
    Ok(())
}

fn add(report: &mut Report, of: &str, args: &Args, short: &Measured, long: &Measured, against: (&str, f64)) {
    let name = format!("{of}: poll, {SHORT} waiting");
    // Redis alone is no target: it answers no HTTP.
    let target = (against.0 == CEILING).then_some(0.5);
    report.add(&name, "polls", short.per_second, &short.latency, Some(against)).target = target;
    let name = format!("{of}: poll, {} waiting", args.waiting);
    report.add(&name, "polls", long.per_second, &long.latency, Some(against)).target = target;
    report
        .add("  the same", "polls", long.per_second, &long.latency, Some(("the short line", short.per_second)))
        .target = Some(0.8);
}

async fn lines(server: &Server, args: &Args) -> anyhow::Result<[Measured; 2]> {
    // First the long one: near the front nobody waits long for a sign of life.
    let long = filled(server, args.waiting, args.connections).await?;
    let short = filled(server, SHORT, args.connections).await?;
    let lines = [short, long];
    in_turns(args.time, async |which, time| {
        let (event, waiting) = lines[which];
        poll(&format!("poll, {waiting} waiting"), server, event, waiting, args.connections, time).await
    })
    .await
}

/// The event and the length of a new line.
async fn filled(server: &Server, waiting: u64, connections: usize) -> anyhow::Result<(u64, u64)> {
    let event = create_event(server, 1, 1).await?;
    fill(server, event, waiting, connections).await?;
    Ok((event, waiting))
}

/// Lets so many people join.
async fn fill(server: &Server, event: u64, people: u64, connections: usize) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU64::new(1));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (next, mut connection) = (next.clone(), Connection::open(server.address).await?);
        tasks.spawn(async move {
            let path = format!("/v1/events/{event}/queue");
            loop {
                let person = next.fetch_add(1, Ordering::Relaxed);
                if person > people {
                    return anyhow::Ok(());
                }
                let status = connection.post(&path, Some(person), b"{}").await?;
                ensure!(status == 201, "a join was answered with {status}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

async fn poll(
    name: &str,
    server: &Server,
    event: u64,
    people: u64,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    measure(name, server.address, connections, time, |index| Polls { event, people, turn: index as u64 }).await
}

struct Polls {
    event: u64,
    people: u64,
    turn: u64,
}

impl Scenario for Polls {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        // Somebody else each time, all over the line.
        self.turn = self.turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let person = 1 + (self.turn >> 33) % self.people;
        let status = connection.get(&format!("/v1/events/{}/queue?userId={person}", self.event)).await?;
        ensure!(status == 200, "a poll was answered with {status}");
        Ok(())
    }
}

/// What Redis alone can do: the rank of somebody in the middle of the line that was just polled, by redis-benchmark.
async fn zrank(redis: &str, person: u64) -> anyhow::Result<f64> {
    let url = redis.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new("redis-benchmark");
        command.args(["-u", &url, "-n", "200000", "-c", "50", "--csv"]);
        command.args(["ZRANK", "queue:2", &person.to_string()]).output()
    });
    let output = output.await?.context("redis-benchmark")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The last line is `"ZRANK …","12345.67",…`.
    let rate = text.lines().last().and_then(|line| line.split("\",\"").nth(1)).map(|cell| cell.trim_matches('"'));
    rate.and_then(|rate| rate.parse().ok()).with_context(|| format!("redis-benchmark said {text}"))
}
