//! Journal of a single server in PostgreSQL. An advisory lock excludes a second server. It belongs to the connection
//! that writes, so only the lock's owner can write.

use std::time::Duration;

use holdfast_connect::TlsRoots;
use holdfast_connect::postgres::{Address, Connector};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config};

use super::{Journal, Record, Row, damaged, row};
use crate::settings::EventId;
use crate::waiting_room::Error;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Callers do not wait longer for an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(3);
const LOAD_TIMEOUT: Duration = Duration::from_mins(1);
/// The connection is lost if the peer does not acknowledge data for this long.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);
/// Attempts to take the lock of a server that is about to stop.
const LOCK_ATTEMPTS_MAX: usize = 50;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Set after connecting, because a pooler rejects start-up options. Rows are found by key; the planner's estimates for an
/// empty table would choose scans.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
    SET enable_mergejoin = off; SET jit = off; SET tcp_user_timeout = 8000; SET tcp_keepalives_idle = 5;
    SET idle_in_transaction_session_timeout = 5000";

/// Serializes set-up: IF NOT EXISTS is not safe against concurrent creation.
const LOCK: &str = "SELECT pg_try_advisory_lock(1215063110, 3)";

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS queue_place (
    event_id   bigint NOT NULL,
    number     bigint NOT NULL CONSTRAINT queue_place_number CHECK (number > 0),
    user_id    text NOT NULL,
    -- Milliseconds since 1970, as the room counts them.
    joined_at  bigint NOT NULL,
    entry_id   bytea,
    entered_at bigint,
    expires_at bigint,
    CONSTRAINT queue_place_pk PRIMARY KEY (event_id, number),
    CONSTRAINT queue_place_entry
        CHECK ((entry_id IS NULL) = (entered_at IS NULL) AND (entry_id IS NULL) = (expires_at IS NULL))
)";

const READ: &str = "SELECT event_id, number, user_id, joined_at, entry_id, entered_at, expires_at
    FROM queue_place ORDER BY event_id, number";

const JOINED: &str = "INSERT INTO queue_place (event_id, number, user_id, joined_at)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[])";
const ENTERED: &str =
    "UPDATE queue_place SET entry_id = new.entry_id, entered_at = new.entered_at, expires_at = new.expires_at
    FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
        AS new (event_id, number, entry_id, entered_at, expires_at)
    WHERE queue_place.event_id = new.event_id AND queue_place.number = new.number";
const ENDED: &str = "DELETE FROM queue_place USING unnest($1::bigint[], $2::bigint[]) AS old (event_id, number)
    WHERE queue_place.event_id = old.event_id AND queue_place.number = old.number";

pub struct PostgresJournal {
    /// Host and port, for error messages.
    place: String,
    config: Config,
    connector: Connector,
    /// Drives the connection while it is used, on the thread that uses it.
    runtime: Option<Runtime>,
    client: Option<Client>,
}

impl std::fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.debug_struct("PostgresJournal").finish_non_exhaustive()
    }
}

impl PostgresJournal {
    /// Connects on the first load, and creates the table if it is missing.
    pub fn new(url: &str, tls_roots: &TlsRoots) -> Result<Self, Error> {
        let address = Address::parse(url).map_err(|error| unavailable(&error))?;
        let place = address.host_and_port();
        let connector = Connector::new(&address, tls_roots);
        let mut config = address.config;
        config.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(TCP_USER_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("holdfast waiting room");
        }
        Ok(Self { place, config, connector, runtime: None, client: None })
    }

    /// Names the database in an error.
    fn located(&self, error: Error) -> Error {
        match error {
            Error::Unavailable(why) => Error::Unavailable(format!("PostgreSQL at {}: {why}", self.place)),
            other => other,
        }
    }
}

impl Journal for PostgresJournal {
    fn load(&mut self) -> Result<Vec<Row>, Error> {
        // Closing the old connection releases its lock.
        self.client = None;
        self.runtime = None;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Unavailable(error.to_string()))?;
        let loading = async { tokio::time::timeout(LOAD_TIMEOUT, load(&self.config, &self.connector)).await };
        let loaded = runtime.block_on(loading).unwrap_or_else(|_| Err(timed_out()));
        let (client, rows) = loaded.map_err(|error| self.located(error))?;
        (self.runtime, self.client) = (Some(runtime), Some(client));
        Ok(rows)
    }

    fn append(&mut self, records: &[(EventId, Record)]) -> Result<(), Error> {
        let (Some(runtime), Some(client)) = (&self.runtime, &mut self.client) else {
            return Err(self.located(Error::Unavailable("not connected".into())));
        };
        let writing = async { tokio::time::timeout(WRITE_TIMEOUT, write(client, records)).await };
        let written = runtime.block_on(writing).unwrap_or_else(|_| Err(timed_out()));
        written.map_err(|error| self.located(error))
    }
}

async fn load(config: &Config, connector: &Connector) -> Result<(Client, Vec<Row>), Error> {
    let (client, connection) = connector.connect(config).await.map_err(|error| unavailable(&error))?;
    tokio::spawn(connection);
    client.batch_execute(SETTINGS).await.map_err(|error| unavailable(&error))?;
    let mut attempts = 0;
    while !client.query_one(LOCK, &[]).await.map_err(|error| unavailable(&error))?.get::<_, bool>(0) {
        attempts += 1;
        if attempts == LOCK_ATTEMPTS_MAX {
            return Err(Error::InUse("to run several servers on one database set `server.redis_url`".into()));
        }
        tokio::time::sleep(LOCK_RETRY_DELAY).await;
    }
    client.batch_execute(SCHEMA).await.map_err(|error| unavailable(&error))?;
    let mut rows = Vec::new();
    for columns in client.query(READ, &[]).await.map_err(|error| unavailable(&error))? {
        let entry = (columns.get(4), columns.get(5), columns.get(6));
        rows.push(row(columns.get(0), columns.get(1), columns.get(2), columns.get(3), entry)?);
    }
    Ok((client, rows))
}

/// Writes grouped by kind of record. Numbers are not reused, so the records of one place always are insert, update,
/// delete in this order.
async fn write(client: &mut Client, records: &[(EventId, Record)]) -> Result<(), Error> {
    let mut joined = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut entered = std::collections::BTreeMap::new();
    let mut ended = (Vec::new(), Vec::new());
    for (event, record) in records {
        let event = event.0 as i64;
        match record {
            Record::Joined { number, user, at } => {
                joined.0.push(event);
                joined.1.push(*number as i64);
                joined.2.push(user.to_string());
                joined.3.push(at.as_millis());
            }
            // The last renewal wins.
            Record::Entered { number, admission } => drop(entered.insert((event, *number as i64), *admission)),
            Record::Ended { number } => {
                ended.0.push(event);
                ended.1.push(*number as i64);
            }
        }
    }
    let (events, numbers): (Vec<i64>, Vec<i64>) = entered.keys().copied().unzip();
    let ids: Vec<Vec<u8>> = entered.values().map(|admission| admission.id.to_vec()).collect();
    let entered_at: Vec<i64> = entered.values().map(|admission| admission.entered_at.as_millis()).collect();
    let expires_at: Vec<i64> = entered.values().map(|admission| admission.expires_at.as_millis()).collect();

    let transaction = client.transaction().await.map_err(|error| unavailable(&error))?;
    let mut expected = 0;
    let mut changed = 0;
    if !joined.0.is_empty() {
        expected += joined.0.len();
        changed += transaction
            .execute(JOINED, &[&joined.0, &joined.1, &joined.2, &joined.3])
            .await
            .map_err(|error| unavailable(&error))?;
    }
    if !events.is_empty() {
        expected += events.len();
        changed += transaction
            .execute(ENTERED, &[&events, &numbers, &ids, &entered_at, &expires_at])
            .await
            .map_err(|error| unavailable(&error))?;
    }
    if !ended.0.is_empty() {
        expected += ended.0.len();
        changed += transaction.execute(ENDED, &[&ended.0, &ended.1]).await.map_err(|error| unavailable(&error))?;
    }
    if changed != expected as u64 {
        return Err(damaged(format!("{expected} rows should have changed, {changed} did")));
    }
    transaction.commit().await.map_err(|error| unavailable(&error))
}

fn timed_out() -> Error {
    Error::Unavailable("no answer in time".into())
}

/// Converts an error, with its cause, to one line.
fn unavailable(error: &tokio_postgres::Error) -> Error {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    Error::Unavailable(format!("{error}{}", cause.unwrap_or_default()))
}
