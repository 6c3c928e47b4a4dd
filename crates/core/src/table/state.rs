//! In-memory state of a table: committed rows that a store keeps.

use std::collections::BTreeSet;

use std::marker::PhantomData;

use super::set::StateSet;
use super::{Key, NoScan, Row, RowState, Scan, Table, ranges::Ranges};
use crate::command::NeedRows;
use crate::map::{Map, SHARDS};
use crate::time::Timestamp;

/// Number of purges after which a complete table has been searched once for ended rows. Ended rows have no effect, so
/// the search is spread to keep each purge short.
#[cfg(test)]
pub(crate) const SWEEPS: usize = SHARDS;

/// Rows of a table that in-memory state keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    /// All rows: a row that is absent does not exist.
    Complete,
    /// Rows that were read or committed, up to a bound.
    Cache,
    /// Rows that were read and exist. Other servers may insert the others.
    Existing,
    Nothing,
}

/// Committed rows of one table in the in-memory state of a store. It is written by applying committed working sets.
#[derive(Debug)]
pub struct TableState<K, V, S = NoScan> {
    /// `None`: the row does not exist.
    rows: Map<K, Option<V>>,
    /// Ranges of which a cache knows all rows.
    ranges_known: Ranges<K>,
    /// All keys in order, if the table is scanned; in a cache, once a range is cached.
    ordered: Option<BTreeSet<K>>,
    coverage: Coverage,
    /// Shard that the next purge searches.
    next_shard: usize,
    scan: PhantomData<fn() -> S>,
}

impl<K: Key, V: Row, S: Scan<K>> TableState<K, V, S> {
    pub fn complete() -> Self {
        Self { ordered: S::ORDERED.then(BTreeSet::new), ..Self::new(Coverage::Complete) }
    }

    pub fn cached() -> Self {
        Self::new(Coverage::Cache)
    }

    /// Keeps rows that exist, and never that one is absent.
    pub fn existing() -> Self {
        Self::new(Coverage::Existing)
    }

    /// Keeps no rows: they can be large and are rarely read again.
    pub fn uncached() -> Self {
        Self::new(Coverage::Nothing)
    }

    fn new(coverage: Coverage) -> Self {
        let (rows, ranges_known) = (Map::default(), Ranges::default());
        Self { rows, ranges_known, ordered: None, coverage, next_shard: 0, scan: PhantomData }
    }

    fn is_complete(&self) -> bool {
        self.coverage == Coverage::Complete
    }

    /// Returns the row, `None` if it does not exist, or [`NeedRows`] if that is not known.
    pub fn get(&self, key: &K) -> Result<Option<&V>, NeedRows> {
        self.peek(key).ok_or(NeedRows)
    }

    /// Returns the keys of all rows in the range, in order.
    pub fn scan(&self, scan: &S) -> Result<Vec<K>, NeedRows> {
        self.known_in(scan).ok_or(NeedRows)
    }

    pub fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        self.rows.iter().filter_map(|(key, row)| Some((key, row.as_ref()?)))
    }

    /// Returns the state of a row; `None` if it is not cached.
    pub(super) fn peek(&self, key: &K) -> Option<Option<&V>> {
        match self.rows.get(key) {
            Some(row) => Some(row.as_ref()),
            None => (self.is_complete() || self.ranges_known.contains(key)).then_some(None),
        }
    }

    /// Whether all rows in the range are known.
    pub(super) fn knows(&self, scan: &S) -> bool {
        self.is_complete() || self.ranges_known.cover(&scan.range())
    }

    /// Returns the keys of all rows in the range, in order; `None` if some may not be cached.
    pub(super) fn known_in(&self, scan: &S) -> Option<Vec<K>> {
        let ordered = self.ordered.as_ref().filter(|_| self.knows(scan))?;
        let exists = |key: &&K| matches!(self.rows.get(key), Some(Some(_)));
        Some(ordered.range(scan.range()).filter(exists).cloned().collect())
    }

    /// Whether no more rows are cached.
    pub(super) fn is_full(&self, cached_max: usize) -> bool {
        self.coverage == Coverage::Nothing || self.rows.len() + self.ranges_known.len() > cached_max * V::CACHE_FACTOR
    }

    /// Writes a committed row.
    pub(super) fn put(&mut self, key: K, row: Option<V>) {
        if self.coverage == Coverage::Nothing {
            return;
        }
        if self.is_complete() && row.as_ref().is_none_or(Row::is_void) {
            self.rows.remove(&key);
            if let Some(ordered) = &mut self.ordered {
                ordered.remove(&key);
            }
            return;
        }
        let ordered_key = self.ordered.as_ref().map(|_| key.clone());
        let is_new = self.rows.insert(key, row).is_none();
        if let (true, Some(ordered), Some(key)) = (is_new, &mut self.ordered, ordered_key) {
            ordered.insert(key);
        }
    }

    fn insert_ordered(&mut self, key: &K) {
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(key.clone());
        }
    }

    /// Caches rows and ranges that a query read from the store, unless the cache is full. Cached rows are newer and
    /// stay.
    fn cache_rows<'a>(
        &mut self,
        rows: impl Iterator<Item = (&'a K, &'a Option<V>)>,
        scans: impl IntoIterator<Item = &'a S>,
        cached_max: usize,
    ) where
        K: 'a,
        V: 'a,
        S: 'a,
    {
        if self.is_complete() || self.is_full(cached_max) {
            return;
        }
        let keeps_absent = self.coverage != Coverage::Existing;
        for (key, row) in rows.filter(|(_, row)| keeps_absent || row.is_some()) {
            if !self.rows.contains_key(key) {
                self.insert_ordered(key);
                self.rows.insert(key.clone(), row.clone());
            }
        }
        for scan in scans.into_iter().filter(|_| keeps_absent) {
            let keys = self.rows.iter().map(|(key, _)| key.clone());
            self.ordered.get_or_insert_with(|| keys.collect());
            self.ranges_known.add(scan.range());
        }
    }
}

impl<K: Key, V: Row, S: Scan<K>> StateSet for TableState<K, V, S> {
    type Working = Table<K, V, S>;

    fn apply(&mut self, committed: &mut Self::Working) -> bool {
        if self.coverage == Coverage::Nothing {
            return true;
        }
        let Table { states, filled, journal, .. } = committed;
        let filled = filled.drain(..).map(|slot| (slot, false));
        let written = journal.drain(..).map(|undo| (undo.slot, !V::CACHED_ON_INSERT && undo.before.is_absent()));
        let mut is_all = true;
        for (slot, is_not_cached) in filled.chain(written) {
            let (key, state) = states.get_index_mut(slot).expect("a slot lasts as long as the working set");
            // A key may occur twice; its first occurrence already took the final value.
            let RowState::Known(row) = std::mem::replace(state, RowState::Unknown) else { continue };
            if is_not_cached && self.peek(key).is_none() {
                is_all = false;
            } else {
                self.put(key.clone(), row);
            }
        }
        is_all
    }

    fn cache_read(&mut self, read: &Self::Working, cached_max: usize) {
        let filled = read.filled.iter().filter_map(|slot| match read.states.get_index(*slot) {
            Some((key, RowState::Known(row))) => Some((key, row)),
            _ => None,
        });
        self.cache_rows(filled, &read.scans_known, cached_max);
    }

    /// Purges the ended rows of one shard of a complete table, or evicts a full cache.
    fn purge(&mut self, now: Timestamp, cached_max: usize) -> bool {
        if !self.is_complete() {
            let is_full = self.coverage == Coverage::Cache && self.is_full(cached_max);
            if is_full {
                *self = Self::cached();
            }
            return is_full;
        }
        let has_ended = |row: &Option<V>| row.as_ref().and_then(Row::ends_at).is_some_and(|end| end <= now);
        for (key, _) in self.rows.extract_from_shard(self.next_shard, has_ended) {
            if let Some(ordered) = &mut self.ordered {
                ordered.remove(&key);
            }
        }
        self.next_shard = (self.next_shard + 1) % SHARDS;
        false
    }
}
