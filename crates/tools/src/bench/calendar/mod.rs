//! `holdfast-tools bench calendar`: reading and booking slots beside an empty handler and a reference implementation on
//! the same PostgreSQL; creating many slots beside a bare bulk insert of the same rows.

mod reference;
mod requests;
mod rooms;
mod slot_creation;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hdrhistogram::Histogram;
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};

use self::requests::{ALL_DAYS, Book, ReadAvailability, ReadDay};
use super::http::{Scenario, measure};
use super::load::{Measured, alternate};
use super::report::Report;
use super::server_process::Server;
use super::stores::{Databases, Postgres};

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// Number of connections that send requests concurrently.
    #[arg(long, default_value_t = 128)]
    connections: usize,
    /// Duration of the measurement of each table line.
    #[arg(long, default_value = "6s", value_parser = super::duration)]
    time: Duration,
    /// Number of slots to create, in rooms of 1,200; the design target is 12000000.
    #[arg(long, default_value_t = 600_000)]
    slots: u64,
    /// PostgreSQL to use instead of a private one. Databases are created on it, and dropped again.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Also write the results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const BASELINE_AVAILABILITY: &str = "empty handler, availability";
const BASELINE_DAY: &str = "empty handler, a day of slots";

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let private = match args.database_url {
        Some(_) => None,
        None => Some(Postgres::start().await?),
    };
    let url = private.as_ref().map(|server| server.url.clone()).or(args.database_url.clone()).context("a database")?;
    let databases = Databases::at(url).await?;
    println!("{}", databases.settings().await?);
    println!("{:?} per line, {} connections, all on this machine\n", args.time, args.connections);
    let mut bench = Bench { args, report: Report::default() };
    let outcome = bench.all(&databases).await;
    databases.remove_all().await?;
    outcome?;
    println!();
    bench.report.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&bench.report)?)?;
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    report: Report,
}

impl Bench<'_> {
    async fn all(&mut self, databases: &Databases) -> anyhow::Result<()> {
        self.embedded().await?;
        self.on_postgres(databases).await?;
        slot_creation::on_sqlite(self.args, &mut self.report).await?;
        slot_creation::on_postgres(self.args, databases, &mut self.report).await
    }

    /// Compares with the empty handler.
    async fn embedded(&mut self) -> anyhow::Result<()> {
        let data = tempfile::tempdir()?;
        let store = SqliteStore::open(OpenOptions::new(data.path()), Arc::new(holdfast_engine::SystemClock))?;
        let directory = data.path().to_string_lossy();
        rooms::make(Arc::new(store), &["--data", &directory], requests::ROOMS).await?;
        let server = Server::holdfast(data.path())?;
        let baseline = Server::baseline()?;
        let first = requests::read_each_day(server.address, self.args.connections, ALL_DAYS).await?;
        let both = [&baseline, &server];
        let [empty_ask, ask] = self.alternate("availability", both, ReadAvailability::scattered_in(ALL_DAYS)).await?;
        let [empty_day, day] = self.alternate("the slots of a day", both, ReadDay::new).await?;
        let book = self.measure("lock, then confirm", &server, Book::scenarios()).await?;
        self.line(BASELINE_AVAILABILITY, "req", &empty_ask, None);
        let against = Some((BASELINE_AVAILABILITY, empty_ask.per_second));
        self.rate("availability, the first of each day", first, against);
        self.line("availability of two slots", "req", &ask, against);
        self.report.lines.last_mut().context("a line")?.target = Some(0.6);
        self.line(BASELINE_DAY, "req", &empty_day, None);
        self.line("the slots of a day", "req", &day, Some((BASELINE_DAY, empty_day.per_second)));
        self.line("lock, then confirm", "books", &book, against);
        Ok(())
    }

    /// Compares with the reference implementation.
    async fn on_postgres(&mut self, databases: &Databases) -> anyhow::Result<()> {
        let database = databases.create("product").await?;
        let store = PostgresStore::open(PostgresOptions::new(&database.url)).await?;
        rooms::make(Arc::new(store), &["--database-url", &database.url], requests::ROOMS).await?;
        let by_hand = reference::create(databases, requests::ROOMS).await?;
        let seed_ask = reference::measure_ask(&by_hand, self.args.time).await?;
        let seed_book = reference::measure_book(&by_hand, self.args.time).await?;
        let server = Server::holdfast_on(&database.url, None)?;
        let first = requests::read_each_day(server.address, self.args.connections, ALL_DAYS).await?;
        let ask = self.measure("availability, PostgreSQL", &server, ReadAvailability::scattered_in(ALL_DAYS)).await?;
        let book = self.measure("lock, then confirm, PostgreSQL", &server, Book::scenarios()).await?;
        self.line("reference: SELECT of two slots", "req", &seed_ask, None);
        let against = Some(("reference", seed_ask.per_second));
        self.rate("availability, the first of each day, PostgreSQL", first, against);
        self.line("availability, PostgreSQL", "req", &ask, against);
        self.line("reference: lock, then confirm", "books", &seed_book, None);
        self.line("lock, then confirm, PostgreSQL", "books", &book, Some(("reference", seed_book.per_second)));
        Ok(())
    }

    fn rate(&mut self, name: &str, per_second: f64, against: Option<(&str, f64)>) {
        let none = Histogram::new(3).expect("three digits");
        self.report.add(name, "req", per_second, &none, against);
    }

    fn line(&mut self, name: &str, unit: &'static str, measured: &Measured, against: Option<(&str, f64)>) {
        self.report.add(name, unit, measured.per_second, &measured.latency, against);
    }

    async fn alternate<S: Scenario>(
        &self,
        name: &str,
        servers: [&Server; 2],
        scenario: impl Fn(usize) -> S,
    ) -> anyhow::Result<[Measured; 2]> {
        alternate(self.args.time, async |which, time| {
            measure(name, servers[which].address, self.args.connections, time, &scenario).await
        })
        .await
    }

    async fn measure<S: Scenario>(
        &self,
        name: &str,
        server: &Server,
        scenario: impl Fn(usize) -> S,
    ) -> anyhow::Result<Measured> {
        measure(name, server.address, self.args.connections, self.args.time, scenario).await
    }
}
