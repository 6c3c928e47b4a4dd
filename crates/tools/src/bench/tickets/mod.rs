//! `holdfast-tools bench tickets`: a complete sale, and polling a short and a long queue beside an empty handler and
//! raw Redis.

mod polls;
mod sale;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use holdfast_testkit::{RedisOptions, RedisServer};
use serde::Serialize;
use serde_json::{Value, json};

use super::http::Connection;
use super::report::Report;
use super::server_process::Server;
use super::stores::Postgres;

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// Number of users who want to enter.
    #[arg(long, default_value_t = 2_000)]
    people: u64,
    /// Number of seats, one for each of the first users to enter.
    #[arg(long, default_value_t = 500)]
    seats: u64,
    /// Maximum number of users inside at once.
    #[arg(long, default_value_t = 200)]
    inside: u64,
    /// Length of the long queue.
    #[arg(long, default_value_t = 50_000)]
    waiting: u64,
    /// Number of connections that send requests concurrently.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Duration of the measurement of each line of the polling table.
    #[arg(long, default_value = "3s", value_parser = super::duration)]
    time: Duration,
    /// Also measure a cluster: PostgreSQL and Redis of its own, beside raw ZRANK by redis-benchmark.
    #[arg(long)]
    cluster: bool,
    /// Also write the results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Results as JSON.
#[derive(Serialize)]
struct Results {
    sales: Vec<sale::Sold>,
    polls: Report,
}

impl Results {
    /// Adds a sale, and prints it at once.
    fn add(&mut self, sold: sale::Sold) {
        sold.print();
        self.sales.push(sold);
    }
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(
        args.seats <= args.people && args.inside > 0 && args.connections > 0,
        "people must be at least seats; inside and connections at least 1"
    );
    let mut results = Results { sales: Vec::new(), polls: Report::default() };
    let data = tempfile::tempdir()?;
    let server = Server::holdfast(data.path())?;
    results.add(sale::run("embedded", &server, args).await?);
    drop(server);
    polls::embedded(args, &mut results.polls).await?;
    if args.cluster {
        let postgres = Postgres::start().await?;
        let redis = RedisServer::start(&RedisOptions { appendonly: true })?;
        let server = Server::holdfast_on(&postgres.url, Some(redis.url()))?;
        results.add(sale::run("cluster", &server, args).await?);
        polls::cluster(args, &server, redis.url(), &mut results.polls).await?;
    }
    println!();
    results.polls.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&results)?)?;
    }
    Ok(())
}

/// Creates an event with so many seats and that limit of users inside. Returns its id.
async fn create_event(server: &Server, seats: u64, inside: u64) -> anyhow::Result<u64> {
    let seats: Vec<Value> = (1..=seats).map(|number| json!({"label": format!("A{number}"), "price": 1})).collect();
    let body = json!({"name": "sale", "maxConcurrent": inside, "seats": seats}).to_string();
    let mut connection = Connection::open(server.address).await?;
    let status = connection.post("/v1/events", None, body.as_bytes()).await?;
    ensure!(status == 201, "an event was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
    let event: Value = serde_json::from_slice(connection.body())?;
    event["id"].as_u64().context("an event without an id")
}
