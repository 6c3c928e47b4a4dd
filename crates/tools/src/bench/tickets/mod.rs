//! `holdfast-tools bench tickets`: a sale in full, and polling a short and a long line beside an empty handler and raw Redis.

mod polls;
mod sale;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use holdfast_testkit::{RedisOptions, RedisServer};
use serde::Serialize;
use serde_json::{Value, json};

use super::child::Server;
use super::http::Connection;
use super::report::Report;
use super::stores::Postgres;

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// How many people want to come in.
    #[arg(long, default_value_t = 2_000)]
    people: u64,
    /// How many seats there are, one for each who comes in first.
    #[arg(long, default_value_t = 500)]
    seats: u64,
    /// How many may be inside at once.
    #[arg(long, default_value_t = 200)]
    inside: u64,
    /// How long the long line is that is polled.
    #[arg(long, default_value_t = 50_000)]
    waiting: u64,
    /// How many connections send requests at once.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long each line of the polling table is measured.
    #[arg(long, default_value = "3s", value_parser = super::duration)]
    time: Duration,
    /// Also in a cluster: PostgreSQL and Redis of its own, beside raw ZRANK by redis-benchmark.
    #[arg(long)]
    cluster: bool,
    /// Write the results here too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured, for machines.
#[derive(Serialize)]
struct Results {
    sales: Vec<sale::Sold>,
    polls: Report,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.seats <= args.people && args.inside > 0 && args.connections > 0, "fewer people than seats, or nobody");
    let mut results = Results { sales: Vec::new(), polls: Report::default() };
    let data = tempfile::tempdir()?;
    let server = Server::holdfast(data.path())?;
    results.sales.push(sale::run("embedded", &server, args).await?);
    drop(server);
    polls::embedded(args, &mut results.polls).await?;
    if args.cluster {
        let postgres = Postgres::start().await?;
        let redis = RedisServer::start(&RedisOptions { appendonly: true })?;
        let server = Server::holdfast_on(&postgres.url, Some(redis.url()))?;
        results.sales.push(sale::run("cluster", &server, args).await?);
        polls::cluster(args, &server, redis.url(), &mut results.polls).await?;
    }
    println!();
    results.sales.iter().for_each(sale::Sold::print);
    results.polls.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&results)?)?;
    }
    Ok(())
}

/// An event with so many seats that lets in so many at a time. Says its number.
async fn create_event(server: &Server, seats: u64, inside: u64) -> anyhow::Result<u64> {
    let seats: Vec<Value> = (1..=seats).map(|number| json!({"label": format!("A{number}"), "price": 1})).collect();
    let body = json!({"name": "sale", "maxConcurrent": inside, "seats": seats}).to_string();
    let mut connection = Connection::open(server.address).await?;
    let status = connection.post("/v1/events", None, body.as_bytes()).await?;
    ensure!(status == 201, "an event was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
    let event: Value = serde_json::from_slice(connection.body())?;
    event["id"].as_u64().context("an event without a number")
}
