//! A hash map without long pauses when it grows.
//!
//! An ordinary hash map moves all its entries when it grows, which takes a considerable part of a second for a million
//! entries. A [`Map`] consists of many small ones. Their shares of the hashes differ, from one to two, so that they
//! grow at different times, a fraction of a millisecond each.

use std::hash::{BuildHasher as _, Hash};
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Number of shards of a map.
pub(crate) const SHARDS: usize = 256;
/// Number of slots in which hashes are divided; each belongs to one shard.
const SLOTS: usize = 4_096;
/// Position of the hash bits that select the slot: bits that the table of a shard does not use.
const SLOT_SHIFT: u32 = 40;

/// Shard of each slot. Shard i ends at 2^((i+1)/SHARDS) − 1 of the whole, so the shares grow evenly from 1 to 2.
static SHARD_OF_SLOT: LazyLock<[u8; SLOTS]> =
    LazyLock::new(|| std::array::from_fn(|slot| ((1.0 + slot as f64 / SLOTS as f64).log2() * SHARDS as f64) as u8));

#[derive(Clone, Debug)]
pub struct Map<K, V> {
    shards: Vec<HashTable<(K, V)>>,
    hasher: RandomState,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| HashTable::new()).collect(), hasher: RandomState::default() }
    }
}

impl<K: Hash + Eq, V> Map<K, V> {
    pub fn get(&self, key: &K) -> Option<&V> {
        let hash = self.hasher.hash_one(key);
        self.shards[shard(hash)].find(hash, |(other, _)| other == key).map(|(_, value)| value)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Self { shards, hasher } = self;
        let hash = hasher.hash_one(&key);
        match shards[shard(hash)].entry(hash, |(other, _)| *other == key, |(key, _)| hasher.hash_one(key)) {
            Entry::Occupied(mut entry) => Some(std::mem::replace(&mut entry.get_mut().1, value)),
            Entry::Vacant(entry) => {
                entry.insert((key, value));
                None
            }
        }
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let hash = self.hasher.hash_one(key);
        let entry = self.shards[shard(hash)].find_entry(hash, |(other, _)| other == key).ok()?;
        let ((_, value), _) = entry.remove();
        Some(value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flatten().map(|(key, value)| (key, value))
    }

    /// Removes and yields the entries of one shard whose values match.
    pub(crate) fn extract_from_shard(
        &mut self,
        shard: usize,
        mut matches: impl FnMut(&V) -> bool,
    ) -> impl Iterator<Item = (K, V)> {
        self.shards[shard].extract_if(move |(_, value)| matches(value))
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(HashTable::len).sum()
    }
}

fn shard(hash: u64) -> usize {
    usize::from(SHARD_OF_SLOT[(hash >> SLOT_SHIFT) as usize % SLOTS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_map_inserts_finds_and_removes() {
        let mut map = Map::default();
        for number in 0..10_000 {
            assert_eq!(map.insert(number, number), None);
        }
        assert_eq!((map.len(), map.get(&77)), (10_000, Some(&77)));
        assert_eq!(map.insert(77, 5), Some(77));
        assert_eq!((map.remove(&77), map.remove(&77), map.contains_key(&77)), (Some(5), None, false));
        assert_eq!((map.iter().count(), map.len()), (9_999, 9_999));
    }

    #[test]
    fn shard_shares_range_from_one_to_two() {
        let share = |shard: usize| SHARD_OF_SLOT.iter().filter(|slot| usize::from(**slot) == shard).count();
        let shares: Vec<usize> = (0..SHARDS).map(share).collect();
        assert!(shares.iter().all(|share| (10..=23).contains(share)), "{shares:?}");
        let (first, last): (usize, usize) = (shares[..64].iter().sum(), shares[192..].iter().sum());
        assert!(last * 10 > first * 16, "the last quarter holds much more than the first: {first}, {last}");
    }
}
