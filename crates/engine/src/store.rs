//! The store port.
//!
//! A store loads rows by key and supplies the time, commits rows, and reads a few lists. It makes no decisions.
//!
//! # Adding a store
//! Implement [`Store`] and [`Session`], and run the simulator and the HTTP tests against it. `load` fills in the
//! requested rows of each table of [`WorkingSet`]; `commit` writes the changes of each table. `holdfast_core::schema` declares the
//! tables and their columns.

use std::time::Duration;

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::hold::AttemptId;
use holdfast_core::id::UserId;
use holdfast_core::schema::{List, Listed, Record, Retention};
use holdfast_core::time::Span;
use holdfast_core::{Timestamp, WorkingSet};

use crate::sink::OutboxEntry;
use crate::trace::Trace;

/// Retention of rows that are no longer needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Published events. Unpublished ones are kept forever.
    pub outbox: Span,
    /// Inbox records of received messages.
    pub inbox: Span,
}

impl Keep {
    pub fn span(&self, retention: Retention) -> Span {
        match retention {
            Retention::Outbox => self.outbox,
            Retention::Inbox => self.inbox,
        }
    }
}

impl Default for Keep {
    fn default() -> Self {
        Self { outbox: Span::from_hours(7 * 24), inbox: Span::from_secs(60) }
    }
}

/// Maximum number of rows deleted at once, so that a purge does not delay batches.
pub const PURGE_ROWS_MAX: usize = 1_000;
/// Time after which the outcome of a commit is unknown.
pub const COMMIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time of a list query.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(4);

/// Error of a store operation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Another server committed first. The batch wrote no row; decide again.
    #[error("another server changed the same rows")]
    Conflict,
    /// The write violated a constraint of the store; the batch wrote no row.
    #[error("the write violates a constraint of the store: {0}")]
    Broken(String),
    #[error("the commit may or may not have happened: {0}")]
    OutcomeUnknown(String),
}

#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether live and durable rows lie in two stores, so that no commit covers both. A batch then runs in several
    /// commits, each of one tier.
    fn is_split(&self) -> bool {
        false
    }

    /// Begins a commit of rows of this tier. Called by the engine only: one at a time, or a few if the store is split.
    async fn begin(&self, tier: Tier) -> Result<Box<dyn Session>, StoreError>;

    /// Fills in requested rows from committed state, concurrently to the engine, and returns the time. A caller sees
    /// its own acknowledged writes.
    async fn read(&self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError>;

    /// Returns a page of a list, in order of key. See [`list`].
    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError>;

    /// Returns durable events after a number, in order.
    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError>;

    /// Returns durable events before a number, newest first.
    async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError>;

    /// Returns the number of the last durable event; 0 if there is none.
    async fn outbox_last(&self) -> Result<u64, StoreError>;

    /// Returns the random id created with the tables of the store: 32 hexadecimal digits.
    async fn installation(&self) -> Result<String, StoreError>;

    /// Purges a bounded number of expired rows. Returns whether there may be more.
    async fn purge(&self, keep: Keep) -> Result<bool, StoreError>;

    /// Decides abandoned confirm attempts for good, and returns their outcomes; a bounded number at once.
    async fn recover_in_doubt(&self) -> Result<Vec<RecoveredAttempt>, StoreError> {
        Ok(Vec::new())
    }

    /// Whether the store can serve.
    async fn check(&self) -> Result<(), StoreError>;

    /// Passes every record to the auditor.
    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError>;
}

/// Rows that a commit covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// All rows: there is one store.
    Whole,
    /// Holds, and the counts that follow from them.
    Live,
    /// All other rows.
    Durable,
}

/// Outcome of an abandoned confirm attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredAttempt {
    pub of: AttemptId,
    /// Whether its records were committed; aborted otherwise.
    pub is_committed: bool,
}

/// One batch in progress. Dropping it without commit has no effect.
///
/// Rows are loaded in several rounds, whose keys have no order across tables. A store shared with other servers
/// therefore does not lock while loading. It keeps the versions it read, locks the changed rows at commit in the order
/// of table and key, validates, and returns [`StoreError::Conflict`] if a version has changed.
#[async_trait]
pub trait Session: Send {
    /// Fills in requested rows and returns the time, which never runs backwards.
    async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError>;

    /// Validates rows of the other tier, which [`commit`](Self::commit) does not compare. The engine calls it before it
    /// rejects a command. Returns [`StoreError::Conflict`] if the rows are not from one consistent snapshot.
    async fn validate(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes all changes and the outbox atomically. A store that is shared with other servers validates the read set
    /// even without writes. The next batch reads this commit; replies and events must wait until [`Committed::flush`]
    /// returns `Ok`.
    async fn commit(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError>;

    /// Durability of the rows that a batch without writes has read.
    fn flush(&self) -> Flush {
        Box::new(|| Ok(()))
    }
}

/// A commit that is not necessarily durable yet.
pub struct Committed {
    /// Numbers of the outbox entries.
    pub outbox_ids: Vec<u64>,
    pub flush: Flush,
}

/// Blocks until a commit and all earlier ones are durable. One wait may cover many commits, and the next batch is
/// decided meanwhile.
pub type Flush = Box<dyn FnOnce() -> Result<(), StoreError> + Send>;

impl std::fmt::Debug for Committed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committed").field("outbox_ids", &self.outbox_ids).finish_non_exhaustive()
    }
}

/// Returns the records of a list.
pub async fn list<R: Record>(store: &dyn Store, list: List) -> Result<Vec<R>, StoreError> {
    let damaged = || StoreError::Damaged(format!("{}: a malformed row", R::SPEC.table));
    let listed = store.list(list).await?;
    listed.into_iter().map(|row| Ok(row.read::<R>().ok_or_else(damaged)?.1)).collect()
}

/// A committed durable event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRecord {
    pub id: u64,
    pub event_type: String,
    pub owner: Option<UserId>,
    pub at: Timestamp,
    pub data: String,
    /// Request that caused the event.
    pub trace: Option<Trace>,
    /// An event of another store, which this store does not publish to the bus.
    pub imported: bool,
}
