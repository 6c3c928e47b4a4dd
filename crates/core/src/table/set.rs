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

/// Declares a struct of tables once, for the working set (`Tables`) and for in-memory state (`State`).
///
/// Behind each table stand its tier, `live` or `durable`, and what in-memory state keeps of it: `complete` (all rows),
/// `cached` or `uncached`. A field that is a set of tables itself is marked `set`.
#[macro_export]
macro_rules! tables {
    (
        $(#[$doc:meta])*
        { $($(#[$field_doc:meta])* $field:ident: $table:ty => $tier:ident $($kept:ident)?),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct Tables {
            $($(#[$field_doc])* pub $field: $table),+
        }

        /// The same tables in the in-memory state of a store.
        #[derive(Debug)]
        pub struct State {
            $($(#[$field_doc])* pub $field: <$table as $crate::table::TableSet>::State),+
        }

        impl Tables {
            /// Moves the live rows into tables of their own.
            pub(crate) fn take_live(&mut self) -> Self {
                Self { $($field: $crate::tables!(@take $tier self.$field)),+ }
            }
        }

        impl State {
            /// Returns the empty state of a single-writer store.
            pub(crate) fn of_store() -> Self {
                Self { $($field: $crate::tables!(@state $table, $tier $($kept)?)),+ }
            }

            /// Returns an empty state that keeps all rows, for tests and tools without a store.
            pub(crate) fn complete() -> Self {
                Self { $($field: <$table as $crate::table::TableSet>::State::complete()),+ }
            }
        }

        impl $crate::table::TableSet for Tables {
            type State = State;

            fn begin(&mut self, savepoint: u64) {
                $($crate::table::TableSet::begin(&mut self.$field, savepoint);)+
            }
            fn roll_back(&mut self, savepoint: u64) {
                $($crate::table::TableSet::roll_back(&mut self.$field, savepoint);)+
            }
            fn is_loaded(&self) -> bool {
                true $(&& $crate::table::TableSet::is_loaded(&self.$field))+
            }
            fn has_changes(&self) -> bool {
                false $(|| $crate::table::TableSet::has_changes(&self.$field))+
            }
            fn is_covered_by(&self, state: &State) -> bool {
                true $(&& $crate::table::TableSet::is_covered_by(&self.$field, &state.$field))+
            }
            fn fill_from(&mut self, state: &State) {
                $($crate::table::TableSet::fill_from(&mut self.$field, &state.$field);)+
            }
            fn copy_known(&mut self, other: &Self) {
                $($crate::table::TableSet::copy_known(&mut self.$field, &other.$field);)+
            }
            fn copy_requests(&self) -> Self {
                Self { $($field: $crate::table::TableSet::copy_requests(&self.$field)),+ }
            }
            fn prefetch(&self, state: &State, cached_max: usize) -> Self {
                Self { $($field: $crate::table::TableSet::prefetch(&self.$field, &state.$field, cached_max)),+ }
            }
            fn clear(&mut self, kept: usize) {
                $($crate::table::TableSet::clear(&mut self.$field, kept);)+
            }
        }

        impl $crate::table::StateSet for State {
            type Working = Tables;

            fn apply(&mut self, committed: &mut Tables) -> bool {
                // No short circuit: every table applies its rows.
                true $(& $crate::table::StateSet::apply(&mut self.$field, &mut committed.$field))+
            }
            fn cache_read(&mut self, read: &Tables, cached_max: usize) {
                $($crate::table::StateSet::cache_read(&mut self.$field, &read.$field, cached_max);)+
            }
            fn purge(&mut self, now: $crate::time::Timestamp, cached_max: usize) -> bool {
                false $(| $crate::table::StateSet::purge(&mut self.$field, now, cached_max))+
            }
        }
    };
    (@take live $self:ident . $field:ident) => { std::mem::take(&mut $self.$field) };
    (@take durable $self:ident . $field:ident) => { Default::default() };
    (@take set $self:ident . $field:ident) => { $self.$field.take_live() };
    (@state $table:ty, set) => { <$table as $crate::table::TableSet>::State::of_store() };
    (@state $table:ty, $tier:ident $kept:ident) => { <$table as $crate::table::TableSet>::State::$kept() };
}
