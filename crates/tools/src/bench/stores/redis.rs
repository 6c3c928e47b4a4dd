//! Redis under test, from the operator's side.

use anyhow::{Context as _, ensure};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionInfo, Script};

pub(crate) struct Redis {
    pub url: String,
    client: Client,
}

impl Redis {
    /// The database must be empty: it is emptied between measurements.
    pub(crate) async fn at(url: &str) -> anyhow::Result<Self> {
        let redis = Self { url: url.to_owned(), client: Client::open(url).context("the URL of Redis")? };
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut redis.connect().await?).await?;
        ensure!(keys == 0, "this database of Redis is not empty; name another, such as redis://HOST/9");
        Ok(redis)
    }

    pub(crate) fn connection_info(&self) -> &ConnectionInfo {
        self.client.get_connection_info()
    }

    /// Syncs once a second, the usual production setting. The test kit's server syncs on every write.
    pub(crate) async fn sync_every_second(&self) -> anyhow::Result<()> {
        let mut command = redis::cmd("CONFIG");
        command.arg("SET").arg("appendfsync").arg("everysec");
        Ok(command.query_async(&mut self.connect().await?).await?)
    }

    /// Flushes synchronously, so that freeing memory disturbs no measurement.
    pub(crate) async fn empty(&self) -> anyhow::Result<()> {
        Ok(redis::cmd("FLUSHDB").arg("SYNC").query_async(&mut self.connect().await?).await?)
    }

    /// Loads the script and returns its hash.
    pub(crate) async fn load(&self, script: &Script) -> anyhow::Result<String> {
        Ok(script.prepare_invoke().load_async(&mut self.connect().await?).await?)
    }

    /// Returns the settings that affect performance.
    pub(crate) async fn settings(&self) -> anyhow::Result<String> {
        let mut connection = self.connect().await?;
        let mut settings = Vec::new();
        for name in ["appendonly", "appendfsync"] {
            let mut command = redis::cmd("CONFIG");
            let (name, value): (String, String) = command.arg("GET").arg(name).query_async(&mut connection).await?;
            settings.push(format!("{name} {value}"));
        }
        let info: String = redis::cmd("INFO").arg("server").query_async(&mut connection).await?;
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("?");
        Ok(format!("Redis {version}: {}", settings.join(", ")))
    }

    async fn connect(&self) -> anyhow::Result<MultiplexedConnection> {
        // Emptying a large database takes longer than the library's default timeout.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let connected = self.client.get_multiplexed_async_connection_with_config(&config).await;
        connected.context("connecting to Redis")
    }
}
