//! One connection to Redis that comes back by itself. While Redis is away, calls fail at once.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use holdfast_dial::{Trust, redis as dial};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, ToRedisArgs};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::waiting_room::Error;

const CONNECT_WITHIN: Duration = Duration::from_millis(500);
const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);
/// After a failed try to connect, callers are turned away for so long without another one.
const REST_AFTER_FAILURE: Duration = Duration::from_millis(100);

const CODE: &str = include_str!("room.lua");
static SCRIPT: LazyLock<redis::Script> = LazyLock::new(|| redis::Script::new(CODE));

#[derive(Debug)]
pub(super) struct Connection {
    client: Client,
    state: Mutex<State>,
    round_trips: AtomicU64,
    /// Drives the connection. Those who call may be too busy for that, or end before others do.
    runtime: Handle,
}

#[derive(Default)]
struct State {
    open: Option<MultiplexedConnection>,
    failed: Option<(Instant, Error)>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("is_open", &self.open.is_some()).finish_non_exhaustive()
    }
}

impl Connection {
    /// To be called inside the runtime that is to drive the connection.
    pub(super) fn new(url: &str, trust: &Trust) -> Result<Self, Error> {
        let client = dial::client(url, trust);
        let client = client.map_err(|error| Error::Unavailable(format!("`server.redis_url`: {error}")))?;
        Ok(Self { client, state: Mutex::default(), round_trips: AtomicU64::new(0), runtime: Handle::current() })
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(super) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    pub(super) async fn ping(&self) -> Result<(), Error> {
        let mut connection = self.open().await?;
        let answer: Result<String, RedisError> = redis::cmd("PING").query_async(&mut connection).await;
        self.close_if_dead(&answer).await;
        answer.map(|_| ()).map_err(|error| away(&error))
    }

    /// Runs the script. Tried again on a new connection if the old one turns out to be dead: every call may be made twice.
    pub(super) async fn run(&self, call: &Call) -> Result<Vec<Vec<u8>>, Error> {
        let mut is_last = false;
        loop {
            let mut connection = self.open().await?;
            self.round_trips.fetch_add(1, Ordering::Relaxed);
            let answer: Result<Vec<Vec<u8>>, RedisError> = call.by_hash().query_async(&mut connection).await;
            self.close_if_dead(&answer).await;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) if is_last => return Err(away(&error)),
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    self.round_trips.fetch_add(1, Ordering::Relaxed);
                    let loaded: Result<String, RedisError> =
                        redis::cmd("SCRIPT").arg("LOAD").arg(CODE).query_async(&mut connection).await;
                    loaded.map_err(|error| away(&error))?;
                }
                Err(error) if error.is_connection_dropped() || error.is_io_error() => {}
                Err(error) => return Err(away(&error)),
            }
            is_last = true;
        }
    }

    async fn close_if_dead<T>(&self, answer: &Result<T, RedisError>) {
        if answer
            .as_ref()
            .is_err_and(|error| error.is_connection_dropped() || error.is_io_error() || error.is_timeout())
        {
            self.state.lock().await.open = None;
        }
    }

    async fn open(&self) -> Result<MultiplexedConnection, Error> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.open {
            return Ok(connection.clone());
        }
        if let Some((at, error)) = &state.failed
            && at.elapsed() < REST_AFTER_FAILURE
        {
            return Err(error.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN));
        let client = self.client.clone();
        let opening = async move { client.get_multiplexed_async_connection_with_config(&config).await };
        let opened =
            self.runtime.spawn(opening).await.map_err(|_| Error::Unavailable("the server is stopping".into()))?;
        match opened {
            Ok(connection) => {
                *state = State { open: Some(connection.clone()), failed: None };
                Ok(connection)
            }
            Err(error) => {
                state.failed = Some((Instant::now(), away(&error)));
                Err(away(&error))
            }
        }
    }
}

/// The script's keys and arguments.
#[derive(Debug, Default)]
pub(super) struct Call {
    keys: Vec<String>,
    args: Vec<String>,
}

impl Call {
    pub(super) fn key(&mut self, key: String) -> &mut Self {
        self.keys.push(key);
        self
    }

    pub(super) fn arg(&mut self, arg: impl std::fmt::Display + Copy) -> &mut Self {
        self.args.push(arg.to_string());
        self
    }

    fn by_hash(&self) -> redis::Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(SCRIPT.get_hash()).arg(self.keys.len());
        for text in self.keys.iter().chain(&self.args) {
            text.write_redis_args(&mut command);
        }
        command
    }
}

pub(super) fn away(error: &RedisError) -> Error {
    Error::Unavailable(format!("Redis: {error}"))
}
