//! Whether what servers keep of a room's slots is still so.
//!
//! A room has a hash in Redis with a *stamp* in it: whoever has read the room after it saw that stamp may keep what it read for
//! as long as the stamp stands there. Whoever is about to change the room's slots writes its own *name* beside it and
//! removes the stamp; when the change is committed, or is sure not to be, it removes its name again, and any stamp with it,
//! should the name have been lost meanwhile. While a name stands there, the room is read from PostgreSQL. So nobody is told
//! anything older than what is committed, and a server that dies in between costs others the way to PostgreSQL until its
//! name is over. `protocol-model` has a model of this.

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

/// How long a name counts: longer than the commit it announces can still come, also if that waits for a standby.
const NAME_LASTS: Span = Span::from_hours(1);
/// How long a stamp lasts: what was written past Holdfast is seen after that.
const STAMP_LASTS: Span = Span::from_secs(120);
/// How often, and how long apart, a name is tried to be removed that could not be.
const WITHDRAWALS_MAX: usize = 20;
const WITHDRAWAL_WAIT: Duration = Duration::from_millis(500);

const STAMP: &str = "stamp";

/// What a room's hash says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    Missing,
    Is(String),
    /// Somebody is changing the room.
    Changing,
}

/// Something that is about to change some rooms' slots.
pub(crate) struct Announced {
    name: String,
    rooms: Vec<RoomId>,
}

impl LiveTier {
    /// To be done before the change is committed.
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

    /// The change is committed, or is sure not to be. While that cannot be said, the rooms are read from PostgreSQL.
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

    /// The room's stamp, a new one if it has none. Sent once: one that came late, when the room was changed in between, would
    /// be a stamp used twice.
    pub(crate) async fn stamp(&self, room: RoomId) -> Result<Option<String>, StoreError> {
        let mut order = Order::new(&SCRIPT, 1);
        order.arg(self.keys().room_stamp(room)).arg(self.unique());
        order.arg(self.latest_now().as_millis()).arg(STAMP_LASTS.as_millis());
        let answer = self.connection().order(order).await?;
        redis::from_redis_value(answer).map_err(|error| strange(&error))
    }

    /// Takes the stamp away from what turned out to be no room.
    pub(crate) async fn unstamp(&self, room: RoomId) -> Result<(), StoreError> {
        let mut pipeline = redis::pipe();
        pipeline.hdel(self.keys().room_stamp(room), STAMP);
        self.connection().ask(&pipeline).await.map(|_| ())
    }

    /// Different each time, whoever asks.
    fn unique(&self) -> String {
        format!("{:016x}", self.next_version())
    }
}

/// The command that asks for a room's hash.
pub(crate) fn ask(key: &str) -> Cmd {
    Cmd::hgetall(key)
}

/// What a room's hash says at `now`.
pub(crate) fn read(hash: &Value, now: Timestamp) -> Result<Stamp, StoreError> {
    let mut fields: HashMap<String, String> = redis::from_redis_value_ref(hash).map_err(|_| strange(hash))?;
    let stamp = fields.remove(STAMP);
    // A name that cannot be read is one that does not end.
    let is_over = |until: &String| until.parse().is_ok_and(|until| Timestamp::from_millis(until) <= now);
    if !fields.values().all(is_over) {
        return Ok(Stamp::Changing);
    }
    Ok(stamp.map_or(Stamp::Missing, Stamp::Is))
}
