//! Store of each profile, empty and private, with a clock that the test sets.

use std::sync::Arc;

use holdfast_connect::TlsRoots;
use holdfast_core::time::Span;
use holdfast_engine::{Clock, Store};
use holdfast_store_postgres::{DurableTier, PostgresOptions, PostgresStore};
use holdfast_store_redis::confirm_attempts::ABANDONED_AFTER;
use holdfast_store_redis::{ClusterStore, LiveOptions, LiveTier, OnLoss};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use holdfast_waiting_room::{
    IdSource, InProcess, Key, Keys, Options, PostgresJournal, RedisOptions, RedisRoom, SqliteJournal, Timings,
    WaitingRoom,
};
use tempfile::TempDir;

use crate::temporary_directory::fast_parent;
use crate::{TestDatabase, postgres, random, redis};

/// Deployment profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Embedded,
    Postgres,
    Cluster,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Embedded, Self::Postgres, Self::Cluster];
}

/// Storage of a test; removed when dropped.
#[derive(Debug)]
pub enum Place {
    Embedded(TempDir),
    Postgres(TestDatabase),
    Cluster { database: TestDatabase, redis_url: String, prefix: String },
}

impl Place {
    pub fn new(profile: Profile) -> Self {
        match profile {
            Profile::Embedded => {
                Self::Embedded(tempfile::tempdir_in(fast_parent()).expect("a directory can be created"))
            }
            Profile::Postgres => Self::Postgres(database()),
            Profile::Cluster => {
                Self::Cluster { database: database(), redis_url: redis().url().to_owned(), prefix: redis().prefix() }
            }
        }
    }

    /// Opens the store, as a server does when it starts.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn Store> {
        match self {
            Self::Embedded(directory) => {
                let options = OpenOptions { durable: false, ..OpenOptions::new(directory.path()) };
                Arc::new(SqliteStore::open(options, clock).expect("the store opens"))
            }
            Self::Postgres(database) => {
                let options = PostgresOptions { clock: Some(clock), ..PostgresOptions::new(database.url()) };
                Arc::new(PostgresStore::open(options).await.expect("the store opens"))
            }
            Self::Cluster { .. } => Arc::new(self.open_cluster(clock, ABANDONED_AFTER).await),
        }
    }

    /// Opens the waiting room, as a server does after its store.
    pub async fn open_room(&self, timings: Timings, clock: Arc<dyn Clock>) -> Arc<dyn WaitingRoom> {
        let keys = Arc::new(Keys::new(Key::new(&[7; 32]).expect("long enough"), Vec::new()));
        let ids: IdSource = Arc::new(|| ((u128::from(random()) << 64) | u128::from(random())).to_be_bytes());
        let options = Options { timings, keys: keys.clone(), clock: clock.clone(), ids: ids.clone() };
        match self {
            Self::Embedded(directory) => {
                let journal = SqliteJournal::new(directory.path()).without_sync();
                Arc::new(InProcess::open(journal, options).await.expect("the waiting room opens"))
            }
            Self::Postgres(database) => {
                let journal =
                    PostgresJournal::new(database.url(), &TlsRoots::default()).expect("the address of PostgreSQL");
                Arc::new(InProcess::open(journal, options).await.expect("the waiting room opens"))
            }
            Self::Cluster { redis_url, prefix, .. } => {
                let (url, prefix) = (redis_url.clone(), prefix.clone());
                let options = RedisOptions {
                    url,
                    tls_roots: TlsRoots::default(),
                    prefix,
                    timings,
                    keys,
                    ids,
                    clock: Some(clock),
                };
                Arc::new(RedisRoom::new(options).expect("the address of Redis"))
            }
        }
    }

    /// Opens the two-tier store. Attempts older than `abandoned_after` count as abandoned by their server.
    pub async fn open_cluster(&self, clock: Arc<dyn Clock>, abandoned_after: Span) -> ClusterStore {
        let Self::Cluster { database, redis_url, prefix } = self else { panic!("{self:?} is no cluster") };
        let options = PostgresOptions { clock: Some(clock.clone()), ..PostgresOptions::new(database.url()) };
        let durable = DurableTier::open(options).await.expect("the database opens");
        let live = LiveTier::new(LiveOptions {
            url: redis_url.clone(),
            tls_roots: TlsRoots::default(),
            prefix: prefix.clone(),
            is_first: true,
            on_loss: OnLoss::Resume,
            abandoned_after,
            nonce: random(),
            clock: Some(clock),
        });
        ClusterStore::new(live.expect("the address of Redis"), durable)
    }
}

/// Creates an empty database with all tables.
fn database() -> TestDatabase {
    postgres().database_from("holdfast", async |url| {
        let opened = DurableTier::open(PostgresOptions::new(url)).await;
        opened.expect("the tables are created");
    })
}
