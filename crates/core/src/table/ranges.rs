//! Ranges of keys of which a cache knows all rows. Overlapping ranges are merged.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// First and last key of each range; no two overlap.
#[derive(Debug)]
pub(super) struct Ranges<K>(BTreeMap<K, K>);

impl<K> Default for Ranges<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Clone + Ord> Ranges<K> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether one known range contains all of `range`.
    pub(super) fn cover(&self, range: &RangeInclusive<K>) -> bool {
        self.0.range(..=range.start()).next_back().is_some_and(|(_, last)| last >= range.end())
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        self.0.range(..=key).next_back().is_some_and(|(_, last)| last >= key)
    }

    pub(super) fn add(&mut self, range: RangeInclusive<K>) {
        let (mut first, mut last) = range.into_inner();
        let overlapping = |ranges: &BTreeMap<K, K>, first: &K, last: &K| {
            let (start, end) = ranges.range(..=last).next_back()?;
            (end >= first).then(|| (start.clone(), end.clone()))
        };
        while let Some((start, end)) = overlapping(&self.0, &first, &last) {
            self.0.remove(&start);
            (first, last) = (first.min(start), last.max(end));
        }
        self.0.insert(first, last);
    }
}
