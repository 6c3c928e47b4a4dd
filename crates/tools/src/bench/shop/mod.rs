//! `holdfast-tools bench shop`: reservations and orders on every store, beside an empty handler and a reference
//! implementation on PostgreSQL; with an empty store, and with many old reservations.

mod fixture;
mod product;
mod reference;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use self::fixture::{Customers, Workload};
use self::product::{Directory, Storage};
use self::table::{Candidate, Phase, Results};
use super::load::Measured;
use super::server_process::Server;
use super::stores::databases::Database;
use super::stores::servers::Servers;
use super::{http, start_spinner, stop_signal};

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// Number of connections that send requests to the product concurrently.
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// Duration of the measurement of each table line [default: 6s].
    #[arg(long, value_parser = super::duration)]
    time: Option<Duration>,
    /// Number of old reservations to create [default: 1000000].
    #[arg(long)]
    reservations: Option<u32>,
    /// Short run: half a second per line, 50,000 reservations.
    #[arg(long)]
    quick: bool,
    /// Measure the embedded store only.
    #[arg(long)]
    embedded_only: bool,
    /// PostgreSQL to use instead of a private one. Databases are created on it, and dropped again.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Redis to use instead of a private one. The database of the URL must be empty, and is emptied.
    #[arg(long, value_name = "URL")]
    redis_url: Option<String>,
    /// Also write the results to this file.
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

    /// Number of users, so large that no line runs out of them: each buys once.
    fn users(&self) -> u32 {
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
    /// With an empty store.
    start: Phase,
    /// With many old reservations.
    after: Phase,
}

/// Databases that are filled once. Each line is measured on a copy, so that lines do not affect each other.
struct Stored {
    reference: Database,
    product: Database,
}

impl Bench<'_> {
    async fn embedded(&mut self) -> anyhow::Result<()> {
        let spinner = start_spinner("filling the embedded store");
        let empty = Directory::create(self.args.users())?;
        let full = empty.with_history(self.args.users(), self.args.reservations())?;
        spinner.finish_and_clear();
        // The baseline is measured before and after, to show a change of the machine's speed.
        let baseline = Server::baseline()?;
        for round in 0..2 {
            let measured = self.measure_server("empty handler", &baseline, Workload::ReserveSpread).await?;
            self.start.add(Candidate::Baseline, Workload::ReserveSpread, measured);
            for workload in Workload::ALL.into_iter().filter(|_| round == 0) {
                let measured = self.measure(Candidate::Embedded, workload, &Storage::Directory(empty.copy()?)).await?;
                self.start.add(Candidate::Embedded, workload, measured);
                let measured = self.measure(Candidate::Embedded, workload, &Storage::Directory(full.copy()?)).await?;
                self.after.add(Candidate::Embedded, workload, measured);
            }
        }
        Ok(())
    }

    async fn databases(&mut self) -> anyhow::Result<()> {
        let stop = stop_signal()?;
        let servers = Servers::start(self.args.database_url.as_deref(), self.args.redis_url.as_deref()).await?;
        self.settings = servers.settings().await?;
        println!("{}", self.settings.join("\n"));
        // The databases are removed in any case; private servers end with the value.
        let outcome = tokio::select! {
            outcome = self.measure_databases(&servers) => outcome,
            () = stop => Err(anyhow::anyhow!("stopped before the end")),
        };
        let cleaned = servers.clean_up().await;
        outcome?;
        cleaned
    }

    /// Measures the baseline, the product, and the baseline again; each first on the empty store, then at once on the
    /// full one.
    async fn measure_databases(&mut self, servers: &Servers) -> anyhow::Result<()> {
        let (users, reservations) = (self.args.users(), self.args.reservations());
        let spinner = start_spinner("filling the databases");
        let databases = &servers.databases;
        let empty = Stored {
            reference: reference::create(databases, users).await?,
            product: product::create(databases, users).await?,
        };
        let full = Stored {
            reference: databases.copy(&empty.reference, "reference_full").await?,
            product: databases.copy(&empty.product, "product_full").await?,
        };
        reference::add_history(&full.reference, reservations).await?;
        product::add_history(&full.product, users, reservations).await?;
        spinner.finish_and_clear();
        for candidate in [Candidate::Reference, Candidate::Postgres, Candidate::PostgresRedis, Candidate::Reference] {
            for workload in Workload::ALL {
                let measured = self.measure_on(candidate, workload, servers, &empty).await?;
                self.start.add(candidate, workload, measured);
                let measured = self.measure_on(candidate, workload, servers, &full).await?;
                self.after.add(candidate, workload, measured);
            }
        }
        Ok(())
    }

    async fn measure_on(
        &self,
        candidate: Candidate,
        workload: Workload,
        servers: &Servers,
        stored: &Stored,
    ) -> anyhow::Result<Measured> {
        let Servers { databases, redis, .. } = servers;
        redis.empty().await?;
        let template = if candidate == Candidate::Reference { &stored.reference } else { &stored.product };
        let database = databases.copy(template, "line").await?;
        let measured = if candidate == Candidate::Reference {
            reference::measure(&table::name(candidate, workload), &database, workload, self.args.time()).await?
        } else {
            let redis = (candidate == Candidate::PostgresRedis).then(|| redis.url.clone());
            self.measure(candidate, workload, &Storage::Database(database.url.clone(), redis)).await?
        };
        databases.remove(database).await?;
        Ok(measured)
    }

    async fn measure(&self, candidate: Candidate, workload: Workload, storage: &Storage) -> anyhow::Result<Measured> {
        self.measure_server(&table::name(candidate, workload), &storage.serve()?, workload).await
    }

    async fn measure_server(&self, name: &str, server: &Server, workload: Workload) -> anyhow::Result<Measured> {
        let customers = Customers::new(workload, self.args.users());
        http::measure(name, server.address, self.args.connections, self.args.time(), |_| customers.clone()).await
    }
}
