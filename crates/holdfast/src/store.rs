//! Which store the settings ask for.

use std::sync::Arc;

use holdfast_engine::{Store, SystemClock};
use holdfast_server::Config;
use holdfast_server::config::{OnLoss as Loss, Secret};
use holdfast_server::ids::IdMaker;
use holdfast_store_postgres::{DurableTier, PostgresOptions, PostgresStore};
use holdfast_store_redis::live::ABANDONED_AFTER;
use holdfast_store_redis::{ClusterStore, LiveOptions, LiveTier, OnLoss};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};

/// Opens the store: embedded, `PostgreSQL`, or `PostgreSQL` with live rows in Redis.
pub(crate) async fn open(config: &Config, ids: &IdMaker) -> anyhow::Result<Arc<dyn Store>> {
    let server = &config.server;
    match (&server.database_url, &server.redis_url) {
        (None, _) => Ok(Arc::new(SqliteStore::open(OpenOptions::new(&server.data), Arc::new(SystemClock))?)),
        (Some(database), None) => Ok(Arc::new(PostgresStore::open(PostgresOptions::new(database.reveal())).await?)),
        (Some(database), Some(redis)) => {
            let durable = DurableTier::open(PostgresOptions::new(database.reveal())).await?;
            let live = LiveTier::new(live_options(config, redis, ids))?;
            live.check().await?;
            Ok(Arc::new(ClusterStore::new(live, durable)))
        }
    }
}

/// For the log.
pub(crate) fn describe(config: &Config) -> String {
    match (&config.server.database_url, &config.server.redis_url) {
        (None, _) => format!("embedded, {}", config.server.data.display()),
        (Some(_), None) => "PostgreSQL".to_owned(),
        (Some(_), Some(_)) => "PostgreSQL and Redis".to_owned(),
    }
}

fn live_options(config: &Config, url: &Secret, ids: &IdMaker) -> LiveOptions {
    LiveOptions {
        url: url.reveal().to_owned(),
        prefix: config.redis.prefix.clone(),
        on_loss: match config.redis.on_loss {
            Loss::Resume => OnLoss::Resume,
            Loss::Quarantine => OnLoss::Quarantine(config.engine_settings().limits.stay.hold_ttl),
        },
        abandoned_after: ABANDONED_AFTER,
        nonce: ids.number(),
        clock: None,
    }
}
