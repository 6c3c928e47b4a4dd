//! Connection to the Redis that holds the live rows.

use std::sync::Arc;

use holdfast_connect::TlsRoots;
use holdfast_connect::redis::{ReconnectingClient, is_connection_lost};
use holdfast_engine::{StoreError, panics};
use redis::{Pipeline, RedisError, ScriptInvocation, Value};
use tokio::runtime::Handle;
use tokio::sync::Notify;

pub(crate) struct Connection {
    client: ReconnectingClient,
    /// Thread that drives the connection, so that a busy server delays no batch.
    _driver: Driver,
}

impl Connection {
    /// Connects on first use.
    pub(crate) fn new(url: &str, tls_roots: &TlsRoots) -> Result<Self, RedisError> {
        let driver = Driver::start()?;
        Ok(Self { client: ReconnectingClient::new(url, tls_roots, driver.handle.clone())?, _driver: driver })
    }

    /// Number of round trips so far.
    pub(crate) fn round_trips(&self) -> u64 {
        self.client.round_trips()
    }

    /// Number of connections opened so far. While it is unchanged, Redis has not been restarted or replaced.
    pub(crate) fn opened(&self) -> u64 {
        self.client.opened()
    }

    /// Sends an idempotent request; retried once on a new connection if the old one is dead.
    pub(crate) async fn ask(&self, pipeline: &Pipeline) -> Result<Vec<Value>, StoreError> {
        match self.send(pipeline).await {
            Err(error) if is_connection_lost(&error) => {
                self.send(pipeline).await.map_err(|error| self.unavailable(&error))
            }
            answered => answered.map_err(|error| self.unavailable(&error)),
        }
    }

    /// Runs a script that must not be repeated: an error after sending leaves its outcome unknown. A Redis that does not
    /// know the script gets it first; if that fails without an answer, the outcome counts as unknown too.
    pub(crate) async fn invoke(&self, call: &ScriptInvocation<'_>) -> Result<Value, StoreError> {
        let mut open = self.client.open().await.map_err(|error| self.unavailable(&error))?;
        let answer = self.client.execute(&mut open, async |connection| call.invoke_async(connection).await).await;
        answer.map_err(|error| match error.code() {
            // Redis rejected the request before executing it: out of memory, read only, still loading.
            Some(_) => self.unavailable(&error),
            None => StoreError::OutcomeUnknown(self.client.describe(&error)),
        })
    }

    fn unavailable(&self, error: &RedisError) -> StoreError {
        StoreError::Unavailable(self.client.describe(error))
    }

    async fn send(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let mut open = self.client.open().await?;
        self.client.execute(&mut open, async |connection| pipeline.query_async(connection).await).await
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
