//! `holdfast-tools bench shop`: reservations and orders on every store, beside an empty handler and beside the transactions that a
//! shop on PostgreSQL would write; with nothing stored, and with many old reservations.

mod goods;
mod ours;
mod seed;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use self::goods::{Crowd, Work};
use self::ours::{Directory, Place};
use self::table::{Contender, Phase, Results};
use super::child::Server;
use super::load::Measured;
use super::stores::databases::Database;
use super::stores::servers::Servers;
use super::{busy, http, stop_signal};

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// How many connections send requests to ours at once.
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// How long each line of the table is measured [default: 6s].
    #[arg(long, value_parser = super::duration)]
    time: Option<Duration>,
    /// How many old reservations pile up [default: 1000000].
    #[arg(long)]
    reservations: Option<u32>,
    /// For trying it: half a second per line, 50,000 reservations.
    #[arg(long)]
    quick: bool,
    /// The embedded store only.
    #[arg(long)]
    embedded_only: bool,
    /// A PostgreSQL to use instead of a private one. Databases are created on it, and dropped again.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// A Redis to use instead of a private one. The database that the URL names must be empty, and is emptied.
    #[arg(long, value_name = "URL")]
    redis_url: Option<String>,
    /// Write the results here too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Args {
    fn time(&self) -> Duration {
        self.time.unwrap_or(Duration::from_millis(if self.quick { 500 } else { 6_000 }))
    }

    fn reservations(&self) -> u32 {
        self.reservations.unwrap_or(if self.quick { 50_000 } else { 1_000_000 })
    }

    /// So many that a line never runs out of people: each buys once.
    fn people(&self) -> u32 {
        20_000 + (self.time().as_secs_f64() * 90_000.0) as u32
    }
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    println!("{:?} per line, {} connections to ours, all on this machine", args.time(), args.connections);
    let mut bench = Bench { args, settings: Vec::new(), start: Phase::default(), after: Phase::default() };
    bench.embedded().await?;
    if !args.embedded_only {
        bench.databases().await?;
    }
    let results = Results::new(bench.settings, args.reservations(), &bench.start, &bench.after);
    println!();
    results.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&results)?)?;
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    settings: Vec<String>,
    /// With nothing stored.
    start: Phase,
    /// With many old reservations.
    after: Phase,
}

/// Databases that are filled once. Each line is measured on a copy, so that none carries what another left behind.
struct Stored {
    seed: Database,
    ours: Database,
}

impl Bench<'_> {
    async fn embedded(&mut self) -> anyhow::Result<()> {
        let busy = busy("filling the embedded store");
        let empty = Directory::create(self.args.people())?;
        let full = empty.with_history(self.args.people(), self.args.reservations())?;
        busy.finish_and_clear();
        // The ceiling before and after, so that a machine that slows down or speeds up shows.
        let ceiling = Server::ceiling()?;
        for round in 0..2 {
            let measured = self.measure_server("empty handler", &ceiling, Work::ReserveSpread).await?;
            self.start.add(Contender::Ceiling, Work::ReserveSpread, measured);
            for work in Work::ALL.into_iter().filter(|_| round == 0) {
                let measured = self.measure(Contender::Embedded, work, &Place::Directory(empty.copy()?)).await?;
                self.start.add(Contender::Embedded, work, measured);
                let measured = self.measure(Contender::Embedded, work, &Place::Directory(full.copy()?)).await?;
                self.after.add(Contender::Embedded, work, measured);
            }
        }
        Ok(())
    }

    async fn databases(&mut self) -> anyhow::Result<()> {
        let stop = stop_signal()?;
        let servers = Servers::start(self.args.database_url.as_deref(), self.args.redis_url.as_deref()).await?;
        self.settings = servers.settings().await?;
        println!("{}", self.settings.join("\n"));
        // Whatever ends it, what was made on the servers is removed; private ones end with the value.
        let outcome = tokio::select! {
            outcome = self.measure_databases(&servers) => outcome,
            () = stop => Err(anyhow::anyhow!("stopped before the end")),
        };
        let cleaned = servers.clean_up().await;
        outcome?;
        cleaned
    }

    /// The baseline, ours, and the baseline again; each first with nothing stored and at once with all.
    async fn measure_databases(&mut self, servers: &Servers) -> anyhow::Result<()> {
        let (people, reservations) = (self.args.people(), self.args.reservations());
        let busy = busy("filling the databases");
        let databases = &servers.databases;
        let empty =
            Stored { seed: seed::create(databases, people).await?, ours: ours::create(databases, people).await? };
        let full = Stored {
            seed: databases.copy(&empty.seed, "seed_piled").await?,
            ours: databases.copy(&empty.ours, "ours_piled").await?,
        };
        seed::pile_up(&full.seed, reservations).await?;
        ours::pile_up(&full.ours, people, reservations).await?;
        busy.finish_and_clear();
        for contender in [Contender::Seed, Contender::Postgres, Contender::PostgresRedis, Contender::Seed] {
            for work in Work::ALL {
                let measured = self.measure_on(contender, work, servers, &empty).await?;
                self.start.add(contender, work, measured);
                let measured = self.measure_on(contender, work, servers, &full).await?;
                self.after.add(contender, work, measured);
            }
        }
        Ok(())
    }

    async fn measure_on(
        &self,
        contender: Contender,
        work: Work,
        servers: &Servers,
        stored: &Stored,
    ) -> anyhow::Result<Measured> {
        let Servers { databases, redis, .. } = servers;
        redis.empty().await?;
        let template = if contender == Contender::Seed { &stored.seed } else { &stored.ours };
        let database = databases.copy(template, "line").await?;
        let measured = if contender == Contender::Seed {
            seed::measure(&table::name(contender, work), &database, work, self.args.time()).await?
        } else {
            let redis = (contender == Contender::PostgresRedis).then(|| redis.url.clone());
            self.measure(contender, work, &Place::Database(database.url.clone(), redis)).await?
        };
        databases.remove(database).await?;
        Ok(measured)
    }

    async fn measure(&self, contender: Contender, work: Work, place: &Place) -> anyhow::Result<Measured> {
        self.measure_server(&table::name(contender, work), &place.serve()?, work).await
    }

    async fn measure_server(&self, name: &str, server: &Server, work: Work) -> anyhow::Result<Measured> {
        let crowd = Crowd::new(work, self.args.people());
        http::measure(name, server.address, self.args.connections, self.args.time(), |_| crowd.clone()).await
    }
}
