//! Validity of the cache of near-term rows.
//!
//! A part has a hash in Redis with a *cache version*. A server that has read the part after it saw the version may use
//! what it read while the version stands. A server about to change near-term rows of the part first writes an *invalidation
//! intent* beside it and deletes the version. When the change is committed, or cannot be any more, it deletes its
//! intent, and any version with it, in case the intent was lost meanwhile. While an intent stands, the part is read
//! from PostgreSQL. So no read is older than the last commit. A server that dies in between only costs others the read
//! from PostgreSQL until its intent expires. `protocol-model` has a model of this.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use holdfast_core::Timestamp;
use holdfast_core::near_term::PartId;
use holdfast_core::time::Span;
use holdfast_engine::StoreError;
use redis::{Cmd, Script, Value};

use crate::live::{LiveTier, unexpected};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("cache_version.lua")));

/// Time to live of an intent: longer than the intent commit can take, also if it waits for a standby.
const NAME_LASTS: Span = Span::from_hours(1);
/// Time to live of a cache version; bounds the staleness after writes that bypass Holdfast.
const CACHE_VERSION_TTL: Span = Span::from_secs(120);
/// Attempts to delete an intent that could not be deleted, and the delay between them.
const WITHDRAWALS_MAX: usize = 20;
const WITHDRAWAL_WAIT: Duration = Duration::from_millis(500);

const CACHE_VERSION: &str = "cache_version";

/// Cache state of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CacheVersion {
    Missing,
    Is(String),
    /// A server is changing the part.
    Changing,
}

/// Intent to change some parts: their cached rows are invalid meanwhile.
pub(crate) struct InvalidationIntent {
    name: String,
    parts: Vec<PartId>,
}

impl LiveTier {
    /// Announces a change; to be called before it is committed.
    pub(crate) async fn declare_intent(&self, parts: Vec<PartId>) -> Result<InvalidationIntent, StoreError> {
        let name = self.unique();
        let until = self.latest_now() + NAME_LASTS;
        let mut pipeline = redis::pipe();
        for part in &parts {
            let key = self.keys().cache_version(*part);
            pipeline
                .hset(&key, &name, until.as_millis())
                .hdel(&key, CACHE_VERSION)
                .pexpire(&key, NAME_LASTS.as_millis());
        }
        self.connection().ask(&pipeline).await?;
        Ok(InvalidationIntent { name, parts })
    }

    /// Ends an intent change that is committed or cannot be any more. Until then the parts are read from PostgreSQL.
    pub(crate) async fn withdraw_intent(&self, intent: InvalidationIntent) {
        if self.try_withdraw_intent(&intent).await.is_ok() {
            return;
        }
        let live = self.clone();
        tokio::spawn(async move {
            for _ in 0..WITHDRAWALS_MAX {
                tokio::time::sleep(WITHDRAWAL_WAIT).await;
                if live.try_withdraw_intent(&intent).await.is_ok() {
                    break;
                }
            }
        });
    }

    async fn try_withdraw_intent(
        &self,
        InvalidationIntent { name, parts }: &InvalidationIntent,
    ) -> Result<(), StoreError> {
        let mut pipeline = redis::pipe();
        for part in parts {
            pipeline.hdel(self.keys().cache_version(*part), &[&name[..], CACHE_VERSION]);
        }
        self.connection().ask(&pipeline).await.map(|_| ())
    }

    /// Returns the part's cache version, a new one if it has none. Sent once: a delayed repetition after a change would
    /// reuse a version.
    pub(crate) async fn cache_version(&self, part: PartId) -> Result<Option<String>, StoreError> {
        let mut call = SCRIPT.key(self.keys().cache_version(part));
        call.arg(self.unique()).arg(self.latest_now().as_millis()).arg(CACHE_VERSION_TTL.as_millis());
        let answer = self.connection().invoke(&call).await?;
        redis::from_redis_value(answer).map_err(|error| unexpected(&error))
    }

    /// Deletes the cache version of a part that does not exist.
    pub(crate) async fn delete_cache_version(&self, part: PartId) -> Result<(), StoreError> {
        let mut pipeline = redis::pipe();
        pipeline.hdel(self.keys().cache_version(part), CACHE_VERSION);
        self.connection().ask(&pipeline).await.map(|_| ())
    }

    /// Returns a name unique among all servers.
    fn unique(&self) -> String {
        format!("{:016x}", self.next_version())
    }
}

/// Command that reads a part's hash.
pub(crate) fn ask(key: &str) -> Cmd {
    Cmd::hgetall(key)
}

/// Parses a part's hash at `now`.
pub(crate) fn read(hash: &Value, now: Timestamp) -> Result<CacheVersion, StoreError> {
    let mut fields: HashMap<String, String> = redis::from_redis_value_ref(hash).map_err(|_| unexpected(hash))?;
    let cache_version = fields.remove(CACHE_VERSION);
    // An intent that cannot be parsed does not expire.
    let is_over = |until: &String| until.parse().is_ok_and(|until| Timestamp::from_millis(until) <= now);
    if !fields.values().all(is_over) {
        return Ok(CacheVersion::Changing);
    }
    Ok(cache_version.map_or(CacheVersion::Missing, CacheVersion::Is))
}
