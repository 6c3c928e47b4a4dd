//! One kind of row in a working set.
//!
//! A [`Table`] knows some rows, knows of others that they do not exist, and writes down which ones it was asked for and
//! does not know. Writes are journalled, so that a refused command can be undone and a store can be told what changed.
//! The same type serves a store as its memory: there a *complete* table knows everything, and a row it does not have
//! does not exist.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::RangeInclusive;

mod memory;
mod one;
mod ranges;
mod set;
#[cfg(test)]
mod tests;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use memory::Memory;
#[cfg(test)]
pub(crate) use memory::SWEEPS;
pub use set::TableSet;

use crate::command::Missing;
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
    /// What is known of each key that was ever asked for. It keeps its slot until everything is forgotten.
    cells: IndexMap<K, Cell<V>, RandomState>,
    /// The slots of rows to load.
    wanted: Vec<usize>,
    scans_wanted: Vec<S>,
    scans_known: Vec<S>,
    /// All keys in order, from the moment a range of them is asked for: in a batch, that may be thousands of ranges.
    ordered: Option<BTreeSet<K>>,
    /// The slots of rows that a store supplied, and its memory did not know.
    supplied: Vec<usize>,
    journal: Vec<Undo<V>>,
    stamp: u64,
    /// Present if it serves as a memory. Then it has no cells.
    memory: Option<Box<Memory<K, V>>>,
}

/// A row that was written.
#[derive(Debug, PartialEq)]
pub struct Change<'a, K, V> {
    /// The store did not have it before.
    pub is_new: bool,
    /// The store has another one under this key, which was deleted: nothing of that stays.
    pub is_remade: bool,
    pub key: &'a K,
    /// `None` if it was deleted.
    pub row: Option<&'a V>,
}

#[derive(Clone, Debug)]
enum Cell<V> {
    /// As if nobody had asked.
    Unknown,
    Wanted,
    Known(Option<V>),
}

#[derive(Debug)]
struct Undo<V> {
    stamp: u64,
    slot: usize,
    before: Before<V>,
}

/// How to get back to what was.
#[derive(Debug)]
enum Before<V> {
    Cell(Cell<V>),
    /// The row is large and changed a little: change it back.
    Count(Count),
}

impl<V> Before<V> {
    /// Whether the store did not have the row.
    fn is_absent(&self) -> bool {
        matches!(self, Self::Cell(Cell::Unknown | Cell::Wanted | Cell::Known(None)))
    }
}

impl<K: Key, V: Row, S: Scan<K>> Default for Table<K, V, S> {
    fn default() -> Self {
        Self {
            cells: IndexMap::default(),
            wanted: Vec::new(),
            scans_wanted: Vec::new(),
            scans_known: Vec::new(),
            ordered: None,
            supplied: Vec::new(),
            journal: Vec::new(),
            stamp: 0,
            memory: None,
        }
    }
}

impl<K: Key, V: Row, S: Scan<K>> Table<K, V, S> {
    /// A memory that knows all rows: what it does not have does not exist.
    pub fn complete() -> Self {
        Self { memory: Some(Box::new(Memory::complete::<S>())), ..Self::default() }
    }

    /// A memory of some of a store's rows.
    pub fn cache() -> Self {
        Self { memory: Some(Box::new(Memory::cache())), ..Self::default() }
    }

    /// The row, or that there is none, or that it has to be loaded first.
    pub fn get(&mut self, key: &K) -> Result<Option<&V>, Missing> {
        let slot = self.memory.is_none().then(|| self.slot_wanted(key));
        let known = match slot {
            Some(slot) => self.known(slot),
            None => self.peek(key),
        };
        known.ok_or(Missing)
    }

    /// Says that the row will be needed, without needing it yet.
    pub fn want(&mut self, key: &K) {
        self.slot_wanted(key);
    }

    /// The slot of a row that is known, or wanted from now on.
    fn slot_wanted(&mut self, key: &K) -> usize {
        assert!(self.memory.is_none(), "a memory wants nothing");
        let slot = match self.cells.get_index_of(key) {
            Some(slot) if matches!(self.cells[slot], Cell::Wanted | Cell::Known(_)) => return slot,
            Some(slot) => slot,
            None => self.new_slot(key.clone()),
        };
        // Every row of a known range is here, so one that is not does not exist.
        self.cells[slot] = if self.scans_known.iter().any(|scan| scan.range().contains(key)) {
            Cell::Known(None)
        } else {
            self.wanted.push(slot);
            Cell::Wanted
        };
        slot
    }

    fn new_slot(&mut self, key: K) -> usize {
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(key.clone());
        }
        let (slot, _) = self.cells.insert_full(key, Cell::Unknown);
        slot
    }

    /// The slot of a row, whatever is known of it.
    fn slot(&mut self, key: K) -> usize {
        self.cells.get_index_of(&key).unwrap_or_else(|| self.new_slot(key))
    }

    fn key(&self, slot: usize) -> &K {
        self.cells.get_index(slot).expect("a slot lasts as long as the working set").0
    }

    /// The keys of all rows in the range, in order.
    pub fn scan(&mut self, scan: &S) -> Result<Vec<K>, Missing> {
        if self.memory.is_none() && self.ordered.is_none() {
            self.ordered = Some(self.cells.keys().cloned().collect());
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
        if let Some(memory) = &self.memory {
            return memory.known_in(scan);
        }
        if !self.knows(scan) {
            return None;
        }
        let range = scan.range();
        let is_there = |key: &&K| matches!(self.cells.get(*key), Some(Cell::Known(Some(_))));
        if let Some(ordered) = &self.ordered {
            return Some(ordered.range(range).filter(is_there).cloned().collect());
        }
        let mut keys: Vec<K> = self.cells.keys().filter(|key| range.contains(key)).filter(is_there).cloned().collect();
        keys.sort_unstable();
        Some(keys)
    }

    /// Whether all rows in the range are known.
    fn knows(&self, scan: &S) -> bool {
        self.memory.as_ref().map_or_else(|| self.scans_known.contains(scan), |memory| memory.knows(scan))
    }

    /// Writes a row whose key nobody has used before; it need not have been looked for.
    pub fn insert(&mut self, key: K, row: V) {
        let slot = self.slot(key);
        assert!(!matches!(self.cells[slot], Cell::Known(Some(_))), "{:?} is there already", self.key(slot));
        self.write(slot, Some(row));
    }

    /// Writes a row that was looked for, whether it was there or not.
    pub fn put(&mut self, key: K, row: V) {
        let slot = self.slot_known(key);
        self.write(slot, Some(row));
    }

    /// Removes a row that was looked for.
    pub fn delete(&mut self, key: K) {
        let slot = self.slot_known(key);
        self.write(slot, None);
    }

    fn slot_known(&mut self, key: K) -> usize {
        let slot = self.slot(key);
        let is_known = matches!(self.cells[slot], Cell::Known(_));
        assert!(is_known, "{:?} is written before it was looked for", self.key(slot));
        slot
    }

    fn write(&mut self, slot: usize, row: Option<V>) {
        let before = std::mem::replace(&mut self.cells[slot], Cell::Known(row));
        self.journal(slot, Before::Cell(before));
    }

    /// Counts in the row of `key`, which must be loaded, without copying it.
    pub fn count(&mut self, key: &K, count: Count) -> Result<(), Missing>
    where
        V: Default,
    {
        let slot = self.slot_wanted(key);
        let Cell::Known(row) = &mut self.cells[slot] else { return Err(Missing) };
        // Whether the store has the row is told by the first entry of a key, so that one is written in full.
        let before = if row.is_some() { Before::Count(count) } else { Before::Cell(Cell::Known(None)) };
        row.get_or_insert_default().recount(count);
        self.journal(slot, before);
        Ok(())
    }

    fn journal(&mut self, slot: usize, before: Before<V>) {
        assert!(self.memory.is_none(), "memory is written by absorbing a committed working set");
        self.journal.push(Undo { stamp: self.stamp, slot, before });
    }

    /// What a store has to load; it stays wanted.
    pub fn wanted(&self) -> impl Iterator<Item = &K> {
        self.wanted.iter().map(|slot| self.key(*slot))
    }

    pub fn scans_wanted(&self) -> &[S] {
        &self.scans_wanted
    }

    /// The keys a store has to load, each once, in order.
    pub fn take_wanted(&mut self) -> Vec<K> {
        let slots = std::mem::take(&mut self.wanted);
        let mut keys: Vec<K> = slots.into_iter().map(|slot| self.key(slot).clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Keys that were taken to be loaded, and have to be looked for elsewhere.
    pub fn want_elsewhere(&mut self, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            let slot = self.slot(key);
            self.wanted.push(slot);
        }
    }

    /// The ranges a store has to load.
    pub fn take_scans_wanted(&mut self) -> Vec<S> {
        std::mem::take(&mut self.scans_wanted)
    }

    /// A store's answer. What the working set has written itself is newer and stays.
    pub fn supply(&mut self, key: K, row: Option<V>) {
        let slot = self.slot(key);
        if self.fill(slot, row) {
            self.supplied.push(slot);
        }
    }

    /// Whether this was not known.
    fn fill(&mut self, slot: usize, row: Option<V>) -> bool {
        let cell = &mut self.cells[slot];
        let is_news = !matches!(cell, Cell::Known(_));
        if is_news {
            *cell = Cell::Known(row);
        }
        is_news
    }

    /// A store's word that it has supplied every row of a range.
    pub fn supply_scan(&mut self, scan: S) {
        self.scans_known.push(scan);
    }

    /// What has to be written: each changed row once, in the order of keys.
    pub fn changes(&self) -> Vec<Change<'_, K, V>> {
        let change = |undo: &Undo<V>| Change {
            is_new: undo.before.is_absent(),
            is_remade: false,
            key: self.key(undo.slot),
            row: self.known(undo.slot).flatten().filter(|row| !row.is_void()),
        };
        // The first entry of a key tells what the store has; the sort is stable, so it stays the first.
        let mut changes: Vec<_> = self.journal.iter().map(change).collect();
        changes.sort_by(|a, b| a.key.cmp(b.key));
        changes.dedup_by(|later, first| {
            let is_same = later.key == first.key;
            first.is_remade |= is_same && later.is_new && !first.is_new && first.row.is_some();
            is_same
        });
        changes
    }

    fn known(&self, slot: usize) -> Option<Option<&V>> {
        match &self.cells[slot] {
            Cell::Known(row) => Some(row.as_ref()),
            Cell::Wanted | Cell::Unknown => None,
        }
    }

    /// All rows there are, in no particular order.
    pub fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        let known = self.cells.iter().filter_map(|(key, cell)| match cell {
            Cell::Known(Some(row)) => Some((key, row)),
            Cell::Known(None) | Cell::Wanted | Cell::Unknown => None,
        });
        known.chain(self.memory.iter().flat_map(|memory| memory.rows()))
    }

    /// What is known of a row, without asking for it.
    fn peek(&self, key: &K) -> Option<Option<&V>> {
        match &self.memory {
            Some(memory) => memory.peek(key),
            None => self.known(self.cells.get_index_of(key)?),
        }
    }
}
