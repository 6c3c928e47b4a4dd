//! `holdfast-tools bench stores`: ours on PostgreSQL, and on PostgreSQL with Redis, beside what one would write by hand on the
//! same servers; with nothing stored, and with many old reservations.

pub(crate) mod databases;
pub(crate) mod locking;
mod ours;
mod postgres;
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
use self::table::{Contender, Phase, Results, Work};
use super::load::Measured;
use super::{busy, stop_signal};

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
    /// A PostgreSQL to use instead of a private one. Databases are created on it, and dropped again.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// A Redis to use instead of a private one. The database that the URL names must be empty, and is emptied.
    #[arg(long, value_name = "URL")]
    redis_url: Option<String>,
    /// Leave ours out.
    #[arg(long)]
    baselines_only: bool,
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
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    let servers = Servers::start(args.database_url.as_deref(), args.redis_url.as_deref()).await?;
    // Whatever ends it, what was made on the servers is removed; private ones end with the value.
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
    let bench = Bench { args, servers, people: Arc::default() };

    let busy = busy("reservations pile up");
    let locking = locking::create(&servers.databases).await?;
    let ours = if args.baselines_only { None } else { Some(ours::create(&servers.databases).await?) };
    let empty = Stored { locking, ours };
    let full = bench.pile_up(&empty).await?;
    busy.finish_and_clear();
    let (start, after) = bench.measure_in_turn(&empty, &full).await?;
    Ok(Results::new(settings, args.reservations(), &start, &after))
}

/// Databases that are filled once. Each line is measured on a copy, so that none carries what another left behind.
struct Stored {
    locking: Database,
    ours: Option<Database>,
}

struct Bench<'a> {
    args: &'a Args,
    servers: &'a Servers,
    /// Everybody who ever asked for something: no two requests come from the same user.
    people: Arc<AtomicU64>,
}

impl Bench<'_> {
    /// Baselines, ours, and the baselines again, so that a machine that slows down or speeds up shows; and each first
    /// with nothing stored and at once with all, so that it cannot slow down much in between.
    async fn measure_in_turn(&self, empty: &Stored, full: &Stored) -> anyhow::Result<(Phase, Phase)> {
        let baselines = [Contender::Locking, Contender::Script];
        let ours = [Contender::Postgres, Contender::PostgresRedis];
        let ours = if empty.ours.is_some() { ours.as_slice() } else { &[] };
        let (mut start, mut after) = (Phase::default(), Phase::default());
        for contender in baselines.iter().chain(ours).chain(baselines.iter().rev()) {
            for work in contender.works() {
                start.add(*contender, *work, self.measure(*contender, *work, empty).await?);
                after.add(*contender, *work, self.measure(*contender, *work, full).await?);
            }
        }
        Ok((start, after))
    }

    async fn measure(&self, contender: Contender, work: Work, stored: &Stored) -> anyhow::Result<Measured> {
        let Servers { databases, redis, .. } = self.servers;
        let (name, time) = (table::name(contender, work), self.args.time());
        redis.empty().await?;
        let template = match contender {
            Contender::Script => return script::measure(&name, redis, &self.people, work, time).await,
            Contender::Locking => Some(&stored.locking),
            Contender::Postgres | Contender::PostgresRedis => stored.ours.as_ref(),
        };
        let Some(template) = template else { bail!("{name}: there is nothing to measure it on") };
        let database = databases.copy(template, "line").await?;
        let measured = match contender {
            Contender::Locking => locking::measure(&name, &database, &self.people, work, time).await?,
            _ => {
                let redis = (contender == Contender::PostgresRedis).then_some(redis);
                ours::measure(&name, &database, redis, &self.people, work, (self.args.connections, time)).await?
            }
        };
        databases.remove(database).await?;
        Ok(measured)
    }

    async fn pile_up(&self, empty: &Stored) -> anyhow::Result<Stored> {
        let (databases, reservations) = (&self.servers.databases, self.args.reservations());
        let locking = databases.copy(&empty.locking, "locking_piled").await?;
        locking::pile_up(&locking, reservations).await?;
        let mut ours = None;
        if let Some(empty) = &empty.ours {
            let database = databases.copy(empty, "ours_piled").await?;
            ours::pile_up(&database, reservations).await?;
            ours = Some(database);
        }
        Ok(Stored { locking, ours })
    }
}
