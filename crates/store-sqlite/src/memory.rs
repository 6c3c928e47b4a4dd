//! What the store keeps in memory: all derived rows, and a cache of the others. There is one writer, so it is exact.

use holdfast_core::hold::HOLD_TTL_MAX;
use holdfast_core::id::HoldId;
use holdfast_core::stay::{self, StayHold};
use holdfast_core::table::{Table, TableSet};
use holdfast_core::time::Span;
use holdfast_core::{Rows, Timestamp};
use rusqlite::Connection;

use crate::{shared, stay as stay_sql};

/// Rows of one table that are kept although the file has them too.
const CACHED_ROWS_MAX: usize = 100_000;

/// Holds are remembered in slices, so that the working set stays small beside the memory it fills.
const REBUILD_SLICE: usize = 10_000;

/// By how much the clock that made hold ids may have been off.
const CLOCK_SLACK: Span = Span::from_hours(1);

#[derive(Debug)]
pub(crate) struct Memory {
    pub rows: Rows,
    /// How many commits it has taken over; compared with the count in the file.
    pub commits: u64,
    tidied_at: Timestamp,
}

impl Memory {
    /// Rebuilds all derived rows from live holds.
    pub(crate) fn rebuild(connection: &Connection, now: Timestamp) -> rusqlite::Result<Self> {
        let mut memory = Self { rows: Rows::memory(), commits: shared::commits(connection)?, tidied_at: now };
        let made_from = HoldId::earliest_at(now - HOLD_TTL_MAX - CLOCK_SLACK);
        let mut slice = Vec::with_capacity(REBUILD_SLICE);
        stay_sql::for_each_live_hold(connection, made_from, now, |hold| {
            slice.push(hold);
            if slice.len() == REBUILD_SLICE {
                memory.remember(&slice, now);
                slice.clear();
            }
        })?;
        memory.remember(&slice, now);
        Ok(memory)
    }

    fn remember(&mut self, holds: &[StayHold], now: Timestamp) {
        let mut rows = Rows::default();
        for hold in holds {
            stay::hold::want_derived(&mut rows, hold);
        }
        rows.answer_from(&self.rows);
        for hold in holds {
            stay::hold::remember(&mut rows, hold, now).expect("all derived rows are in memory");
        }
        self.rows.absorb(&mut rows);
    }

    /// Takes over a committed batch.
    pub(crate) fn absorb(&mut self, committed: &mut Rows, now: Timestamp) {
        self.rows.absorb(committed);
        // Receipts can be large and are rarely asked for again.
        self.rows.receipts = Table::default();
        self.commits += 1;
        if now >= self.tidied_at + Span::from_secs(1) {
            self.rows.tidy(now, CACHED_ROWS_MAX);
            self.tidied_at = now;
        }
    }
}
