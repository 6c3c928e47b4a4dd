//! Store of a server that owns the database: batches through one writer, concurrent reads.
//!
//! The writer's connection holds the lock that excludes other servers, so only the lock's owner can write. In-memory
//! state is valid only while that connection lives. When it is in doubt, the connection is dropped, and the next caller
//! reconnects and compares.

mod batch;
mod read;
mod recover;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::schema::{List, Listed};
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::store::{Keep, OutboxRecord, Session, Tier};
use holdfast_engine::{Memory, Store, StoreError};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use crate::clock::StoreClock;
use crate::connection::{Connection, ConnectionFactory};
use crate::open::{self, Backend, OpenError, PostgresOptions};
use crate::readers::Readers;

use batch::Batch;

/// Maximum wait for the writer while it is busy or recovering.
const WRITER_TIMEOUT: Duration = Duration::from_secs(2);

/// Delay after a failed recovery: without it, each queued caller would wait for an attempt of its own.
const RECOVER_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Cheap to clone.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Arc<ConnectionFactory>,
    clock: StoreClock,
    readers: Readers,
    writer: Arc<Mutex<Writer>>,
    /// The writer's connection, to check whether it lives.
    connection: RwLock<Weak<Connection>>,
    memory: RwLock<Cache>,
    /// Number of the last commit applied to in-memory state.
    commits: watch::Sender<u64>,
}

/// Exclusive right to write.
struct Writer {
    /// `None` if in-memory state is in doubt: reconnect and compare.
    connection: Option<Arc<Connection>>,
    backend: Option<Backend>,
    /// In-memory state is known to be wrong, also if the commit counter matches.
    must_rebuild: bool,
    /// Time and reason of the last failed recovery.
    failed: Option<(Instant, StoreError)>,
}

/// In-memory state, and the epoch of its cache.
struct Cache {
    memory: Memory,
    /// Incremented when cached rows are evicted, or new rows are left out.
    epoch: u64,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Opens the database exclusively, and migrates its schema.
    pub async fn open(options: PostgresOptions) -> Result<Self, OpenError> {
        let connector = Arc::new(options.connection_factory()?);
        open::migrate(&connector).await?;
        let clock = StoreClock::new(options.clock);
        let taken = recover::take(&connector, &clock, None).await?;
        let memory = recover::rebuild(&taken.connection, clock.now()).await?;
        let connection = Arc::new(taken.connection);
        let shared = Shared {
            readers: Readers::new(&connector, options.readers_max),
            connector,
            connection: RwLock::new(Arc::downgrade(&connection)),
            writer: Arc::new(Mutex::new(Writer {
                connection: Some(connection),
                backend: Some(taken.backend),
                must_rebuild: false,
                failed: None,
            })),
            commits: watch::Sender::new(memory.commits),
            memory: RwLock::new(Cache { memory, epoch: 0 }),
            clock,
        };
        shared.connector.opened();
        Ok(Self { shared: Arc::new(shared) })
    }

    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Round trips of batches and reads by key, without lists.
    pub fn round_trips(&self) -> u64 {
        self.shared.connector.round_trips()
    }
}

impl Shared {
    fn memory(&self) -> RwLockReadGuard<'_, Cache> {
        self.memory.read()
    }

    fn memory_mut(&self) -> RwLockWriteGuard<'_, Cache> {
        self.memory.write()
    }

    /// Whether in-memory state is valid: no other server can write while this connection lives.
    fn is_fit(&self) -> bool {
        let connection = self.connection.read();
        connection.upgrade().is_some_and(|connection| !connection.is_closed())
    }

    /// Returns the writer, recovered if necessary.
    async fn writer(self: &Arc<Self>) -> Result<OwnedMutexGuard<Writer>, StoreError> {
        let fit = async {
            let mut writer = self.writer.clone().lock_owned().await;
            if writer.connection.as_ref().is_some_and(|connection| !connection.is_closed()) {
                return Ok(writer);
            }
            if let Some((at, error)) = &writer.failed
                && at.elapsed() < RECOVER_AGAIN_AFTER
            {
                return Err(error.clone());
            }
            // Spawned, since it may take longer than the caller waits; the next caller finds it done.
            let shared = self.clone();
            let recovering = self.connector.driver().spawn(async move {
                let recovered = shared.recover(&mut writer).await;
                writer.failed = recovered.as_ref().err().map(|error| (Instant::now(), error.clone()));
                recovered.map(|()| writer)
            });
            recovering.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        };
        let busy = || StoreError::Unavailable("the store is busy or recovering".into());
        tokio::time::timeout(WRITER_TIMEOUT, fit).await.unwrap_or_else(|_| Err(busy()))
    }
}

impl Cache {
    /// Applies a committed batch.
    fn apply(&mut self, committed: &mut WorkingSet, now: Timestamp) {
        if !self.memory.apply(committed, now) {
            self.epoch += 1;
        }
    }

    fn replace(&mut self, memory: Memory) {
        self.memory = memory;
        self.epoch += 1;
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn begin(&self, _tier: Tier) -> Result<Box<dyn Session>, StoreError> {
        let writer = self.shared.writer().await?;
        Ok(Box::new(Batch { shared: self.shared.clone(), writer }))
    }

    async fn read(&self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.shared.read(rows).await
    }

    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError> {
        self.shared.readers.list(&list).await
    }

    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.shared.readers.outbox_after(id, limit).await
    }

    async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.shared.readers.outbox_before(id, limit).await
    }

    async fn outbox_last(&self) -> Result<u64, StoreError> {
        self.shared.readers.outbox_last().await
    }

    async fn installation(&self) -> Result<String, StoreError> {
        self.shared.readers.installation().await
    }

    async fn purge(&self, keep: Keep) -> Result<bool, StoreError> {
        self.shared.readers.purge(self.shared.clock.now(), keep).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        if !self.shared.is_fit() {
            drop(self.shared.writer().await?);
        }
        self.shared.readers.head().await?;
        self.shared.readers.probe_write().await
    }

    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        self.shared.readers.audit(audit).await
    }
}
