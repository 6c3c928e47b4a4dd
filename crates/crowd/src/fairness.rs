//! Fairness of admission: which customers overtook which.
//!
//! The waiting room makes users ready by their place, up to the limit of users inside. Users who are ready at the same
//! time may enter in any order. So a customer may fairly overtake as many others as may be inside, less one; more than
//! that is unfair.

use serde::Serialize;

/// Course of one customer in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRecord {
    /// Place, from 0, in order of acceptance.
    pub(crate) place: u64,
    /// Time of entering, in seconds; `None` if the customer left or stayed in the queue to the end.
    pub(crate) came_in_at: Option<f64>,
    pub(crate) left_at: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fairness {
    /// Maximum number of customers with an earlier place that any customer overtook.
    pub overtaken_max: u64,
    /// Fair maximum: users who may be ready at the same time.
    pub overtaken_allowed: u64,
    /// Customers overtaken beyond the fair maximum. Anything but 0 is an error.
    pub error: u64,
}

impl Fairness {
    pub(crate) fn of(line: &[QueueRecord], inside_max: u32) -> Self {
        let overtaken = |one: &QueueRecord| -> u64 {
            let Some(at) = one.came_in_at else { return 0 };
            let was_there = |other: &&QueueRecord| {
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

    /// `came_in` has places in order of entering; `left` has those who left, and when.
    fn check(came_in: &[u64], left: &[(u64, f64)], inside: u32, overtaken: u64, error: u64) {
        let entered = came_in.iter().enumerate().map(|(at, place)| (*place, Some(at as f64), None));
        let left_early = left.iter().map(|(place, at)| (*place, None, Some(*at)));
        let line: Vec<QueueRecord> = entered
            .chain(left_early)
            .map(|(place, came_in_at, left_at)| QueueRecord { place, came_in_at, left_at })
            .collect();
        let found = Fairness::of(&line, inside);
        assert_eq!((found.overtaken_max, found.error), (overtaken, error), "{came_in:?} {left:?}");
    }

    #[test]
    fn only_ready_users_may_overtake() {
        check(&[0, 1, 2, 3], &[], 2, 0, 0);
        check(&[1, 0, 3, 2], &[], 2, 1, 0);
        check(&[2, 0, 1, 3], &[], 2, 2, 1);
        check(&[3, 0, 1, 2], &[], 1, 3, 3);
    }

    #[test]
    fn only_users_still_queued_are_overtaken() {
        check(&[0, 2], &[(1, 0.5)], 1, 0, 0);
        check(&[0, 2], &[(1, 5.0)], 1, 1, 1);
    }
}
