//! [`TableSet`] of a single table.

use super::{Before, Count, Key, Row, RowState, Scan, Table, TableSet, TableState};

impl<K: Key, V: Row, S: Scan<K>> TableSet for Table<K, V, S> {
    type State = TableState<K, V, S>;

    fn begin(&mut self, savepoint: u64) {
        self.savepoint = savepoint;
    }

    fn roll_back(&mut self, savepoint: u64) {
        while let Some(undo) = self.journal.pop_if(|undo| undo.savepoint >= savepoint) {
            let state = &mut self.states[undo.slot];
            match (undo.before, state) {
                (Before::RowState(before), state) => *state = before,
                (Before::Count(count), RowState::Known(Some(row))) => {
                    row.apply_count(Count { quantity: -count.quantity, ..count });
                }
                (Before::Count(_), _) => unreachable!("a counted row exists"),
            }
        }
    }

    fn is_loaded(&self) -> bool {
        self.requested.is_empty() && self.scans_requested.is_empty()
    }

    fn has_changes(&self) -> bool {
        !self.journal.is_empty()
    }

    fn is_covered_by(&self, state: &Self::State) -> bool {
        self.requested.iter().all(|slot| state.peek(self.key(*slot)).is_some())
            && self.scans_requested.iter().all(|scan| state.knows(scan))
    }

    fn fill_from(&mut self, state: &Self::State) {
        self.fill_known(|key| state.peek(key), |scan| state.known_in(scan));
    }

    fn copy_known(&mut self, other: &Self) {
        self.fill_known(|key| other.peek(key), |scan| other.known_in(scan));
    }

    fn copy_requests(&self) -> Self {
        let mut copy = Self::default();
        for slot in &self.requested {
            copy.request(self.key(*slot));
        }
        copy.scans_requested.clone_from(&self.scans_requested);
        copy
    }

    fn prefetch(&self, state: &Self::State, cached_max: usize) -> Self {
        let mut prefetch = Self::default();
        if !state.is_full(cached_max) {
            prefetch.scans_requested = self.requested.iter().filter_map(|slot| S::prefetch(self.key(*slot))).collect();
            prefetch.scans_requested.dedup();
        }
        prefetch
    }

    fn clear(&mut self, kept: usize) {
        if self.states.is_empty() && self.scans_requested.is_empty() && self.scans_known.is_empty() {
            return;
        }
        self.states.clear();
        self.states.shrink_to(kept);
        self.requested.clear();
        self.requested.shrink_to(kept);
        self.scans_requested.clear();
        self.scans_known.clear();
        self.ordered = None;
        self.filled.clear();
        self.filled.shrink_to(kept);
        self.journal.clear();
        self.journal.shrink_to(kept);
    }
}
