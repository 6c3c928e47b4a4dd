//! Operations on all tables of a working set or of in-memory state at once.

use crate::time::Timestamp;

/// Operations of a working set on a table, or on a struct of tables. [`tables!`](crate::tables) implements it for a struct.
pub trait TableSet {
    /// The same tables in the in-memory state of a store.
    type State;

    /// Journals subsequent writes under `savepoint`. Savepoints only grow.
    fn begin(&mut self, savepoint: u64);
    /// Rolls back all writes journalled under `savepoint` or a later one.
    fn roll_back(&mut self, savepoint: u64);
    /// Whether all requested rows are known.
    fn is_loaded(&self) -> bool;
    /// Whether any row was written.
    fn has_changes(&self) -> bool;
    /// Whether `state` knows all rows requested here.
    fn is_covered_by(&self, state: &Self::State) -> bool;
    /// Fills in the requested rows that `state` knows.
    fn fill_from(&mut self, state: &Self::State);
    /// Fills in the requested rows that another working set knows.
    fn copy_known(&mut self, other: &Self);
    /// Returns an empty working set with the same requests.
    #[must_use]
    fn copy_requests(&self) -> Self;
    /// Returns an empty working set that requests the ranges to prefetch with the rows requested here, to be cached in
    /// `state`; none for a table whose cache is full.
    #[must_use]
    fn prefetch(&self, state: &Self::State, cached_max: usize) -> Self;
    /// Removes all rows for reuse; keeps capacity for up to `kept` rows per table.
    fn clear(&mut self, kept: usize);
}

/// Operations of in-memory state on a table, or on a struct of tables.
pub trait StateSet {
    /// The same tables in a working set.
    type Working;

    /// Applies the loaded and changed rows of a committed working set. Returns false if an inserted row was not cached, as
    /// if it had been evicted at once.
    fn apply(&mut self, committed: &mut Self::Working) -> bool;
    /// Caches rows and ranges that a query read from the store, unless the cache is full. Rows committed since the read
    /// must already be applied here.
    fn cache_read(&mut self, read: &Self::Working, cached_max: usize);
    /// Purges some of the ended rows, and evicts caches above `cached_max` rows per table, times `Row::CACHE_FACTOR`.
    /// Returns whether a cache was evicted.
    fn purge(&mut self, now: Timestamp, cached_max: usize) -> bool;
}
