//! One connection to Redis that comes back by itself. While Redis is away, calls fail at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use holdfast_dial::{Trust, redis as dial};
use holdfast_engine::StoreError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, ToRedisArgs, Value};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify};

const CONNECT_WITHIN: Duration = Duration::from_millis(500);
const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);
/// After a failed try to connect, callers are turned away for so long without another one.
const REST_AFTER_FAILURE: Duration = Duration::from_millis(100);

pub(crate) struct Connection {
    client: Client,
    /// Where the connection is driven: on a thread of its own, so that a busy server keeps no batch waiting.
    driver: Driver,
    state: Mutex<State>,
    round_trips: AtomicU64,
    opened: AtomicU64,
}

#[derive(Default)]
struct State {
    open: Option<MultiplexedConnection>,
    /// When, and why.
    failed: Option<(Instant, String)>,
}

impl Connection {
    /// Connects when it is first used.
    pub(crate) fn new(url: &str, trust: &Trust) -> Result<Self, RedisError> {
        let (client, driver) = (dial::client(url, trust)?, Driver::start()?);
        Ok(Self { client, driver, state: Mutex::default(), round_trips: AtomicU64::new(0), opened: AtomicU64::new(0) })
    }

    /// How often Redis was asked and has answered.
    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// How often a connection was opened. While that stays the same, Redis has not been restarted or replaced.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    /// For what may be done twice: tried again on a new connection if the old one turns out to be dead.
    pub(crate) async fn ask(&self, pipeline: &Pipeline) -> Result<Vec<Value>, StoreError> {
        match self.send(pipeline).await {
            Err(error) if error.is_connection_dropped() || error.is_io_error() => {
                self.send(pipeline).await.map_err(|error| away(&error))
            }
            answered => answered.map_err(|error| away(&error)),
        }
    }

    /// For what must not be done twice: an error after it was sent leaves open whether it was done.
    pub(crate) async fn order(&self, order: Order) -> Result<Value, StoreError> {
        let mut connection = self.open().await.map_err(|error| away(&error))?;
        for _ in 0..2 {
            self.round_trips.fetch_add(1, Ordering::Relaxed);
            let answer: Result<Value, RedisError> = order.call.query_async(&mut connection).await;
            self.close_if_dead(&answer).await;
            match answer {
                Ok(value) => return Ok(value),
                // Redis has been restarted and does not know the script: it did nothing.
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    let loaded: Result<Value, RedisError> = order.script.load().query_async(&mut connection).await;
                    loaded.map_err(|error| away(&error))?;
                }
                // Redis said no before it did anything: out of memory, read only, still loading.
                Err(error) if error.code().is_some() => return Err(away(&error)),
                Err(error) => return Err(StoreError::OutcomeUnknown(format!("Redis: {error}"))),
            }
        }
        Err(StoreError::Unavailable("Redis forgets its scripts".into()))
    }

    async fn send(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let mut connection = self.open().await?;
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let answer = pipeline.query_async(&mut connection).await;
        self.close_if_dead(&answer).await;
        answer
    }

    async fn close_if_dead<T>(&self, answer: &Result<T, RedisError>) {
        if answer
            .as_ref()
            .is_err_and(|error| error.is_connection_dropped() || error.is_io_error() || error.is_timeout())
        {
            self.state.lock().await.open = None;
        }
    }

    async fn open(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.open {
            return Ok(connection.clone());
        }
        if let Some((at, error)) = &state.failed
            && at.elapsed() < REST_AFTER_FAILURE
        {
            return Err(std::io::Error::new(std::io::ErrorKind::ConnectionRefused, error.clone()).into());
        }
        let client = self.client.clone();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN));
        let connecting = async move { client.get_multiplexed_async_connection_with_config(&config).await };
        let connected = match self.driver.handle.spawn(connecting).await {
            Ok(connected) => connected,
            Err(error) => Err(std::io::Error::other(error).into()),
        };
        match connected {
            Ok(connection) => {
                self.opened.fetch_add(1, Ordering::AcqRel);
                *state = State { open: Some(connection.clone()), failed: None };
                Ok(connection)
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.to_string()));
                Err(error)
            }
        }
    }
}

/// A thread that does nothing but move bytes.
struct Driver {
    handle: Handle,
    stop: Arc<Notify>,
}

impl Driver {
    fn start() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (handle, stop) = (runtime.handle().clone(), Arc::new(Notify::new()));
        let stopped = stop.clone();
        let drive = move || runtime.block_on(stopped.notified());
        std::thread::Builder::new().name("redis".into()).spawn(drive)?;
        Ok(Self { handle, stop })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop.notify_one();
    }
}

pub(crate) fn away(error: &RedisError) -> StoreError {
    StoreError::Unavailable(format!("Redis: {error}"))
}

/// A script, and the name that Redis gives it.
pub(crate) struct Script {
    code: &'static str,
    hash: String,
}

impl Script {
    pub(crate) fn new(code: &'static str) -> Self {
        Self { code, hash: redis::Script::new(code).get_hash().to_owned() }
    }

    fn load(&self) -> Cmd {
        let mut command = redis::cmd("SCRIPT");
        command.arg("LOAD").arg(self.code);
        command
    }
}

/// A script with its keys and arguments.
pub(crate) struct Order {
    script: &'static Script,
    call: Cmd,
}

impl Order {
    /// The first `keys` arguments are keys.
    pub(crate) fn new(script: &'static Script, keys: usize) -> Self {
        let mut call = redis::cmd("EVALSHA");
        call.arg(&script.hash).arg(keys);
        Self { script, call }
    }

    pub(crate) fn arg(&mut self, arg: impl ToRedisArgs) -> &mut Self {
        self.call.arg(arg);
        self
    }

    pub(crate) fn args(&mut self, args: impl IntoIterator<Item = impl ToRedisArgs>) -> &mut Self {
        for arg in args {
            self.call.arg(arg);
        }
        self
    }
}
