//! `holdfast-tools bench calendar`: reading and booking slots beside an empty handler and beside the queries one would write by hand
//! on the same PostgreSQL; making many slots beside a bare bulk insert of the same rows.

mod making;
mod requests;
mod rooms;
mod seed;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hdrhistogram::Histogram;
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};

use self::requests::{ALL_DAYS, Ask, Book, Day};
use super::child::Server;
use super::http::{Scenario, measure};
use super::load::{Measured, in_turns};
use super::report::Report;
use super::stores::{Databases, Postgres};

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// How many connections send requests at once.
    #[arg(long, default_value_t = 128)]
    connections: usize,
    /// How long each line of the table is measured.
    #[arg(long, default_value = "6s", value_parser = super::duration)]
    time: Duration,
    /// How many slots are made, in rooms of 1,200; 12000000 is the size this is built for.
    #[arg(long, default_value_t = 600_000)]
    slots: u64,
    /// A PostgreSQL to use instead of a private one. Databases are created on it, and dropped again.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Write the results here too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const CEILING_ASK: &str = "empty handler, availability";
const CEILING_DAY: &str = "empty handler, a day of slots";

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
        making::on_sqlite(self.args, &mut self.report).await?;
        making::on_postgres(self.args, databases, &mut self.report).await
    }

    /// Beside the empty handler.
    async fn embedded(&mut self) -> anyhow::Result<()> {
        let data = tempfile::tempdir()?;
        let store = SqliteStore::open(OpenOptions::new(data.path()), Arc::new(holdfast_engine::SystemClock))?;
        let directory = data.path().to_string_lossy();
        rooms::make(Arc::new(store), &["--data", &directory], requests::ROOMS).await?;
        let server = Server::holdfast(data.path())?;
        let ceiling = Server::ceiling()?;
        let first = requests::ask_each_day(server.address, self.args.connections, ALL_DAYS).await?;
        let both = [&ceiling, &server];
        let [empty_ask, ask] = self.in_turns("availability", both, Ask::anywhere_in(ALL_DAYS)).await?;
        let [empty_day, day] = self.in_turns("the slots of a day", both, Day::new).await?;
        let book = self.measure("lock, then confirm", &server, Book::scenarios()).await?;
        self.line(CEILING_ASK, "req", &empty_ask, None);
        let against = Some((CEILING_ASK, empty_ask.per_second));
        self.rate("availability, the first of each day", first, against);
        self.line("availability of two slots", "req", &ask, against);
        self.report.lines.last_mut().context("a line")?.target = Some(0.6);
        self.line(CEILING_DAY, "req", &empty_day, None);
        self.line("the slots of a day", "req", &day, Some((CEILING_DAY, empty_day.per_second)));
        self.line("lock, then confirm", "books", &book, against);
        Ok(())
    }

    /// Beside the queries written by hand.
    async fn on_postgres(&mut self, databases: &Databases) -> anyhow::Result<()> {
        let database = databases.create("ours").await?;
        let store = PostgresStore::open(PostgresOptions::new(&database.url)).await?;
        rooms::make(Arc::new(store), &["--database-url", &database.url], requests::ROOMS).await?;
        let by_hand = seed::create(databases, requests::ROOMS).await?;
        let seed_ask = seed::measure_ask(&by_hand, self.args.time).await?;
        let seed_book = seed::measure_book(&by_hand, self.args.time).await?;
        let server = Server::holdfast_on(&database.url, None)?;
        let first = requests::ask_each_day(server.address, self.args.connections, ALL_DAYS).await?;
        let ask = self.measure("availability, PostgreSQL", &server, Ask::anywhere_in(ALL_DAYS)).await?;
        let book = self.measure("lock, then confirm, PostgreSQL", &server, Book::scenarios()).await?;
        self.line("by hand: SELECT of two slots", "req", &seed_ask, None);
        let against = Some(("by hand", seed_ask.per_second));
        self.rate("availability, the first of each day, PostgreSQL", first, against);
        self.line("availability, PostgreSQL", "req", &ask, against);
        self.line("by hand: lock, then confirm", "books", &seed_book, None);
        self.line("lock, then confirm, PostgreSQL", "books", &book, Some(("by hand", seed_book.per_second)));
        Ok(())
    }

    fn rate(&mut self, name: &str, per_second: f64, against: Option<(&str, f64)>) {
        let none = Histogram::new(3).expect("three digits");
        self.report.add(name, "req", per_second, &none, against);
    }

    fn line(&mut self, name: &str, unit: &'static str, measured: &Measured, against: Option<(&str, f64)>) {
        self.report.add(name, unit, measured.per_second, &measured.latency, against);
    }

    async fn in_turns<S: Scenario>(
        &self,
        name: &str,
        servers: [&Server; 2],
        scenario: impl Fn(usize) -> S,
    ) -> anyhow::Result<[Measured; 2]> {
        in_turns(self.args.time, async |which, time| {
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
