//! PostgreSQL and Redis under test: private ones that end with the benchmark, or given ones.

use holdfast_testkit::{RedisOptions, RedisServer};

use super::databases::Databases;
use super::postgres::Postgres;
use super::redis::Redis;

pub(crate) struct Servers {
    pub databases: Databases,
    pub redis: Redis,
    /// Stopped and removed with this value.
    private_postgres: Option<Postgres>,
    private_redis: Option<RedisServer>,
}

impl Servers {
    /// Starts a private server for each one that is not given.
    pub(crate) async fn start(database_url: Option<&str>, redis_url: Option<&str>) -> anyhow::Result<Self> {
        let private_postgres = match database_url {
            Some(_) => None,
            None => Some(Postgres::start().await?),
        };
        let private_redis = match redis_url {
            Some(_) => None,
            None => Some(RedisServer::start(&RedisOptions { appendonly: true })?),
        };
        let database_url = private_postgres.as_ref().map(|server| &*server.url).or(database_url);
        let databases = Databases::at(database_url.unwrap_or_default().to_owned()).await?;
        let redis_url = private_redis.as_ref().map(RedisServer::url).or(redis_url);
        let redis = Redis::at(redis_url.unwrap_or_default()).await?;
        if private_redis.is_some() {
            redis.sync_every_second().await?;
        }
        Ok(Self { databases, redis, private_postgres, private_redis })
    }

    pub(crate) async fn settings(&self) -> anyhow::Result<Vec<String>> {
        Ok(vec![self.databases.settings().await?, self.redis.settings().await?])
    }

    /// Removes the databases from servers that outlive the benchmark.
    pub(crate) async fn clean_up(&self) -> anyhow::Result<()> {
        if self.private_postgres.is_none() {
            self.databases.remove_all().await?;
        }
        if self.private_redis.is_none() {
            self.redis.empty().await?;
        }
        Ok(())
    }
}
