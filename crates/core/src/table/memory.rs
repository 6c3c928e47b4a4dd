//! A table as a store's memory: what it keeps of rows that have been committed.

use std::collections::{BTreeMap, BTreeSet};

use super::{Key, Row, Scan, ranges::Ranges};
use crate::map::Map;
use crate::time::Timestamp;

/// All rows of a *complete* memory, where what it does not have does not exist; of a cache, some.
#[derive(Debug)]
pub(super) struct Memory<K, V> {
    /// `None`: there is no such row.
    rows: Map<K, Option<V>>,
    /// Where a cache knows all rows there are.
    ranges_known: Ranges<K>,
    /// All keys in order, if ranges of them are asked for: of a cache from the moment it learns one.
    ordered: Option<BTreeSet<K>>,
    /// When to look whether a row has ended: each key with an end stands here exactly once. Present if it is complete.
    ends: Option<BTreeMap<i64, Vec<K>>>,
}

impl<K: Key, V: Row> Memory<K, V> {
    pub(super) fn complete<S: Scan<K>>() -> Self {
        Self { ends: Some(BTreeMap::new()), ordered: S::ORDERED.then(BTreeSet::new), ..Self::cache() }
    }

    pub(super) fn cache() -> Self {
        Self { rows: Map::default(), ranges_known: Ranges::default(), ordered: None, ends: None }
    }

    fn is_complete(&self) -> bool {
        self.ends.is_some()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        self.rows.iter().filter_map(|(key, row)| Some((key, row.as_ref()?)))
    }

    /// What is known of a row.
    pub(super) fn peek(&self, key: &K) -> Option<Option<&V>> {
        match self.rows.get(key) {
            Some(row) => Some(row.as_ref()),
            None => (self.is_complete() || self.ranges_known.contains(key)).then_some(None),
        }
    }

    /// Whether all rows in the range are known.
    pub(super) fn knows(&self, scan: &impl Scan<K>) -> bool {
        self.is_complete() || self.ranges_known.cover(&scan.range())
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
        if !self.is_complete() {
            self.order(&key);
            self.rows.insert(key, row);
            return;
        }
        let Some(row) = row.filter(|row| !row.is_void()) else { return self.forget(key) };
        let end = row.ends_at();
        let before = self.rows.insert(key.clone(), Some(row));
        if !matches!(before, Some(Some(_))) {
            self.order(&key);
        }
        if before.is_none()
            && let (Some(ends), Some(end)) = (&mut self.ends, end)
        {
            ends.entry(end.second_rounded_up()).or_default().push(key);
        }
    }

    /// A complete memory's row is no more.
    fn forget(&mut self, key: K) {
        if let Some(ordered) = &mut self.ordered {
            ordered.remove(&key);
        }
        let Some(Some(old)) = self.rows.get(&key) else { return };
        // The key stays until its turn in `ends` comes: that keeps it there exactly once.
        if old.ends_at().is_some() {
            self.rows.insert(key, None);
        } else {
            self.rows.remove(&key);
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
        if self.is_complete() || self.is_full(cached_max) {
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

    /// Forgets rows that have ended, and a cache that is full.
    pub(super) fn tidy(&mut self, now: Timestamp, cached_max: usize) {
        let Some(ends) = &mut self.ends else {
            if self.is_full(cached_max) {
                *self = Self::cache();
            }
            return;
        };
        let seconds_over = now.as_millis().div_euclid(1_000);
        let still_to_come = ends.split_off(&(seconds_over + 1));
        let due = std::mem::replace(ends, still_to_come);
        for key in due.into_values().flatten() {
            let end = match self.rows.get(&key) {
                // What has no end for the moment may get one again: look again.
                Some(Some(row)) => row.ends_at().map_or(seconds_over + 1, Timestamp::second_rounded_up),
                _ => i64::MIN,
            };
            if end > seconds_over {
                ends.entry(end).or_default().push(key);
                continue;
            }
            self.rows.remove(&key);
            if let Some(ordered) = &mut self.ordered {
                ordered.remove(&key);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn watched_at(&self, second: i64) -> &[K] {
        &self.ends.as_ref().expect("it is complete")[&second]
    }
}
