//! `holdfast-tools bench`: throughput and latency, beside a baseline measured in the same run.

mod bookings;
mod calendar;
mod ceiling;
mod child;
mod holds;
mod http;
mod load;
mod report;
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
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Stays on the embedded store, beside an empty handler with the same JSON in and out.
    Stays(StaysArgs),
    /// Orders on every store, beside an empty handler and the transactions of a shop written by hand.
    Shop(shop::Args),
    /// Holds on PostgreSQL and Redis, beside a transaction and a script written by hand on the same servers.
    Stores(stores::Args),
    /// Rooms by the hour: reading, booking and making slots, beside an empty handler, queries by hand and bare inserts.
    Calendar(calendar::Args),
    /// A sale of tickets in full, and polling the waiting room, beside an empty handler and raw Redis.
    Tickets(tickets::Args),
    /// Tee times from the request to CONFIRMED, embedded and on PostgreSQL and NATS, beside a bare commit.
    Bookings(bookings::Args),
    /// The empty handler itself; started by the others.
    #[command(hide = true)]
    Ceiling(ceiling::Args),
}

#[derive(clap::Args, Clone)]
pub(crate) struct StaysArgs {
    /// How many connections send requests at once.
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// How long each line of the table is measured.
    #[arg(long, default_value = "6s", value_parser = duration)]
    time: Duration,
    /// Also with this many live holds in the store: placing, memory and start-up.
    #[arg(long, default_value_t = 0)]
    live_holds: usize,
    /// Only lines of the table with these words in their name, beside the empty handlers: for a profile of one of them.
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Write the results here too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match args.what {
        What::Stays(args) => runtime.block_on(stays::run(&args))?,
        What::Shop(args) => runtime.block_on(shop::run(&args))?,
        What::Stores(args) => runtime.block_on(stores::run(&args))?,
        What::Calendar(args) => runtime.block_on(calendar::run(&args))?,
        What::Tickets(args) => runtime.block_on(tickets::run(&args))?,
        What::Bookings(args) => runtime.block_on(bookings::run(&args))?,
        What::Ceiling(args) => runtime.block_on(ceiling::run(&args))?,
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

/// Shows that something is going on.
fn busy(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn duration(text: &str) -> anyhow::Result<Duration> {
    parse_duration(text).context("write a duration like 500ms, 10s or 1m")
}
