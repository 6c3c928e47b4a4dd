//! Confirm attempts: those that a commit begins or ends, and abandoned ones.

use std::collections::HashSet;

use holdfast_core::command::Attempt;
use holdfast_core::hold::{AttemptId, Claim, Hold, HoldState, Indexed};
use holdfast_core::id::HoldId;
use holdfast_core::schema::Record;
use holdfast_core::schema::visit::{self, HoldVisitor, HoldVisitorMut};
use holdfast_core::table::Table;
use holdfast_core::time::Span;
use holdfast_core::unit::Kind;
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
    pub async fn abandoned(&self) -> Result<Vec<(Kind, AttemptId)>, StoreError> {
        let unfinished = self.keys().unfinished();
        let mut pipeline = redis::pipe();
        pipeline.cmd("TIME").zrange_withscores(unfinished, 0, ATTEMPTS_AT_ONCE_MAX);
        let answer: Vec<Value> = self.connection().ask(&pipeline).await?;
        let [time, attempts] = &answer[..] else { return Err(unexpected(&answer)) };
        let now_seconds = micros_of(time)? / 1_000_000;
        let attempts: Vec<(String, f64)> = redis::from_redis_value_ref(attempts).map_err(|_| unexpected(attempts))?;
        let oldest = (now_seconds - self.abandoned_after().as_millis() / 1_000) as f64;
        let old = attempts.into_iter().filter(|(_, began)| *began <= oldest).map(|(member, _)| member);
        let (mut abandoned, mut left_over) = (Vec::new(), Vec::new());
        let mut open = Open { attempts: Vec::new(), open: HashSet::new() };
        let mut rows = WorkingSet::default();
        let attempts: Vec<_> = old.map(|member| (parse_attempt(&member), member)).collect();
        open.attempts.extend(attempts.iter().filter_map(|(parsed, _)| *parsed));
        if !attempts.is_empty() {
            visit::holds_mut(&mut rows, &mut open);
            self.load(&mut rows, &mut LiveReadSet::default()).await?;
            visit::holds(&rows, &mut open);
        }
        for (parsed, member) in attempts {
            match parsed {
                Some((kind, of)) if open.open.contains(&of) => abandoned.push((kind, of)),
                // The hold was lost, or the entry outlived it: no attempt is left to recover.
                _ => left_over.push(member),
            }
        }
        if !left_over.is_empty() {
            let mut pipeline = redis::pipe();
            pipeline.zrem(self.keys().unfinished(), left_over);
            self.connection().ask(&pipeline).await?;
        }
        Ok(abandoned)
    }
}

/// Attempts that begin with a commit, and those that end.
pub(crate) struct ConfirmAttempts {
    pub noted: Vec<String>,
    pub struck: Vec<String>,
    read_at: Timestamp,
    /// Maximum age of the read that they rest on.
    pub age_max: Span,
}

impl ConfirmAttempts {
    pub(crate) fn of(rows: &WorkingSet, read_at: Timestamp) -> Self {
        let mut attempts = Self { noted: Vec::new(), struck: Vec::new(), read_at, age_max: READ_AGE_MAX };
        visit::holds(rows, &mut attempts);
        attempts
    }
}

impl<'a> HoldVisitor<'a> for ConfirmAttempts {
    fn visit<C: Claim>(&mut self, table: &'a Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Indexed,
    {
        for change in table.changes() {
            let Some(hold) = change.row.filter(|hold| hold.attempts > Attempt::default()) else { continue };
            let member = format!("{} {} {}", C::KIND.name(), hold.id, hold.attempts.0);
            if hold.state != HoldState::Prepared {
                self.struck.push(member);
                continue;
            }
            self.noted.push(member);
            // A hold must be prepared before it expires: other commits rely on its end from then on, and would not
            // notice.
            let left = Span::from_millis(hold.expires_at.as_millis() - self.read_at.as_millis());
            self.age_max = self.age_max.min(left);
        }
    }
}

/// Attempts that have not ended.
struct Open {
    attempts: Vec<(Kind, AttemptId)>,
    open: HashSet<AttemptId>,
}

/// Requests their holds.
impl HoldVisitorMut for Open {
    fn visit<C: Claim>(&mut self, table: &mut Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Indexed,
    {
        for (_, of) in self.attempts.iter().filter(|(kind, _)| *kind == C::KIND) {
            table.request(&of.hold);
        }
    }
}

/// Collects those that are still in doubt.
impl<'a> HoldVisitor<'a> for Open {
    fn visit<C: Claim>(&mut self, table: &'a Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Indexed,
    {
        let confirming = table.rows().filter(|(_, hold)| hold.state == HoldState::Prepared);
        self.open.extend(confirming.map(|(id, hold)| AttemptId { hold: *id, attempt: hold.attempts }));
    }
}

fn parse_attempt(member: &str) -> Option<(Kind, AttemptId)> {
    let mut words = member.split(' ');
    let kind = Kind::parse(words.next()?)?;
    let hold = HoldId(Uuid::try_parse(words.next()?).ok()?);
    Some((kind, AttemptId { hold, attempt: Attempt(words.next()?.parse().ok()?) }))
}
