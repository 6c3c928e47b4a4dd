//! [`TableSet`] of a single table.

use super::{Before, Cell, Count, Key, Row, Scan, Table, TableSet};
use crate::time::Timestamp;

impl<K: Key, V: Row, S: Scan<K>> TableSet for Table<K, V, S> {
    fn begin(&mut self, stamp: u64) {
        self.stamp = stamp;
    }

    fn roll_back(&mut self, stamp: u64) {
        while let Some(undo) = self.journal.pop_if(|undo| undo.stamp >= stamp) {
            let cell = &mut self.cells[undo.slot];
            match (undo.before, cell) {
                (Before::Cell(before), cell) => *cell = before,
                (Before::Count(count), Cell::Known(Some(row))) => {
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
        let cells = &mut self.cells;
        self.requested.retain(|slot| match cells.get_index_mut(*slot) {
            Some((key, cell @ Cell::Requested)) => match memory.peek(key) {
                Some(row) => {
                    *cell = Cell::Known(row.cloned());
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
        let Self { cells, filled, journal, .. } = committed;
        let filled = filled.drain(..).map(|slot| (slot, false));
        let written = journal.drain(..).map(|undo| (undo.slot, !V::CACHED_ON_INSERT && undo.before.is_absent()));
        let mut is_all = true;
        for (slot, is_not_cached) in filled.chain(written) {
            let (key, cell) = cells.get_index_mut(slot).expect("a slot lasts as long as the working set");
            // A key may occur twice; its first occurrence already took the final value.
            let Cell::Known(row) = std::mem::replace(cell, Cell::Unknown) else { continue };
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
        let filled = read.filled.iter().filter_map(|slot| match read.cells.get_index(*slot) {
            Some((key, Cell::Known(row))) => Some((key, row)),
            _ => None,
        });
        memory.cache_rows(filled, &read.scans_known, cached_max);
    }

    fn clear(&mut self, kept: usize) {
        if self.cells.is_empty() && self.scans_requested.is_empty() && self.scans_known.is_empty() {
            return;
        }
        self.cells.clear();
        self.cells.shrink_to(kept);
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
