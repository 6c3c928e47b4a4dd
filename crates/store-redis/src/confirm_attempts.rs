//! Confirm attempts: those that a commit begins or ends, and abandoned ones.

use std::collections::HashSet;

use holdfast_core::command::Attempt;
use holdfast_core::hold::{AttemptId, HoldState};
use holdfast_core::id::HoldId;
use holdfast_core::time::Span;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::StoreError;
use redis::Value;
use uuid::Uuid;

use crate::live::{LiveTier, micros_of, unexpected};
use crate::read_set::{LiveReadSet, READ_AGE_MAX};

/// Age at which an unfinished confirm attempt counts as abandoned. Longer than any call may take.
pub const ABANDONED_AFTER: Span = Span::from_secs(6);
const ATTEMPTS_AT_ONCE_MAX: isize = 200;

impl LiveTier {
    /// Returns abandoned attempts; a bounded number.
    pub async fn abandoned(&self) -> Result<Vec<AttemptId>, StoreError> {
        let unfinished = self.keys().unfinished();
        let mut pipeline = redis::pipe();
        pipeline.cmd("TIME").zrange_withscores(unfinished, 0, ATTEMPTS_AT_ONCE_MAX);
        let answer: Vec<Value> = self.connection().ask(&pipeline).await?;
        let [time, attempts] = &answer[..] else { return Err(unexpected(&answer)) };
        let now_seconds = micros_of(time)? / 1_000_000;
        let attempts: Vec<(String, f64)> = redis::from_redis_value_ref(attempts).map_err(|_| unexpected(attempts))?;
        let oldest = (now_seconds - self.abandoned_after().as_millis() / 1_000) as f64;
        let old = attempts.into_iter().filter(|(_, began)| *began <= oldest).map(|(member, _)| member);
        let attempts: Vec<_> = old.map(|member| (parse_attempt(&member), member)).collect();
        let open = self.open_attempts(attempts.iter().filter_map(|(of, _)| *of)).await?;
        let (mut abandoned, mut left_over) = (Vec::new(), Vec::new());
        for (of, member) in attempts {
            match of.filter(|of| open.contains(of)) {
                Some(of) => abandoned.push(of),
                // The hold was lost, or the entry outlived it: no attempt is left to recover.
                None => left_over.push(member),
            }
        }
        if !left_over.is_empty() {
            let mut pipeline = redis::pipe();
            pipeline.zrem(self.keys().unfinished(), left_over);
            self.connection().ask(&pipeline).await?;
        }
        Ok(abandoned)
    }

    /// Returns those of the attempts that are still in doubt.
    async fn open_attempts(&self, attempts: impl Iterator<Item = AttemptId>) -> Result<HashSet<AttemptId>, StoreError> {
        let mut rows = WorkingSet::default();
        for of in attempts {
            rows.holds.request(&of.hold);
        }
        self.load(&mut rows, &mut LiveReadSet::default()).await?;
        let prepared = rows.holds.rows().filter(|(_, hold)| hold.state == HoldState::Prepared);
        Ok(prepared.map(|(_, hold)| hold.attempt_id()).collect())
    }
}

/// Attempts that begin with a commit, and those that end.
pub(crate) struct ConfirmAttempts {
    pub noted: Vec<String>,
    pub struck: Vec<String>,
    /// Maximum age of the read that they rest on.
    pub age_max: Span,
}

impl ConfirmAttempts {
    pub(crate) fn of(rows: &WorkingSet, read_at: Timestamp) -> Self {
        let mut attempts = Self { noted: Vec::new(), struck: Vec::new(), age_max: READ_AGE_MAX };
        for change in rows.holds.changes() {
            let Some(hold) = change.row.filter(|hold| hold.attempt > Attempt::default()) else { continue };
            let member = format!("{} {}", hold.id, hold.attempt.0);
            if hold.state != HoldState::Prepared {
                attempts.struck.push(member);
                continue;
            }
            attempts.noted.push(member);
            // A hold must be prepared before it ends: other commits rely on its end from then on, and would not notice.
            let left = Span::from_millis(hold.ends_at().as_millis() - read_at.as_millis());
            attempts.age_max = attempts.age_max.min(left);
        }
        attempts
    }
}

fn parse_attempt(member: &str) -> Option<AttemptId> {
    let (hold, attempt) = member.split_once(' ')?;
    Some(AttemptId { hold: HoldId(Uuid::try_parse(hold).ok()?), attempt: Attempt(attempt.parse().ok()?) })
}
