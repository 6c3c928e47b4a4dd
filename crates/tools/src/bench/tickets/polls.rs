//! Polling a short queue and a long one, beside an empty handler, and on Redis beside ZRANK itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use super::super::http::{Connection, Scenario, measure};
use super::super::load::{Measured, alternate};
use super::super::report::Report;
use super::super::server_process::Server;
use super::{Args, create_event};

const BASELINE: &str = "empty handler, GET";
const SHORT: u64 = 1_000;

/// Measures a short queue and a long one on the embedded store.
pub(super) async fn embedded(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let baseline = Server::baseline()?;
    let before = poll(BASELINE, &baseline, 1, SHORT, args.connections, args.time).await?;
    let data = tempfile::tempdir()?;
    let server = Server::holdfast(data.path())?;
    let [short, long] = lines(&server, args).await?;
    let after = poll(BASELINE, &baseline, 1, SHORT, args.connections, args.time).await?;
    let top = f64::midpoint(before.per_second, after.per_second);
    report.add(BASELINE, "req", before.per_second, &before.latency, None);
    report.add(&format!("{BASELINE}, again"), "req", after.per_second, &after.latency, None);
    add(report, "embedded", args, &short, &long, (BASELINE, top));
    Ok(())
}

/// Measures a short queue and a long one in a cluster, beside ZRANK on the same Redis.
pub(super) async fn cluster(args: &Args, server: &Server, redis: &str, report: &mut Report) -> anyhow::Result<()> {
    let [short, long] = lines(server, args).await?;
    // The event of the long queue is the second: the sale created the first.
    let raw = zrank(redis, args.waiting / 2).await?;
    let none = Histogram::new(3)?;
    report.add("ZRANK, redis-benchmark, 50 connections", "req", raw, &none, None);
    add(report, "cluster", args, &short, &long, ("ZRANK", raw));
    Ok(())
}

fn add(report: &mut Report, of: &str, args: &Args, short: &Measured, long: &Measured, against: (&str, f64)) {
    let name = format!("{of}: poll, {SHORT} waiting");
    // Redis alone is no target: it serves no HTTP.
    let target = (against.0 == BASELINE).then_some(0.5);
    report.add(&name, "polls", short.per_second, &short.latency, Some(against)).target = target;
    let name = format!("{of}: poll, {} waiting", args.waiting);
    report.add(&name, "polls", long.per_second, &long.latency, Some(against)).target = target;
    report
        .add("  the same", "polls", long.per_second, &long.latency, Some(("the short line", short.per_second)))
        .target = Some(0.8);
}

async fn lines(server: &Server, args: &Args) -> anyhow::Result<[Measured; 2]> {
    // The long queue is filled first: users near the front of the short one must poll soon.
    let long = filled_queue(server, args.waiting, args.connections).await?;
    let short = filled_queue(server, SHORT, args.connections).await?;
    let lines = [short, long];
    alternate(args.time, async |which, time| {
        let (event, waiting) = lines[which];
        poll(&format!("poll, {waiting} waiting"), server, event, waiting, args.connections, time).await
    })
    .await
}

/// Creates a queue. Returns its event and length.
async fn filled_queue(server: &Server, waiting: u64, connections: usize) -> anyhow::Result<(u64, u64)> {
    let event = create_event(server, 1, 1).await?;
    fill(server, event, waiting, connections).await?;
    Ok((event, waiting))
}

/// Lets so many users join.
async fn fill(server: &Server, event: u64, users: u64, connections: usize) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU64::new(1));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (next, mut connection) = (next.clone(), Connection::open(server.address).await?);
        tasks.spawn(async move {
            let path = format!("/v1/events/{event}/queue");
            loop {
                let user = next.fetch_add(1, Ordering::Relaxed);
                if user > users {
                    return anyhow::Ok(());
                }
                let status = connection.post(&path, Some(user), b"{}").await?;
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
    users: u64,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    measure(name, server.address, connections, time, |index| Polls { event, users, turn: index as u64 }).await
}

struct Polls {
    event: u64,
    users: u64,
    turn: u64,
}

impl Scenario for Polls {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        // A different user each time, spread over the queue.
        self.turn = self.turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let user = 1 + (self.turn >> 33) % self.users;
        let status = connection.get(&format!("/v1/events/{}/queue?userId={user}", self.event)).await?;
        ensure!(status == 200, "a poll was answered with {status}");
        Ok(())
    }
}

/// Measures Redis alone with redis-benchmark: the rank of a user in the middle of the queue that was just polled.
async fn zrank(redis: &str, user: u64) -> anyhow::Result<f64> {
    let url = redis.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new("redis-benchmark");
        command.args(["-u", &url, "-n", "200000", "-c", "50", "--csv"]);
        command.args(["ZRANK", "queue:2", &user.to_string()]).output()
    });
    let output = output.await?.context("redis-benchmark")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The last line is `"ZRANK …","12345.67",…`.
    let rate = text.lines().last().and_then(|line| line.split("\",\"").nth(1)).map(|cell| cell.trim_matches('"'));
    rate.and_then(|rate| rate.parse().ok()).with_context(|| format!("redis-benchmark printed {text}"))
}
