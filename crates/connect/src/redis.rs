//! Connections to Redis. An address that begins with `rediss://` connects with TLS.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, TlsCertificates};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::TlsRoots;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Time after a failed attempt to connect in which callers fail without another one.
const RECONNECT_BACKOFF: Duration = Duration::from_millis(100);

/// Connection that reconnects by itself. While Redis is unavailable, calls fail at once.
#[derive(Debug)]
pub struct ReconnectingClient {
    url: String,
    /// Host and port, for error messages.
    address: String,
    tls_roots: TlsRoots,
    /// Client with the version of the TLS roots it was built from.
    client: parking_lot::Mutex<(u64, Client)>,
    /// Drives the connection. A caller's runtime may be too busy for that, or end before those of other callers.
    runtime: Handle,
    state: Mutex<State>,
    round_trips: AtomicU64,
    opened: AtomicU64,
}

#[derive(Default)]
struct State {
    open: Option<OpenConnection>,
    /// Time and reason of the last failure.
    failed: Option<(Instant, String)>,
}

/// Currently open connection.
#[derive(Clone)]
pub struct OpenConnection {
    connection: MultiplexedConnection,
    /// Number of this connection among all that were opened.
    number: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("open", &self.open).field("failed", &self.failed).finish()
    }
}

impl std::fmt::Debug for OpenConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenConnection").field("number", &self.number).finish_non_exhaustive()
    }
}

impl ReconnectingClient {
    /// Connects on first use.
    pub fn new(url: &str, tls_roots: &TlsRoots, runtime: Handle) -> Result<Self, RedisError> {
        let (round_trips, opened) = (AtomicU64::new(0), AtomicU64::new(0));
        let first = client(url, tls_roots)?;
        let address = first.get_connection_info().addr().to_string();
        let client = parking_lot::Mutex::new((tls_roots.version(), first));
        Ok(Self {
            url: url.into(),
            address,
            tls_roots: tls_roots.clone(),
            client,
            runtime,
            state: Mutex::default(),
            round_trips,
            opened,
        })
    }

    /// Returns a client for an additional connection. Call it per connection: an older client ignores reloaded certificates.
    pub fn client(&self) -> Client {
        let mut current = self.client.lock();
        let version = self.tls_roots.version();
        if current.0 != version
            && let Ok(client) = client(&self.url, &self.tls_roots)
        {
            *current = (version, client);
        }
        current.1.clone()
    }

    /// Describes an error of this connection, with host and port.
    pub fn describe(&self, error: &RedisError) -> String {
        format!("Redis at {}: {error}", self.address)
    }

    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Number of round trips so far.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// Number of connections opened so far. While it is unchanged, Redis has not been restarted or replaced.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    /// Sends a command once. Drops a lost connection, unless a newer one has replaced it.
    pub async fn execute<T>(
        &self,
        open: &mut OpenConnection,
        command: impl AsyncFnOnce(&mut MultiplexedConnection) -> Result<T, RedisError>,
    ) -> Result<T, RedisError> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let result = command(&mut open.connection).await;
        if result.as_ref().is_err_and(|error| is_connection_lost(error) || error.is_timeout()) {
            let mut state = self.state.lock().await;
            if state.open.as_ref().is_some_and(|now| now.number == open.number) {
                state.open = None;
            }
        }
        result
    }

    /// Returns the open connection, or a new one.
    pub async fn open(&self) -> Result<OpenConnection, RedisError> {
        let mut state = self.state.lock().await;
        if let Some(open) = &state.open {
            return Ok(open.clone());
        }
        if let Some((at, error)) = &state.failed
            && at.elapsed() < RECONNECT_BACKOFF
        {
            return Err(std::io::Error::new(std::io::ErrorKind::ConnectionRefused, error.clone()).into());
        }
        let client = self.client();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let connecting = async move { client.get_multiplexed_async_connection_with_config(&config).await };
        let connected = self.runtime.spawn(connecting).await;
        match connected.unwrap_or_else(|error| Err(std::io::Error::other(error).into())) {
            Ok(connection) => {
                let open = OpenConnection { connection, number: self.opened.fetch_add(1, Ordering::AcqRel) };
                *state = State { open: Some(open.clone()), failed: None };
                Ok(open)
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.to_string()));
                Err(error)
            }
        }
    }
}

/// Whether the connection was lost: idempotent requests can be retried on a new one.
pub fn is_connection_lost(error: &RedisError) -> bool {
    error.is_connection_dropped() || error.is_io_error()
}

fn client(url: &str, tls_roots: &TlsRoots) -> Result<Client, RedisError> {
    let pem = if url.starts_with("rediss://") { tls_roots.pem() } else { None };
    match pem {
        Some(pem) => Client::build_with_tls(url, TlsCertificates { client_tls: None, root_cert: Some(pem) }),
        None => Client::open(url),
    }
}
