//! Connection to the Redis that holds the live rows.

use std::sync::Arc;

use holdfast_dial::Trust;
use holdfast_dial::redis::{Link, is_dead};
use holdfast_engine::{StoreError, panics};
use redis::{Cmd, Pipeline, RedisError, ToRedisArgs, Value};
use tokio::runtime::Handle;
use tokio::sync::Notify;

pub(crate) struct Connection {
    link: Link,
    /// Thread that drives the connection, so that a busy server delays no batch.
    _driver: Driver,
}

impl Connection {
    /// Connects on first use.
    pub(crate) fn new(url: &str, trust: &Trust) -> Result<Self, RedisError> {
        let driver = Driver::start()?;
        Ok(Self { link: Link::new(url, trust, driver.handle.clone())?, _driver: driver })
    }

    /// Number of round trips so far.
    pub(crate) fn round_trips(&self) -> u64 {
        self.link.round_trips()
    }

    /// Number of connections opened so far. While it is unchanged, Redis has not been restarted or replaced.
    pub(crate) fn opened(&self) -> u64 {
        self.link.opened()
    }

    /// Sends an idempotent request; retried once on a new connection if the old one is dead.
    pub(crate) async fn ask(&self, pipeline: &Pipeline) -> Result<Vec<Value>, StoreError> {
        match self.send(pipeline).await {
            Err(error) if is_dead(&error) => self.send(pipeline).await.map_err(|error| away(&error)),
            answered => answered.map_err(|error| away(&error)),
        }
    }

    /// Sends a request that must not be repeated: an error after sending leaves its outcome unknown.
    pub(crate) async fn order(&self, order: ScriptCall) -> Result<Value, StoreError> {
        let mut open = self.link.open().await.map_err(|error| away(&error))?;
        for _ in 0..2 {
            let answer = self.link.ask(&mut open, async |connection| order.call.query_async(connection).await).await;
            match answer {
                Ok(value) => return Ok(value),
                // A restarted Redis does not know the script, and did nothing.
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    let load = order.script.load();
                    let loaded = self.link.ask(&mut open, async |connection| load.query_async(connection).await).await;
                    let _name: Value = loaded.map_err(|error| away(&error))?;
                }
                // Redis rejected the request before executing it: out of memory, read only, still loading.
                Err(error) if error.code().is_some() => return Err(away(&error)),
                Err(error) => return Err(StoreError::OutcomeUnknown(format!("Redis: {error}"))),
            }
        }
        Err(StoreError::Unavailable("Redis does not keep its scripts".into()))
    }

    async fn send(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let mut open = self.link.open().await?;
        self.link.ask(&mut open, async |connection| pipeline.query_async(connection).await).await
    }
}

/// Thread that only does I/O.
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
        std::thread::Builder::new().name("redis".into()).spawn(panics::inherit(drive))?;
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

/// Script and its hash.
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

/// Call of a script with keys and arguments.
pub(crate) struct ScriptCall {
    script: &'static Script,
    call: Cmd,
}

impl ScriptCall {
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
