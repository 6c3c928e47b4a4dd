//! `holdfast-tools bench stores`: the product on PostgreSQL, and on PostgreSQL with Redis, beside reference
//! implementations on the same servers; with an empty store, and with many old reservations.

pub(crate) mod databases;
pub(crate) mod locking;
mod postgres;
mod product;
pub(crate) mod redis;
mod script;
pub(crate) mod servers;
mod table;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use anyhow::bail;

pub(crate) use self::databases::{Database, Databases};
pub(crate) use self::postgres::Postgres;
use self::servers::Servers;
use self::table::{Candidate, Phase, Results, Workload};
use super::load::Measured;
use super::{start_spinner, stop_signal};

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
    /// PostgreSQL to use instead of a private one. Databases are created on it, and dropped again.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Redis to use instead of a private one. The database of the URL must be empty, and is emptied.
    #[arg(long, value_name = "URL")]
    redis_url: Option<String>,
    /// Measure the baselines only.
    #[arg(long)]
    baselines_only: bool,
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
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    let servers = Servers::start(args.database_url.as_deref(), args.redis_url.as_deref()).await?;
    // The databases are removed in any case; private servers end with the value.
    let outcome = tokio::select! {
        outcome = measure_all(args, &servers) => outcome,
        () = stop => Err(anyhow::anyhow!("stopped before the end")),
    };
    let cleaned = servers.clean_up().await;
    let results = outcome?;
    cleaned?;
    println!();
    results.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&results)?)?;
    }
    Ok(())
}

async fn measure_all(args: &Args, servers: &Servers) -> anyhow::Result<Results> {
    let settings = servers.settings().await?;
    println!("{}", settings.join("\n"));
    println!("{:?} per line, {} connections to ours, all on this machine\n", args.time(), args.connections);
    let bench = Bench { args, servers, users: Arc::default() };

    let spinner = start_spinner("creating old reservations");
    let locking = locking::create(&servers.databases).await?;
    let product = if args.baselines_only { None } else { Some(product::create(&servers.databases).await?) };
    let empty = Stored { locking, product };
    let full = bench.add_history(&empty).await?;
    spinner.finish_and_clear();
    let (start, after) = bench.measure_in_turn(&empty, &full).await?;
    Ok(Results::new(settings, args.reservations(), &start, &after))
}

/// Databases that are filled once. Each line is measured on a copy, so that lines do not affect each other.
struct Stored {
    locking: Database,
    product: Option<Database>,
}

struct Bench<'a> {
    args: &'a Args,
    servers: &'a Servers,
    /// Last user number; no two requests come from the same user.
    users: Arc<AtomicU64>,
}

impl Bench<'_> {
    /// Measures baselines, the product, and the baselines again, to show a change of the machine's speed; each first on
    /// the empty store, then at once on the full one.
    async fn measure_in_turn(&self, empty: &Stored, full: &Stored) -> anyhow::Result<(Phase, Phase)> {
        let baselines = [Candidate::Locking, Candidate::Script];
        let products = [Candidate::Postgres, Candidate::PostgresRedis];
        let products = if empty.product.is_some() { products.as_slice() } else { &[] };
        let (mut start, mut after) = (Phase::default(), Phase::default());
        for candidate in baselines.iter().chain(products).chain(baselines.iter().rev()) {
            for workload in candidate.workloads() {
                start.add(*candidate, *workload, self.measure(*candidate, *workload, empty).await?);
                after.add(*candidate, *workload, self.measure(*candidate, *workload, full).await?);
            }
        }
        Ok((start, after))
    }

    async fn measure(&self, candidate: Candidate, workload: Workload, stored: &Stored) -> anyhow::Result<Measured> {
        let Servers { databases, redis, .. } = self.servers;
        let (name, time) = (table::name(candidate, workload), self.args.time());
        redis.empty().await?;
        let template = match candidate {
            Candidate::Script => return script::measure(&name, redis, &self.users, workload, time).await,
            Candidate::Locking => Some(&stored.locking),
            Candidate::Postgres | Candidate::PostgresRedis => stored.product.as_ref(),
        };
        let Some(template) = template else { bail!("{name}: there is nothing to measure it on") };
        let database = databases.copy(template, "line").await?;
        let measured = match candidate {
            Candidate::Locking => locking::measure(&name, &database, &self.users, workload, time).await?,
            _ => {
                let redis = (candidate == Candidate::PostgresRedis).then_some(redis);
                product::measure(&name, &database, redis, &self.users, workload, (self.args.connections, time)).await?
            }
        };
        databases.remove(database).await?;
        Ok(measured)
    }

    async fn add_history(&self, empty: &Stored) -> anyhow::Result<Stored> {
        let (databases, reservations) = (&self.servers.databases, self.args.reservations());
        let locking = databases.copy(&empty.locking, "locking_piled").await?;
        locking::add_history(&locking, reservations).await?;
        let mut product = None;
        if let Some(empty) = &empty.product {
            let database = databases.copy(empty, "product_full").await?;
            product::add_history(&database, reservations).await?;
            product = Some(database);
        }
        Ok(Stored { locking, product })
    }
}
