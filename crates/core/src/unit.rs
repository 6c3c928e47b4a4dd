//! The smallest thing that can be claimed, and how the holds on it are counted.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::id::UserId;
use crate::table::{Count, Row, Scan};
use crate::time::Timestamp;

/// What sort of thing a unit or a hold is. One per vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Stay,
    Shop,
    Room,
    Ticket,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Stay, Self::Shop, Self::Room, Self::Ticket];
}

/// A claimable thing: part `part` of resource `resource`. A room type's night is part *date* of that room type, a room's slot is
/// part *start* of that room, a seat is part *position* of its event.
/// The order is that of kind, resource, part, so that the parts of one resource lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    pub kind: Kind,
    pub resource: u64,
    pub part: u32,
}

/// Units of one resource, from part to part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    pub first: Unit,
    pub last_part: u32,
}

impl Units {
    /// All from this one on.
    pub fn from(first: Unit) -> Self {
        Self { first, last_part: u32::MAX }
    }
}

impl Scan<Unit> for Units {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<Unit> {
        self.first..=Unit { part: self.last_part, ..self.first }
    }
}

/// Whose live holds of one kind are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder {
    pub kind: Kind,
    pub user: UserId,
}

/// All units of a kind that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    pub kind: Kind,
    pub id: u64,
}

/// A lower capacity that is being recorded: until that is done, nobody may claim more than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub capacity: u32,
    /// Longer than recording can take.
    pub ends_at: Timestamp,
}

impl Row for Limit {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.ends_at)
    }
}

/// Quantities counted by the second in which they end.
///
/// However many people hold a unit, this is a table of at most one line per second of the longest time to live.
/// Nothing has to happen for a quantity to stop counting: it counts while `now` is before its second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// What is being confirmed: it counts until that is decided, however long it takes.
    pinned: u32,
    /// Ascending by second; no line with quantity zero.
    lines: VecDeque<(i64, u32)>,
    /// The sum of all lines, ended or not, without what is pinned.
    total: u32,
}

impl Tally {
    /// What still counts at `now`.
    pub fn live(&self, now: Timestamp) -> u32 {
        let ended: u32 =
            self.lines.iter().take_while(|(second, _)| has_ended(*second, now)).map(|(_, quantity)| quantity).sum();
        self.pinned + self.total - ended
    }

    /// What counts until somebody takes it back.
    pub fn pinned(&self) -> u32 {
        self.pinned
    }

    /// For stores that wrote a tally down: the tally of these lines, earliest first; `None` if they are none.
    pub fn from_lines(pinned: u32, lines: impl IntoIterator<Item = (i64, u32)>) -> Option<Self> {
        let lines: VecDeque<(i64, u32)> = lines.into_iter().collect();
        let ascending = lines.iter().zip(lines.iter().skip(1)).all(|(a, b)| a.0 < b.0);
        let total = lines.iter().try_fold(0_u32, |sum, (_, quantity)| sum.checked_add(*quantity))?;
        (ascending && lines.iter().all(|(_, quantity)| *quantity > 0)).then_some(Self { pinned, lines, total })
    }

    /// Counts `quantity` until `ends_at`, to the second, and forgets what has ended by `now`.
    pub fn add(&mut self, ends_at: Timestamp, quantity: u32, now: Timestamp) {
        assert!(quantity > 0, "a claim of nothing is no claim");
        self.forget_ended(now);
        let second = ends_at.second_rounded_up();
        self.total = self.total.checked_add(quantity).expect("claims are bounded by capacity");
        // Almost always the last line: most holds of a kind live equally long.
        match self.lines.iter().rposition(|(line, _)| *line <= second) {
            Some(index) if self.lines[index].0 == second => self.lines[index].1 += quantity,
            Some(index) => self.lines.insert(index + 1, (second, quantity)),
            None => self.lines.push_front((second, quantity)),
        }
    }

    /// Takes back what [`add`](Self::add) counted. What has ended meanwhile is gone already.
    pub fn remove(&mut self, ends_at: Timestamp, quantity: u32, now: Timestamp) {
        let second = ends_at.second_rounded_up();
        if let Ok(index) = self.lines.binary_search_by_key(&second, |(line, _)| *line) {
            let line = &mut self.lines[index].1;
            *line = line.checked_sub(quantity).expect("no more is taken back than was counted");
            self.total -= quantity;
            if *line == 0 {
                self.lines.remove(index);
            }
        } else {
            assert!(has_ended(second, now), "a live claim is always counted");
        }
        self.forget_ended(now);
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.pinned == 0
    }

    /// Second and quantity of each line, earliest first; for stores that write tallies down.
    pub fn lines(&self) -> impl Iterator<Item = (i64, u32)> {
        self.lines.iter().copied()
    }

    fn forget_ended(&mut self, now: Timestamp) {
        while let Some((second, quantity)) = self.lines.front().copied() {
            if !has_ended(second, now) {
                break;
            }
            self.lines.pop_front();
            self.total -= quantity;
        }
    }
}

impl Row for Tally {
    fn ends_at(&self) -> Option<Timestamp> {
        if self.pinned > 0 {
            return None;
        }
        self.lines.back().map(|(second, _)| Timestamp::from_millis(second * 1_000))
    }

    fn is_void(&self) -> bool {
        self.is_empty()
    }

    fn recount(&mut self, count: Count) {
        let quantity = u32::try_from(count.quantity.unsigned_abs()).expect("claims are bounded by capacity");
        match count.ends_at {
            Some(ends_at) if count.quantity > 0 => self.add(ends_at, quantity, count.now),
            Some(ends_at) => self.remove(ends_at, quantity, count.now),
            None if count.quantity > 0 => self.pinned += quantity,
            // A tally that was lost has nothing to take back; the hold must be settled all the same.
            None => self.pinned = self.pinned.saturating_sub(quantity),
        }
    }
}

fn has_ended(second: i64, now: Timestamp) -> bool {
    now.as_millis() >= second * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_quantity_counts_until_its_second_is_over_and_never_a_full_second_longer() {
        let mut tally = Tally::default();
        tally.add(at(10_500), 3, at(0));
        assert_eq!(tally.live(at(10_499)), 3, "never earlier than its end");
        assert_eq!(tally.live(at(10_999)), 3);
        assert_eq!(tally.live(at(11_000)), 0, "less than a second after its end");
    }

    #[test]
    fn the_table_stays_small_however_many_are_counted() {
        let mut tally = Tally::default();
        for step in 0..100_000_i64 {
            let now = at(step * 10);
            tally.add(at(step * 10 + 600_000), 1, now);
        }
        assert!(tally.lines().count() <= 602);
        assert_eq!(
            tally.live(at(999_990)),
            60_000 + 99,
            "ten seconds short of two TTLs: one TTL's worth, to the second"
        );
    }

    #[test]
    fn ended_quantities_fall_away_while_new_ones_keep_arriving() {
        let mut tally = Tally::default();
        for second in 0..50 {
            tally.add(at(second * 1_000 + 5_000), 1, at(second * 1_000));
            assert!(tally.live(at(second * 1_000)) <= 5);
        }
    }

    #[test]
    fn taking_back_leaves_no_empty_line() {
        let mut tally = Tally::default();
        tally.add(at(5_000), 2, at(0));
        tally.add(at(7_000), 1, at(0));
        tally.remove(at(5_000), 2, at(0));
        assert_eq!(tally.lines().collect::<Vec<_>>(), [(7, 1)]);
        tally.remove(at(7_000), 1, at(0));
        assert!(tally.is_empty());
    }

    #[test]
    fn lines_are_kept_in_order_whatever_order_they_come_in() {
        let mut tally = Tally::default();
        for second in [30, 10, 20, 10, 40, 5] {
            tally.add(at(second * 1_000), 1, at(0));
        }
        assert_eq!(tally.lines().collect::<Vec<_>>(), [(5, 1), (10, 2), (20, 1), (30, 1), (40, 1)]);
    }
}
