//! Queue in which each member has an increasing number. Rank by number, number by rank, joining at the end and leaving
//! from anywhere take O(log n).
//!
//! A Fenwick tree counts the members. A removed member keeps an empty slot until half of all slots are empty;
//! compaction then costs amortized O(1) per removal.

/// Number of slots below which compaction is not worthwhile.
const SLOTS_MIN: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct RankedQueue<T> {
    /// In the order of numbers.
    slots: Vec<Slot<T>>,
    /// Fenwick tree over the slots, one-based: `tree[i - 1]` counts the members in the slots `i - lowbit(i) .. i`.
    tree: Vec<u32>,
    len: usize,
    next: u64,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    number: u64,
    member: Option<T>,
}

impl<T> Default for RankedQueue<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), tree: Vec::new(), len: 0, next: 1 }
    }
}

impl<T> RankedQueue<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reserves all numbers up to this one.
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
    }

    /// Adds a member at the end and returns its number.
    pub(crate) fn push(&mut self, member: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.slots.push(Slot { number, member: Some(member) });
        self.len += 1;
        let last = self.slots.len();
        let (mut count, mut below) = (1, last - 1);
        while below > last - lowbit(last) {
            count += self.tree[below - 1];
            below -= lowbit(below);
        }
        self.tree.push(count);
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.slots[self.slot(number)?].member.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let slot = self.slot(number)?;
        self.slots[slot].member.as_mut()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let slot = self.slot(number)?;
        let member = self.slots[slot].member.take()?;
        self.len -= 1;
        let mut at = slot + 1;
        while at <= self.tree.len() {
            self.tree[at - 1] -= 1;
            at += lowbit(at);
        }
        if self.slots.len() >= SLOTS_MIN && self.len * 2 < self.slots.len() {
            self.compact();
        }
        Some(member)
    }

    /// Returns how many members are ahead of that number, if it has a member.
    pub(crate) fn rank(&self, number: u64) -> Option<usize> {
        let mut at = self.slot(number)?;
        let mut count = 0;
        while at > 0 {
            count += self.tree[at - 1] as usize;
            at -= lowbit(at);
        }
        Some(count)
    }

    /// Returns the number of the member with that rank.
    pub(crate) fn nth(&self, rank: usize) -> Option<u64> {
        if rank >= self.len {
            return None;
        }
        let (mut at, mut left) = (0, rank);
        let mut step = 1 << self.tree.len().ilog2();
        while step > 0 {
            if let Some(count) = self.tree.get(at + step - 1).map(|count| *count as usize)
                && count <= left
            {
                at += step;
                left -= count;
            }
            step >>= 1;
        }
        Some(self.slots[at].number)
    }

    /// Iterates over members in order, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().filter_map(|slot| Some((slot.number, slot.member.as_ref()?)))
    }

    /// Finds the slot of a number. Numbers are consecutive apart from missing ones, so a slot is at most that many
    /// positions before the one it has without gaps. Without gaps it is found at once.
    fn slot(&self, number: u64) -> Option<usize> {
        let (first, last) = (self.slots.first()?.number, self.slots.last()?.number);
        let missing = (last - first) as usize + 1 - self.slots.len();
        let at_most = number.checked_sub(first)? as usize;
        let from = at_most.saturating_sub(missing);
        let near = self.slots.get(from..self.slots.len().min(at_most + 1))?;
        Some(from + near.binary_search_by_key(&number, |slot| slot.number).ok()?)
    }

    fn compact(&mut self) {
        self.slots.retain(|slot| slot.member.is_some());
        self.slots.shrink_to(SLOTS_MIN.max(self.len * 2));
        // All slots are taken, so each count is the size of its range.
        self.tree = (1..=self.slots.len()).map(|at| lowbit(at) as u32).collect();
    }
}

fn lowbit(number: usize) -> usize {
    number & number.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_with_plain_list() {
        let mut seed = 7_u64;
        let mut random = move |bound: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % bound as u64) as usize
        };
        let (mut queue, mut list) = (RankedQueue::default(), Vec::new());
        for step in 0..20_000 {
            // Grows to some hundreds, then shrinks to none, repeatedly.
            if list.is_empty() || random(100) < if step / 1_000 % 2 == 0 { 65 } else { 20 } {
                list.push(queue.push(step));
            } else {
                let removed = list.remove(random(list.len()));
                assert!(queue.remove(removed).is_some());
                assert!(
                    queue.remove(removed).is_none()
                        && queue.get(removed).is_none()
                        && queue.rank(removed + 1_000_000).is_none()
                );
            }
            assert_eq!(queue.len(), list.len());
            assert_eq!(queue.nth(list.len()), None);
            if !list.is_empty() {
                let rank = random(list.len());
                assert_eq!((queue.rank(list[rank]), queue.nth(rank)), (Some(rank), Some(list[rank])));
            }
        }
        assert!(queue.iter().map(|(number, _)| number).eq(list));
    }

    #[test]
    fn empty_slots_are_bounded() {
        let mut queue = RankedQueue::default();
        for number in 0..100_000_u64 {
            queue.push(number);
            if number >= 100 {
                queue.remove(number - 100 + 1);
            }
        }
        assert_eq!(queue.len(), 100);
        assert!(queue.slots.len() <= 202, "{}", queue.slots.len());
    }
}
