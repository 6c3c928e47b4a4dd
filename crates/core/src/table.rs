//! One kind of row in a working set.
//!
//! A [`Table`] holds known rows, keys that are known not to exist, and the keys that were requested and are not loaded.
//! Writes are journalled, so that a rejected command can be rolled back and a store gets the changes. A [`TableState`]
//! holds committed rows of the same kind in the in-memory state of a store.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::RangeInclusive;

mod access;
mod ranges;
mod set;
mod single;
mod state;
#[cfg(test)]
mod tests;

pub use access::decode_row;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
pub use set::{StateSet, TableSet};
#[cfg(test)]
pub(crate) use state::SWEEPS;
pub use state::TableState;

use crate::command::NeedRows;
use crate::id::HoldId;
use crate::time::Timestamp;

/// A row of a table.
pub trait Row: Clone + Debug {
    /// Cache size of these rows as a multiple of the default; larger for small rows that are read often.
    const CACHE_FACTOR: usize = 1;
    /// Whether inserted rows are cached. Not worthwhile for rows that are inserted long before they are read.
    const CACHED_ON_INSERT: bool = true;

    /// Time from which the row has no effect, for rows that end by time alone.
    fn ends_at(&self) -> Option<Timestamp> {
        None
    }

    /// Time until which the live tier keeps the row, if it is written at `now`; `None` if it does not expire.
    fn kept_until(&self, _now: Timestamp) -> Option<Timestamp> {
        self.ends_at()
    }

    /// Whether the row carries no information and is stored as absent.
    fn is_void(&self) -> bool {
        false
    }

    /// Adds a quantity to the row, or subtracts a negative one. Implemented by tallies and lists of holds.
    fn apply_count(&mut self, count: Count) {
        unreachable!("{count:?} in a row without counts");
    }
}

/// A quantity that counts until a given time; negative to revert an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub quantity: i64,
    /// `None`: a prepared quantity, which does not end by time.
    pub ends_at: Option<Timestamp>,
    pub now: Timestamp,
    /// Hold to be listed under its end, in rows that list holds instead of quantities.
    pub hold: Option<HoldId>,
}

/// Key of a table.
pub trait Key: Clone + Ord + Hash + Debug {}
impl<T: Clone + Ord + Hash + Debug> Key for T {}

/// A request for all rows in a range of keys.
pub trait Scan<K>: Clone + PartialEq + Debug + Send + 'static {
    /// Whether a complete table keeps its keys sorted for this scan.
    const ORDERED: bool;

    fn range(&self) -> RangeInclusive<K>;

    /// Returns all keys in the range whose rows may exist, for a store that cannot list rows.
    fn candidates(&self, _now: Timestamp) -> Vec<K> {
        unreachable!("{self:?} is a range of rows that stores can list");
    }

    /// Returns the range to prefetch with a row, because its rows are likely to be read next.
    fn prefetch(_key: &K) -> Option<Self> {
        None
    }
}

/// Scan type of tables that are looked up by key only.
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
    /// State of each key that was ever requested or written. A key keeps its slot until the table is cleared.
    states: IndexMap<K, RowState<V>, RandomState>,
    /// Slots of the rows to load.
    requested: Vec<usize>,
    scans_requested: Vec<S>,
    scans_known: Vec<S>,
    /// All keys in order, built by the first scan: a batch may request thousands of ranges.
    ordered: Option<BTreeSet<K>>,
    /// Slots of rows that the store loaded because its in-memory state did not have them.
    filled: Vec<usize>,
    journal: Vec<Undo<V>>,
    savepoint: u64,
}

/// A changed row.
#[derive(Debug, PartialEq)]
pub struct Change<'a, K, V> {
    /// The store had no row under this key.
    pub is_new: bool,
    /// The store has a row under this key that was deleted and replaced by a new one, of which no column is kept.
    pub is_remade: bool,
    pub key: &'a K,
    /// `None` if the row was deleted.
    pub row: Option<&'a V>,
}

#[derive(Clone, Debug)]
enum RowState<V> {
    /// Not requested.
    Unknown,
    Requested,
    Known(Option<V>),
}

#[derive(Debug)]
struct Undo<V> {
    savepoint: u64,
    slot: usize,
    before: Before<V>,
}

/// Undo information of a write.
#[derive(Debug)]
enum Before<V> {
    RowState(RowState<V>),
    /// Reverts a count; cheaper than a copy of a large row.
    Count(Count),
}

impl<V> Before<V> {
    /// Whether the store did not have the row.
    fn is_absent(&self) -> bool {
        matches!(self, Self::RowState(RowState::Unknown | RowState::Requested | RowState::Known(None)))
    }
}

impl<K: Key, V: Row, S: Scan<K>> Default for Table<K, V, S> {
    fn default() -> Self {
        Self {
            states: IndexMap::default(),
            requested: Vec::new(),
            scans_requested: Vec::new(),
            scans_known: Vec::new(),
            ordered: None,
            filled: Vec::new(),
            journal: Vec::new(),
            savepoint: 0,
        }
    }
}

impl<K: Key, V: Row, S: Scan<K>> Table<K, V, S> {
    /// Returns the row, `None` if it does not exist, or [`NeedRows`] if it has to be loaded; then it is requested.
    pub fn get(&mut self, key: &K) -> Result<Option<&V>, NeedRows> {
        let slot = self.slot_requested(key);
        self.known(slot).ok_or(NeedRows)
    }

    /// Requests a row without reading it yet, so that one load fetches all of them.
    pub fn request(&mut self, key: &K) {
        self.slot_requested(key);
    }

    /// Returns the number of keys that were requested or written.
    pub fn key_count(&self) -> usize {
        self.states.len()
    }

    /// Whether the key was requested or written.
    pub fn has_key(&self, key: &K) -> bool {
        self.states.contains_key(key)
    }

    /// Returns the slot of a row, and requests the row unless it is known.
    fn slot_requested(&mut self, key: &K) -> usize {
        let slot = match self.states.get_index_of(key) {
            Some(slot) if matches!(self.states[slot], RowState::Requested | RowState::Known(_)) => return slot,
            Some(slot) => slot,
            None => self.new_slot(key.clone()),
        };
        // All rows of a loaded range are known, so other keys in it do not exist.
        self.states[slot] = if self.scans_known.iter().any(|scan| scan.range().contains(key)) {
            RowState::Known(None)
        } else {
            self.requested.push(slot);
            RowState::Requested
        };
        slot
    }

    fn new_slot(&mut self, key: K) -> usize {
        if let Some(ordered) = &mut self.ordered {
            ordered.insert(key.clone());
        }
        let (slot, _) = self.states.insert_full(key, RowState::Unknown);
        slot
    }

    /// Returns the slot of a key, in any state.
    fn slot(&mut self, key: K) -> usize {
        self.states.get_index_of(&key).unwrap_or_else(|| self.new_slot(key))
    }

    fn key(&self, slot: usize) -> &K {
        self.states.get_index(slot).expect("a slot lasts as long as the working set").0
    }

    /// Returns the keys of all rows in the range, in order.
    pub fn scan(&mut self, scan: &S) -> Result<Vec<K>, NeedRows> {
        if self.ordered.is_none() {
            self.ordered = Some(self.states.keys().cloned().collect());
        }
        if let Some(keys) = self.known_in(scan) {
            return Ok(keys);
        }
        if !self.scans_requested.contains(scan) {
            self.scans_requested.push(scan.clone());
        }
        Err(NeedRows)
    }

    /// Returns the keys of all rows in the range, in order; `None` if some may not be loaded.
    fn known_in(&self, scan: &S) -> Option<Vec<K>> {
        if !self.knows(scan) {
            return None;
        }
        let range = scan.range();
        let exists = |key: &&K| matches!(self.states.get(*key), Some(RowState::Known(Some(_))));
        if let Some(ordered) = &self.ordered {
            return Some(ordered.range(range).filter(exists).cloned().collect());
        }
        let mut keys: Vec<K> = self.states.keys().filter(|key| range.contains(key)).filter(exists).cloned().collect();
        keys.sort_unstable();
        Some(keys)
    }

    /// Whether all rows in the range are known.
    fn knows(&self, scan: &S) -> bool {
        self.scans_known.contains(scan)
    }

    /// Writes a row under a new key, such as a number just drawn; it need not have been requested.
    pub fn insert(&mut self, key: K, row: V) {
        let slot = self.slot(key);
        assert!(!matches!(self.states[slot], RowState::Known(Some(_))), "{:?} exists already", self.key(slot));
        self.write(slot, Some(row));
    }

    /// Writes a row whose key was read, whether it existed or not.
    pub fn put(&mut self, key: K, row: V) {
        let slot = self.slot_known(key);
        self.write(slot, Some(row));
    }

    /// Deletes a row that was read.
    pub fn delete(&mut self, key: K) {
        let slot = self.slot_known(key);
        self.write(slot, None);
    }

    fn slot_known(&mut self, key: K) -> usize {
        let slot = self.slot(key);
        let is_known = matches!(self.states[slot], RowState::Known(_));
        assert!(is_known, "{:?} is written before it was read", self.key(slot));
        slot
    }

    fn write(&mut self, slot: usize, row: Option<V>) {
        let before = std::mem::replace(&mut self.states[slot], RowState::Known(row));
        self.journal(slot, Before::RowState(before));
    }

    /// Adds to the row of `key` in place; the row must be loaded.
    pub fn count(&mut self, key: &K, count: Count) -> Result<(), NeedRows>
    where
        V: Default,
    {
        let slot = self.slot_requested(key);
        let RowState::Known(row) = &mut self.states[slot] else { return Err(NeedRows) };
        // The first entry of a key tells whether the store has the row, so an absent row is journalled with its state.
        let before = if row.is_some() { Before::Count(count) } else { Before::RowState(RowState::Known(None)) };
        row.get_or_insert_default().apply_count(count);
        self.journal(slot, before);
        Ok(())
    }

    fn journal(&mut self, slot: usize, before: Before<V>) {
        self.journal.push(Undo { savepoint: self.savepoint, slot, before });
    }

    /// Returns the keys to load; they stay requested.
    pub fn requested(&self) -> impl Iterator<Item = &K> {
        self.requested.iter().map(|slot| self.key(*slot))
    }

    pub fn scans_requested(&self) -> &[S] {
        &self.scans_requested
    }

    /// Removes and returns the keys to load, each once, in order.
    pub fn take_requested(&mut self) -> Vec<K> {
        let slots = std::mem::take(&mut self.requested);
        let mut keys: Vec<K> = slots.into_iter().map(|slot| self.key(slot).clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Requests keys again that [`take_requested`](Self::take_requested) returned, to be loaded from another store.
    pub fn request_elsewhere(&mut self, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            let slot = self.slot(key);
            self.requested.push(slot);
        }
    }

    /// Removes and returns the ranges to load.
    pub fn take_scans_requested(&mut self) -> Vec<S> {
        std::mem::take(&mut self.scans_requested)
    }

    /// Fills in a loaded row. A row that is known or written already is newer and stays.
    pub fn fill(&mut self, key: K, row: Option<V>) {
        let slot = self.slot(key);
        if self.fill_slot(slot, row) {
            self.filled.push(slot);
        }
    }

    /// Fills in a row unless it is known; returns whether it was filled in.
    fn fill_slot(&mut self, slot: usize, row: Option<V>) -> bool {
        let state = &mut self.states[slot];
        let is_new = !matches!(state, RowState::Known(_));
        if is_new {
            *state = RowState::Known(row);
        }
        is_new
    }

    /// Marks a range as loaded: the store has filled in each of its rows.
    pub fn fill_scan(&mut self, scan: S) {
        self.scans_known.push(scan);
    }

    /// Returns the changed rows, each once, in the order of keys.
    pub fn changes(&self) -> Vec<Change<'_, K, V>> {
        let change = |undo: &Undo<V>| Change {
            is_new: undo.before.is_absent(),
            is_remade: false,
            key: self.key(undo.slot),
            row: self.known(undo.slot).flatten().filter(|row| !row.is_void()),
        };
        // The first entry of a key tells whether the store has the row; the sort is stable, so it stays the first.
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
        match &self.states[slot] {
            RowState::Known(row) => Some(row.as_ref()),
            RowState::Requested | RowState::Unknown => None,
        }
    }

    /// Returns all known rows, in no particular order.
    pub fn rows(&self) -> impl Iterator<Item = (&K, &V)> {
        self.states.iter().filter_map(|(key, state)| match state {
            RowState::Known(Some(row)) => Some((key, row)),
            RowState::Known(None) | RowState::Requested | RowState::Unknown => None,
        })
    }

    /// Returns the state of a row without requesting it.
    fn peek(&self, key: &K) -> Option<Option<&V>> {
        self.known(self.states.get_index_of(key)?)
    }

    /// Fills in the requested rows and ranges that a source knows.
    fn fill_known<'a>(&mut self, peek: impl Fn(&K) -> Option<Option<&'a V>>, known_in: impl Fn(&S) -> Option<Vec<K>>)
    where
        V: 'a,
    {
        let states = &mut self.states;
        self.requested.retain(|slot| match states.get_index_mut(*slot) {
            Some((key, state @ RowState::Requested)) => match peek(key) {
                Some(row) => {
                    *state = RowState::Known(row.cloned());
                    false
                }
                None => true,
            },
            _ => true,
        });
        for scan in std::mem::take(&mut self.scans_requested) {
            let Some(keys) = known_in(&scan) else {
                self.scans_requested.push(scan);
                continue;
            };
            for key in keys {
                let row = peek(&key).flatten().cloned();
                let slot = self.slot(key);
                self.fill_slot(slot, row);
            }
            self.fill_scan(scan);
        }
    }
}
