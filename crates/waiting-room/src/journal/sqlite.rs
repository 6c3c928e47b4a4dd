//! Journal of an embedded server: the file `queue.db` in the server's directory, beside the store's own. The store's
//! lock excludes a second server from the directory, and the file is locked while it is open.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use super::{Journal, Record, Row, damaged, row};
use crate::settings::EventId;
use crate::waiting_room::Error;

/// Name of the file inside the directory.
pub const FILE_NAME: &str = "queue.db";
/// "HldQ": marks the file as a waiting room's journal.
const APPLICATION_ID: i32 = 0x486c_6451;
const SCHEMA_VERSION: i32 = 1;
/// Time a new server waits for one that is about to stop.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

const SCHEMA: &str = "
CREATE TABLE queue_place (
    event_id   INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    user_id    TEXT    NOT NULL,
    joined_at  INTEGER NOT NULL,
    entry_id   BLOB,
    entered_at INTEGER,
    expires_at INTEGER,
    CONSTRAINT queue_place_pk PRIMARY KEY (event_id, number),
    CONSTRAINT queue_place_entry CHECK ((entry_id IS NULL) = (entered_at IS NULL) AND (entry_id IS NULL) = (expires_at IS NULL))
) STRICT, WITHOUT ROWID;
";

#[derive(Debug)]
pub struct SqliteJournal {
    path: PathBuf,
    durable: bool,
    connection: Option<Connection>,
    /// The disk reported an error. The state of the file is unknown then, and a repeated sync would report success
    /// wrongly.
    failed: bool,
}

impl SqliteJournal {
    /// Opens the file on the first load.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { path: directory.into().join(FILE_NAME), durable: true, connection: None, failed: false }
    }

    /// Does not sync. Only for tests that throw their files away.
    #[must_use]
    pub fn without_sync(mut self) -> Self {
        self.durable = false;
        self
    }

    fn open(&self) -> Result<Connection, Error> {
        if let Some(directory) = self.path.parent() {
            let failed = |error| Error::Unavailable(format!("{}: {error}", directory.display()));
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let connection = Connection::open(&self.path).map_err(|error| self.explain(&error))?;
        let set_up = || -> rusqlite::Result<(i32, i32)> {
            connection.busy_timeout(LOCK_TIMEOUT)?;
            // No other process reads this file: no shared memory is needed, and a second server is excluded.
            connection.pragma_update(None, "locking_mode", "exclusive")?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            // One sync per commit, which all waiting callers share.
            connection.pragma_update(None, "synchronous", if self.durable { "FULL" } else { "OFF" })?;
            connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
            let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
            Ok((number("application_id")?, number("user_version")?))
        };
        let (application, version) = set_up().map_err(|error| self.explain(&error))?;
        match (application, version) {
            (APPLICATION_ID, SCHEMA_VERSION) => {}
            (APPLICATION_ID, newer) if newer > SCHEMA_VERSION => {
                return Err(Error::Damaged(format!("{} was written by a newer Holdfast", self.path.display())));
            }
            (0, 0) => self.create(&connection)?,
            _ => return Err(Error::Damaged(format!("{} is not a waiting room's file", self.path.display()))),
        }
        Ok(connection)
    }

    fn create(&self, connection: &Connection) -> Result<(), Error> {
        let create = || -> rusqlite::Result<bool> {
            let any_table = "SELECT name FROM sqlite_schema LIMIT 1";
            if connection.query_row(any_table, [], |_| Ok(())).optional()?.is_some() {
                return Ok(false);
            }
            let transaction = connection.unchecked_transaction()?;
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            transaction.commit()?;
            Ok(true)
        };
        if create().map_err(|error| self.explain(&error))? {
            return Ok(());
        }
        Err(Error::Damaged(format!("{} is not a waiting room's file", self.path.display())))
    }

    fn explain(&self, error: &rusqlite::Error) -> Error {
        let message = format!("{}: {error}", self.path.display());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::InUse(message),
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Error::Damaged(message),
            _ => Error::Unavailable(message),
        }
    }
}

impl Journal for SqliteJournal {
    fn load(&mut self) -> Result<Vec<Row>, Error> {
        if self.failed {
            return Err(Error::Unavailable("the disk failed; repair it, then restart the server".into()));
        }
        self.connection = None;
        let connection = self.open()?;
        let rows = read(&connection).map_err(|error| self.explain(&error))?.into_iter().collect();
        self.connection = Some(connection);
        rows
    }

    fn append(&mut self, records: &[(EventId, Record)]) -> Result<(), Error> {
        let Some(connection) = &mut self.connection else { return Err(Error::Unavailable("not open".into())) };
        write(connection, records).map_err(|error| {
            self.failed |= error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
            match error {
                rusqlite::Error::StatementChangedRows(_) => damaged("a record does not match one row"),
                error => self.explain(&error),
            }
        })
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<Result<Row, Error>>> {
    let sql = "SELECT event_id, number, user_id, joined_at, entry_id, entered_at, expires_at
        FROM queue_place ORDER BY event_id, number";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |columns| {
        let entry = (columns.get(4)?, columns.get(5)?, columns.get(6)?);
        let user: String = columns.get(2)?;
        Ok(row(columns.get(0)?, columns.get(1)?, &user, columns.get(3)?, entry))
    })?;
    rows.collect()
}

fn write(connection: &mut Connection, records: &[(EventId, Record)]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for (event, record) in records {
        let event = event.0 as i64;
        let changed = match record {
            Record::Joined { number, user, at } => transaction
                .prepare_cached(
                    "INSERT INTO queue_place (event_id, number, user_id, joined_at) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![event, *number as i64, user.to_string(), at.as_millis()])?,
            Record::Entered { number, admission } => transaction
                .prepare_cached(
                    "UPDATE queue_place SET entry_id = ?3, entered_at = ?4, expires_at = ?5
                     WHERE event_id = ?1 AND number = ?2",
                )?
                .execute(params![
                    event,
                    *number as i64,
                    admission.id,
                    admission.entered_at.as_millis(),
                    admission.expires_at.as_millis()
                ])?,
            Record::Ended { number } => transaction
                .prepare_cached("DELETE FROM queue_place WHERE event_id = ?1 AND number = ?2")?
                .execute(params![event, *number as i64])?,
        };
        if changed != 1 {
            return Err(rusqlite::Error::StatementChangedRows(changed));
        }
    }
    transaction.commit()
}
