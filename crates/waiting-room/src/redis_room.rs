//! Rooms in Redis, for any number of servers. One script (`room.lua`) implements the rules of [`Room`](crate::Room); a
//! test runs the same histories on both. Each call is one run of the script: one round trip, at the time of Redis.
//!
//! | key | contents |
//! | --- | --- |
//! | `queue:{event}` | sorted set: waiters by number |
//! | `queue:heard:{event}` | hash: waiters, and the end of the place unless they poll |
//! | `queue:ready:{event}` | hash: ready users, and the end of their turn |
//! | `queue:due:{event}` | sorted set: waiters by their deadline, or an earlier moment |
//! | `token:count:{event}` | sorted set: users inside, by the end of the entry; so the count cannot drift |
//! | `token:{event}:{user}` | string: an entry, with a time to live |
//! | `queue:room:{event}` | hash: the event's settings, the last number and time, the rate of admission |
//! | `queue:changes` | channel of changes |
//!
//! An optional common prefix precedes all of them; in a Redis Cluster it must be a hash tag. Unused keys expire. If Redis loses
//! its data, the queue starts empty.

mod connection;
mod listener;

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use holdfast_connect::TlsRoots;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_engine::Clock;
use parking_lot::Mutex;
use redis::Script;
use tokio::sync::broadcast;

use crate::in_process::IdSource;
use crate::settings::{EventId, EventSettings, Timings};
use crate::token::Keys;
use crate::view::{Admission, Entry, Standing, UserState, View};
use crate::waiting_room::{Change, Entered, Error, Joined, Refusal, Stats, WaitingRoom};
use connection::Connection;
use listener::ChangeSubscriber;

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis_room/room.lua")));

/// Maximum number of further script runs per call, when one run cannot apply all deadlines.
const CONTINUATIONS_MAX: usize = 1_000;

pub struct RedisOptions {
    /// The connection is encrypted if it begins with `rediss://`.
    pub url: String,
    /// Certificate authorities for the certificate of Redis.
    pub tls_roots: TlsRoots,
    /// Prefix of all keys.
    pub prefix: String,
    pub timings: Timings,
    pub keys: Arc<Keys>,
    pub ids: IdSource,
    /// Replaces the time of Redis; for tests.
    pub clock: Option<Arc<dyn Clock>>,
}

impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.debug_struct("RedisOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct RedisRoom {
    options: RedisOptions,
    connection: Connection,
    subscriber: Mutex<Option<ChangeSubscriber>>,
}

/// Answer of the script; its end has the layout.
#[derive(Debug)]
struct Answer {
    /// Outcome, depending on the action.
    done: bool,
    state: Option<UserState>,
    stats: Stats,
}

impl RedisRoom {
    /// Connects on first use.
    pub fn new(options: RedisOptions) -> Result<Self, Error> {
        let connection = Connection::new(&options.url, &options.tls_roots)?;
        Ok(Self { options, connection, subscriber: Mutex::default() })
    }

    /// Verifies that Redis answers.
    pub async fn check(&self) -> Result<(), Error> {
        self.connection.ping().await
    }

    /// Number of round trips to Redis so far.
    pub fn round_trips(&self) -> u64 {
        self.connection.round_trips()
    }

    async fn call(
        &self,
        action: &str,
        event: EventId,
        settings: &EventSettings,
        user: Option<&UserId>,
    ) -> Result<Answer, Error> {
        let RedisOptions { prefix, timings, ids, clock, .. } = &self.options;
        let user = user.unwrap_or(&UserId::SYSTEM);
        let id = if action == "enter" { hex(ids()) } else { String::new() };
        let mut call = SCRIPT.prepare_invoke();
        for key in ["queue", "queue:due", "queue:heard", "queue:ready", "token:count", "queue:room"] {
            call.key(format!("{prefix}{key}:{event}"));
        }
        call.key(format!("{prefix}token:{event}:{}", user.key_part())).key(format!("{prefix}queue:changes"));
        call.arg(action).arg(event.0).arg(user.to_string()).arg(id.as_str());
        call.arg(settings.revision).arg(settings.max_concurrent).arg(u8::from(settings.paused));
        call.arg(settings.sales_open_at.map_or(0, Timestamp::as_millis));
        for span in [timings.entry_ttl, timings.entry_max, timings.waiter_ttl, timings.ready_ttl] {
            call.arg(span.as_millis());
        }
        if let Some(clock) = clock {
            call.arg(clock.now().as_millis());
        }
        for _ in 0..CONTINUATIONS_MAX {
            let answer = self.connection.invoke(&call).await?;
            if !answer.is_empty() {
                return read(&answer).ok_or_else(|| {
                    tracing::debug!(?answer, "unexpected response from Redis");
                    Error::Damaged("unexpected response from Redis; the log has it at level debug".into())
                });
            }
        }
        Err(Error::Overloaded)
    }

    fn view(&self, event: EventId, user: &UserId, state: &UserState) -> View {
        View::new(&self.options.keys, &self.options.timings, event, user, state)
    }

    fn entry_of(&self, event: EventId, user: &UserId, state: Option<&UserState>) -> Option<Entry> {
        match state?.standing {
            Standing::Entered(admission) => Some(Entry::sign(&self.options.keys, event, user, admission)),
            Standing::Waiting { .. } | Standing::Ready { .. } => None,
        }
    }
}

#[async_trait]
impl WaitingRoom for RedisRoom {
    async fn join(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Joined, Error> {
        let Answer { done, state, .. } = self.call("join", event, settings, Some(user)).await?;
        let state = state.ok_or_else(|| Error::Damaged("a user who joined has no place".into()))?;
        Ok(Joined { view: self.view(event, user, &state), new: done })
    }

    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<View, Refusal>, Error> {
        let Answer { state, .. } = self.call("poll", event, settings, Some(user)).await?;
        Ok(state.map(|state| self.view(event, user, &state)).ok_or(Refusal::NotInQueue))
    }

    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<Entered, Refusal>, Error> {
        let Answer { done, state, .. } = self.call("enter", event, settings, Some(user)).await?;
        Ok(match (self.entry_of(event, user, state.as_ref()), state) {
            (Some(entry), _) => Ok(Entered { entry, first: done }),
            (None, Some(state)) => Err(Refusal::NotYourTurn(self.view(event, user, &state))),
            (None, None) => Err(Refusal::NotInQueue),
        })
    }

    async fn leave(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error> {
        Ok(self.call("leave", event, settings, Some(user)).await?.done)
    }

    async fn give_back(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error> {
        Ok(self.call("give_back", event, settings, Some(user)).await?.done)
    }

    async fn entry(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Option<Entry>, Error> {
        let Answer { state, .. } = self.call("entry", event, settings, Some(user)).await?;
        Ok(self.entry_of(event, user, state.as_ref()))
    }

    async fn configure(&self, event: EventId, settings: &EventSettings) -> Result<(), Error> {
        self.call("configure", event, settings, None).await.map(|_| ())
    }

    async fn stats(&self, event: EventId, settings: &EventSettings) -> Result<Stats, Error> {
        Ok(self.call("stats", event, settings, None).await?.stats)
    }

    /// Does nothing: unused keys expire, and each call applies the deadlines first. To notify subscribers of deadlines
    /// in an event, call [`WaitingRoom::configure`] for it from time to time.
    async fn tidy(&self) -> Result<(), Error> {
        Ok(())
    }

    fn keys(&self) -> &Keys {
        &self.options.keys
    }

    fn subscribe(&self) -> broadcast::Receiver<Change> {
        let mut subscriber = self.subscriber.lock();
        let channel = format!("{}queue:changes", self.options.prefix);
        let start = || ChangeSubscriber::start(self.connection.client(), channel, self.connection.runtime());
        subscriber.get_or_insert_with(start).subscribe()
    }
}

fn read(answer: &[Vec<u8>]) -> Option<Answer> {
    let text = |index: usize| std::str::from_utf8(answer.get(index)?).ok();
    let number = |index: usize| text(index)?.parse::<u64>().ok();
    let time = |index: usize| Some(Timestamp::from_millis(text(index)?.parse().ok()?));
    let stats = Stats {
        waiting: number(3)?,
        ready: number(4)?,
        entered: number(5)?,
        max_concurrent: number(6)? as u32,
        paused: number(7)? != 0,
        admitted_per_minute: number(9)?,
    };
    let standing = match text(1)? {
        "waiting" => Some(Standing::Waiting { rank: number(10)? }),
        "ready" => Some(Standing::Ready { rank: number(10)?, until: time(11)? }),
        "entered" => {
            let (id, entered_at) = (unhex(text(10)?)?, time(11)?);
            Some(Standing::Entered(Admission { id, entered_at, expires_at: time(12)? }))
        }
        _ => None,
    };
    let user_state = match standing {
        None => None,
        Some(standing) => Some(UserState {
            at: time(2)?,
            standing,
            entered: stats.entered,
            max_concurrent: stats.max_concurrent,
            sales_open_at: Some(time(8)?).filter(|at| *at > Timestamp::default()),
            admitted_per_minute: stats.admitted_per_minute,
        }),
    };
    Some(Answer { done: number(0)? != 0, state: user_state, stats })
}

fn hex(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    Some(u128::from_str_radix(text, 16).ok()?.to_be_bytes())
}
