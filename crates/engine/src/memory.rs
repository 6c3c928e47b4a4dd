//! In-memory state of a single-writer store: all secondary indexes, and a cache of the primary rows. It is exact,
//! because every write goes through it.

use holdfast_core::hold::{Hold, place};
use holdfast_core::table::{StateSet as _, TableSet as _};
use holdfast_core::time::Span;
use holdfast_core::{InMemoryState, Timestamp, WorkingSet};

/// Maximum number of cached rows per table.
const CACHED_ROWS_MAX: usize = 100_000;

/// Interval between purges of ended rows, each of one of 256 parts: all parts in 32 seconds, while there are commits.
const PURGE_EVERY: Span = Span::from_millis(125);

#[derive(Debug)]
pub struct Memory {
    pub rows: InMemoryState,
    /// Number of applied commits; compared with the count in the database.
    pub commits: u64,
    purged_at: Timestamp,
}

impl Memory {
    /// Creates the state without holds. A store adds all live holds at start by [`index`](Self::index).
    pub fn new(commits: u64, now: Timestamp) -> Self {
        Self { rows: InMemoryState::of_store(), commits, purged_at: now }
    }

    /// Rebuilds the secondary indexes of these live holds. Batches of a few thousand keep the working set small.
    pub fn index(&mut self, holds: &[Hold], now: Timestamp) {
        let mut rows = WorkingSet::default();
        for hold in holds {
            place::request_all_indexes(&mut rows, hold);
        }
        rows.fill_from(&self.rows);
        for hold in holds {
            place::index(&mut rows, hold, now).expect("all derived rows are in memory");
        }
        self.rows.apply(&mut rows);
    }

    /// Returns the ranges to prefetch with the requested rows.
    pub fn prefetch(&self, requests: &WorkingSet) -> WorkingSet {
        requests.prefetch(&self.rows, CACHED_ROWS_MAX).into()
    }

    /// Caches the rows that a query read from the database. Rows committed since the read must already be applied.
    pub fn cache_read(&mut self, read: &WorkingSet) {
        self.rows.cache_read(read, CACHED_ROWS_MAX);
    }

    /// Applies a committed batch. Returns false if inserted rows were not cached, or cached rows were evicted.
    pub fn apply(&mut self, committed: &mut WorkingSet, now: Timestamp) -> bool {
        let is_all = self.rows.apply(committed);
        self.commits += 1;
        if now < self.purged_at + PURGE_EVERY {
            return is_all;
        }
        self.purged_at = now;
        let has_evicted = self.rows.purge(now, CACHED_ROWS_MAX);
        is_all && !has_evicted
    }
}
