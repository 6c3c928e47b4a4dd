//! Rooms of each implementation, with a clock that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use holdfast_connect::TlsRoots;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_engine::{Clock, ManualClock};
use holdfast_testkit::{TestDatabase, postgres, redis};
use holdfast_waiting_room::{
    Entered, Entry, EventId, EventSettings, IdSource, InProcess, Joined, Key, Keys, Options, PostgresJournal,
    RedisOptions, RedisRoom, Refusal, SqliteJournal, Stats, Status, Timings, View, WaitingRoom,
};
use tempfile::TempDir;

use crate::pure::Pure;

pub(crate) const START: i64 = 1_800_000_000_000;
pub(crate) const EVENT: EventId = EventId(7);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pure,
    Sqlite,
    Postgres,
    Redis,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Pure, Self::Sqlite, Self::Postgres, Self::Redis];
    pub(crate) const DURABLE: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

/// Storage of a room, which can be opened again.
pub(crate) enum Backend {
    Memory,
    Directory(TempDir),
    Database(TestDatabase),
    Prefix(String),
}

impl Backend {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Pure => Self::Memory,
            Kind::Sqlite => Self::Directory(tempfile::tempdir().unwrap()),
            Kind::Postgres => Self::Database(postgres().database()),
            Kind::Redis => Self::Prefix(redis().prefix()),
        }
    }

    pub(crate) async fn open(&self, timings: Timings, clock: Arc<ManualClock>) -> Arc<dyn WaitingRoom> {
        let options = Options { timings, keys: Arc::new(keys()), clock: clock.clone(), ids: ids() };
        match self {
            Self::Memory => Arc::new(Pure::new(options)),
            Self::Directory(directory) => {
                let journal = SqliteJournal::new(directory.path()).without_sync();
                Arc::new(InProcess::open(journal, options).await.unwrap())
            }
            Self::Database(database) => Arc::new(
                InProcess::open(PostgresJournal::new(database.url(), &TlsRoots::default()).unwrap(), options)
                    .await
                    .unwrap(),
            ),
            Self::Prefix(prefix) => Arc::new(redis_room(prefix, timings, Some(clock))),
        }
    }
}

pub(crate) fn redis_room(prefix: &str, timings: Timings, clock: Option<Arc<ManualClock>>) -> RedisRoom {
    let options = RedisOptions {
        url: redis().url().to_owned(),
        tls_roots: TlsRoots::default(),
        prefix: prefix.to_owned(),
        timings,
        keys: Arc::new(keys()),
        ids: ids(),
        clock: clock.map(|clock| clock as Arc<dyn Clock>),
    };
    RedisRoom::new(options).unwrap()
}

pub(crate) fn options(timings: Timings, clock: Arc<dyn Clock>) -> Options {
    Options { timings, keys: Arc::new(keys()), clock, ids: ids() }
}

pub(crate) fn keys() -> Keys {
    Keys::new(Key::new(&[7; 32]).unwrap(), Vec::new())
}

/// Counts up, so that all implementations make the same ids.
fn ids() -> IdSource {
    let next = AtomicU64::new(1);
    Arc::new(move || u128::from(next.fetch_add(1, Ordering::SeqCst)).to_be_bytes())
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(START)))
}

/// Returns a user: integers and texts in turn.
pub(crate) fn user(number: u64) -> UserId {
    let text = if number.is_multiple_of(2) { format!("auth0|{number}:{{a}}%") } else { number.to_string() };
    UserId::parse_text(&text).unwrap()
}

pub(crate) fn space(max_concurrent: u32) -> EventSettings {
    EventSettings { revision: 0, max_concurrent, paused: false, sales_open_at: None }
}

/// One event's room, with short forms of the calls.
pub(crate) struct RoomFixture {
    pub kind: Kind,
    pub room: Arc<dyn WaitingRoom>,
    pub clock: Arc<ManualClock>,
    pub backend: Backend,
    pub settings: EventSettings,
    pub timings: Timings,
}

impl RoomFixture {
    pub(crate) async fn new(kind: Kind, max_concurrent: u32) -> Self {
        Self::with(kind, max_concurrent, Timings::default()).await
    }

    pub(crate) async fn with(kind: Kind, max_concurrent: u32, timings: Timings) -> Self {
        let (clock, backend) = (clock(), Backend::new(kind));
        let room = backend.open(timings, clock.clone()).await;
        Self { kind, room, clock, backend, settings: space(max_concurrent), timings }
    }

    /// Reopens the room as after a restart of the server.
    pub(crate) async fn reopen(self) -> Self {
        let Self { kind, room, clock, backend, settings, timings } = self;
        drop(room);
        let room = backend.open(timings, clock.clone()).await;
        Self { kind, room, clock, backend, settings, timings }
    }

    pub(crate) fn wait(&self, seconds: i64) {
        self.clock.advance(Span::from_secs(seconds));
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn join(&self, number: u64) -> Joined {
        self.room.join(EVENT, &self.settings, &user(number)).await.unwrap()
    }

    pub(crate) async fn join_all(&self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.join(number).await;
        }
    }

    pub(crate) async fn poll(&self, number: u64) -> Option<View> {
        match self.room.poll(EVENT, &self.settings, &user(number)).await.unwrap() {
            Ok(view) => Some(view),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::NotInQueue, "a poll is never too early");
                None
            }
        }
    }

    pub(crate) async fn enter(&self, number: u64) -> Result<Entered, Refusal> {
        self.room.enter(EVENT, &self.settings, &user(number)).await.unwrap()
    }

    pub(crate) async fn leave(&self, number: u64) -> bool {
        self.room.leave(EVENT, &self.settings, &user(number)).await.unwrap()
    }

    pub(crate) async fn give_back(&self, number: u64) -> bool {
        self.room.give_back(EVENT, &self.settings, &user(number)).await.unwrap()
    }

    pub(crate) async fn entry(&self, number: u64) -> Option<Entry> {
        self.room.entry(EVENT, &self.settings, &user(number)).await.unwrap()
    }

    pub(crate) async fn configure(&mut self, change: impl FnOnce(&mut EventSettings)) {
        self.settings.revision += 1;
        change(&mut self.settings);
        self.room.configure(EVENT, &self.settings).await.unwrap();
    }

    pub(crate) async fn stats(&self) -> Stats {
        self.room.stats(EVENT, &self.settings).await.unwrap()
    }

    /// Returns (waiting, ready, entered).
    pub(crate) async fn counts(&self) -> (u64, u64, u64) {
        let stats = self.stats().await;
        (stats.waiting, stats.ready, stats.entered)
    }

    /// Returns "waiting 3", "ready 0", "entered" or "gone"; extends the backend like any poll.
    pub(crate) async fn standing(&self, number: u64) -> String {
        match self.poll(number).await {
            None => "gone".into(),
            Some(View { status: Status::Waiting, rank, .. }) => format!("waiting {rank}"),
            Some(View { status: Status::Ready { .. }, rank, .. }) => format!("ready {rank}"),
            Some(View { status: Status::Entered(_), rank, .. }) => {
                assert_eq!(rank, 0, "rank once entered");
                "entered".into()
            }
        }
    }
}

/// Generator whose numbers depend on the seed only.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
