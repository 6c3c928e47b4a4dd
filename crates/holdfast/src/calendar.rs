//! `holdfast calendar`: generates slots without a server, on a stopped embedded store, or on a database beside its
//! servers.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::{Room, RoomId};
use holdfast_core::schema::List;
use holdfast_engine::IdMaker;
use holdfast_engine::store::{self, Store};
use holdfast_engine::{Answer, Engine, EngineSettings, NoSink, Refused};
use holdfast_server::Config;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::civil::Date;
use tokio::task::JoinSet;

/// Rooms in progress at once: eight in one commit, which hardly delays servers, and eight more while that is synced.
const ROOMS_AT_ONCE: usize = 16;
const PAGE: usize = 1_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Generate the missing slots of all active rooms.
    Generate(GenerateArgs),
}

#[derive(clap::Args)]
struct GenerateArgs {
    /// Settings file; see holdfast.toml for all settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the embedded store (server.data).
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    #[arg(long, value_name = "URL", help = "A PostgreSQL database instead (server.database_url)")]
    database_url: Option<String>,
    #[arg(long, value_name = "URL", help = "Redis beside it, if live holds are kept there (server.redis_url)")]
    redis_url: Option<String>,
    /// Last day to generate slots for; by default, as many days ahead as the settings say.
    #[arg(long, value_name = "DATE")]
    until: Option<Date>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let What::Generate(args) = &args.what;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(generate(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn generate(args: &GenerateArgs) -> anyhow::Result<()> {
    let flags: Vec<(&str, String)> = [
        ("server.data", &args.data),
        ("server.database_url", &args.database_url),
        ("server.redis_url", &args.redis_url),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value.clone()?)))
    .collect();
    let config = Config::load(args.config.as_deref(), std::env::vars_os(), &flags)?;
    let file = config.server.data.join(holdfast_store_sqlite::open::FILE_NAME);
    if config.server.database_url.is_none() && !file.is_file() {
        bail!("there is no store in {}; check the path", config.server.data.display());
    }
    let store = crate::store::open(&config, &IdMaker::new()).await?;
    let made = fill(store, config.engine_settings(), args.until).await?;
    println!("{} slots made for {} rooms", made.slots, made.rooms);
    Ok(())
}

pub(crate) struct Made {
    pub rooms: u64,
    pub slots: u64,
}

/// Generates all missing slots, with a progress bar.
pub(crate) async fn fill(store: Arc<dyn Store>, settings: EngineSettings, until: Option<Date>) -> anyhow::Result<Made> {
    let rooms = active_rooms(&*store).await?;
    // Commands of this process only wait for each other.
    let settings = EngineSettings { lock_wait: Duration::from_secs(1), ..settings };
    let (engine, thread) = Engine::start(store, Arc::new(NoSink), settings)?;
    let bar = ProgressBar::new(rooms.len() as u64);
    bar.set_style(ProgressStyle::with_template("  {msg:20} {bar:32} {pos} of {len} rooms, {eta} left")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    let mut made = Made { rooms: 0, slots: 0 };
    let mut waiting = rooms.into_iter();
    let mut working = JoinSet::new();
    loop {
        while working.len() < ROOMS_AT_ONCE
            && let Some(room) = waiting.next()
        {
            working.spawn(generate_room(engine.clone(), room, until));
        }
        let Some(ended) = working.join_next().await else { break };
        made.slots += ended?.context("generating slots")?;
        made.rooms += 1;
        bar.inc(1);
        bar.set_message(format!("{} slots", made.slots));
    }
    bar.finish_and_clear();
    drop(engine);
    tokio::task::spawn_blocking(move || thread.join()).await.ok();
    Ok(made)
}

async fn generate_room(engine: Engine, room: RoomId, until: Option<Date>) -> Result<u64, Refused> {
    let mut made = 0;
    loop {
        match engine.run(GenerateSlots { room, until }, None).await {
            Ok(Answer::Fresh(generated)) => {
                made += u64::from(generated.created);
                if generated.done {
                    return Ok(made);
                }
            }
            Ok(_) => unreachable!("no key, no idempotency record"),
            // Servers use the same database.
            Err(Refused::LockTimeout | Refused::Overloaded) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(refused) => return Err(refused),
        }
    }
}

async fn active_rooms(store: &dyn Store) -> anyhow::Result<Vec<RoomId>> {
    let mut rooms = Vec::new();
    let mut after = None;
    loop {
        let page: Vec<Room> = store::list(store, List::of::<Room>(after.as_ref(), PAGE)).await?;
        rooms.extend(page.iter().filter(|room| room.active).map(|room| room.id));
        after = page.last().map(|room| room.id);
        if page.len() < PAGE {
            return Ok(rooms);
        }
    }
}
