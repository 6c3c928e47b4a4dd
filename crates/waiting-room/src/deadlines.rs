//! Priority queue of deadlines with lazy updates. Extending a deadline, as every poll does, costs nothing: its old,
//! earlier entry stays and is corrected when it comes up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use holdfast_core::Timestamp;

/// Outdated entries tolerated before a rebuild.
const OUTDATED_MAX: usize = 1_024;

/// Entries by time. Every key with a deadline has an entry at that moment or an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines<K> {
    entries: BinaryHeap<Reverse<(Timestamp, K)>>,
}

impl<K: Ord> Default for Deadlines<K> {
    fn default() -> Self {
        Self { entries: BinaryHeap::new() }
    }
}

impl<K: Ord + Clone> Deadlines<K> {
    /// Adds an entry for a new deadline or one that moves forward. A deadline that moves back needs none.
    pub(crate) fn add(&mut self, at: Timestamp, key: K) {
        self.entries.push(Reverse((at, key)));
    }

    /// Returns the first key due, and when. `deadline` returns the current deadline of a key, `None` if it has none any
    /// more.
    pub(crate) fn first(&mut self, deadline: impl Fn(&K) -> Option<Timestamp>) -> Option<(Timestamp, K)> {
        loop {
            let mut first = self.entries.peek_mut()?;
            let Reverse((at_earliest, key)) = &*first;
            match deadline(key) {
                Some(at) if at <= *at_earliest => return Some((*at_earliest, key.clone())),
                Some(at) => first.0.0 = at,
                None => drop(std::collections::binary_heap::PeekMut::pop(first)),
            }
        }
    }

    /// Whether entries far outnumber the keys.
    pub(crate) fn needs_rebuild(&self, keys: usize) -> bool {
        self.entries.len() > 2 * keys + OUTDATED_MAX
    }

    pub(crate) fn rebuild(&mut self, entries: impl Iterator<Item = (Timestamp, K)>) {
        self.entries = entries.map(Reverse).collect();
    }
}
