//! Confirming a claim, all lines or some.

use super::{check_lines, find_live, is_paid_for};
use crate::actor::Actor;
use crate::command::{Command, Context, Decision, Stop, TwoPhase, writes};
use crate::event::Event;
use crate::hold::{AttemptId, Hold, LineState, Records, confirm, place};
use crate::id::HoldId;
use crate::rejection::ClaimRejection;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Confirms a live claim. Lines that are not named are released.
#[derive(Clone, Debug)]
pub struct ConfirmClaim {
    pub id: HoldId,
    pub actor: Actor,
    /// Indexes of the lines; all without any.
    pub lines: Option<Vec<u16>>,
    /// Expected version.
    pub version: Option<u32>,
    /// Number of lines of the claim, for which the store reserves numbers of records.
    pub line_count: usize,
}

impl Command for ConfirmClaim {
    type Outcome = Hold;
    const NAME: &'static str = "claim.confirm";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let hold = self.find(rows, at.now)?;
        place::request_indexes(rows, &hold);
        let lines = confirm::record_lines(rows, &hold, self.lines.as_deref(), at)?;
        let confirmed = hold.confirmed(Records::Lines(&lines));
        confirm::end(rows, &hold, Records::Lines(&lines), at.now)?;
        rows.emit(Event::ClaimConfirmed(confirmed.clone()));
        Ok(confirmed)
    }

    fn weight(&self) -> usize {
        self.line_count.max(1)
    }
}

impl TwoPhase for ConfirmClaim {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let hold = self.find(rows, at.now)?;
        place::request_indexes(rows, &hold);
        confirm::prepare(rows, &hold, at.now)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<Hold> {
        let hold = confirm::find_prepared(rows, *prepared)?.ok_or(Stop::Retry)?;
        for line in hold.held_lines() {
            line.item.request_record(&hold, rows);
        }
        if let Some(confirmed) = confirm::recorded(rows, *prepared)? {
            // The attempt was recorded by a commit whose outcome was reported as unknown.
            return Ok(confirmed);
        }
        let lines = confirm::record_lines(rows, &hold, self.lines.as_deref(), at)?;
        let confirmed = hold.confirmed(Records::Lines(&lines));
        confirm::commit(rows, &hold, Records::Lines(&lines));
        rows.emit(Event::ClaimConfirmed(confirmed.clone()));
        Ok(confirmed)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&Hold>,
    ) -> Decision<()> {
        confirm::finish(rows, *prepared, outcome.map(|confirmed| Records::Lines(&confirmed.lines)), at.now)
    }
}

impl ConfirmClaim {
    fn find(&self, rows: &mut WorkingSet, now: Timestamp) -> Decision<Hold> {
        let hold = find_live(rows, self.id, &self.actor, self.version, now)?;
        if is_paid_for(&hold) {
            return Err(ClaimRejection::PaymentRequired.into());
        }
        if let Some(chosen) = &self.lines {
            check_lines(&hold, chosen, "lines", |state| state == LineState::Held)?;
        }
        // More lines than numbers were reserved for: the caller reads the claim again.
        if hold.held_lines().count() > self.line_count { Err(Stop::Retry) } else { Ok(hold) }
    }
}
