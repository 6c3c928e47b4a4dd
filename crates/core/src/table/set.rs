//! Operations on all tables of a working set or in-memory state at once.

use crate::time::Timestamp;

/// Operations on a table, or on a struct of tables. Implement it for a struct with [`table_set!`](crate::table_set).
pub trait TableSet {
    /// Journals subsequent writes under `savepoint`. Savepoints only grow.
    fn begin(&mut self, savepoint: u64);
    /// Rolls back all writes journalled under `savepoint` or a later one.
    fn roll_back(&mut self, savepoint: u64);
    /// Whether all requested rows are known.
    fn is_loaded(&self) -> bool;
    /// Whether any row was written.
    fn has_changes(&self) -> bool;
    /// Whether `memory` knows all rows requested here.
    fn is_covered_by(&self, memory: &Self) -> bool;
    /// Fills in the requested rows that `memory` knows. `memory` may be another working set.
    fn fill_from(&mut self, memory: &Self);
    /// Returns an empty working set with the same requests.
    #[must_use]
    fn copy_requests(&self) -> Self;
    /// Returns an empty working set that requests the ranges to prefetch with the rows requested here, to be cached in
    /// `memory`; none for a table whose cache is full.
    #[must_use]
    fn prefetch(&self, memory: &Self, cached_max: usize) -> Self;
    /// In-memory state: applies the loaded and changed rows of a committed working set. Returns false if an inserted
    /// row was not cached, as if it had been evicted at once.
    fn apply(&mut self, committed: &mut Self) -> bool;
    /// In-memory state: caches rows and ranges that a query read from the store, unless the cache is full. Rows
    /// committed since the read must already be applied here.
    fn cache_read(&mut self, read: &Self, cached_max: usize);
    /// Removes all rows for reuse; keeps capacity for up to `kept` rows per table.
    fn clear(&mut self, kept: usize);
    /// In-memory state: purges some of the ended rows, and evicts caches above `cached_max` rows per table, times
    /// `Row::CACHE_FACTOR`. Returns whether a cache was evicted.
    fn purge(&mut self, now: Timestamp, cached_max: usize) -> bool;
}

/// Implements [`TableSet`] for a struct by delegating to each field. An omitted field does not compile.
#[macro_export]
macro_rules! table_set {
    ($set:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::table::TableSet for $set {
            fn begin(&mut self, savepoint: u64) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::begin($field, savepoint);)+
            }
            fn roll_back(&mut self, savepoint: u64) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::roll_back($field, savepoint);)+
            }
            fn is_loaded(&self) -> bool {
                let Self { $($field),+ } = self;
                true $(&& $crate::table::TableSet::is_loaded($field))+
            }
            fn has_changes(&self) -> bool {
                let Self { $($field),+ } = self;
                false $(|| $crate::table::TableSet::has_changes($field))+
            }
            fn is_covered_by(&self, memory: &Self) -> bool {
                let Self { $($field),+ } = self;
                true $(&& $crate::table::TableSet::is_covered_by($field, &memory.$field))+
            }
            fn fill_from(&mut self, memory: &Self) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::fill_from($field, &memory.$field);)+
            }
            fn copy_requests(&self) -> Self {
                let Self { $($field),+ } = self;
                Self { $($field: $crate::table::TableSet::copy_requests($field)),+ }
            }
            fn prefetch(&self, memory: &Self, cached_max: usize) -> Self {
                let Self { $($field),+ } = self;
                Self { $($field: $crate::table::TableSet::prefetch($field, &memory.$field, cached_max)),+ }
            }
            fn apply(&mut self, committed: &mut Self) -> bool {
                let Self { $($field),+ } = self;
                // No short circuit: every table applies its rows.
                true $(& $crate::table::TableSet::apply($field, &mut committed.$field))+
            }
            fn cache_read(&mut self, read: &Self, cached_max: usize) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::cache_read($field, &read.$field, cached_max);)+
            }
            fn clear(&mut self, kept: usize) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::clear($field, kept);)+
            }
            fn purge(&mut self, now: $crate::time::Timestamp, cached_max: usize) -> bool {
                let Self { $($field),+ } = self;
                false $(| $crate::table::TableSet::purge($field, now, cached_max))+
            }
        }
    };
}
