//! [`TableSet`] of a single table.

use super::{Before, Count, Key, Row, RowState, Scan, Table, TableSet};
use crate::time::Timestamp;

impl<K: Key, V: Row, S: Scan<K>> TableSet for Table<K, V, S> {
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

    fn is_covered_by(&self, memory: &Self) -> bool {
        self.requested.iter().all(|slot| memory.peek(self.key(*slot)).is_some())
            && self.scans_requested.iter().all(|scan| memory.knows(scan))
    }

    fn fill_from(&mut self, memory: &Self) {
        let states = &mut self.states;
        self.requested.retain(|slot| match states.get_index_mut(*slot) {
            Some((key, state @ RowState::Requested)) => match memory.peek(key) {
                Some(row) => {
                    *state = RowState::Known(row.cloned());
                    false
                }
                None => true,
            },
            _ => true,
        });
        for scan in std::mem::take(&mut self.scans_requested) {
            let Some(keys) = memory.known_in(&scan) else {
                self.scans_requested.push(scan);
                continue;
            };
            for key in keys {
                let row = memory.peek(&key).flatten().cloned();
                let slot = self.slot(key);
                self.fill_slot(slot, row);
            }
            self.fill_scan(scan);
        }
    }

    fn copy_requests(&self) -> Self {
        let mut copy = Self::default();
        for slot in &self.requested {
            copy.request(self.key(*slot));
        }
        copy.scans_requested.clone_from(&self.scans_requested);
        copy
    }

    fn prefetch(&self, memory: &Self, cached_max: usize) -> Self {
        let mut prefetch = Self::default();
        if memory.memory.as_ref().is_some_and(|memory| !memory.is_full(cached_max)) {
            prefetch.scans_requested = self.requested.iter().filter_map(|slot| S::prefetch(self.key(*slot))).collect();
            prefetch.scans_requested.dedup();
        }
        prefetch
    }

    fn apply(&mut self, committed: &mut Self) -> bool {
        let Some(memory) = &mut self.memory else { return true };
        let Self { states, filled, journal, .. } = committed;
        let filled = filled.drain(..).map(|slot| (slot, false));
        let written = journal.drain(..).map(|undo| (undo.slot, !V::CACHED_ON_INSERT && undo.before.is_absent()));
        let mut is_all = true;
        for (slot, is_not_cached) in filled.chain(written) {
            let (key, state) = states.get_index_mut(slot).expect("a slot lasts as long as the working set");
            // A key may occur twice; its first occurrence already took the final value.
            let RowState::Known(row) = std::mem::replace(state, RowState::Unknown) else { continue };
            if is_not_cached && memory.peek(key).is_none() {
                is_all = false;
            } else {
                memory.put(key.clone(), row);
            }
        }
        is_all
    }

    fn cache_read(&mut self, read: &Self, cached_max: usize) {
        let Some(memory) = &mut self.memory else { return };
        let filled = read.filled.iter().filter_map(|slot| match read.states.get_index(*slot) {
            Some((key, RowState::Known(row))) => Some((key, row)),
            _ => None,
        });
        memory.cache_rows(filled, &read.scans_known, cached_max);
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

    fn purge(&mut self, now: Timestamp, cached_max: usize) -> bool {
        self.memory.as_mut().is_some_and(|memory| memory.purge(now, cached_max))
    }
}
