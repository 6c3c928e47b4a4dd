//! Opening a database: identity, schema version, and exclusion of servers of the other kind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_connect::TlsRoots;
use holdfast_connect::postgres::Address;
use holdfast_engine::{Clock, StoreError};
use tokio_postgres::Client;

use crate::codec::get;
use crate::connection::{Connection, ConnectionFactory, Purpose};
use crate::error::{explain, sentence};
use crate::pipeline::Transaction;

mod embedded {
    refinery::embed_migrations!("migrations");
}

/// A table name of its own, so that a database migrated by another program is not taken for a store.
const HISTORY: &str = "holdfast_schema_history";

/// "HldF": class of the store's advisory locks. The second key names the locked resource.
const LOCK_CLASS: i32 = 0x486c_6446;
/// Held by every connection that writes: exclusively by a server that owns the database, shared by servers that share
/// it.
const SERVER_LOCK: i32 = 1;
const MIGRATION_LOCK: i32 = 2;

/// Time a new server waits for one that is about to stop.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("not the address of a PostgreSQL database: {0}")]
    BadUrl(String),
    #[error("cannot use the database: {0}")]
    Unavailable(String),
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    #[error("another server already uses this database; to run several servers on one database set `server.redis_url`")]
    InUse,
    #[error("servers with `server.redis_url` use this database; set it here too, or stop them first")]
    InUseByCluster,
    #[error("a server without `server.redis_url` uses this database; set it there too, or stop that one first")]
    InUseAlone,
    #[error(
        "PgBouncer, or another pooler between this server and the database, uses transaction pooling; locks and prepared \
         statements need a session: set `pool_mode = session` for this database in PgBouncer, or give the address of \
         PostgreSQL itself"
    )]
    TransactionPooling,
    #[error("the database is not empty and not a Holdfast store; choose an empty one")]
    NotAStore,
    #[error(
        "the database was written by a newer Holdfast (schema {found}, this one knows up to {known}); use that version"
    )]
    Newer { found: i32, known: i32 },
    #[error("the schema could not be brought up to date: {0}")]
    Migration(String),
    #[error("{0}")]
    Damaged(String),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::Unavailable(why),
            StoreError::Damaged(_) => Self::Damaged(error.to_string()),
            StoreError::Conflict | StoreError::Broken(_) | StoreError::OutcomeUnknown(_) => {
                Self::Unavailable(error.to_string())
            }
        }
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Damaged(_) => Self::Damaged(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`. Connections are encrypted if it says `sslmode=require`, `verify-full` or
    /// `verify-ca`. A pooler must be in session mode: locks and prepared statements belong to one session.
    pub url: String,
    /// Certificate authorities for the database's certificate.
    pub tls_roots: TlsRoots,
    /// Replaces the database's time; for tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// Maximum number of connections for reads by key, beside those of batches and lists.
    pub readers_max: usize,
}

impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.debug_struct("PostgresOptions").field("readers_max", &self.readers_max).finish_non_exhaustive()
    }
}

impl PostgresOptions {
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), tls_roots: TlsRoots::default(), clock: None, readers_max: 8 }
    }

    pub(crate) fn connection_factory(&self) -> Result<ConnectionFactory, OpenError> {
        let address = Address::parse(&self.url).map_err(|error| OpenError::BadUrl(sentence(&error)))?;
        ConnectionFactory::new(address, &self.tls_roots).map_err(OpenError::Thread)
    }
}

/// Migrates the schema to the current version. Servers that start together serialize on a lock.
pub(crate) async fn migrate(connector: &ConnectionFactory) -> Result<(), OpenError> {
    if !connector.has_sessions().await? {
        return Err(OpenError::TransactionPooling);
    }
    let mut connection = connector.connect(Purpose::Migrations, &[]).await?;
    let client = connection.client_mut();
    let failed = |error: tokio_postgres::Error| OpenError::from(explain(&error));
    client.execute("SELECT pg_advisory_lock($1, $2)", &[&LOCK_CLASS, &MIGRATION_LOCK]).await.map_err(failed)?;
    check_identity(client).await?;
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(HISTORY);
    // The lock ends with the connection.
    runner.run_async(client).await.map_err(|error| OpenError::Migration(sentence(&error)))?;
    Ok(())
}

async fn check_identity(client: &Client) -> Result<(), OpenError> {
    let failed = |error: tokio_postgres::Error| OpenError::from(explain(&error));
    let history = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&HISTORY]).await.map_err(failed)?;
    if !history.get::<_, bool>(0) {
        // Tables of extensions do not count.
        let others = "SELECT EXISTS (SELECT FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
            AND NOT EXISTS (SELECT FROM pg_depend
                WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'))";
        let others = client.query_one(others, &[]).await.map_err(failed)?;
        return if others.get(0) { Err(OpenError::NotAStore) } else { Ok(()) };
    }
    let newest = format!("SELECT COALESCE(max(version), 0) FROM {HISTORY}");
    let found: i32 = client.query_one(&newest, &[]).await.map_err(failed)?.get(0);
    let runner = embedded::migrations::runner();
    let known = runner.get_migrations().iter().map(refinery::Migration::version).max().unwrap_or_default();
    if found > known { Err(OpenError::Newer { found, known }) } else { Ok(()) }
}

/// Exclusive or shared use of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenancy {
    Alone,
    Shared,
}

/// Backend process of a connection, to recognise it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    pid: i32,
    /// In the database's text form. Process ids are reused.
    since: String,
}

const BACKEND: &str = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
const LOCK_ALONE: &str = "SELECT pg_try_advisory_lock($1, $2)";
const LOCK_SHARED: &str = "SELECT pg_try_advisory_lock_shared($1, $2)";
const LOCK_MODES: &str = "SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = $1::int::oid AND objid = $2::int::oid AND pid <> pg_backend_pid()";
/// Only while it has the lock: behind a pooler the session of a lost connection soon serves another one.
const END_BACKEND: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE pid = $1 AND backend_start::text = $2 AND pid IN (
        SELECT pid FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND classid = $3::int::oid AND objid = $4::int::oid)";

/// Counted so that a later exclusive server does not trust in-memory state from before.
const COUNT_CONNECTION: &str = "UPDATE commits SET count = count + 1 WHERE only_row";

pub(crate) const JOINS: &[&str] = &[COUNT_CONNECTION];

/// Registers a connection as one of those that share the database.
pub(crate) async fn join(connection: &Connection) -> Result<(), OpenError> {
    lock(connection, Tenancy::Shared, None).await?;
    let mut transaction = Transaction::begin(connection);
    transaction.pipeline().send(COUNT_CONNECTION, Vec::new());
    transaction.commit(LOCK_TIMEOUT).await.map_err(StoreError::from)?;
    Ok(())
}

/// Takes the database's lock for the life of this connection. `previous` is an abandoned connection of this server: the
/// database may not have noticed, so it is terminated.
pub(crate) async fn lock(
    connection: &Connection,
    tenancy: Tenancy,
    previous: Option<&Backend>,
) -> Result<Backend, OpenError> {
    let client = connection.client();
    let failed = |error: tokio_postgres::Error| OpenError::from(explain(&error));
    if let Some(Backend { pid, since }) = previous {
        client.execute(END_BACKEND, &[pid, since, &LOCK_CLASS, &SERVER_LOCK]).await.map_err(failed)?;
    }
    let (sql, began) = (if tenancy == Tenancy::Alone { LOCK_ALONE } else { LOCK_SHARED }, Instant::now());
    while !client.query_one(sql, &[&LOCK_CLASS, &SERVER_LOCK]).await.map_err(failed)?.get::<_, bool>(0) {
        if began.elapsed() > LOCK_TIMEOUT {
            let modes = client.query(LOCK_MODES, &[&LOCK_CLASS, &SERVER_LOCK]).await.map_err(failed)?;
            let is_shared = modes.iter().any(|row| row.get::<_, &str>(0) == "ShareLock");
            return Err(match (tenancy, is_shared) {
                (Tenancy::Alone, true) => OpenError::InUseByCluster,
                (Tenancy::Alone, false) => OpenError::InUse,
                (Tenancy::Shared, _) => OpenError::InUseAlone,
            });
        }
        tokio::time::sleep(LOCK_AGAIN_AFTER).await;
    }
    let row = client.query_one(BACKEND, &[]).await.map_err(failed)?;
    Ok(Backend { pid: get(&row, 0)?, since: get(&row, 1)? })
}
