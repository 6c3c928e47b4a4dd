//! A hash map that can be large without ever stopping for long.
//!
//! An ordinary hash map moves all its entries when it grows: at a million entries that takes a good part of a second.
//! A large [`Map`] is many small ones. They hold unequal shares, from one to twice the smallest, so that they grow at
//! different times: one after another, a fraction of a millisecond each.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// How many shards a large map has.
const SHARDS: usize = 256;
/// How finely the shares of the shards are cut.
const SLOTS: usize = 4_096;

/// Which shard each slot of hashes belongs to. Shard i ends at 2^((i+1)/SHARDS) − 1 of the whole, so the shares grow
/// evenly from 1 to 2.
static SHARD_OF_SLOT: LazyLock<[u8; SLOTS]> =
    LazyLock::new(|| std::array::from_fn(|slot| ((1.0 + slot as f64 / SLOTS as f64).log2() * SHARDS as f64) as u8));

#[derive(Clone, Debug)]
pub struct Map<K, V> {
    /// All entries of a small map. A working set has many tables and uses few: an empty one costs nothing to make.
    small: HashMap<K, V, RandomState>,
    /// All entries of a large one.
    shards: Vec<HashMap<K, V, RandomState>>,
    hasher: RandomState,
}

impl<K: Hash + Eq, V> Map<K, V> {
    /// For few entries.
    pub(crate) fn small() -> Self {
        Self { small: HashMap::default(), shards: Vec::new(), hasher: RandomState::default() }
    }

    /// For any number of entries.
    pub fn large() -> Self {
        Self { shards: (0..SHARDS).map(|_| HashMap::default()).collect(), ..Self::small() }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.shard(key).get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.shard_mut(key).get_mut(key)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.shard(key).contains_key(key)
    }

    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.shard_mut(&key).insert(key, value)
    }

    pub(crate) fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        self.shard_mut(&key).entry(key).or_insert(value)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.shard_mut(key).remove(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.small.iter().chain(self.shards.iter().flatten())
    }

    pub(crate) fn len(&self) -> usize {
        self.small.len() + self.shards.iter().map(HashMap::len).sum::<usize>()
    }

    /// Forgets everything, and keeps room for about `kept` entries.
    pub(crate) fn clear(&mut self, kept: usize) {
        let kept = kept / self.shards.len().max(1);
        for map in self.shards.iter_mut().chain([&mut self.small]) {
            map.clear();
            map.shrink_to(kept);
        }
    }

    fn shard(&self, key: &K) -> &HashMap<K, V, RandomState> {
        if self.shards.is_empty() { &self.small } else { &self.shards[self.shard_number(key)] }
    }

    fn shard_mut(&mut self, key: &K) -> &mut HashMap<K, V, RandomState> {
        if self.shards.is_empty() {
            return &mut self.small;
        }
        let shard = self.shard_number(key);
        &mut self.shards[shard]
    }

    fn shard_number(&self, key: &K) -> usize {
        let slot = self.hasher.hash_one(key) >> (u64::BITS - SLOTS.ilog2());
        usize::from(SHARD_OF_SLOT[slot as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_a_map_small_or_large() {
        for mut map in [Map::small(), Map::large()] {
            for number in 0..10_000 {
                assert_eq!(map.insert(number, number), None);
            }
            assert_eq!((map.len(), map.get(&77)), (10_000, Some(&77)));
            assert_eq!((map.remove(&77), map.contains_key(&77)), (Some(77), false));
            assert_eq!(*map.get_or_insert(77, 5), 5);
            assert_eq!(map.get_mut(&77), Some(&mut 5));
            assert_eq!(map.iter().count(), 10_000);
            map.clear(0);
            assert_eq!(map.len(), 0);
        }
    }

    #[test]
    fn its_shards_hold_shares_from_one_to_two_so_that_they_grow_at_different_times() {
        let share = |shard: usize| SHARD_OF_SLOT.iter().filter(|slot| usize::from(**slot) == shard).count();
        let shares: Vec<usize> = (0..SHARDS).map(share).collect();
        assert!(shares.iter().all(|share| (10..=23).contains(share)), "{shares:?}");
        let (first, last): (usize, usize) = (shares[..64].iter().sum(), shares[192..].iter().sum());
        assert!(last * 10 > first * 16, "the last quarter holds much more than the first: {first}, {last}");
    }
}
