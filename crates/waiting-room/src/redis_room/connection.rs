//! Connection to the Redis that holds the rooms.

use std::sync::Arc;

use holdfast_connect::TlsRoots;
use holdfast_connect::redis::{ReconnectingClient, is_connection_lost};
use redis::{RedisError, ScriptInvocation};
use tokio::runtime::Handle;

use crate::waiting_room::Error;

/// Reconnecting connection, with errors of the waiting room.
#[derive(Debug)]
pub(super) struct Connection {
    client: Arc<ReconnectingClient>,
}

impl Connection {
    /// Must be called inside the runtime that drives the connection.
    pub(super) fn new(url: &str, tls_roots: &TlsRoots) -> Result<Self, Error> {
        let client = ReconnectingClient::new(url, tls_roots, Handle::current());
        let client = client.map_err(|error| Error::Unavailable(format!("`server.redis_url`: {error}")))?;
        Ok(Self { client: Arc::new(client) })
    }

    pub(super) fn client(&self) -> Arc<ReconnectingClient> {
        self.client.clone()
    }

    pub(super) fn runtime(&self) -> &Handle {
        self.client.runtime()
    }

    pub(super) fn round_trips(&self) -> u64 {
        self.client.round_trips()
    }

    pub(super) async fn ping(&self) -> Result<(), Error> {
        let mut open = self.client.open().await.map_err(|error| self.unavailable(&error))?;
        let ping = redis::cmd("PING");
        let result =
            self.client.execute(&mut open, async |connection| ping.query_async::<String>(connection).await).await;
        result.map(|_| ()).map_err(|error| self.unavailable(&error))
    }

    fn unavailable(&self, error: &RedisError) -> Error {
        Error::Unavailable(self.client.describe(error))
    }

    /// Runs the script. Retries once on a new connection if the old one is lost: every call is idempotent.
    pub(super) async fn invoke(&self, call: &ScriptInvocation<'_>) -> Result<Vec<Vec<u8>>, Error> {
        match self.invoke_once(call).await {
            Err(error) if is_connection_lost(&error) => {
                self.invoke_once(call).await.map_err(|error| self.unavailable(&error))
            }
            result => result.map_err(|error| self.unavailable(&error)),
        }
    }

    async fn invoke_once(&self, call: &ScriptInvocation<'_>) -> Result<Vec<Vec<u8>>, RedisError> {
        let mut open = self.client.open().await?;
        self.client.execute(&mut open, async |connection| call.invoke_async(connection).await).await
    }
}
