//! One kind of row in a working set.
//!
//! A [`Table`] knows some rows, knows of others that they do not exist, and writes down which ones it was asked for and
//! does not know. Writes are journalled, so that a refused command can be undone and a store can be told what changed.
//! The same type serves a store as its memory: there a *complete* table knows everything, and a row it does not have
//! does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::RangeInclusive;

mod ranges;
mod set;
#[cfg(test)]
mod tests;

use ranges::Ranges;
pub use set::TableSet;

use crate::command::Missing;
use crate::map::Map;
use crate::time::Timestamp;

/// What a table holds.
pub trait Row: Clone + Debug {
    /// How many times as many of these rows as of others a memory keeps: more of small ones that are asked for all the time.
    const CACHED_TIMES: usize = 1;
    /// Whether a memory keeps rows that were just made. Not worth it for those that are made long before anybody asks.
    const KEPT_WHEN_MADE: bool = true;

    /// From when on the row means nothing any more, for rows that end by time alone.
    fn ends_at(&self) -> Option<Timestamp> {
        None
    }

    /// Whether the row says nothing and need not be kept.
    fn is_void(&self) -> bool {
        false
    }

    /// Counts something in the row, or takes it back. Only tallies count.
    fn recount(&mut self, count: Count) {
        unreachable!("{count:?} in a row that counts nothing");
    }
}

/// A quantity that counts until a moment; taken back if negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub quantity: i64,
    /// `None`: it is pinned, and does not end by time.
    pub ends_at: Option<Timestamp>,
    pub now: Timestamp,
}

/// What a table is looked up by.
pub trait Key: Clone + Ord + Hash + Debug {}
impl<T: Clone + Ord + Hash + Debug> Key for T {}

/// A request for all rows in a range of keys.
pub trait Scan<K>: Clone + PartialEq + Debug + Send + 'static {
    /// Whether a complete table keeps its keys in order for this.
    const ORDERED: bool;

    fn range(&self) -> RangeInclusive<K>;

    /// What is read along with one row, because it is likely to be asked for next.
    fn around(_key: &K) -> Option<Self> {
        None
    }
}

/// For tables that are only looked up row by row.
#[derive(Clone, PartialEq, Debug)]
pub enum NoScan {}

impl<K> Scan<K> for NoScan {
    const ORDERED: bool = false;

    fn range(&self) -> RangeInclusive<K> {
        match *self {}
    }
}

/// Rows of one kind, by key.
#[derive(Debug)]
pub struct Table<K, V, S = NoScan> {
    cells: Map<K, Cell<V>>,
    wanted: Vec<K>,
    scans_wanted: Vec<S>,
    scans_known: Vec<S>,
    /// As a memory: where it knows all rows there are.
    ranges_known: Ranges<K>,
    /// All keys in order, known or wanted, from the moment a working set is asked for a range of them, or a memory learns
    /// one: in a batch, that may be thousands of ranges.
    ordered: Option<BTreeSet<K>>,
    /// What a store supplied that its memory did not know.
    supplied: Vec<K>,
    journal: Vec<Undo<K, V>>,
    stamp: u64,
    /// Present if the table is complete.
    upkeep: Option<Upkeep<K>>,
}

/// A row that was written.
#[derive(Debug, PartialEq)]
pub struct Change<'a, K, V> {
    /// The store did not have it before.
    pub is_new: bool,
    pub key: &'a K,
    /// `None` if it was deleted.
    pub row: Option<&'a V>,
}

#[derive(Clone, Debug)]
enum Cell<V> {
    Wanted,
    Known(Option<V>),
}

#[derive(Debug)]
struct Undo<K, V> {
    stamp: u64,
    key: K,
    before: Before<V>,
}

/// How to get back to what was.
#[derive(Debug)]
enum Before<V> {
    /// Nothing was known of the row.
    Unknown,
    /// It had been asked for.
    Wanted,
    Row(Option<V>),
    /// The row is large and changed a little: change it back.
    Count(Count),
}

impl<V> Before<V> {
    /// Whether the store did not have the row.
    fn is_absent(&self) -> bool {
        matches!(self, Self::Unknown | Self::Wanted | Self::Row(None))
    }
}

/// What a complete table keeps beside its rows.
#[derive(Debug)]
struct Upkeep<K> {
    ordered: BTreeSet<K>,
    /// When to look whether a row has ended. Each key with an end stands here exactly once.
    ends: BTreeMap<i64, Vec<K>>,
}

impl<K: Key, V: Row, S: Scan<K>> Default for Table<K, V, S> {
    fn default() -> Self {
        Self {
            cells: Map::small(),
            wanted: Vec::new(),
            scans_wanted: Vec::new(),
            scans_known: Vec::new(),
            ranges_known: Ranges::default(),
            ordered: None,
            supplied: Vec::new(),
            journal: Vec::new(),
            stamp: 0,
            upkeep: None,
        }
    }
}

impl<K: Key, V: Row, S: Scan<K>> Table<K, V, S> {
    /// A table that knows all its rows: what it does not have does not exist.
    pub fn complete() -> Self {
        Self { upkeep: Some(Upkeep { ordered: BTreeSet::new(), ends: BTreeMap::new() }), ..Self::cache() }
    }

    /// A table that remembers some of a store's rows.
    pub fn cache() -> Self {
        Self { cells: Map::large(), ..Self::default() }
    }

    /// The row, or that there is none, or that it has to be loaded first.
    pub fn get(&mut self, key: &K) -> Result<Option<&V>, Missing> {
        if !self.cells.contains_key(key) {
            self.want(key);
        }
        match self.cells.get(key) {
            Some(Cell::Known(row)) => Ok(row.as_ref()),
            Some(Cell::Wanted) => Err(Missing),
            None => Ok(None),
        }
    }

    /// Says that the row will be needed, without needing it yet.
    pub fn want(&mut self, key: &K) {
        if self.upkeep.is_some() || self.cells.contains_key(key) {
            return;
        }
        self.order(key);
        // Every row of a known range is here, so one that is not does not exist.
        if self.scans_known.iter().any(|scan| scan.range().contains(key)) {
            self.cells.insert(key.clone(), Cell::Known(None));
        } else {
            self.cells.insert(key.clone(), Cell::Wanted);
            self.wanted.push(key.clone());
        }
    }

    /// The keys of all rows in the range, in order.
    pub fn scan(&mut self, scan: &S) -> Result<Vec<K>, Missing> {
        if self.upkeep.is_none() {
            self.order_all();
        }
        if let Some(keys) = self.known_in(scan) {
            return Ok(keys);
        }
        if !self.scans_wanted.contains(scan) {
            self.scans_wanted.push(scan.clone());
        }
        Err(Missing)
    }

    /// The keys of all rows in the range, in order; `None` if some may be unknown.
    fn known_in(&self, scan: &S) -> Option<Vec<K>> {
        let range = scan.range();
        if let Some(upkeep) = &self.upkeep {
            return Some(upkeep.ordered.range(range).cloned().collect());
        }
        if !self.knows(scan) {
            return None;
        }
        let is_there = |key: &&K| matches!(self.cells.get(key), Some(Cell::Known(Some(_))));
        if let Some(ordered) = &self.ordered {
            return Some(ordered.range(range).filter(is_there).cloned().collect());
        }
        let in_range = self.cells.iter().map(|(key, _)| key).filter(|key| range.contains(key));
        let mut keys: Vec<K> = in_range.filter(is_there).cloned().collect();
        keys.sort_unstable();
        Some(keys)
    }

    /// Whether all rows in the range are known.
    fn knows(&self, scan: &S) -> bool {
        self.upkeep.is_some() || self.scans_known.contains(scan) || self.ranges_known.cover(&scan.range())
    }

    fn order_all(&mut self) {
        let keys = self.cells.iter().map(|(key, _)| key.clone());
        self.ordered.get_or_insert_with(|| keys.collect());
    }

    fn order(&mut self, key: &K) {
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(key.clone());
        }
    }

    /// Writes a row whose key nobody has used before; it need not have been looked for.
    pub fn insert(&mut self, key: K, row: V) {
        self.order(&key);
        let before = match self.cells.insert(key.clone(), Cell::Known(Some(row))) {
            None => Before::Unknown,
            Some(Cell::Wanted) => Before::Wanted,
            Some(Cell::Known(None)) => Before::Row(None),
            Some(Cell::Known(Some(_))) => panic!("{key:?} is there already"),
        };
        self.journal(key, before);
    }

    /// Writes a row that was looked for, whether it was there or not.
    pub fn put(&mut self, key: K, row: V) {
        self.write(key, Some(row));
    }

    /// Removes a row that was looked for.
    pub fn delete(&mut self, key: K) {
        self.write(key, None);
    }

    /// Counts in the row of `key`, which must be loaded, without copying it.
    pub fn count(&mut self, key: &K, count: Count) -> Result<(), Missing>
    where
        V: Default,
    {
        self.get(key)?;
        let Some(Cell::Known(row)) = self.cells.get_mut(key) else { unreachable!("a row that was got is known") };
        // Whether the store has the row is told by the first entry of a key, so that one is written in full.
        let before = if row.is_some() { Before::Count(count) } else { Before::Row(None) };
        row.get_or_insert_default().recount(count);
        self.journal(key.clone(), before);
        Ok(())
    }

    fn write(&mut self, key: K, row: Option<V>) {
        let Some(Cell::Known(before)) = self.cells.insert(key.clone(), Cell::Known(row)) else {
            panic!("{key:?} is written before it was looked for");
        };
        self.journal(key, Before::Row(before));
    }

    fn journal(&mut self, key: K, before: Before<V>) {
        assert!(self.upkeep.is_none(), "memory is written by absorbing a committed working set");
        self.journal.push(Undo { stamp: self.stamp, key, before });
    }

    /// The keys a store has to load, each once, in order.
    pub fn take_wanted(&mut self) -> Vec<K> {
        let mut keys = std::mem::take(&mut self.wanted);
        keys.sort_unstable();
        keys
    }

    /// Keys that were taken to be loaded, and have to be looked for elsewhere.
    pub fn want_elsewhere(&mut self, keys: impl IntoIterator<Item = K>) {
        self.wanted.extend(keys);
    }

    /// The ranges a store has to load.
    pub fn take_scans_wanted(&mut self) -> Vec<S> {
        std::mem::take(&mut self.scans_wanted)
    }

    /// A store's answer. What the working set has written itself is newer and stays.
    pub fn supply(&mut self, key: K, row: Option<V>) {
        self.order(&key);
        let cell = self.cells.get_or_insert(key.clone(), Cell::Wanted);
        if matches!(cell, Cell::Wanted) {
            *cell = Cell::Known(row);
            self.supplied.push(key);
        }
    }

    /// A store's word that it has supplied every row of a range.
    pub fn supply_scan(&mut self, scan: S) {
        self.scans_known.push(scan);
    }

    /// What has to be written: each changed row once, in the order of keys.
    pub fn changes(&self) -> Vec<Change<'_, K, V>> {
        // The first entry of a key tells what the store has; the sort is stable, so it stays the first.
        let mut first: Vec<&Undo<K, V>> = self.journal.iter().collect();
        first.sort_by(|a, b| a.key.cmp(&b.key));
        first.dedup_by(|later, earlier| later.key == earlier.key);
        first
            .into_iter()
            .map(|undo| Change {
                is_new: undo.before.is_absent(),
                key: &undo.key,
                row: self.peek(&undo.key).flatten().filter(|row| !row.is_void()),
            })
            .collect()
    }

    /// All rows there are, in no particular order.
    pub fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        self.cells.iter().filter_map(|(key, cell)| match cell {
            Cell::Known(Some(row)) => Some((key, row)),
            Cell::Known(None) | Cell::Wanted => None,
        })
    }

    /// What is known of a row, without asking for it.
    fn peek(&self, key: &K) -> Option<Option<&V>> {
        match self.cells.get(key) {
            Some(Cell::Known(row)) => Some(row.as_ref()),
            Some(Cell::Wanted) => None,
            None => (self.upkeep.is_some() || self.ranges_known.contains(key)).then_some(None),
        }
    }

    /// Whether it keeps as much as a memory may keep although the store has it too.
    fn is_full(&self, cached_max: usize) -> bool {
        self.cells.len() + self.ranges_known.len() > cached_max * V::CACHED_TIMES
    }

    /// As a memory: takes a row from a committed working set.
    fn take_over(&mut self, key: K, committed: &mut Self) {
        // A key may come twice; the first visit took its final value.
        if let Some(cell @ Cell::Known(_)) = committed.cells.remove(&key) {
            match (&self.upkeep, cell) {
                (Some(_), Cell::Known(row)) => self.keep(key, row),
                (_, cell) => {
                    self.order(&key);
                    self.cells.insert(key, cell);
                }
            }
        }
    }

    /// Writes into a complete table, where nothing is ever undone.
    fn keep(&mut self, key: K, row: Option<V>) {
        let upkeep = self.upkeep.as_mut().expect("only a complete table keeps rows");
        match row.filter(|row| !row.is_void()) {
            Some(row) => {
                let end = row.ends_at();
                let before = self.cells.insert(key.clone(), Cell::Known(Some(row)));
                if S::ORDERED && !matches!(before, Some(Cell::Known(Some(_)))) {
                    upkeep.ordered.insert(key.clone());
                }
                if before.is_none()
                    && let Some(end) = end
                {
                    upkeep.ends.entry(end.second_rounded_up()).or_default().push(key);
                }
            }
            None => {
                upkeep.ordered.remove(&key);
                let Some(Cell::Known(Some(old))) = self.cells.get(&key) else { return };
                // An empty cell stays until its turn in `ends` comes: that keeps each key there exactly once.
                if old.ends_at().is_some() {
                    self.cells.insert(key, Cell::Known(None));
                } else {
                    self.cells.remove(&key);
                }
            }
        }
    }
}

impl<K: Key, V: Row, S: Scan<K>> TableSet for Table<K, V, S> {
    fn begin(&mut self, stamp: u64) {
        self.stamp = stamp;
    }

    fn roll_back(&mut self, stamp: u64) {
        while let Some(undo) = self.journal.pop_if(|undo| undo.stamp >= stamp) {
            match undo.before {
                Before::Unknown => {
                    self.cells.remove(&undo.key);
                }
                Before::Wanted => {
                    self.cells.insert(undo.key, Cell::Wanted);
                }
                Before::Row(row) => {
                    self.cells.insert(undo.key, Cell::Known(row));
                }
                Before::Count(count) => {
                    let Some(Cell::Known(Some(row))) = self.cells.get_mut(&undo.key) else {
                        unreachable!("a row that was counted in is there");
                    };
                    row.recount(Count { quantity: -count.quantity, ..count });
                }
            }
        }
    }

    fn is_settled(&self) -> bool {
        self.wanted.is_empty() && self.scans_wanted.is_empty()
    }

    fn has_changes(&self) -> bool {
        !self.journal.is_empty()
    }

    fn is_answered_by(&self, memory: &Self) -> bool {
        self.wanted.iter().all(|key| memory.peek(key).is_some())
            && self.scans_wanted.iter().all(|scan| memory.knows(scan))
    }

    fn answer_from(&mut self, memory: &Self) {
        let cells = &mut self.cells;
        self.wanted.retain(|key| match (cells.get_mut(key), memory.peek(key)) {
            (Some(cell @ Cell::Wanted), Some(row)) => {
                *cell = Cell::Known(row.cloned());
                false
            }
            _ => true,
        });
        for scan in std::mem::take(&mut self.scans_wanted) {
            let Some(keys) = memory.known_in(&scan) else {
                self.scans_wanted.push(scan);
                continue;
            };
            for key in keys {
                let row = memory.peek(&key).flatten().cloned();
                self.order(&key);
                let cell = self.cells.get_or_insert(key, Cell::Wanted);
                if matches!(cell, Cell::Wanted) {
                    *cell = Cell::Known(row);
                }
            }
            self.supply_scan(scan);
        }
    }

    fn copy_wants(&self) -> Self {
        let mut copy = Self::default();
        for key in &self.wanted {
            copy.want(key);
        }
        copy.scans_wanted.clone_from(&self.scans_wanted);
        copy
    }

    fn around(&self, memory: &Self, cached_max: usize) -> Self {
        let mut ahead = Self::default();
        if !memory.is_full(cached_max) {
            ahead.scans_wanted = self.wanted.iter().filter_map(S::around).collect();
            ahead.scans_wanted.dedup();
        }
        ahead
    }

    fn absorb(&mut self, committed: &mut Self) -> bool {
        for key in std::mem::take(&mut committed.supplied) {
            self.take_over(key, committed);
        }
        let mut is_all = true;
        for Undo { key, before, .. } in std::mem::take(&mut committed.journal) {
            if !V::KEPT_WHEN_MADE && before.is_absent() && self.peek(&key).is_none() {
                committed.cells.remove(&key);
                is_all = false;
            } else {
                self.take_over(key, committed);
            }
        }
        is_all
    }

    fn learn(&mut self, read: &Self, cached_max: usize) {
        if self.upkeep.is_some() || self.is_full(cached_max) {
            return;
        }
        for key in &read.supplied {
            if let Some(cell @ Cell::Known(_)) = read.cells.get(key)
                && !self.cells.contains_key(key)
            {
                self.order(key);
                self.cells.insert(key.clone(), cell.clone());
            }
        }
        for scan in &read.scans_known {
            self.order_all();
            self.ranges_known.add(scan.range());
        }
    }

    fn clear(&mut self) {
        // Room for an ordinary batch; what a huge one needed is given back.
        const CELLS_KEPT: usize = 4_096;
        self.cells.clear(CELLS_KEPT);
        self.wanted.clear();
        self.scans_wanted.clear();
        self.scans_known.clear();
        self.ordered = None;
        self.supplied.clear();
        self.journal.clear();
    }

    fn tidy(&mut self, now: Timestamp, cached_max: usize) {
        let Some(upkeep) = &mut self.upkeep else {
            if self.is_full(cached_max) {
                self.cells.clear(0);
                self.ordered = None;
                self.ranges_known.clear();
            }
            return;
        };
        let seconds_over = now.as_millis().div_euclid(1_000);
        let still_to_come = upkeep.ends.split_off(&(seconds_over + 1));
        let due = std::mem::replace(&mut upkeep.ends, still_to_come);
        for key in due.into_values().flatten() {
            let end = match self.cells.get(&key) {
                // What has no end for the moment may get one again: look again.
                Some(Cell::Known(Some(row))) => row.ends_at().map_or(seconds_over + 1, Timestamp::second_rounded_up),
                _ => i64::MIN,
            };
            if end > seconds_over {
                upkeep.ends.entry(end).or_default().push(key);
            } else {
                self.cells.remove(&key);
                upkeep.ordered.remove(&key);
            }
        }
    }
}
