//! Cache of immutable rows for servers that share the database. Large rows would otherwise be read again in every batch.

use holdfast_core::InMemoryState;
use holdfast_core::table::{StateSet as _, TableSet as _};
use holdfast_core::working_set::Tables;
use parking_lot::Mutex;

/// Maximum number of rows and child rows of all tables together. Beyond it, the whole cache is evicted.
const CACHED_ROWS_MAX: usize = 1_000_000;

pub(crate) struct RowCache(Mutex<CachedRows>);

struct CachedRows {
    rows: InMemoryState,
    row_count: usize,
}

impl Default for RowCache {
    fn default() -> Self {
        Self(Mutex::new(CachedRows::new()))
    }
}

impl CachedRows {
    fn new() -> Self {
        Self { rows: InMemoryState::of_immutable_rows(), row_count: 0 }
    }
}

impl RowCache {
    /// Fills requested rows from the cache; the rest stays requested.
    pub(crate) fn fill(&self, tables: &mut Tables) {
        tables.fill_from(&self.0.lock().rows);
    }

    /// Caches the immutable rows that were loaded. `row_count` is their number, child rows included.
    pub(super) fn insert(&self, tables: &Tables, row_count: usize) {
        let mut cached = self.0.lock();
        if cached.row_count + row_count > CACHED_ROWS_MAX {
            *cached = CachedRows::new();
        }
        cached.row_count += row_count;
        cached.rows.cache_read(tables, CACHED_ROWS_MAX);
    }
}
