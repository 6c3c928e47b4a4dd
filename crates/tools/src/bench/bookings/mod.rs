//! `holdfast-tools bench bookings`: tee times booked per second, and latency from the request to `CONFIRMED`, on the
//! embedded store and on PostgreSQL with NATS between the services. Baselines of the same run: a bare commit on the
//! same PostgreSQL, and the commits and messages of a saga without any rules.

mod reference;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use holdfast_testkit::{NatsOptions, NatsServer};
use serde_json::{Value, json};

use super::http::{self, Connection, Scenario};
use super::load::Measured;
use super::report::Report;
use super::server_process::Server;
use super::start_spinner;
use super::stores::{Databases, Postgres};

/// Target for such a saga.
const EXPECTED_MS: &str = "50-200 ms";
/// Players per slot, and slots per request, at their limits.
const SLOT_PLAYERS: u64 = 1_000;
const SLOTS: u64 = 1_000;

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// Number of concurrent clients where the rate is measured.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Duration of the measurement of each table line.
    #[arg(long, default_value = "5s", value_parser = super::duration)]
    time: Duration,
    /// Also write the results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.connections > 0, "at least one connection is needed");
    let mut report = Report::default();
    let data = tempfile::tempdir()?;
    let server = Server::holdfast(data.path())?;
    book("embedded", &server, args, &mut report).await?;
    drop(server);

    let postgres = Postgres::start().await?;
    let nats = NatsServer::start(&NatsOptions { jetstream: true })?;
    let databases = Databases::at(postgres.url.clone()).await?;
    let [all, api, booking, course, notify] = [
        databases.create("all").await?,
        databases.create("api").await?,
        databases.create("booking").await?,
        databases.create("course").await?,
        databases.create("notify").await?,
    ];
    let bare = databases.create("bare").await?;
    let commit = reference::commits(&bare).await?;
    let commit_ms = median_ms(&commit);
    report.add("sequential commits, reference", "/s", commit.per_second, &commit.latency, None);
    let saga = reference::sagas(&bare, nats.url()).await?;
    report.add(SAGA_REFERENCE, "/s", saga.per_second, &saga.latency, None);
    let server = Server::holdfast_with(&["--database-url", &all.url, "--nats-url", nats.url()], &[])?;
    book("PostgreSQL and NATS", &server, args, &mut report).await?;
    drop(server);

    let environment = [
        ("HOLDFAST_BOOKING_DATABASE_URL", &*booking.url),
        ("HOLDFAST_COURSE_DATABASE_URL", &*course.url),
        ("HOLDFAST_NOTIFY_DATABASE_URL", &*notify.url),
        // The same NATS, with a prefix of its own.
        ("HOLDFAST_NATS_PREFIX", "apart"),
    ];
    let start = |roles| {
        let args = ["--database-url", &api.url, "--nats-url", nats.url(), "--roles", roles];
        Server::holdfast_with(&args, &environment)
    };
    let (_notify, _course, _booking) = (start("notify")?, start("course")?, start("booking")?);
    book("the same, four processes, four databases", &start("api")?, args, &mut report).await?;

    println!();
    report.print();
    println!("\nPOST to CONFIRMED, one at a time, as a multiple of a bare commit ({commit_ms:.2} ms):");
    println!("{SAGA_REFERENCE:44} {:.1} commits: no saga over NATS takes less", median_ms(&saga) / commit_ms);
    for line in report.lines.iter().filter(|line| line.name.ends_with(ALONE)) {
        println!("{:44} {:.1} commits (asked for: {EXPECTED_MS})", line.name, line.p50_ms / commit_ms);
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}

const ALONE: &str = ", one at a time";
const SAGA_REFERENCE: &str = "three commits and two messages, reference";

fn median_ms(measured: &Measured) -> f64 {
    measured.latency.value_at_quantile(0.5) as f64 / 1_000.0
}

/// Measures latency with one client, then the rate with many.
async fn book(name: &str, server: &Server, args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let slots: Arc<[u64]> = make_slots(server).await?.into();
    let users = Arc::new(AtomicU64::new(1));
    for (suffix, connections) in [(ALONE, 1), ("", args.connections)] {
        let name = format!("{name}{suffix}");
        let client = |_| BookingClient { slots: slots.clone(), users: users.clone() };
        let Measured { per_second, latency } =
            http::measure(&name, server.address, connections, args.time, client).await?;
        report.add(&name, "/s", per_second, &latency, None);
    }
    Ok(())
}

async fn make_slots(server: &Server) -> anyhow::Result<Vec<u64>> {
    let spinner = start_spinner("making slots");
    let mut connection = Connection::open(server.address).await?;
    let course = create(&mut connection, "/v1/courses", &json!({"name": "course"})).await?;
    let slot = |number: u64| {
        let time = format!("{:02}:{:02}", number / 60 % 24, number % 60);
        json!({"date": "2099-06-01", "startTime": time, "maxPlayers": SLOT_PLAYERS, "price": 1})
    };
    let slots: Vec<Value> = (0..SLOTS).map(slot).collect();
    let path = format!("/v1/courses/{}/slots", course["id"]);
    let made = create(&mut connection, &path, &json!({"slots": slots})).await?;
    spinner.finish_and_clear();
    let ids = made.as_array().context("slots are a list")?.iter().map(|slot| slot["id"].as_u64());
    ids.collect::<Option<Vec<u64>>>().context("a slot without an id")
}

/// Services that have just been started may not be subscribed yet.
async fn create(connection: &mut Connection, path: &str, body: &Value) -> anyhow::Result<Value> {
    let began = Instant::now();
    loop {
        let status = connection.post(path, None, body.to_string().as_bytes()).await?;
        match status {
            201 => return Ok(serde_json::from_slice(connection.body())?),
            503 if began.elapsed() < Duration::from_secs(20) => tokio::time::sleep(Duration::from_millis(50)).await,
            _ => bail!("{path} was answered with {status}: {}", String::from_utf8_lossy(connection.body())),
        }
    }
}

/// Client that books and waits until the booking is decided.
struct BookingClient {
    slots: Arc<[u64]>,
    users: Arc<AtomicU64>,
}

impl Scenario for BookingClient {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed);
        let slot = self.slots[user as usize % self.slots.len()];
        let body = json!({"idempotencyKey": "k", "userId": user, "gameTimeSlotId": slot, "playerCount": 1});
        let status = connection.post_waiting("/bookings", 4, body.to_string().as_bytes()).await?;
        let booking: Value = serde_json::from_slice(connection.body())?;
        ensure!(status == 202 && booking["status"] == "CONFIRMED", "a booking was answered with {status}: {booking}");
        Ok(())
    }
}
