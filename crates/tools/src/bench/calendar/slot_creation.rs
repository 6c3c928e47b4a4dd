//! Bulk creation of slots beside a bare bulk insert of the same rows, their disk space, and its effect on reading and
//! locking.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::SinkExt as _;
use hdrhistogram::Histogram;
use holdfast_engine::{Store, SystemClock};
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use jiff::civil::Date;

use super::requests::{self, HOURS, LockAndRelease, ReadAvailability, SlotRange, today};
use super::rooms::{self, DAYS_AHEAD};
use super::{Args, Report};
use crate::bench::http::measure;
use crate::bench::load::{Measured, alternate};
use crate::bench::server_process::Server;
use crate::bench::stores::{Database, Databases};

const SLOTS_PER_ROOM: u64 = 1_200;
/// Days that clients ask for.
const HOT_DAYS: u64 = 7;
/// Number of rooms of the small store that the large one is compared with.
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
    let [few, many] = [few_in.path(), data.path()].map(|path| path.to_string_lossy().into_owned());
    let (few, many) = (["--data", &few], ["--data", &many]);
    rooms::make(open(few_in.path())?, &few, FEW_ROOMS).await?;
    let took = rooms::make(open(data.path())?, &many, rooms).await?;
    // Includes the write-ahead log, which may not be checkpointed yet.
    let sizes = ["holdfast.db", "holdfast.db-wal"].map(|name| std::fs::metadata(data.path().join(name)));
    let disk = sizes.into_iter().flatten().map(|file| file.len()).sum();
    made(report, "SQLite", rooms, bare, took, disk)?;
    compare(args, report, "SQLite", [&few, &many], rooms).await
}

pub(super) async fn on_postgres(args: &Args, databases: &Databases, report: &mut Report) -> anyhow::Result<()> {
    let rooms = args.slots.div_ceil(SLOTS_PER_ROOM);
    let (few, many) = (databases.create("few").await?, databases.create("many").await?);
    let places = [["--database-url", &few.url], ["--database-url", &many.url]];
    rooms::make(open(&few).await?, &places[0], FEW_ROOMS).await?;
    // Opening the store creates the tables.
    let store = open(&many).await?;
    let bare = bare_postgres(&many, rooms).await?;
    let took = rooms::make(store, &places[1], rooms).await?;
    let size = "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'time_slots'::regclass";
    let disk: i64 = many.connect().await?.query_one(size, &[]).await?.get(0);
    made(report, "PostgreSQL", rooms, bare, took, disk as u64)?;
    compare(args, report, "PostgreSQL", [&places[0], &places[1]], rooms).await
}

async fn open(database: &Database) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(PostgresStore::open(PostgresOptions::new(&database.url)).await?))
}

fn made(
    report: &mut Report,
    name: &str,
    rooms: u64,
    bare: Duration,
    product: Duration,
    disk: u64,
) -> anyhow::Result<()> {
    let all = rooms * SLOTS_PER_ROOM;
    let per_second = |slots: u64, took: Duration| slots as f64 / took.as_secs_f64();
    let none = Histogram::new(3)?;
    report.add(&format!("{name}: bare bulk insert"), "slots", per_second(all, bare), &none, None);
    let against = Some(("bare", per_second(all, bare)));
    let line = report.add(&format!("{name}: {all} slots made"), "slots", per_second(all, product), &none, against);
    line.target = Some(0.5);
    println!("{name}: {all} slots take {} MiB on disk, {} bytes each", disk >> 20, disk / all);
    Ok(())
}

/// Measures reading and locking with few slots and with many. The first read of each day, before it is cached, has
/// lines of its own.
async fn compare(
    args: &Args,
    report: &mut Report,
    name: &str,
    [few, many]: [&[&str]; 2],
    rooms: u64,
) -> anyhow::Result<()> {
    // No further days are generated meanwhile.
    let days_ahead = DAYS_AHEAD.to_string();
    let start = |store: &[&str]| Server::holdfast_with(store, &[("HOLDFAST_CALENDAR_DAYS_AHEAD", &days_ahead)]);
    let servers = [start(few)?, start(many)?];
    let places = [FEW_ROOMS, rooms].map(|rooms| SlotRange { rooms, days: HOT_DAYS });
    let [few, many] = [FEW_ROOMS, rooms].map(|rooms| rooms * SLOTS_PER_ROOM);
    let none = Histogram::new(3)?;
    let label = format!("{name}: first availability of each day");
    let first_few = requests::read_each_day(servers[0].address, args.connections, places[0]).await?;
    let first_many = requests::read_each_day(servers[1].address, args.connections, places[1]).await?;
    report.add(&format!("{label}, {few} slots"), "req", first_few, &none, None);
    report.add(&format!("{label}, {many} slots"), "req", first_many, &none, Some(("few", first_few)));

    let label = format!("{name}: availability");
    let reads = alternate(args.time, async |which, time| {
        measure(&label, servers[which].address, args.connections, time, ReadAvailability::scattered_in(places[which]))
            .await
    });
    add_both(report, &label, [few, many], &reads.await?);
    let label = format!("{name}: lock, then release");
    let locks = alternate(args.time, async |which, time| {
        measure(&label, servers[which].address, args.connections, time, LockAndRelease::scattered_in(places[which]))
            .await
    });
    add_both(report, &label, [few, many], &locks.await?);
    Ok(())
}

fn add_both(report: &mut Report, label: &str, [few, many]: [u64; 2], [small, large]: &[Measured; 2]) {
    report.add(&format!("{label}, {few} slots"), "req", small.per_second, &small.latency, None);
    let against = Some(("few", small.per_second));
    let line = report.add(&format!("{label}, {many} slots"), "req", large.per_second, &large.latency, against);
    line.target = Some(0.8);
}

fn days() -> Vec<Date> {
    let from = today();
    (0..=i64::from(DAYS_AHEAD)).map(|days| from.saturating_add(jiff::Span::new().days(days))).collect()
}

/// One prepared statement, 100,000 rows per transaction.
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
