//! `holdfast-tools bench`: throughput and latency, beside a baseline measured in the same run.

mod baseline;
mod bookings;
mod calendar;
mod holds;
mod http;
mod load;
mod report;
mod server_process;
mod shop;
mod stays;
mod stores;
mod tickets;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use holdfast_server::config::parse_duration;
use indicatif::ProgressBar;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Stays on the embedded store, beside an empty handler with the same JSON in and out.
    Stays(StaysArgs),
    /// Orders on every store, beside an empty handler and a reference implementation of a shop's transactions.
    Shop(shop::Args),
    /// Holds on PostgreSQL and Redis, beside reference implementations on the same servers: a transaction and a script.
    Stores(stores::Args),
    /// Rooms by the hour: reading, booking and creating slots, beside an empty handler, reference queries and bare
    /// inserts.
    Calendar(calendar::Args),
    /// A complete sale of tickets, and polling the waiting room, beside an empty handler and raw Redis.
    Tickets(tickets::Args),
    /// Tee times from the request to CONFIRMED, embedded and on PostgreSQL and NATS, beside a bare commit.
    Bookings(bookings::Args),
    /// The empty handler itself, started by the other benchmarks.
    #[command(hide = true)]
    Baseline(baseline::Args),
}

#[derive(clap::Args, Clone)]
pub(crate) struct StaysArgs {
    /// Number of connections that send requests concurrently.
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// Duration of the measurement of each table line.
    #[arg(long, default_value = "6s", value_parser = duration)]
    time: Duration,
    /// Also measure with this many live holds in the store: placing, memory and start-up.
    #[arg(long, default_value_t = 0)]
    live_holds: usize,
    /// Measure only lines with these words in their name, beside the empty handlers; for profiling.
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Also write the results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match args.benchmark {
        Benchmark::Stays(args) => runtime.block_on(stays::run(&args))?,
        Benchmark::Shop(args) => runtime.block_on(shop::run(&args))?,
        Benchmark::Stores(args) => runtime.block_on(stores::run(&args))?,
        Benchmark::Calendar(args) => runtime.block_on(calendar::run(&args))?,
        Benchmark::Tickets(args) => runtime.block_on(tickets::run(&args))?,
        Benchmark::Bookings(args) => runtime.block_on(bookings::run(&args))?,
        Benchmark::Baseline(args) => runtime.block_on(baseline::run(&args))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Resolves on SIGTERM or SIGINT.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Shows a spinner.
fn start_spinner(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn duration(text: &str) -> anyhow::Result<Duration> {
    parse_duration(text).context("write a duration like 500ms, 10s or 1m")
}
