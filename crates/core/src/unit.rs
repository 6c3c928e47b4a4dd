//! The smallest claimable unit, and the tally of the holds on it.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::table::{Count, Row, Scan};
use crate::time::{Timestamp, date_ordinal};

/// Kind of a unit or hold. One per vertical.
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

/// A claimable unit: part `part` of resource `resource`. For a night of a room type the part is the date, for a slot of
/// a room its start, for a seat its position in the event. Ordered by kind, resource, part, so that the parts of one
/// resource are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    pub kind: Kind,
    pub resource: u64,
    pub part: u32,
}

/// Range of units of one resource, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    pub first: Unit,
    pub last_part: u32,
}

impl Units {
    /// Returns all units of the resource from `first` on.
    pub fn from(first: Unit) -> Self {
        Self { first, last_part: u32::MAX }
    }
}

impl Scan<Unit> for Units {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<Unit> {
        self.first..=Unit { part: self.last_part, ..self.first }
    }

    fn candidates(&self, now: Timestamp) -> Vec<Unit> {
        let first = self.first;
        match first.kind {
            Kind::Stay => {
                crate::stay::nights_ahead(now).map(|date| Unit { part: date_ordinal(date), ..first }).collect()
            }
            Kind::Shop => vec![first],
            // The caller names existing units.
            Kind::Room | Kind::Ticket => (first.part..=self.last_part).map(|part| Unit { part, ..first }).collect(),
        }
    }
}

/// All units of a kind with the same resource id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    pub kind: Kind,
    pub id: u64,
}

/// Capacity fence: a lower capacity that binds new holds before it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityFence {
    pub capacity: u32,
    /// End of the fence; later than recording can finish.
    pub ends_at: Timestamp,
}

impl Row for CapacityFence {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.ends_at)
    }
}

/// Quantities held of a unit, counted by the second of their end.
///
/// It has at most one line per second of the longest TTL, regardless of the number of holds. Holds end on full seconds, so the
/// tally is exact. A quantity counts while `now` is before its second, so it stops counting without a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Quantity of prepared holds, which counts until their confirm attempts are finished.
    prepared: u32,
    /// Second of the end and quantity; ascending by second, no quantity is zero.
    lines: VecDeque<(i64, u32)>,
    /// Sum of all lines, ended or not, without `prepared`.
    total: u32,
}

impl Tally {
    /// Returns the quantity that counts at `now`.
    pub fn live(&self, now: Timestamp) -> u32 {
        let ended: u32 =
            self.lines.iter().take_while(|(second, _)| has_ended(*second, now)).map(|(_, quantity)| quantity).sum();
        self.prepared + self.total - ended
    }

    /// Returns the next time at which time alone changes the quantity; `None` if only prepared holds count.
    pub fn next_end(&self, now: Timestamp) -> Option<Timestamp> {
        let (second, _) = self.lines.iter().find(|(second, _)| !has_ended(*second, now))?;
        Some(Timestamp::from_millis(second * 1_000))
    }

    /// Returns the quantity of prepared holds.
    pub fn prepared(&self) -> u32 {
        self.prepared
    }

    /// Returns the tally with these stored lines; `None` if they are not ascending or a quantity is zero or overflows.
    pub fn from_lines(prepared: u32, lines: impl IntoIterator<Item = (i64, u32)>) -> Option<Self> {
        let lines: VecDeque<(i64, u32)> = lines.into_iter().collect();
        let ascending = lines.iter().zip(lines.iter().skip(1)).all(|(a, b)| a.0 < b.0);
        let total = lines.iter().try_fold(0_u32, |sum, (_, quantity)| sum.checked_add(*quantity))?;
        (ascending && lines.iter().all(|(_, quantity)| *quantity > 0)).then_some(Self { prepared, lines, total })
    }

    /// Counts `quantity` until `ends_at`, a full second, and purges the lines that have ended by `now`.
    pub fn add(&mut self, ends_at: Timestamp, quantity: u32, now: Timestamp) {
        assert!(quantity > 0, "a claimed quantity is positive");
        self.purge_ended(now);
        let second = end_second(ends_at);
        self.total = self.total.checked_add(quantity).expect("claims are bounded by capacity");
        // Almost always the last line, because most holds of a kind have the same TTL.
        match self.lines.iter().rposition(|(line, _)| *line <= second) {
            Some(index) if self.lines[index].0 == second => self.lines[index].1 += quantity,
            Some(index) => self.lines.insert(index + 1, (second, quantity)),
            None => self.lines.push_front((second, quantity)),
        }
    }

    /// Reverts [`add`](Self::add). A line that has ended meanwhile may be purged already.
    pub fn remove(&mut self, ends_at: Timestamp, quantity: u32, now: Timestamp) {
        let second = end_second(ends_at);
        if let Ok(index) = self.lines.binary_search_by_key(&second, |(line, _)| *line) {
            let line = &mut self.lines[index].1;
            *line = line.checked_sub(quantity).expect("no more is removed than was added");
            self.total -= quantity;
            if *line == 0 {
                self.lines.remove(index);
            }
        } else {
            assert!(has_ended(second, now), "a live claim has a line");
        }
        self.purge_ended(now);
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.prepared == 0
    }

    /// Returns second and quantity of each line, earliest first.
    pub fn lines(&self) -> impl Iterator<Item = (i64, u32)> {
        self.lines.iter().copied()
    }

    fn purge_ended(&mut self, now: Timestamp) {
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
        if self.prepared > 0 {
            return None;
        }
        self.lines.back().map(|(second, _)| Timestamp::from_millis(second * 1_000))
    }

    fn is_void(&self) -> bool {
        self.is_empty()
    }

    fn apply_count(&mut self, count: Count) {
        let quantity = u32::try_from(count.quantity.unsigned_abs()).expect("claims are bounded by capacity");
        match count.ends_at {
            Some(ends_at) if count.quantity > 0 => self.add(ends_at, quantity, count.now),
            Some(ends_at) => self.remove(ends_at, quantity, count.now),
            None if count.quantity > 0 => self.prepared += quantity,
            // After a loss of live rows the tally is missing, but the attempt must still be finished.
            None => self.prepared = self.prepared.saturating_sub(quantity),
        }
    }
}

fn end_second(ends_at: Timestamp) -> i64 {
    assert!(ends_at.is_full_second(), "a hold ends on a full second");
    ends_at.as_secs()
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
    fn quantity_counts_until_its_end() {
        let mut tally = Tally::default();
        tally.add(at(11_000), 3, at(0));
        assert_eq!(tally.live(at(10_999)), 3);
        assert_eq!(tally.live(at(11_000)), 0);
    }

    #[test]
    #[should_panic(expected = "full second")]
    fn end_within_a_second_panics() {
        Tally::default().add(at(10_500), 3, at(0));
    }

    #[test]
    fn tally_size_is_bounded_by_ttl() {
        let mut tally = Tally::default();
        for step in 0..100_000_i64 {
            let now = at(step * 10);
            tally.add(at(step * 10 + 600_000).rounded_up_to_second(), 1, now);
        }
        assert!(tally.lines().count() <= 602);
        assert_eq!(
            tally.live(at(999_990)),
            60_000 + 99,
            "10 ms before the last addition ends its second: the additions of one TTL, to the second"
        );
    }

    #[test]
    fn add_purges_ended_lines() {
        let mut tally = Tally::default();
        for second in 0..50 {
            tally.add(at(second * 1_000 + 5_000), 1, at(second * 1_000));
            assert!(tally.live(at(second * 1_000)) <= 5);
        }
    }

    #[test]
    fn remove_leaves_no_empty_line() {
        let mut tally = Tally::default();
        tally.add(at(5_000), 2, at(0));
        tally.add(at(7_000), 1, at(0));
        tally.remove(at(5_000), 2, at(0));
        assert_eq!(tally.lines().collect::<Vec<_>>(), [(7, 1)]);
        tally.remove(at(7_000), 1, at(0));
        assert!(tally.is_empty());
    }

    #[test]
    fn lines_are_sorted_by_second() {
        let mut tally = Tally::default();
        for second in [30, 10, 20, 10, 40, 5] {
            tally.add(at(second * 1_000), 1, at(0));
        }
        assert_eq!(tally.lines().collect::<Vec<_>>(), [(5, 1), (10, 2), (20, 1), (30, 1), (40, 1)]);
    }
}
