//! Opening a store's directory: exclusive lock, file identity and version, durability settings.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, ffi};

use crate::reserve::{self, Reserve};

/// Name of the database inside the store's directory.
pub const FILE_NAME: &str = "holdfast.db";
const LOCK_NAME: &str = "holdfast.lock";

/// "HldF": marks the file as a Holdfast store.
const APPLICATION_ID: i32 = 0x486c_6446;

/// Each migrates the schema by one version. Never edited once released, only appended to.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_baseline.sql")];

/// Maximum size of files whose structure is checked at every start; larger ones are checked by `holdfast verify`.
const CHECKED_AT_START_BYTES_MAX: u64 = 256 << 20;

const WRITER_CACHE_KIB: i32 = -16_384;
const READER_CACHE_KIB: i32 = -4_096;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot use the directory {path}: {source}")]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("the store {0} is in use by another process; stop that one first or choose another directory")]
    InUse(PathBuf),
    #[error("there is no store in {0}; check the path, or start a server with it to create one")]
    NoStore(PathBuf),
    #[error("{0} is not a Holdfast store")]
    NotAStore(PathBuf),
    #[error("{path} was written by a newer Holdfast (schema {found}, this one knows up to {known}); use that version")]
    Newer { path: PathBuf, found: usize, known: usize },
    #[error("{path} is damaged: {detail}; restore it from a backup")]
    Damaged { path: PathBuf, detail: String },
    #[error("the disk is full: free space on the disk of {0}, then start again")]
    DiskFull(PathBuf),
    #[error("cannot open {path}: {source}")]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

#[derive(Clone)]
pub struct OpenOptions {
    pub directory: PathBuf,
    /// Creates the directory and the file if missing.
    pub create: bool,
    /// Syncs every commit. May be false only for tests that throw their store away.
    pub durable: bool,
    /// Called at each step of a batch; the store stops for good where it returns true. For simulated crashes.
    pub crash_at: Option<CrashHook>,
}

/// Returns whether to simulate a crash at this step.
pub type CrashHook = Arc<dyn Fn(Step) -> bool + Send + Sync>;

/// Step of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Begun,
    Loaded,
    /// All rows are written, the transaction is still open.
    Written,
    /// The transaction is in the log, not yet answered.
    Committed,
    /// The commit is applied to in-memory state.
    Applied,
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl OpenOptions {
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), create: true, durable: true, crash_at: None }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join(FILE_NAME)
    }
}

/// Excludes other processes until dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    /// Closing the file is not enough: a process that is being spawned shares its descriptors until it executes its
    /// program.
    fn drop(&mut self) {
        self.file.unlock().ok();
    }
}

pub(crate) fn lock_directory(options: &OpenOptions) -> Result<DirectoryLock, OpenError> {
    let path = &options.directory;
    let failed = |source| OpenError::Directory { path: path.clone(), source };
    if options.create {
        std::fs::create_dir_all(path).map_err(failed)?;
    } else if !options.file().is_file() {
        return Err(OpenError::NoStore(path.clone()));
    }
    let lock_path = path.join(LOCK_NAME);
    let file = File::options().create(true).truncate(false).write(true).open(lock_path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(DirectoryLock { file }),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.clone())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// The reserve of the store. One whose files need not outlive anything has none.
pub(crate) fn open_reserve(options: &OpenOptions) -> Result<Reserve, OpenError> {
    if !options.durable {
        return Ok(Reserve::none());
    }
    let path = options.directory.clone();
    Reserve::open(&options.directory, options.create).map_err(|source| {
        if reserve::is_full(&source) { OpenError::DiskFull(path) } else { OpenError::Directory { path, source } }
    })
}

/// The writer of a store that is being opened. On a full disk it uses as much of the reserve as it needs.
pub(crate) fn open_writer_with_reserve(options: &OpenOptions, reserve: &Reserve) -> Result<Connection, OpenError> {
    let failed = |source| OpenError::Directory { path: options.directory.clone(), source };
    loop {
        match open_writer(options) {
            Err(OpenError::DiskFull(_)) if reserve.release().map_err(failed)? => {}
            opened => return opened,
        }
    }
}

/// The writer: checks what it finds and brings it to the present schema.
pub(crate) fn open_writer(options: &OpenOptions) -> Result<Connection, OpenError> {
    let path = options.file();
    let size = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let failed = |source| explain(&path, source);
    let mut connection =
        connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE, WRITER_CACHE_KIB)?;
    check_identity(&connection, &path, size)?;
    if size > 0 && size <= CHECKED_AT_START_BYTES_MAX {
        check_structure(&connection, &path, "PRAGMA quick_check(1)")?;
    }
    connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    // NORMAL keeps the file consistent; `Log` makes commits durable, many per sync.
    connection.pragma_update(None, "synchronous", if options.durable { "NORMAL" } else { "OFF" }).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    // With durability, the log is checkpointed on another thread: see `checkpoint`.
    connection.pragma_update(None, "wal_autocheckpoint", if options.durable { 0 } else { 4_000 }).map_err(failed)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20).map_err(failed)?;
    migrate(&mut connection).map_err(failed)?;
    Ok(connection)
}

/// Opens the connection that checkpoints.
pub(crate) fn open_checkpointer(options: &OpenOptions) -> Result<Connection, OpenError> {
    let path = options.file();
    let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, READER_CACHE_KIB)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(|source| explain(&path, source))?;
    Ok(connection)
}

/// Opens a read connection.
pub(crate) fn open_reader(options: &OpenOptions) -> Result<Connection, OpenError> {
    connect(&options.file(), OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)
}

/// Runs one of `SQLite`'s own checks; its first finding is an error.
pub(crate) fn check_structure(connection: &Connection, path: &Path, pragma: &str) -> Result<(), OpenError> {
    let verdict: String = connection.query_row(pragma, [], |row| row.get(0)).map_err(|e| explain(path, e))?;
    if verdict == "ok" { Ok(()) } else { Err(OpenError::Damaged { path: path.into(), detail: verdict }) }
}

/// `cache_kib` is negative, as `SQLite` requires.
fn connect(path: &Path, flags: OpenFlags, cache_kib: i32) -> Result<Connection, OpenError> {
    let failed = |source| explain(path, source);
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(256);
    connection.busy_timeout(std::time::Duration::from_secs(2)).map_err(failed)?;
    connection.pragma_update(None, "cache_size", cache_kib).map_err(failed)?;
    Ok(connection)
}

fn check_identity(connection: &Connection, path: &Path, size: u64) -> Result<(), OpenError> {
    if size == 0 {
        return Ok(());
    }
    let number = |pragma: &str| -> Result<i32, OpenError> {
        connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(|source| explain(path, source))
    };
    let version = usize::try_from(number("user_version")?).unwrap_or(usize::MAX);
    // A file that was created but not migrated before a power failure has neither.
    if number("application_id")? != APPLICATION_ID && (version > 0 || number("schema_version")? > 0) {
        return Err(OpenError::NotAStore(path.into()));
    }
    if version > MIGRATIONS.len() {
        return Err(OpenError::Newer { path: path.into(), found: version, known: MIGRATIONS.len() });
    }
    Ok(())
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let version: usize = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (index, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", index + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

fn explain(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_path_buf();
    if is_full(&source) {
        return OpenError::DiskFull(path);
    }
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::NotAStore(path),
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => OpenError::Damaged { path, detail: source.to_string() },
        _ => OpenError::Sqlite { path, source },
    }
}

/// Whether an error says that no space is left on the disk.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_FULL | ffi::SQLITE_IOERR_SHMSIZE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_releases_lock_despite_shared_file() {
        let directory = tempfile::tempdir().unwrap();
        let options = OpenOptions::new(directory.path());
        let lock = lock_directory(&options).unwrap();
        // Stands for a process that is being spawned.
        let copy = lock.file.try_clone().unwrap();
        assert!(matches!(lock_directory(&options), Err(OpenError::InUse(_))));
        drop(lock);
        lock_directory(&options).unwrap();
        drop(copy);
    }
}
