//! Who overtook whom.
//!
//! The waiting room asks people in by their place in line, up to as many as may be inside. Those who are asked in at the
//! same time may come in any order: one walks faster than the other. So somebody may rightly overtake as many as may be
//! inside, less one; more than that is unfair.

use serde::Serialize;

/// One who stood in line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Counted from 0, in order of acceptance.
    pub(crate) place: u64,
    /// When they came in, in seconds; the others left, or stood there to the end.
    pub(crate) came_in_at: Option<f64>,
    pub(crate) left_at: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fairness {
    /// The most people that anybody overtook who stood further ahead.
    pub overtaken_max: u64,
    /// So many may be overtaken: those who were asked in at the same time.
    pub overtaken_allowed: u64,
    /// How far anybody was let in out of order. Anything but 0 is a fault.
    pub error: u64,
}

impl Fairness {
    pub(crate) fn of(line: &[Standing], inside_max: u32) -> Self {
        let overtaken = |one: &Standing| -> u64 {
            let Some(at) = one.came_in_at else { return 0 };
            let was_there = |other: &&Standing| {
                other.place < one.place
                    && other.came_in_at.is_none_or(|came| came > at)
                    && other.left_at.is_none_or(|left| left > at)
            };
            line.iter().filter(was_there).count() as u64
        };
        let overtaken_max = line.iter().map(overtaken).max().unwrap_or_default();
        let overtaken_allowed = u64::from(inside_max.saturating_sub(1));
        Self { overtaken_max, overtaken_allowed, error: overtaken_max.saturating_sub(overtaken_allowed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places in the order of coming in; those who left, and when.
    fn check(came_in: &[u64], left: &[(u64, f64)], inside: u32, overtaken: u64, error: u64) {
        let people = came_in.iter().enumerate().map(|(at, place)| (*place, Some(at as f64), None));
        let gone = left.iter().map(|(place, at)| (*place, None, Some(*at)));
        let line: Vec<Standing> =
            people.chain(gone).map(|(place, came_in_at, left_at)| Standing { place, came_in_at, left_at }).collect();
        let found = Fairness::of(&line, inside);
        assert_eq!((found.overtaken_max, found.error), (overtaken, error), "{came_in:?} {left:?}");
    }

    #[test]
    fn those_asked_in_together_may_come_in_any_order_and_nobody_else() {
        check(&[0, 1, 2, 3], &[], 2, 0, 0);
        check(&[1, 0, 3, 2], &[], 2, 1, 0);
        check(&[2, 0, 1, 3], &[], 2, 2, 1);
        check(&[3, 0, 1, 2], &[], 1, 3, 3);
    }

    #[test]
    fn who_has_left_is_not_overtaken_and_who_leaves_later_is() {
        check(&[0, 2], &[(1, 0.5)], 1, 0, 0);
        check(&[0, 2], &[(1, 5.0)], 1, 1, 1);
    }
}
