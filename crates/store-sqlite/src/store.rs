//! Embedded store: batches through one writer, concurrent reads, garbage collection.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::hold::ENDED_HOLD_KEPT;
use holdfast_core::schema::{List, Listed};
use holdfast_core::table::TableSet;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::store::{Committed, Flush, Keep, LIST_TIMEOUT, OutboxRecord, PURGE_ROWS_MAX, Session, Tier};
use holdfast_engine::{Clock, Memory, OutboxEntry, Store, StoreError};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::OwnedMutexGuard;

use crate::checkpoint::Checkpointer;
use crate::log::Log;
use crate::open::{self, DirectoryLock, OpenError, OpenOptions, Step};
use crate::reserve::{self, Reserve};
use crate::{records, shared};

/// Maximum number of idle read connections.
const IDLE_READERS_MAX: usize = 8;
/// Time for which the store is unhealthy after a failed write, unless a later one succeeds.
const TROUBLE_LASTS: Duration = Duration::from_secs(5);
/// Maximum wait for the writer in a health check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Logged when a store is opened on a disk that is full.
const NO_RESERVE: &str = "the disk is full: free space on it; reads are answered, writes are refused until then";
/// Maximum number of attempts of a read that finds a batch in the file but not yet in memory.
const READ_ATTEMPTS_MAX: usize = 1_000;

/// Cheap to clone.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    options: OpenOptions,
    clock: Arc<dyn Clock>,
    /// Latest time returned: time never runs backwards, also if the clock does.
    latest: AtomicI64,
    /// Before the writer, which checkpoints the file if it is the last to close it.
    idle_readers: Mutex<Vec<Connection>>,
    checkpointer: Checkpointer,
    writer: Arc<tokio::sync::Mutex<Connection>>,
    memory: RwLock<Memory>,
    log: Log,
    /// The outcome of a commit is unknown: recover before the next batch.
    in_doubt: AtomicBool,
    /// Set between a commit and its application in memory. If it is set when the next batch begins, the application has
    /// failed.
    half_done: AtomicBool,
    /// When and why the last batch could not be written; `None` if it was.
    failed_to_write: Mutex<Option<(Instant, StoreError)>>,
    reserve: Reserve,
    crashed: AtomicBool,
    _lock: DirectoryLock,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

impl SqliteStore {
    pub fn open(options: OpenOptions, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let lock = open::lock_directory(&options)?;
        let reserve = open::open_reserve(&options)?;
        let writer = open::open_writer_with_reserve(&options, &reserve)?;
        if let Err(error) = reserve.fill() {
            tracing::error!(directory = %options.directory.display(), %error, "{NO_RESERVE}");
        }
        let damaged = |error: rusqlite::Error| OpenError::Damaged { path: options.file(), detail: error.to_string() };
        let now = clock.now().max(shared::last_commit_at(&writer).map_err(damaged)?);
        let memory = rebuild(&writer, now).map_err(damaged)?;
        let log = Log::open(&options, memory.commits)?;
        let checkpointer = Checkpointer::start(&options)?;
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                clock,
                latest: AtomicI64::new(now.as_millis()),
                writer: Arc::new(tokio::sync::Mutex::new(writer)),
                idle_readers: Mutex::default(),
                checkpointer,
                memory: RwLock::new(memory),
                log,
                in_doubt: AtomicBool::new(false),
                half_done: AtomicBool::new(false),
                failed_to_write: Mutex::default(),
                reserve,
                crashed: AtomicBool::new(false),
                _lock: lock,
            }),
        })
    }

    /// Runs `SQLite`'s check of the whole file; slow for large ones.
    pub fn check_file(&self) -> Result<(), OpenError> {
        let connection = open::open_reader(&self.shared.options)?;
        open::check_structure(&connection, &self.shared.options.file(), "PRAGMA integrity_check(1)")
    }

    pub fn path(&self) -> &Path {
        &self.shared.options.directory
    }

    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// Runs a possibly long query on a blocking thread.
    async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        // The query may outlive its caller. Then it must not keep the store from being closed.
        let (idle, options) = (self.shared.idle_reader(), self.shared.options.clone());
        let running = tokio::task::spawn_blocking(move || {
            let reader = reader(idle, &options)?;
            let answer = query(&reader).map_err(explain)?;
            let commits = shared::commits(&reader).map_err(explain)?;
            Ok((answer, commits, reader))
        });
        let in_time = tokio::time::timeout(LIST_TIMEOUT, async {
            let ended = running.await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
            let (answer, commits, reader) = ended?;
            self.shared.keep_reader(reader);
            self.shared.log.wait_until_durable(commits).await?;
            Ok(answer)
        });
        in_time.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the query took too long".into())))
    }
}

impl Shared {
    fn now(&self) -> Timestamp {
        let now = self.clock.now().as_millis();
        Timestamp::from_millis(self.latest.fetch_max(now, Ordering::AcqRel).max(now))
    }

    fn step(&self, step: Step) -> Result<(), StoreError> {
        if let Some(crash_at) = &self.options.crash_at
            && (self.crashed.load(Ordering::Acquire) || crash_at(step))
        {
            self.crashed.store(true, Ordering::Release);
            return Err(StoreError::Unavailable(format!("crashed when {step:?}")));
        }
        Ok(())
    }

    fn failed_to_write(&self) -> MutexGuard<'_, Option<(Instant, StoreError)>> {
        self.failed_to_write.lock()
    }

    /// An error while the reserve is not whole: a write would use space that the next start needs.
    fn check_reserve(&self) -> Result<(), StoreError> {
        self.reserve.fill().map_err(|error| {
            let unkept = || StoreError::Unavailable(format!("the reserve cannot be kept: {error}"));
            if reserve::is_full(&error) { self.disk_full() } else { unkept() }
        })
    }

    fn disk_full(&self) -> StoreError {
        let directory = self.options.directory.display();
        StoreError::Unavailable(format!("the disk is full: free space on the disk of {directory}"))
    }

    /// Why something could not be written.
    fn explain_write(&self, error: rusqlite::Error) -> StoreError {
        if open::is_full(&error) { self.disk_full() } else { explain(error) }
    }

    fn memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read()
    }

    /// Waits until this commit is durable, and with it all earlier ones.
    fn flush(self: Arc<Self>, commit: u64) -> Flush {
        Box::new(move || self.log.flush_up_to(commit, || self.memory().commits))
    }

    /// Runs a query on a connection of its own.
    fn with_reader<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let reader = reader(self.idle_reader(), &self.options)?;
        let answer = query(&reader).map_err(explain)?;
        self.keep_reader(reader);
        Ok(answer)
    }

    fn idle_reader(&self) -> Option<Connection> {
        self.idle_readers.lock().pop()
    }

    fn keep_reader(&self, reader: Connection) {
        let mut idle = self.idle_readers.lock();
        if idle.len() < IDLE_READERS_MAX {
            idle.push(reader);
        }
    }

    /// Fills requested rows from in-memory state and file as of one commit, and returns that commit.
    fn read(&self, rows: &mut WorkingSet) -> Result<u64, StoreError> {
        for _ in 0..READ_ATTEMPTS_MAX {
            let commits = {
                let memory = self.memory();
                if rows.is_covered_by(&memory.rows) {
                    rows.fill_from(&memory.rows);
                    return Ok(memory.commits);
                }
                memory.commits
            };
            let done = self.with_reader(|reader| {
                let snapshot = reader.unchecked_transaction()?;
                // A batch was committed but not applied in memory, or has been committed since; retry after
                // microseconds.
                if shared::commits(&snapshot)? != commits {
                    return Ok(false);
                }
                let mut ahead = {
                    let memory = self.memory();
                    if memory.commits != commits {
                        return Ok(false);
                    }
                    rows.fill_from(&memory.rows);
                    memory.prefetch(rows)
                };
                let mut read = rows.copy_requests();
                load(&snapshot, &mut read)?;
                rows.copy_known(&read);
                load(&snapshot, &mut ahead)?;
                self.cache_read(&[&read, &ahead], commits);
                Ok(true)
            })?;
            if done {
                return Ok(commits);
            }
            std::thread::yield_now();
        }
        Err(StoreError::Unavailable("the last commit is still in doubt".into()))
    }

    /// Caches rows read from the file, unless a commit happened since.
    fn cache_read(&self, read: &[&WorkingSet], commits: u64) {
        let mut memory = self.memory.write();
        if memory.commits == commits {
            for rows in read {
                memory.cache_read(rows);
            }
        }
    }

    /// Recovers from a commit of unknown outcome. The file is authoritative.
    fn resolve_doubt(&self, writer: &mut Connection) -> Result<(), StoreError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        // After a failed sync, reopening would wrongly report lost commits as durable.
        self.log.check()?;
        let failed = |error: OpenError| StoreError::Unavailable(error.to_string());
        *writer = open::open_writer(&self.options).map_err(failed)?;
        let rebuilt = rebuild(writer, self.now()).map_err(explain)?;
        self.log.reopen(&self.options, rebuilt.commits).map_err(failed)?;
        *self.memory.write() = rebuilt;
        self.in_doubt.store(false, Ordering::Release);
        tracing::warn!("in-memory state was rebuilt after a commit of unknown outcome");
        Ok(())
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn begin(&self, _tier: Tier) -> Result<Box<dyn Session>, StoreError> {
        let mut writer = self.shared.writer.clone().lock_owned().await;
        self.shared.step(Step::Begun)?;
        self.shared.log.check()?;
        if self.shared.half_done.swap(false, Ordering::AcqRel) {
            self.shared.in_doubt.store(true, Ordering::Release);
        }
        self.shared.resolve_doubt(&mut writer)?;
        Ok(Box::new(Batch { shared: self.shared.clone(), writer }))
    }

    async fn read(&self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        if self.shared.in_doubt.load(Ordering::Acquire) {
            let (shared, mut writer) = (self.shared.clone(), self.shared.writer.clone().lock_owned().await);
            // Takes seconds with millions of holds.
            let resolving = tokio::task::spawn_blocking(move || shared.resolve_doubt(&mut writer));
            resolving.await.map_err(|error| StoreError::Unavailable(error.to_string()))??;
        }
        let now = self.shared.now();
        let commits = self.shared.read(rows)?;
        self.shared.log.wait_until_durable(commits).await?;
        Ok(now)
    }

    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError> {
        self.query(move |reader| records::list(reader, &list)).await
    }

    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.query(move |reader| shared::outbox_after(reader, id, limit)).await
    }

    async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.query(move |reader| shared::outbox_before(reader, id, limit)).await
    }

    async fn outbox_last(&self) -> Result<u64, StoreError> {
        self.shared.with_reader(shared::outbox_last)
    }

    async fn installation(&self) -> Result<String, StoreError> {
        self.shared.with_reader(shared::installation)
    }

    async fn purge(&self, keep: Keep) -> Result<bool, StoreError> {
        self.shared.check_reserve()?;
        let now = self.shared.now();
        let ended_before = now - ENDED_HOLD_KEPT;
        let mut writer = self.shared.writer.clone().lock_owned().await;
        // The cache may still have deleted rows, which is harmless.
        let deleted = tokio::task::spawn_blocking(move || {
            let transaction = writer.transaction()?;
            let deleted = records::purge_holds(&transaction, ended_before, PURGE_ROWS_MAX)?
                + records::purge(&transaction, |retention| now - keep.span(retention), PURGE_ROWS_MAX)?
                + shared::purge(&transaction, now, keep, PURGE_ROWS_MAX)?;
            transaction.commit()?;
            Ok(deleted)
        });
        let deleted = deleted.await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(deleted.map_err(|error| self.shared.explain_write(error))? >= PURGE_ROWS_MAX)
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.shared.log.check()?;
        self.shared.check_reserve()?;
        let failed = self.shared.failed_to_write().clone();
        if let Some((failed_at, error)) = failed {
            // A small write may succeed where a batch would not fit, so the failure is reported for a minimum time.
            if failed_at.elapsed() < TROUBLE_LASTS {
                return Err(error);
            }
            let busy = |_| StoreError::Unavailable("the store is busy".into());
            let writer = self.shared.writer.clone().lock_owned();
            let writer = tokio::time::timeout(CHECK_TIMEOUT, writer).await.map_err(busy)?;
            let shared = self.shared.clone();
            let writing = tokio::task::spawn_blocking(move || {
                shared::write_time(&writer, shared.now()).map_err(|error| shared.explain_write(error))?;
                shared.failed_to_write().take();
                Ok(())
            });
            writing.await.map_err(|error| StoreError::Unavailable(error.to_string()))??;
        }
        self.query(shared::commits).await.map(|_| ())
    }

    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        self.shared.with_reader(|reader| {
            let snapshot = reader.unchecked_transaction()?;
            records::audit(&snapshot, audit)
        })
    }
}

/// Batch. It blocks only the engine's own thread.
struct Batch {
    shared: Arc<Shared>,
    writer: OwnedMutexGuard<Connection>,
}

#[async_trait]
impl Session for Batch {
    async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.shared.step(Step::Loaded)?;
        rows.fill_from(&self.shared.memory().rows);
        if !rows.is_loaded() {
            // One transaction for all rows: starting one costs more than finding a row.
            let snapshot = self.writer.unchecked_transaction().map_err(explain)?;
            load(&snapshot, rows).map_err(explain)?;
        }
        Ok(self.shared.now())
    }

    async fn commit(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError> {
        let committed = self.write(rows, outbox);
        // One that broke a rule says nothing about the disk.
        *self.shared.failed_to_write() = match &committed {
            Err(error @ (StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_))) => {
                Some((Instant::now(), error.clone()))
            }
            _ => None,
        };
        committed
    }

    fn flush(&self) -> Flush {
        let commits = self.shared.memory().commits;
        self.shared.clone().flush(commits)
    }
}

impl Batch {
    fn write(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError> {
        let shared = &self.shared;
        shared.check_reserve()?;
        let failed = |error| shared.explain_write(error);
        let transaction = self.writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let outbox_ids = write(&transaction, rows, outbox, shared.now()).map_err(failed)?;
        shared.step(Step::Written)?;
        shared.half_done.store(true, Ordering::Release);
        if let Err(error) = transaction.commit() {
            // The frame that ends the transaction is the last one, and no frame follows one that did not fit.
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) {
                shared.half_done.store(false, Ordering::Release);
                return Err(failed(error));
            }
            shared.in_doubt.store(true, Ordering::Release);
            return Err(StoreError::OutcomeUnknown(error.to_string()));
        }
        shared.step(Step::Committed)?;
        let commits = {
            let mut memory = shared.memory.write();
            memory.apply(rows, shared.now());
            memory.commits
        };
        shared.half_done.store(false, Ordering::Release);
        shared.step(Step::Applied)?;
        shared.checkpointer.after_commit(&self.writer);
        Ok(Committed { outbox_ids, flush: shared.clone().flush(commits) })
    }
}

/// Returns an idle read connection, or else a new one.
fn reader(idle: Option<Connection>, options: &OpenOptions) -> Result<Connection, StoreError> {
    let open = || open::open_reader(options).map_err(|error| StoreError::Unavailable(error.to_string()));
    idle.map_or_else(open, Ok)
}

/// Rebuilds in-memory state from the file.
fn rebuild(connection: &Connection, now: Timestamp) -> rusqlite::Result<Memory> {
    let mut memory = Memory::new(shared::commits(connection)?, now);
    records::index_holds(connection, &mut memory, now)?;
    Ok(memory)
}

fn load(connection: &Connection, rows: &mut WorkingSet) -> rusqlite::Result<()> {
    shared::load(connection, rows)?;
    records::load(connection, rows)
}

fn write(
    connection: &Connection,
    rows: &WorkingSet,
    outbox: &[OutboxEntry],
    now: Timestamp,
) -> rusqlite::Result<Vec<u64>> {
    shared::write(connection, rows)?;
    records::write(connection, rows)?;
    shared::count_commit(connection, now)?;
    shared::append_outbox(connection, outbox)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn explain(error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => StoreError::Damaged(error.to_string()),
        Some(ConstraintViolation) => StoreError::Broken(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}
