//! A table as a store's memory: what it keeps of rows that have been committed.

use std::collections::BTreeSet;

use super::{Key, Row, Scan, ranges::Ranges};
use crate::map::{Map, SHARDS};
use crate::time::Timestamp;

/// How often a complete memory is tidied until all of it has been looked through for rows that have ended. They mean nothing, so
/// there is no hurry, and nobody waits while millions of them are looked at.
#[cfg(test)]
pub(crate) const SWEEPS: usize = SHARDS;

/// All rows of a *complete* memory, where what it does not have does not exist; of a cache, some.
#[derive(Debug)]
pub(super) struct Memory<K, V> {
    /// `None`: there is no such row.
    rows: Map<K, Option<V>>,
    /// Where a cache knows all rows there are.
    ranges_known: Ranges<K>,
    /// All keys in order, if ranges of them are asked for: of a cache from the moment it learns one.
    ordered: Option<BTreeSet<K>>,
    is_complete: bool,
    /// The part that is looked through next.
    sweep_next: usize,
}

impl<K: Key, V: Row> Memory<K, V> {
    pub(super) fn complete<S: Scan<K>>() -> Self {
        Self { is_complete: true, ordered: S::ORDERED.then(BTreeSet::new), ..Self::cache() }
    }

    pub(super) fn cache() -> Self {
        let (rows, ranges_known) = (Map::default(), Ranges::default());
        Self { rows, ranges_known, ordered: None, is_complete: false, sweep_next: 0 }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        self.rows.iter().filter_map(|(key, row)| Some((key, row.as_ref()?)))
    }

    /// What is known of a row.
    pub(super) fn peek(&self, key: &K) -> Option<Option<&V>> {
        match self.rows.get(key) {
            Some(row) => Some(row.as_ref()),
            None => (self.is_complete || self.ranges_known.contains(key)).then_some(None),
        }
    }

    /// Whether all rows in the range are known.
    pub(super) fn knows(&self, scan: &impl Scan<K>) -> bool {
        self.is_complete || self.ranges_known.cover(&scan.range())
    }

    /// The keys of all rows in the range, in order; `None` if some may be unknown.
    pub(super) fn known_in(&self, scan: &impl Scan<K>) -> Option<Vec<K>> {
        let ordered = self.ordered.as_ref().filter(|_| self.knows(scan))?;
        let is_there = |key: &&K| matches!(self.rows.get(key), Some(Some(_)));
        Some(ordered.range(scan.range()).filter(is_there).cloned().collect())
    }

    /// Whether it keeps as much as it may keep although the store has it too.
    pub(super) fn is_full(&self, cached_max: usize) -> bool {
        self.rows.len() + self.ranges_known.len() > cached_max * V::CACHED_TIMES
    }

    /// Writes what was committed, where nothing is ever undone.
    pub(super) fn keep(&mut self, key: K, row: Option<V>) {
        if self.is_complete && row.as_ref().is_none_or(Row::is_void) {
            self.rows.remove(&key);
            if let Some(ordered) = &mut self.ordered {
                ordered.remove(&key);
            }
            return;
        }
        let in_order = self.ordered.as_ref().map(|_| key.clone());
        let is_new = self.rows.insert(key, row).is_none();
        if let (true, Some(ordered), Some(key)) = (is_new, &mut self.ordered, in_order) {
            ordered.insert(key);
        }
    }

    fn order(&mut self, key: &K) {
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(key.clone());
        }
    }

    /// As a cache: remembers what a query had to read, unless there is too much already. What is known here is newer.
    pub(super) fn learn<'a, S: Scan<K> + 'a>(
        &mut self,
        rows: impl Iterator<Item = (&'a K, &'a Option<V>)>,
        scans: impl IntoIterator<Item = &'a S>,
        cached_max: usize,
    ) where
        K: 'a,
        V: 'a,
    {
        if self.is_complete || self.is_full(cached_max) {
            return;
        }
        for (key, row) in rows {
            if !self.rows.contains_key(key) {
                self.order(key);
                self.rows.insert(key.clone(), row.clone());
            }
        }
        for scan in scans {
            let keys = self.rows.iter().map(|(key, _)| key.clone());
            self.ordered.get_or_insert_with(|| keys.collect());
            self.ranges_known.add(scan.range());
        }
    }

    /// Forgets rows of one part that have ended, or a cache that is full; says whether it was the latter.
    pub(super) fn tidy(&mut self, now: Timestamp, cached_max: usize) -> bool {
        if !self.is_complete {
            let is_full = self.is_full(cached_max);
            if is_full {
                *self = Self::cache();
            }
            return is_full;
        }
        let has_ended = |row: &Option<V>| row.as_ref().and_then(Row::ends_at).is_some_and(|end| end <= now);
        for (key, _) in self.rows.extract_from_shard(self.sweep_next, has_ended) {
            if let Some(ordered) = &mut self.ordered {
                ordered.remove(&key);
            }
        }
        self.sweep_next = (self.sweep_next + 1) % SHARDS;
        false
    }
}
