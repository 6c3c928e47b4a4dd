//! Rate of admission, counted in steps of five seconds.

use std::collections::VecDeque;

use holdfast_core::Timestamp;

/// Repeated in `room.lua`.
const STEP_MILLIS: i64 = 5_000;
const STEPS: i64 = 12;

#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    /// (step, admissions), oldest first, at most [`STEPS`] of them.
    counts: VecDeque<(i64, u64)>,
}

impl Rate {
    pub(crate) fn count(&mut self, at: Timestamp) {
        let step = step(at);
        self.counts.retain(|(counted, _)| *counted > step - STEPS);
        match self.counts.back_mut() {
            Some((last, count)) if *last == step => *count += 1,
            _ => self.counts.push_back((step, 1)),
        }
    }

    /// Returns the admissions of the last minute: of the current step and the eleven before it.
    pub(crate) fn per_minute(&self, now: Timestamp) -> u64 {
        let first = step(now) - STEPS;
        self.counts.iter().filter(|(step, _)| *step > first).map(|(_, count)| count).sum()
    }
}

fn step(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(STEP_MILLIS)
}
