//! Validity of the near-term slot cache.
//!
//! A room has a hash in Redis with a *cache version*. A server that has read the room after it saw the version may use
//! what it read while the version stands. A server about to change the room's slots first writes an *invalidation
//! intent* beside it and deletes the version. When the change is committed, or cannot be any more, it deletes its
//! intent, and any version with it, in case the intent was lost meanwhile. While an intent stands, the room is read
//! from PostgreSQL. So no read is older than the last commit. A server that dies in between only costs others the read
//! from PostgreSQL until its intent expires. `protocol-model` has a model of this.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use holdfast_core::Timestamp;
use holdfast_core::calendar::RoomId;
use holdfast_core::time::Span;
use holdfast_engine::StoreError;
use redis::{Cmd, Value};

use crate::connection::{Order, Script};
use crate::live::{LiveTier, strange};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("stamp.lua")));

/// Time to live of an intent: longer than the announced commit can take, also if it waits for a standby.
const NAME_LASTS: Span = Span::from_hours(1);
/// Time to live of a cache version; bounds the staleness after writes that bypass Holdfast.
const STAMP_LASTS: Span = Span::from_secs(120);
/// Attempts to delete an intent that could not be deleted, and the delay between them.
const WITHDRAWALS_MAX: usize = 20;
const WITHDRAWAL_WAIT: Duration = Duration::from_millis(500);

const STAMP: &str = "stamp";

/// Cache state of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    Missing,
    Is(String),
    /// A server is changing the room.
    Changing,
}

/// Announced change of some rooms' slots.
pub(crate) struct Announced {
    name: String,
    rooms: Vec<RoomId>,
}

impl LiveTier {
    /// Announces a change; to be called before it is committed.
    pub(crate) async fn announce(&self, rooms: Vec<RoomId>) -> Result<Announced, StoreError> {
        let name = self.unique();
        let until = self.latest_now() + NAME_LASTS;
        let mut pipeline = redis::pipe();
        for room in &rooms {
            let key = self.keys().room_stamp(*room);
            pipeline.hset(&key, &name, until.as_millis()).hdel(&key, STAMP).pexpire(&key, NAME_LASTS.as_millis());
        }
        self.connection().ask(&pipeline).await?;
        Ok(Announced { name, rooms })
    }

    /// Ends an announced change that is committed or cannot be any more. Until then the rooms are read from PostgreSQL.
    pub(crate) async fn withdraw(&self, announced: Announced) {
        if self.try_withdraw(&announced).await.is_ok() {
            return;
        }
        let live = self.clone();
        tokio::spawn(async move {
            for _ in 0..WITHDRAWALS_MAX {
                tokio::time::sleep(WITHDRAWAL_WAIT).await;
                if live.try_withdraw(&announced).await.is_ok() {
                    break;
                }
            }
        });
    }

    async fn try_withdraw(&self, Announced { name, rooms }: &Announced) -> Result<(), StoreError> {
        let mut pipeline = redis::pipe();
        for room in rooms {
            pipeline.hdel(self.keys().room_stamp(*room), &[&name[..], STAMP]);
        }
        self.connection().ask(&pipeline).await.map(|_| ())
    }

    /// Returns the room's cache version, a new one if it has none. Sent once: a delayed repetition after a change would
    /// reuse a version.
    pub(crate) async fn stamp(&self, room: RoomId) -> Result<Option<String>, StoreError> {
        let mut order = Order::new(&SCRIPT, 1);
        order.arg(self.keys().room_stamp(room)).arg(self.unique());
        order.arg(self.latest_now().as_millis()).arg(STAMP_LASTS.as_millis());
        let answer = self.connection().order(order).await?;
        redis::from_redis_value(answer).map_err(|error| strange(&error))
    }

    /// Deletes the cache version of a room that does not exist.
    pub(crate) async fn unstamp(&self, room: RoomId) -> Result<(), StoreError> {
        let mut pipeline = redis::pipe();
        pipeline.hdel(self.keys().room_stamp(room), STAMP);
        self.connection().ask(&pipeline).await.map(|_| ())
    }

    /// Returns a name unique among all servers.
    fn unique(&self) -> String {
        format!("{:016x}", self.next_version())
    }
}

/// Command that reads a room's hash.
pub(crate) fn ask(key: &str) -> Cmd {
    Cmd::hgetall(key)
}

/// Parses a room's hash at `now`.
pub(crate) fn read(hash: &Value, now: Timestamp) -> Result<Stamp, StoreError> {
    let mut fields: HashMap<String, String> = redis::from_redis_value_ref(hash).map_err(|_| strange(hash))?;
    let stamp = fields.remove(STAMP);
    // An intent that cannot be parsed does not expire.
    let is_over = |until: &String| until.parse().is_ok_and(|until| Timestamp::from_millis(until) <= now);
    if !fields.values().all(is_over) {
        return Ok(Stamp::Changing);
    }
    Ok(stamp.map_or(Stamp::Missing, Stamp::Is))
}
