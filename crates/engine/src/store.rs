//! The port: what a store must do.
//!
//! A store is small. It loads rows by key and tells its own time, it commits rows, and it answers a few lists. It
//! decides nothing.
//!
//! # Adding a store
//! Implement [`Store`] and [`Session`], and run the simulator and the HTTP tests against it. `load` asks each table of
//! [`Rows`] what is wanted and supplies it; `commit` asks each table what changed and writes it. Which tables there are, and how
//! their rows look as columns, is said by `holdfast_records`.

use std::time::Duration;

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::hold::TryId;
use holdfast_core::time::Span;
use holdfast_core::unit::Kind;
use holdfast_core::{Rows, Timestamp};
use holdfast_records::{List, Listed, Record};

use crate::sink::OutboxEntry;
use crate::trace::Trace;

/// How long is kept what is needed no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Events that were handed on. Those that were not are kept for good.
    pub outbox: Span,
    /// Notes that a message has come.
    pub inbox: Span,
}

impl Default for Keep {
    fn default() -> Self {
        Self { outbox: Span::from_hours(7 * 24), inbox: Span::from_secs(60) }
    }
}

/// Rows deleted at once by tidying: short enough to go unnoticed between two batches.
pub const TIDY_ROWS_MAX: usize = 1_000;
/// How long a commit may take before its outcome is unknown.
pub const COMMIT_WITHIN: Duration = Duration::from_secs(3);
/// How long a list may take.
pub const LIST_WITHIN: Duration = Duration::from_secs(4);

/// A store did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store is away: {0}")]
    Unavailable(String),
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Somebody else was first, nothing was written: decide again.
    #[error("another server changed the same rows")]
    Conflict,
    /// What should have been written broke a rule of the store's own; nothing was.
    #[error("the store refused what was to be written: {0}")]
    Broken(String),
    #[error("the commit may or may not have happened: {0}")]
    OutcomeUnknown(String),
}

#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Whether live and durable rows lie in two stores, so that no commit can cover both. Then a batch is carried out in
    /// several commits, each of one tier.
    fn is_split(&self) -> bool {
        false
    }

    /// Begins a commit of rows of this tier. Only the engine does so: one at a time, or a few if the store is split.
    async fn begin(&self, tier: Tier) -> Result<Box<dyn Session>, StoreError>;

    /// Supplies wanted rows from committed state, whatever the engine is doing, and tells the time. What a caller was
    /// told is committed is seen here.
    async fn read(&self, rows: &mut Rows) -> Result<Timestamp, StoreError>;

    /// A part of a list, in ascending order of key. See [`list`].
    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError>;

    /// Durable events after a number, in order.
    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError>;

    /// The number of the last durable event; 0 if there is none.
    async fn outbox_last(&self) -> Result<u64, StoreError>;

    /// The random id that the store was given when its tables were created: 32 hexadecimal digits.
    async fn installation(&self) -> Result<String, StoreError>;

    /// Deletes a bounded amount of what nobody can ask for any more. Says whether there may be more to delete.
    async fn tidy(&self, keep: Keep) -> Result<bool, StoreError>;

    /// Holds somebody began to confirm so long ago that they must have died, each with how it ends: that is decided here,
    /// for good. A bounded number at once.
    async fn resolve(&self) -> Result<Vec<Resolved>, StoreError> {
        Ok(Vec::new())
    }

    /// Whether the store can serve.
    async fn check(&self) -> Result<(), StoreError>;

    /// Shows every record to the auditor.
    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError>;
}

/// What a commit covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Everything: the store is one.
    Whole,
    /// Holds and what follows from them.
    Live,
    /// All the rest.
    Durable,
}

/// How a try to confirm ends that nobody finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub kind: Kind,
    pub of: TryId,
    /// The record it became; `None` if it came to nothing.
    pub record: Option<u64>,
}

/// One batch in the making. Dropping it without commit leaves nothing behind.
///
/// Rows are loaded in several rounds, and a round names its rows in no particular order between tables. A store that is
/// shared with other servers therefore does not lock while loading: it remembers the versions it read, locks what
/// changed at commit in the order of table and key, compares, and answers [`StoreError::Conflict`] if anything moved.
#[async_trait]
pub trait Session: Send {
    /// Supplies wanted rows and tells the time, which never runs backwards.
    async fn load(&mut self, rows: &mut Rows) -> Result<Timestamp, StoreError>;

    /// Validates rows that were read and that [`commit`](Self::commit) does not compare, because they are of the other
    /// tier. The engine asks before it refuses a command: [`StoreError::Conflict`] if they were not all so at one moment.
    async fn validate(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes all changes and the outbox, all or nothing. A store that is shared with other servers validates its read set
    /// also if there is nothing to write. From then on the next batch builds on it; nobody may be told
    /// before [`Committed::safe`] has said yes.
    async fn commit(&mut self, rows: &mut Rows, outbox: &[OutboxEntry]) -> Result<Committed, StoreError>;

    /// For a batch that writes nothing: what it was decided on may not be safe yet.
    fn safe(&self) -> Safe {
        Box::new(|| Ok(()))
    }
}

/// A commit that has been made.
pub struct Committed {
    /// The numbers of the outbox entries.
    pub outbox_ids: Vec<u64>,
    pub safe: Safe,
}

/// Waits, blocking its thread, until a commit and all before it can no longer be lost. One wait may serve many commits,
/// and the next batch is decided meanwhile.
pub type Safe = Box<dyn FnOnce() -> Result<(), StoreError> + Send>;

impl std::fmt::Debug for Committed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committed").field("outbox_ids", &self.outbox_ids).finish_non_exhaustive()
    }
}

/// The records of a list.
pub async fn list<R: Record>(store: &dyn Store, list: List) -> Result<Vec<R>, StoreError> {
    let damaged = || StoreError::Damaged(format!("{}: a row that cannot be read", R::LAYOUT.table));
    let listed = store.list(list).await?;
    listed.into_iter().map(|row| Ok(row.read::<R>().ok_or_else(damaged)?.1)).collect()
}

/// A durable event as it was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRecord {
    pub id: u64,
    pub event_type: String,
    pub owner: Option<u64>,
    pub at: Timestamp,
    pub data: String,
    /// The request that caused it.
    pub trace: Option<Trace>,
    /// Somebody else's event, told here too: it is not handed on from here.
    pub imported: bool,
}
