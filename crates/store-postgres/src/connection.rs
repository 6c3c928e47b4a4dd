//! Connections: creation, session settings, and the thread that drives them.
//!
//! Every wait is bounded, also when the database hangs or the network drops packets. Statements are prepared once per
//! connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use holdfast_connect::TlsRoots;
use holdfast_connect::postgres::{Address, Connector};
use holdfast_engine::{StoreError, panics};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_postgres::{Client, Config, SimpleQueryMessage, Statement};

use crate::error::sentence;

/// A reachable database accepts a connection in milliseconds; an unreachable one must not keep callers waiting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// While the store is being opened no caller waits, and a busy database may take longer.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay after a failed attempt: without it, each queued caller would wait for an attempt of its own.
const CONNECT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// A dead idle connection is detected after these keepalives, 8 s in all. A connection with unacknowledged data is
/// detected by `tcp_user_timeout`.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
const KEEPALIVE_RETRIES: u32 = 3;
/// Maximum time that sent data may remain unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);

/// Set on every connection, right after it was made: a pooler refuses them as start-up options. The database must notice that a server is gone, or its locks would outlive it.
const COMMON: &[(&str, &str)] = &[
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "1"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "8000"),
    // A transaction is sent as a whole; an idle one has lost its client.
    ("idle_in_transaction_session_timeout", "5000"),
];

/// Session settings for batches and reads by key.
const BY_KEY: &[(&str, &str)] = &[
    ("default_transaction_isolation", "read committed"),
    // Every statement finds its rows by key. The planner does not know: it guesses from statistics that are not there
    // yet on a new table, and from the size of a batch that it has not seen. One plan per statement, always by index.
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    // JIT compilation takes longer than any of these statements.
    ("jit", "off"),
    // A commit as a whole times out after `COMMIT_TIMEOUT`; a single statement must stay well below.
    ("statement_timeout", "2000"),
    // Shorter than the statement timeout, so that a wait for another server ends as a conflict.
    ("lock_timeout", "1000"),
    // A server that is paused within a transaction keeps its locks until then, and leases are taken over within 3 s.
    ("idle_in_transaction_session_timeout", "1500"),
];

/// Session settings for lists and audits, where the planner's statistics help.
const LISTS: &[(&str, &str)] = &[("statement_timeout", "4000")];

/// Session settings for migrations, which may be slow but are bounded.
const MIGRATIONS: &[(&str, &str)] = &[("statement_timeout", "600000"), ("lock_timeout", "60000")];

/// Default of every connection: only an explicit write transaction can write. Set after the start, since
/// `target_session_attrs` in an address checks it there.
const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// Use of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    ByKey,
    Lists,
    Migrations,
}

/// Connection with its prepared statements.
pub(crate) struct Connection {
    client: Client,
    place: Arc<str>,
    statements: HashMap<&'static str, Statement>,
    round_trips: Arc<AtomicU64>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Host and port, for error messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(crate) fn statement(&self, sql: &'static str) -> &Statement {
        self.statements.get(sql).unwrap_or_else(|| panic!("not prepared on this connection: {sql}"))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn count_round_trip(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }
}

/// Factory of connections.
pub(crate) struct ConnectionFactory {
    place: Arc<str>,
    config: Config,
    connector: Connector,
    driver: Driver,
    round_trips: Arc<AtomicU64>,
    /// Whether callers may be waiting.
    is_open: AtomicBool,
    /// Time and reason of the last failed attempt.
    failed: Mutex<Option<(Instant, String)>>,
}

impl ConnectionFactory {
    pub(crate) fn new(mut address: Address, tls_roots: &TlsRoots) -> std::io::Result<Self> {
        let connector = Connector::new(&address, tls_roots);
        let place = address.host_and_port().into();
        let config = &mut address.config;
        config
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(TCP_USER_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("holdfast");
        }
        let (config, driver) = (address.config, Driver::start()?);
        let is_open = AtomicBool::new(false);
        Ok(Self { place, config, connector, driver, round_trips: Arc::default(), is_open, failed: Mutex::default() })
    }

    /// Marks the store as open: callers wait from now on.
    pub(crate) fn opened(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Returns the timeout of an attempt.
    pub(crate) fn connects_within(&self) -> Duration {
        if self.is_open.load(Ordering::Relaxed) { CONNECT_TIMEOUT } else { OPEN_TIMEOUT }
    }

    /// Round trips of batches and reads by key.
    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// Runtime for work that outlives its caller.
    pub(crate) fn driver(&self) -> &Handle {
        &self.driver.handle
    }

    /// Connects and prepares statements, unless an attempt has just failed.
    pub(crate) async fn connect(
        &self,
        purpose: Purpose,
        statements: &[&'static str],
    ) -> Result<Connection, StoreError> {
        if let Some((at, why)) = &*self.failed.lock()
            && at.elapsed() < CONNECT_AGAIN_AFTER
        {
            return Err(StoreError::Unavailable(why.clone()));
        }
        let limit = self.connects_within();
        let connected = tokio::time::timeout(limit, self.try_connect(purpose, statements)).await;
        let connected = connected.unwrap_or_else(|_| Err(self.not_connected_within(limit)));
        let failed = connected.as_ref().err().map(|error| match error {
            StoreError::Unavailable(why) => (Instant::now(), why.clone()),
            other => (Instant::now(), other.to_string()),
        });
        *self.failed.lock() = failed;
        connected
    }

    /// Whether each connection has a database session of its own. One that goes through a pooler in transaction mode has
    /// none: it shares sessions with others, and its locks and prepared statements are left behind in them.
    pub(crate) async fn has_sessions(&self) -> Result<bool, StoreError> {
        let limit = self.connects_within();
        let probe = async {
            let (first, second) = (self.dial().await?, self.dial().await?);
            // A pooler gives a transaction the session that was used last, or the one that was not used for longest: two
            // connections then see one session, or one connection sees two.
            let mut versions = Vec::new();
            for client in [&first, &first, &second, &second, &first] {
                versions.push(session(client).await.map_err(|error| self.unreachable(&error))?);
            }
            Ok(versions[0] == versions[1]
                && versions[0] == versions[4]
                && versions[2] == versions[3]
                && versions[0] != versions[2])
        };
        tokio::time::timeout(limit, probe).await.unwrap_or_else(|_| Err(self.not_connected_within(limit)))
    }

    async fn try_connect(&self, purpose: Purpose, statements: &[&'static str]) -> Result<Connection, StoreError> {
        let client = self.dial().await?;
        client.batch_execute(&session_settings(purpose)).await.map_err(|error| self.unreachable(&error))?;
        let prepared = statements.iter().map(|sql| {
            let client = &client;
            async move { Ok((*sql, client.prepare(sql).await?)) }
        });
        let prepared = try_join_all(prepared).await.map_err(|error| self.unreachable(&error))?;
        let statements = prepared.into_iter().collect();
        Ok(Connection { client, place: self.place.clone(), statements, round_trips: self.round_trips.clone() })
    }

    /// A connection as the database gives it.
    async fn dial(&self) -> Result<Client, StoreError> {
        let (mut config, connector) = (self.config.clone(), self.connector.clone());
        config.connect_timeout(self.connects_within());
        // On the driver's runtime, which will also be told when there is something to read.
        let connecting = self.driver.handle.spawn(async move {
            let (client, connection) = connector.connect(&config).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(error = sentence(&error), "a connection to PostgreSQL ended");
                }
            });
            Ok(client)
        });
        let stopped = |_| StoreError::Unavailable("the store has been closed".into());
        connecting.await.map_err(stopped)?.map_err(|error| self.unreachable(&error))
    }

    /// Host and port, for error messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Every failure to connect is reported as unavailable.
    fn unreachable(&self, error: &tokio_postgres::Error) -> StoreError {
        StoreError::Unavailable(format!("PostgreSQL at {}: {}", self.place, sentence(error)))
    }

    fn not_connected_within(&self, limit: Duration) -> StoreError {
        let (place, seconds) = (&self.place, limit.as_secs_f64());
        StoreError::Unavailable(format!("PostgreSQL at {place} did not take a connection within {seconds} s"))
    }
}

/// The process of the database that serves this connection at the moment. A simple query: prepared statements do not survive
/// a pooler that is to be recognised.
async fn session(client: &Client) -> Result<Option<String>, tokio_postgres::Error> {
    let answer = client.simple_query("SELECT pg_backend_pid()").await?;
    let pid = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(pid.map(str::to_owned))
}

/// Statements that prepare a session. They win over the options in the URL.
pub(crate) fn session_settings(purpose: Purpose) -> String {
    let own = match purpose {
        Purpose::ByKey => BY_KEY,
        Purpose::Lists => LISTS,
        Purpose::Migrations => MIGRATIONS,
    };
    let settings = COMMON.iter().chain(own).map(|(name, value)| format!("SET {name} = '{value}'; "));
    let read_only = if matches!(purpose, Purpose::Migrations) { "" } else { READ_ONLY };
    settings.collect::<String>() + read_only
}

/// Thread that drives all connections: callers come from several runtimes, some of which block. Ends with the store,
/// and all connections with it.
struct Driver {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Driver {
    fn start() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let drive = move || drop(runtime.block_on(stopped));
        std::thread::Builder::new().name("postgres".into()).spawn(panics::inherit(drive))?;
        Ok(Self { handle, _stop: stop })
    }
}
