//! People in a row, each with a number that only grows. Who is how far in front, and who stands at a given place, is
//! answered in O(log n); so are joining at the end and leaving from anywhere.
//!
//! A Fenwick tree counts who is still there. Those who left keep their slot until half of all slots are empty; then the row
//! closes up, which costs each who left a constant.

/// Below so many slots closing up is not worth it.
const SLOTS_MIN: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    /// In the order of numbers.
    slots: Vec<Slot<T>>,
    /// A Fenwick tree over the slots, one-based: `tree[i - 1]` counts the people in the slots `i - lowbit(i) .. i`.
    tree: Vec<u32>,
    len: usize,
    next: u64,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    number: u64,
    person: Option<T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), tree: Vec::new(), len: 0, next: 1 }
    }
}

impl<T> Line<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// No number up to this one is given again.
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
    }

    /// Joins at the end.
    pub(crate) fn push(&mut self, person: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.slots.push(Slot { number, person: Some(person) });
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
        self.slots[self.slot(number)?].person.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let slot = self.slot(number)?;
        self.slots[slot].person.as_mut()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let slot = self.slot(number)?;
        let person = self.slots[slot].person.take()?;
        self.len -= 1;
        let mut at = slot + 1;
        while at <= self.tree.len() {
            self.tree[at - 1] -= 1;
            at += lowbit(at);
        }
        if self.slots.len() >= SLOTS_MIN && self.len * 2 < self.slots.len() {
            self.close_up();
        }
        Some(person)
    }

    /// How many stand in front of that number, if it is there.
    pub(crate) fn rank(&self, number: u64) -> Option<usize> {
        let mut at = self.slot(number)?;
        let mut count = 0;
        while at > 0 {
            count += self.tree[at - 1] as usize;
            at -= lowbit(at);
        }
        Some(count)
    }

    /// The number of the one who has `rank` others in front.
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

    /// In order, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().filter_map(|slot| Some((slot.number, slot.person.as_ref()?)))
    }

    /// Numbers follow one another but for those that are missing, so a slot is at most so many places further ahead than if
    /// none were. While none is, it is found at once.
    fn slot(&self, number: u64) -> Option<usize> {
        let (first, last) = (self.slots.first()?.number, self.slots.last()?.number);
        let missing = (last - first) as usize + 1 - self.slots.len();
        let at_most = number.checked_sub(first)? as usize;
        let from = at_most.saturating_sub(missing);
        let near = self.slots.get(from..self.slots.len().min(at_most + 1))?;
        Some(from + near.binary_search_by_key(&number, |slot| slot.number).ok()?)
    }

    fn close_up(&mut self) {
        self.slots.retain(|slot| slot.person.is_some());
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
    fn ranks_and_places_agree_with_a_plain_list_through_random_comings_and_goings() {
        let mut seed = 7_u64;
        let mut random = move |bound: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % bound as u64) as usize
        };
        let (mut line, mut list) = (Line::default(), Vec::new());
        for step in 0..20_000 {
            // Grows to some hundreds, then shrinks to none, again and again.
            if list.is_empty() || random(100) < if step / 1_000 % 2 == 0 { 65 } else { 20 } {
                list.push(line.push(step));
            } else {
                let gone = list.remove(random(list.len()));
                assert!(line.remove(gone).is_some());
                assert!(
                    line.remove(gone).is_none() && line.get(gone).is_none() && line.rank(gone + 1_000_000).is_none()
                );
            }
            assert_eq!(line.len(), list.len());
            assert_eq!(line.nth(list.len()), None);
            if !list.is_empty() {
                let rank = random(list.len());
                assert_eq!((line.rank(list[rank]), line.nth(rank)), (Some(rank), Some(list[rank])));
            }
        }
        assert!(line.iter().map(|(number, _)| number).eq(list));
    }

    #[test]
    fn those_who_left_take_no_more_space_than_those_who_are_there() {
        let mut line = Line::default();
        for number in 0..100_000_u64 {
            line.push(number);
            if number >= 100 {
                line.remove(number - 100 + 1);
            }
        }
        assert_eq!(line.len(), 100);
        assert!(line.slots.len() <= 202, "{}", line.slots.len());
    }
}
