//! Making many slots beside a bare bulk insert of the same rows, what they take on disk, and whether reading and locking cost
//! more then.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::SinkExt as _;
use hdrhistogram::Histogram;
use holdfast_core::actor::Actor;
use holdfast_core::calendar::availability::availability;
use holdfast_core::calendar::lock::{LockSlots, ReleaseLock};
use holdfast_core::calendar::{RoomId, SlotStart, WallTime};
use holdfast_core::id::UserId;
use holdfast_engine::{Engine, NoSink, Refused, Store, SystemClock};
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use jiff::civil::Date;
use tokio::task::JoinSet;

use super::requests::{HOURS, today};
use super::rooms::{self, DAYS_AHEAD};
use super::{Args, Report};
use crate::bench::stores::{Database, Databases};

const SLOTS_PER_ROOM: u64 = 1_200;
/// People ask for the coming days.
const HOT_DAYS: u64 = 7;
/// What large is compared with.
const FEW_ROOMS: u64 = 10;
const BARE_TABLE: &str = "CREATE TABLE bare (room_id INTEGER NOT NULL, slot_date TEXT NOT NULL, slot_time INTEGER NOT NULL,
    minutes INTEGER NOT NULL, status TEXT NOT NULL, reservation_id INTEGER, base_price INTEGER NOT NULL,
    final_price INTEGER NOT NULL, is_peak_time INTEGER NOT NULL, is_holiday INTEGER NOT NULL, outside_hours INTEGER NOT NULL,
    PRIMARY KEY (room_id, slot_date, slot_time)) STRICT, WITHOUT ROWID";

pub(super) async fn on_sqlite(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let rooms = args.slots.div_ceil(SLOTS_PER_ROOM);
    let data = tempfile::tempdir()?;
    let path = data.path().join("bare.db");
    let bare = tokio::task::spawn_blocking(move || bare_sqlite(&path, rooms)).await??;
    let few_in = tempfile::tempdir()?;
    let open = |directory: &Path| -> anyhow::Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::open(OpenOptions::new(directory), Arc::new(SystemClock))?))
    };
    rooms::make(open(few_in.path())?, FEW_ROOMS).await?;
    let took = rooms::make(open(data.path())?, rooms).await?;
    // With its log, which may not be empty yet.
    let sizes = ["holdfast.db", "holdfast.db-wal"].map(|name| std::fs::metadata(data.path().join(name)));
    let disk = sizes.into_iter().flatten().map(|file| file.len()).sum();
    made(report, "SQLite", rooms, bare, took, disk)?;
    // Opened again: what was made is not in memory.
    compare(args, report, "SQLite", open(few_in.path())?, open(data.path())?, rooms).await
}

pub(super) async fn on_postgres(args: &Args, databases: &Databases, report: &mut Report) -> anyhow::Result<()> {
    let rooms = args.slots.div_ceil(SLOTS_PER_ROOM);
    let (few, many) = (databases.create("few").await?, databases.create("many").await?);
    rooms::make(open(&few).await?, FEW_ROOMS).await?;
    // Its tables are made when it is opened.
    let store = open(&many).await?;
    let bare = bare_postgres(&many, rooms).await?;
    let took = rooms::make(store, rooms).await?;
    let size = "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'time_slots'::regclass";
    let disk: i64 = many.connect().await?.query_one(size, &[]).await?.get(0);
    made(report, "PostgreSQL", rooms, bare, took, disk as u64)?;
    // Opened again: what was made is not in memory.
    compare(args, report, "PostgreSQL", open(&few).await?, open(&many).await?, rooms).await
}

async fn open(database: &Database) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(PostgresStore::open(PostgresOptions::new(&database.url)).await?))
}

fn made(report: &mut Report, name: &str, rooms: u64, bare: Duration, ours: Duration, disk: u64) -> anyhow::Result<()> {
    let all = rooms * SLOTS_PER_ROOM;
    let per_second = |slots: u64, took: Duration| slots as f64 / took.as_secs_f64();
    let none = Histogram::new(3)?;
    report.add(&format!("{name}: bare bulk insert"), "slots", per_second(all, bare), &none, None);
    let against = Some(("bare", per_second(all, bare)));
    let line = report.add(&format!("{name}: {all} slots made"), "slots", per_second(all, ours), &none, against);
    line.target = Some(0.5);
    println!("{name}: {all} slots take {} MiB on disk, {} bytes each", disk >> 20, disk / all);
    Ok(())
}

/// Reading and locking with few slots and with many, once the days people ask for have been read: the first reading of each
/// is told apart.
async fn compare(
    args: &Args,
    report: &mut Report,
    name: &str,
    few: Arc<dyn Store>,
    many: Arc<dyn Store>,
    rooms: u64,
) -> anyhow::Result<()> {
    let none = Histogram::new(3)?;
    let mut rates = Vec::new();
    for (store, rooms) in [(few, FEW_ROOMS), (many, rooms)] {
        let (engine, thread) = Engine::start(store, Arc::new(NoSink), rooms::settings(DAYS_AHEAD))?;
        let days = rooms * HOT_DAYS;
        let began = Instant::now();
        at_once(days, |day| first_ask(engine.clone(), day, rooms)).await?;
        let first = days as f64 / began.elapsed().as_secs_f64();
        let asks = rate(args.time, |turn| ask(engine.clone(), turn, rooms)).await?;
        let locks = rate(args.time, |turn| lock(engine.clone(), turn, rooms)).await?;
        drop(engine);
        tokio::task::spawn_blocking(move || thread.join()).await.ok();
        rates.push((rooms * SLOTS_PER_ROOM, [first, asks, locks]));
    }
    let [(few, small), (many, large)] = &rates[..] else { unreachable!("two were measured") };
    for (of, what) in ["first availability of each day", "availability", "lock, then release"].into_iter().enumerate() {
        report.add(&format!("{name}: {what}, {few} slots"), "req", small[of], &none, None);
        let against = Some(("few", small[of]));
        let line = report.add(&format!("{name}: {what}, {many} slots"), "req", large[of], &none, against);
        line.target = (of > 0).then_some(0.8);
    }
    Ok(())
}

/// Does something so many times, 32 at once.
async fn at_once<F: Future<Output = anyhow::Result<()>> + Send + 'static>(
    times: u64,
    work: impl Fn(u64) -> F,
) -> anyhow::Result<()> {
    let mut working = JoinSet::new();
    for turn in 0..times {
        working.spawn(work(turn));
        if working.len() >= 32 {
            working.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(done) = working.join_next().await {
        done??;
    }
    Ok(())
}

/// How often something can be done in a second by 32 at once.
async fn rate<F: Future<Output = anyhow::Result<()>> + Send + 'static>(
    time: Duration,
    work: impl Fn(u64) -> F,
) -> anyhow::Result<f64> {
    let (turn, began) = (AtomicU64::new(0), Instant::now());
    let mut working = JoinSet::new();
    while began.elapsed() < time {
        while working.len() < 32 {
            working.spawn(work(turn.fetch_add(1, Ordering::Relaxed)));
        }
        working.join_next().await.transpose()?.transpose()?;
    }
    let done = turn.load(Ordering::Relaxed) - working.len() as u64;
    Ok(done as f64 / began.elapsed().as_secs_f64())
}

/// Any room, any hour of the coming days: scattered, so that nothing lies where the last one lay.
fn scattered(turn: u64, rooms: u64) -> (RoomId, SlotStart) {
    slot(turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20, rooms)
}

/// The rooms one after another, then the days, then the hours.
fn slot(number: u64, rooms: u64) -> (RoomId, SlotStart) {
    let day: Date = today().saturating_add(jiff::Span::new().days((1 + (number / rooms) % HOT_DAYS) as i64));
    let hour = (number / rooms / HOT_DAYS) % HOURS;
    let time = WallTime::from_minutes(hour as u16 * 60).expect("an hour");
    (RoomId::new(1 + number % rooms).expect("a number"), SlotStart::new(day, time).expect("a day to come"))
}

async fn ask(engine: Engine, turn: u64, rooms: u64) -> anyhow::Result<()> {
    let (room, start) = scattered(turn, rooms);
    engine.query(|rows, at| availability(rows, at, room, None, &[start])).await?;
    Ok(())
}

async fn first_ask(engine: Engine, day: u64, rooms: u64) -> anyhow::Result<()> {
    let (room, start) = slot(day, rooms);
    engine.query(|rows, at| availability(rows, at, room, None, &[start])).await?;
    Ok(())
}

/// Locks a slot and lets it go; or finds that somebody else has it for the moment.
async fn lock(engine: Engine, turn: u64, rooms: u64) -> anyhow::Result<()> {
    let (room, start) = scattered(turn, rooms);
    // An id keeps some bits of the first bytes for itself.
    let mut random = [0; 10];
    random[2..].copy_from_slice(&turn.to_be_bytes());
    let user = UserId::new(turn + 1).expect("a number");
    let command = LockSlots { random, room, user, slots: vec![start], ttl: None };
    let lock = match rooms::run(&engine, command).await {
        Ok(lock) => lock,
        Err(Refused::Rejected(_)) => return Ok(()),
        Err(refused) => return Err(refused.into()),
    };
    rooms::run(&engine, ReleaseLock { actor: Actor::Admin, id: lock.id }).await?;
    Ok(())
}

fn days() -> Vec<Date> {
    let from = today();
    (0..=i64::from(DAYS_AHEAD)).map(|days| from.saturating_add(jiff::Span::new().days(days))).collect()
}

/// One prepared statement, a hundred thousand rows to a transaction.
fn bare_sqlite(path: &Path, rooms: u64) -> anyhow::Result<Duration> {
    let mut connection = rusqlite::Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(BARE_TABLE)?;
    let days: Vec<String> = days().iter().map(Date::to_string).collect();
    let numbers: Vec<u64> = (1..=rooms).collect();
    let began = Instant::now();
    for some in numbers.chunks(84) {
        let transaction = connection.transaction()?;
        let mut insert = transaction
            .prepare_cached("INSERT INTO bare VALUES (?1, ?2, ?3, 60, 'AVAILABLE', NULL, 20000, 20000, 0, 0, 0)")?;
        for room in some {
            for day in &days {
                for hour in 0..HOURS {
                    insert.execute((room, day, hour * 60))?;
                }
            }
        }
        drop(insert);
        transaction.commit()?;
    }
    Ok(began.elapsed())
}

/// One COPY of all rows, into a table with the same columns, checks and key.
async fn bare_postgres(database: &Database, rooms: u64) -> anyhow::Result<Duration> {
    let client = database.connect().await?;
    client.batch_execute("CREATE TABLE bare (LIKE time_slots INCLUDING ALL)").await?;
    let days = days();
    let began = Instant::now();
    let copy = client.copy_in::<_, std::io::Cursor<Vec<u8>>>("COPY bare FROM STDIN").await?;
    let mut copy = Box::pin(copy);
    for room in 1..=rooms {
        let mut lines = String::new();
        for day in &days {
            for hour in 0..HOURS {
                writeln!(lines, "{room}\t{day}\t{}\t60\tAVAILABLE\t\\N\t20000\t20000\tf\tf\tf\t0", hour * 60)?;
            }
        }
        copy.send(std::io::Cursor::new(lines.into_bytes())).await?;
    }
    copy.as_mut().finish().await?;
    Ok(began.elapsed())
}
