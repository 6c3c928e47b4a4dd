//! The store of a server that has the database to itself: batches through one writer, reads beside it.
//!
//! The writer's connection holds the lock that keeps other servers out, so whoever can write is the only one who can.
//! Memory is trusted only while that connection lives; whatever leaves memory in doubt gives the connection up, and the
//! next one to come connects anew and compares.

mod batch;
mod read;
mod recover;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::{Rows, Timestamp};
use holdfast_engine::store::{Keep, OutboxRecord, Session, Tier};
use holdfast_engine::{Memory, Store, StoreError};
use holdfast_records::{List, Listed};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use crate::clock::StoreClock;
use crate::connection::{Connection, Connector};
use crate::open::{self, Backend, OpenError, PostgresOptions};
use crate::readers::{AuditOf, Readers};

use batch::Batch;

/// How long one waits for the writer while it is busy or on its way back.
const WRITER_WITHIN: Duration = Duration::from_secs(2);

/// After a failed attempt to come back nobody tries again for so long: a queue of callers would wait for one attempt each.
const RECOVER_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Cheap to clone.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Arc<Connector>,
    clock: StoreClock,
    readers: Readers,
    writer: Arc<Mutex<Writer>>,
    /// The writer's connection, for those who only want to know whether it lives.
    connection: RwLock<Weak<Connection>>,
    memory: RwLock<Cache>,
    /// The number of the last commit that memory has taken over.
    commits: watch::Sender<u64>,
}

/// Whoever has this may write.
struct Writer {
    /// `None` if memory is in doubt: connect anew and compare.
    connection: Option<Arc<Connection>>,
    backend: Option<Backend>,
    /// Memory was found to be wrong, whatever the count of commits says.
    must_rebuild: bool,
    /// When the last attempt to come back failed, and why.
    failed: Option<(Instant, StoreError)>,
}

/// Memory, and how often it has forgotten something.
struct Cache {
    memory: Memory,
    /// Changes whenever cached rows were dropped, or rows that were made were left out.
    epoch: u64,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Takes the database for this server alone, and brings its schema up to date.
    pub async fn open(options: PostgresOptions) -> Result<Self, OpenError> {
        let connector = Arc::new(options.connector()?);
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

    /// How often batches and reads by key have waited for the database. Lists do not count.
    pub fn round_trips(&self) -> u64 {
        self.shared.connector.round_trips()
    }
}

impl Shared {
    fn memory(&self) -> RwLockReadGuard<'_, Cache> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory_mut(&self) -> RwLockWriteGuard<'_, Cache> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether memory can be trusted: nobody else can have written as long as this connection lives.
    fn is_fit(&self) -> bool {
        let connection = self.connection.read().unwrap_or_else(PoisonError::into_inner);
        connection.upgrade().is_some_and(|connection| !connection.is_closed())
    }

    /// The writer, fit to write.
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
            // Done apart: it may take longer than anybody waits, and the next one shall find it done.
            let shared = self.clone();
            let recovering = self.connector.driver().spawn(async move {
                let recovered = shared.recover(&mut writer).await;
                writer.failed = recovered.as_ref().err().map(|error| (Instant::now(), error.clone()));
                recovered.map(|()| writer)
            });
            recovering.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        };
        let busy = || StoreError::Unavailable("the store is busy or being read again".into());
        tokio::time::timeout(WRITER_WITHIN, fit).await.unwrap_or_else(|_| Err(busy()))
    }
}

impl Cache {
    /// Takes over a committed batch.
    fn absorb(&mut self, committed: &mut Rows, now: Timestamp) {
        if !self.memory.absorb(committed, now) {
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

    async fn read(&self, rows: &mut Rows) -> Result<Timestamp, StoreError> {
        self.shared.read(rows).await
    }

    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError> {
        self.shared.readers.list(&list).await
    }

    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.shared.readers.outbox_after(id, limit).await
    }

    async fn outbox_last(&self) -> Result<u64, StoreError> {
        self.shared.readers.outbox_last().await
    }

    async fn installation(&self) -> Result<String, StoreError> {
        self.shared.readers.installation().await
    }

    async fn tidy(&self, keep: Keep) -> Result<bool, StoreError> {
        self.shared.readers.tidy(self.shared.clock.now(), keep).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        if !self.shared.is_fit() {
            drop(self.shared.writer().await?);
        }
        self.shared.readers.head().await?;
        self.shared.readers.probe_write().await
    }

    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        self.shared.readers.audit(audit, AuditOf::Everything).await
    }
}
