//! Choice of the store by the settings.

use std::sync::Arc;

use anyhow::Context as _;
use holdfast_connect::TlsRoots;
use holdfast_engine::IdMaker;
use holdfast_engine::{Store, SystemClock};
use holdfast_server::Config;
use holdfast_server::config::{OnLoss as Loss, Secret};
use holdfast_store_postgres::{DurableTier, PostgresOptions, PostgresStore};
use holdfast_store_redis::confirm_attempts::ABANDONED_AFTER;
use holdfast_store_redis::{ClusterStore, LiveOptions, LiveTier, OnLoss};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use holdfast_waiting_room::{
    IdSource, InProcess, Keys, Options, PostgresJournal, RedisOptions, RedisRoom, SqliteJournal, WaitingRoom,
};

use crate::{data_directory, secret};

/// Opens the store: embedded, `PostgreSQL`, or `PostgreSQL` with live rows in Redis.
pub(crate) async fn open(config: &Config, ids: &IdMaker) -> anyhow::Result<Arc<dyn Store>> {
    let server = &config.server;
    let Some(database) = &server.database_url else {
        data_directory::protect(&server.data)
            .with_context(|| format!("cannot use the directory {}", server.data.display()))?;
        return Ok(Arc::new(SqliteStore::open(OpenOptions::new(&server.data), Arc::new(SystemClock))?));
    };
    let on_loss = match config.redis.on_loss {
        Loss::Resume => OnLoss::Resume,
        Loss::Quarantine => {
            let limits = config.engine_settings().limits;
            // By then every hold has expired.
            let goods = limits.shop.hold_ttl.max(limits.ticket.hold_ttl);
            let longest = limits.stay.hold_ttl.max(limits.calendar.lock_ttl).max(goods);
            OnLoss::Quarantine(longest)
        }
    };
    let place = Place {
        database: database.reveal(),
        redis: server.redis_url.as_ref().map(Secret::reveal),
        prefix: &config.redis.prefix,
        database_tls_roots: server.database_tls_roots(),
        redis_tls_roots: server.redis_tls_roots(),
    };
    open_servers(&place, on_loss, ids).await
}

/// Opens the waiting room. The store has to be open already.
pub(crate) async fn open_room(config: &Config) -> anyhow::Result<Arc<dyn WaitingRoom>> {
    let server = &config.server;
    let timings = config.queue.timings();
    let maker = IdMaker::new();
    let ids: IdSource =
        Arc::new(move || ((u128::from(maker.number()) << 64) | u128::from(maker.number())).to_be_bytes());
    let options =
        |keys: Keys| Options { timings, keys: Arc::new(keys), clock: Arc::new(SystemClock), ids: ids.clone() };
    let Some(database) = server.database_url.as_ref().map(Secret::reveal) else {
        let keys = config.queue.keys(&secret::in_directory(&server.data)?)?;
        return Ok(Arc::new(InProcess::open(SqliteJournal::new(&server.data), options(keys)).await?));
    };
    let keys = config.queue.keys(&secret::in_database(database, &server.database_tls_roots()).await?)?;
    let Some(redis) = server.redis_url.as_ref().map(Secret::reveal) else {
        return Ok(Arc::new(
            InProcess::open(PostgresJournal::new(database, &server.database_tls_roots())?, options(keys)).await?,
        ));
    };
    let (url, tls_roots, prefix) = (redis.to_owned(), server.redis_tls_roots(), config.redis.prefix.clone());
    let room =
        RedisRoom::new(RedisOptions { url, tls_roots, prefix, timings, keys: Arc::new(keys), ids, clock: None })?;
    room.check().await?;
    Ok(Arc::new(room))
}

/// Address of a store that is not embedded.
pub(crate) struct Place<'a> {
    pub database: &'a str,
    pub redis: Option<&'a str>,
    /// Prefix of all keys in Redis.
    pub prefix: &'a str,
    pub database_tls_roots: TlsRoots,
    pub redis_tls_roots: TlsRoots,
}

/// Opens a database to audit it.
pub(crate) async fn open_database(place: &Place<'_>, ids: &IdMaker) -> anyhow::Result<Arc<dyn Store>> {
    open_servers(place, OnLoss::Resume, ids).await
}

async fn open_servers(place: &Place<'_>, on_loss: OnLoss, ids: &IdMaker) -> anyhow::Result<Arc<dyn Store>> {
    let options =
        PostgresOptions { tls_roots: place.database_tls_roots.clone(), ..PostgresOptions::new(place.database) };
    let Some(redis) = place.redis else { return Ok(Arc::new(PostgresStore::open(options).await?)) };
    let durable = DurableTier::open(options).await?;
    let live = LiveTier::new(LiveOptions {
        url: redis.to_owned(),
        tls_roots: place.redis_tls_roots.clone(),
        prefix: place.prefix.to_owned(),
        on_loss,
        // A new database has no holds that Redis could have lost.
        is_first: durable.is_new().await?,
        abandoned_after: ABANDONED_AFTER,
        nonce: ids.number(),
        clock: None,
    })?;
    live.check().await?;
    Ok(Arc::new(ClusterStore::new(live, durable)))
}

/// Description of the store for the log.
pub(crate) fn describe(config: &Config) -> String {
    match (&config.server.database_url, &config.server.redis_url) {
        (None, _) => format!("embedded, {}", config.server.data.display()),
        (Some(_), None) => "PostgreSQL".to_owned(),
        (Some(_), Some(_)) => "PostgreSQL and Redis".to_owned(),
    }
}
