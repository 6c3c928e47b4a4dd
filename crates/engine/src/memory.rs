//! What a store that is the only writer of its database may keep in memory: all derived rows, and a cache of the others.
//! It is exact, because nothing is written past it.

use holdfast_core::hold::{HOLD_TTL_MAX, Remembered};
use holdfast_core::id::HoldId;
use holdfast_core::table::TableSet;
use holdfast_core::time::Span;
use holdfast_core::{Rows, Timestamp};

/// Rows of one table that are kept although the database has them too.
const CACHED_ROWS_MAX: usize = 100_000;

/// How often rows that have ended are looked for, in one of the parts of memory after another: all of it in half a minute, as
/// long as there are commits.
const TIDY_EVERY: Span = Span::from_millis(125);

/// By how much the clock that made hold ids may have been off.
const CLOCK_SLACK: Span = Span::from_hours(1);

#[derive(Debug)]
pub struct Memory {
    pub rows: Rows,
    /// How many commits it has taken over; compared with the count in the database.
    pub commits: u64,
    tidied_at: Timestamp,
}

impl Memory {
    /// Knows of no hold yet: a store tells it of all live ones when it starts, see [`remember`](Self::remember).
    pub fn new(commits: u64, now: Timestamp) -> Self {
        Self { rows: Rows::memory(), commits, tidied_at: now }
    }

    /// No hold that has to be remembered at `now` has a smaller id, if holds of its kind leave something behind for so long
    /// after their end.
    pub fn remembered_from(now: Timestamp, after_end: Span) -> HoldId {
        HoldId::earliest_at(now - HOLD_TTL_MAX - after_end - CLOCK_SLACK)
    }

    /// Rebuilds what is derived from these holds. A few thousand at once are best: the working set stays small
    /// beside the memory it fills.
    pub fn remember<H: Remembered>(&mut self, holds: &[H], now: Timestamp) {
        let mut rows = Rows::default();
        for hold in holds {
            H::want_derived(&mut rows, hold);
        }
        rows.answer_from(&self.rows);
        for hold in holds {
            H::remember(&mut rows, hold, now).expect("all derived rows are in memory");
        }
        self.rows.absorb(&mut rows);
    }

    /// What is worth reading along with the rows a query wants.
    pub fn around(&self, wants: &Rows) -> Rows {
        wants.around(&self.rows, CACHED_ROWS_MAX).into()
    }

    /// Remembers what a query had to read from the database: the next one finds it here. Whatever was written since must be
    /// in memory.
    pub fn learn(&mut self, read: &Rows) {
        self.rows.learn(read, CACHED_ROWS_MAX);
    }

    /// Takes over a committed batch. False if it has left out rows that were made, or forgotten cached ones.
    pub fn absorb(&mut self, committed: &mut Rows, now: Timestamp) -> bool {
        let is_all = self.rows.absorb(committed);
        self.commits += 1;
        if now < self.tidied_at + TIDY_EVERY {
            return is_all;
        }
        self.tidied_at = now;
        let has_forgotten = self.rows.tidy(now, CACHED_ROWS_MAX);
        is_all && !has_forgotten
    }
}
