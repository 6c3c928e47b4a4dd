//! Who is due next. Moving a deadline back costs nothing here, which is what polls do all the time: the old, earlier note
//! stays, and is corrected when it comes up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use holdfast_core::Timestamp;

/// Notes to spare before they are thrown away.
const SPARE: usize = 1_024;

/// For everyone with a deadline there is a note of that moment or an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines<K> {
    notes: BinaryHeap<Reverse<(Timestamp, K)>>,
}

impl<K: Ord> Default for Deadlines<K> {
    fn default() -> Self {
        Self { notes: BinaryHeap::new() }
    }
}

impl<K: Ord + Copy> Deadlines<K> {
    /// Needed for a new deadline and for one that moves forward; one that moves back need not be noted.
    pub(crate) fn note(&mut self, at: Timestamp, who: K) {
        self.notes.push(Reverse((at, who)));
    }

    /// Who is due first, and when. `deadline` tells the truth; `None` for one who has none any more.
    pub(crate) fn first(&mut self, deadline: impl Fn(K) -> Option<Timestamp>) -> Option<(Timestamp, K)> {
        loop {
            let mut first = self.notes.peek_mut()?;
            let Reverse((noted, who)) = *first;
            match deadline(who) {
                Some(at) if at <= noted => return Some((noted, who)),
                Some(at) => first.0.0 = at,
                None => drop(std::collections::binary_heap::PeekMut::pop(first)),
            }
        }
    }

    /// Whether far more is noted than there are people.
    pub(crate) fn is_cluttered(&self, people: usize) -> bool {
        self.notes.len() > 2 * people + SPARE
    }

    pub(crate) fn rewrite(&mut self, notes: impl Iterator<Item = (Timestamp, K)>) {
        self.notes = notes.map(Reverse).collect();
    }
}
