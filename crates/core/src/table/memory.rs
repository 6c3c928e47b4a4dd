//! In-memory state of a table: committed rows that a store keeps.

use std::collections::BTreeSet;

use super::{Key, Row, Scan, ranges::Ranges};
use crate::map::{Map, SHARDS};
use crate::time::Timestamp;

/// Number of purges after which a complete table has been searched once for ended rows. Ended rows have no effect, so
/// the search is spread to keep each purge short.
#[cfg(test)]
pub(crate) const SWEEPS: usize = SHARDS;

/// All rows of a *complete* table, where an absent row does not exist; some rows of a cache.
#[derive(Debug)]
pub(super) struct Memory<K, V> {
    /// `None`: the row does not exist.
    rows: Map<K, Option<V>>,
    /// Ranges of which a cache knows all rows.
    ranges_known: Ranges<K>,
    /// All keys in order, if the table is scanned; in a cache, once a range is cached.
    ordered: Option<BTreeSet<K>>,
    is_complete: bool,
    /// Shard that the next purge searches.
    next_shard: usize,
}

impl<K: Key, V: Row> Memory<K, V> {
    pub(super) fn complete<S: Scan<K>>() -> Self {
        Self { is_complete: true, ordered: S::ORDERED.then(BTreeSet::new), ..Self::cache() }
    }

    pub(super) fn cache() -> Self {
        let (rows, ranges_known) = (Map::default(), Ranges::default());
        Self { rows, ranges_known, ordered: None, is_complete: false, next_shard: 0 }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        self.rows.iter().filter_map(|(key, row)| Some((key, row.as_ref()?)))
    }

    /// Returns the state of a row; `None` if it is not cached.
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

    /// Returns the keys of all rows in the range, in order; `None` if some may not be cached.
    pub(super) fn known_in(&self, scan: &impl Scan<K>) -> Option<Vec<K>> {
        let ordered = self.ordered.as_ref().filter(|_| self.knows(scan))?;
        let exists = |key: &&K| matches!(self.rows.get(key), Some(Some(_)));
        Some(ordered.range(scan.range()).filter(exists).cloned().collect())
    }

    /// Whether the cache has exceeded its bound.
    pub(super) fn is_full(&self, cached_max: usize) -> bool {
        self.rows.len() + self.ranges_known.len() > cached_max * V::CACHE_FACTOR
    }

    /// Writes a committed row.
    pub(super) fn put(&mut self, key: K, row: Option<V>) {
        if self.is_complete && row.as_ref().is_none_or(Row::is_void) {
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
    pub(super) fn cache_rows<'a, S: Scan<K> + 'a>(
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
                self.insert_ordered(key);
                self.rows.insert(key.clone(), row.clone());
            }
        }
        for scan in scans {
            let keys = self.rows.iter().map(|(key, _)| key.clone());
            self.ordered.get_or_insert_with(|| keys.collect());
            self.ranges_known.add(scan.range());
        }
    }

    /// Purges the ended rows of one shard of a complete table, or evicts a full cache; returns whether it was evicted.
    pub(super) fn purge(&mut self, now: Timestamp, cached_max: usize) -> bool {
        if !self.is_complete {
            let is_full = self.is_full(cached_max);
            if is_full {
                *self = Self::cache();
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
