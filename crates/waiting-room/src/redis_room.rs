//! Rooms in Redis, for any number of servers. One script (`room.lua`) holds the same rules as [`Room`](crate::Room), and a test
//! runs the same histories on both. Each call is one run of the script: one round trip, and the time is that of Redis.
//!
//! | key | what is in it |
//! | --- | --- |
//! | `queue:{event}` | sorted set: who waits, by number |
//! | `queue:heard:{event}` | hash: who waits, and until when if nothing more is heard of them |
//! | `queue:ready:{event}` | hash: who is ready, and until when |
//! | `queue:due:{event}` | sorted set: who waits, by when they lose the place, or earlier |
//! | `token:count:{event}` | sorted set: who is inside, by when the entry ends; so the count cannot drift |
//! | `token:{event}:{user}` | string: an entry; gone when it ends |
//! | `queue:room:{event}` | hash: the event's settings, the last number and time, the rate of admission |
//! | `queue:changes` | channel: what listeners are told |
//!
//! A common prefix may stand before all of them; in a Redis Cluster it must be a hash tag. Keys nobody uses go away by
//! themselves. If Redis loses its data, the line begins anew.

mod connection;
mod listener;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_dial::Trust;
use holdfast_engine::Clock;
use tokio::sync::broadcast;

use crate::in_process::IdSource;
use crate::settings::{EventId, EventSettings, Timings};
use crate::token::Keys;
use crate::view::{Admission, Entry, Sight, Standing, View};
use crate::waiting_room::{Change, Entered, Error, Joined, Refusal, Stats, WaitingRoom};
use connection::{Call, Connection};
use listener::Listener;

/// How often one call is continued because the script had too much to clear away at once.
const CONTINUED_MAX: usize = 1_000;

pub struct RedisOptions {
    /// Connections are encrypted if it begins with `rediss://`.
    pub url: String,
    /// Who signs the certificate of Redis.
    pub trust: Trust,
    /// Stands before all keys.
    pub prefix: String,
    pub timings: Timings,
    pub keys: Arc<Keys>,
    pub ids: IdSource,
    /// Tells the time instead of Redis; for tests.
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
    listener: Mutex<Option<Listener>>,
}

/// What the script answers: see its end.
#[derive(Debug)]
struct Answer {
    /// What came of it: depends on what was asked.
    done: bool,
    sight: Option<Sight>,
    stats: Stats,
}

impl RedisRoom {
    /// Connects when it is first used.
    pub fn new(options: RedisOptions) -> Result<Self, Error> {
        let connection = Connection::new(&options.url, &options.trust)?;
        Ok(Self { options, connection, listener: Mutex::default() })
    }

    /// Whether Redis answers.
    pub async fn check(&self) -> Result<(), Error> {
        self.connection.ping().await
    }

    /// How often Redis was asked.
    pub fn round_trips(&self) -> u64 {
        self.connection.round_trips()
    }

    async fn call(
        &self,
        what: &str,
        event: EventId,
        settings: &EventSettings,
        user: Option<UserId>,
    ) -> Result<Answer, Error> {
        let RedisOptions { prefix, timings, ids, clock, .. } = &self.options;
        let user = user.map_or(0, UserId::get);
        let id = if what == "enter" { hex(ids()) } else { String::new() };
        let mut call = Call::default();
        for key in ["queue", "queue:due", "queue:heard", "queue:ready", "token:count", "queue:room"] {
            call.key(format!("{prefix}{key}:{event}"));
        }
        call.key(format!("{prefix}token:{event}:{user}")).key(format!("{prefix}queue:changes"));
        call.arg(what).arg(event).arg(user).arg(id.as_str());
        call.arg(settings.revision).arg(settings.max_concurrent).arg(u8::from(settings.paused));
        call.arg(settings.sales_open_at.map_or(0, Timestamp::as_millis));
        for span in [timings.entry_ttl, timings.entry_max, timings.waiter_ttl, timings.ready_ttl] {
            call.arg(span.as_millis());
        }
        if let Some(clock) = clock {
            call.arg(clock.now().as_millis());
        }
        for _ in 0..CONTINUED_MAX {
            let answer = self.connection.run(&call).await?;
            if !answer.is_empty() {
                return read(&answer).ok_or_else(|| Error::Damaged(format!("Redis answered {answer:?}")));
            }
        }
        Err(Error::Overloaded)
    }

    fn view(&self, event: EventId, user: UserId, sight: &Sight) -> View {
        View::new(&self.options.keys, &self.options.timings, event, user, sight)
    }

    fn entry_of(&self, event: EventId, user: UserId, sight: Option<&Sight>) -> Option<Entry> {
        match sight?.standing {
            Standing::Entered(admission) => Some(Entry::sign(&self.options.keys, event, user, admission)),
            Standing::Waiting { .. } | Standing::Ready { .. } => None,
        }
    }
}

#[async_trait]
impl WaitingRoom for RedisRoom {
    async fn join(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Joined, Error> {
        let Answer { done, sight, .. } = self.call("join", event, settings, Some(user)).await?;
        let sight = sight.ok_or_else(|| Error::Damaged("joined, and not there".into()))?;
        Ok(Joined { view: self.view(event, user, &sight), new: done })
    }

    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<View, Refusal>, Error> {
        let Answer { sight, .. } = self.call("poll", event, settings, Some(user)).await?;
        Ok(sight.map(|sight| self.view(event, user, &sight)).ok_or(Refusal::NotInQueue))
    }

    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<Entered, Refusal>, Error> {
        let Answer { done, sight, .. } = self.call("enter", event, settings, Some(user)).await?;
        Ok(match (self.entry_of(event, user, sight.as_ref()), sight) {
            (Some(entry), _) => Ok(Entered { entry, first: done }),
            (None, Some(sight)) => Err(Refusal::NotYourTurn(self.view(event, user, &sight))),
            (None, None) => Err(Refusal::NotInQueue),
        })
    }

    async fn leave(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error> {
        Ok(self.call("leave", event, settings, Some(user)).await?.done)
    }

    async fn give_back(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error> {
        Ok(self.call("give_back", event, settings, Some(user)).await?.done)
    }

    async fn entry(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Option<Entry>, Error> {
        let Answer { sight, .. } = self.call("entry", event, settings, Some(user)).await?;
        Ok(self.entry_of(event, user, sight.as_ref()))
    }

    async fn configure(&self, event: EventId, settings: &EventSettings) -> Result<(), Error> {
        self.call("configure", event, settings, None).await.map(|_| ())
    }

    async fn stats(&self, event: EventId, settings: &EventSettings) -> Result<Stats, Error> {
        Ok(self.call("stats", event, settings, None).await?.stats)
    }

    /// Nothing to do: keys nobody uses go away, and whoever calls clears up first. To have listeners told of what time ends
    /// in an event, call [`WaitingRoom::configure`] for it now and then.
    async fn tidy(&self) -> Result<(), Error> {
        Ok(())
    }

    fn keys(&self) -> &Keys {
        &self.options.keys
    }

    fn subscribe(&self) -> broadcast::Receiver<Change> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = format!("{}queue:changes", self.options.prefix);
        let start = || Listener::start(self.connection.link(), channel, self.connection.runtime());
        listener.get_or_insert_with(start).subscribe()
    }
}

fn read(answer: &[Vec<u8>]) -> Option<Answer> {
    let text = |index: usize| std::str::from_utf8(answer.get(index)?).ok();
    let number = |index: usize| text(index)?.parse::<u64>().ok();
    let moment = |index: usize| Some(Timestamp::from_millis(text(index)?.parse().ok()?));
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
        "ready" => Some(Standing::Ready { rank: number(10)?, until: moment(11)? }),
        "entered" => {
            let (id, entered_at) = (unhex(text(10)?)?, moment(11)?);
            Some(Standing::Entered(Admission { id, entered_at, expires_at: moment(12)? }))
        }
        _ => None,
    };
    let sight = match standing {
        None => None,
        Some(standing) => Some(Sight {
            at: moment(2)?,
            standing,
            entered: stats.entered,
            max_concurrent: stats.max_concurrent,
            sales_open_at: Some(moment(8)?).filter(|at| *at > Timestamp::default()),
            admitted_per_minute: stats.admitted_per_minute,
        }),
    };
    Some(Answer { done: number(0)? != 0, sight, stats })
}

fn hex(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    Some(u128::from_str_radix(text, 16).ok()?.to_be_bytes())
}
