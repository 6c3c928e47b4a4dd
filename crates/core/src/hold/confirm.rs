//! Turning a hold into records.
//!
//! Where live and durable rows lie in two stores, confirming is a two-phase commit: the hold is prepared, the records
//! are written together with the outcome of the attempt, and the hold is finished.

use std::marker::PhantomData;

use crate::actor::Actor;
use crate::command::{Attempt, Command, Context, Decision, Stop, TwoPhase, writes};
use crate::hold::{self, AttemptId, EndpointItem, Hold, HoldFault, HoldState, Line, LineState, Origin, cancel, place};
use crate::id::HoldId;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Durable outcome of a confirm attempt. The first write decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    Committed,
    Aborted,
}

impl Row for Decided {}

/// Records that a hold becomes.
#[derive(Clone, Copy, Debug)]
pub enum Records<'a> {
    /// One record for all held lines.
    Shared(u64),
    /// The lines of the confirmed hold; lines that were not confirmed are released.
    Lines(&'a [Line]),
}

/// Confirms a live hold that the endpoint of `I`'s vertical placed.
#[derive(Clone, Debug)]
pub struct ConfirmHold<I> {
    pub id: HoldId,
    pub actor: Actor,
    item: PhantomData<I>,
}

impl<I> ConfirmHold<I> {
    pub fn new(id: HoldId, actor: Actor) -> Self {
        Self { id, actor, item: PhantomData }
    }
}

impl<I: EndpointItem> Command for ConfirmHold<I> {
    type Outcome = I::Record;
    const NAME: &'static str = I::CONFIRM;
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<I::Record> {
        rows.ids.request(&I::SEQUENCE);
        let hold = hold::find_live(rows, self.id, &self.actor, I::ORIGIN, at.now)?;
        let (line, item) = hold.line::<I>();
        item.request_record(&hold, rows);
        let record = item.confirm(&hold, line, rows, at)?;
        end(rows, &hold, Records::Shared(I::number(&record)), at.now)?;
        Ok(record)
    }
}

impl<I: EndpointItem> TwoPhase for ConfirmHold<I> {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let hold = hold::find_live(rows, self.id, &self.actor, I::ORIGIN, at.now)?;
        prepare(rows, &hold, at.now)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<I::Record> {
        record::<I>(rows, at, *prepared)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&I::Record>,
    ) -> Decision<()> {
        finish(rows, *prepared, outcome.map(|record| Records::Shared(I::number(record))), at.now)
    }
}

/// Prepares a live hold: its units count until the confirm attempt is finished, also past the hold's end.
pub fn prepare(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<AttemptId> {
    assert!(hold.is_live(now), "only a live hold can be prepared");
    let prepared = Hold { state: HoldState::Prepared, attempt: Attempt(hold.attempt.0 + 1), ..hold.clone() };
    let attempt = prepared.attempt_id();
    place::update(rows, hold, prepared, now)?;
    Ok(attempt)
}

/// Records a confirm attempt of a hold with one line, unless the attempt is decided already.
pub fn record<I: EndpointItem>(rows: &mut WorkingSet, at: &Context<'_>, of: AttemptId) -> Decision<I::Record> {
    rows.ids.request(&I::SEQUENCE);
    let hold = find_prepared(rows, of)?.ok_or(Stop::Retry)?;
    let (line, item) = hold.line::<I>();
    item.request_record(&hold, rows);
    if let Some(confirmed) = recorded(rows, of)? {
        return Err(I::ORIGIN.rejection(HoldFault::Processed { record: confirmed.record() }).into());
    }
    let record = item.confirm(&hold, line, rows, at)?;
    commit(rows, &hold, Records::Shared(I::number(&record)));
    Ok(record)
}

/// Makes the records of the held lines with these indexes, of all without any. Returns the lines of the confirmed hold;
/// the other lines are released.
pub(crate) fn record_lines(
    rows: &mut WorkingSet,
    hold: &Hold,
    chosen: Option<&[u16]>,
    at: &Context<'_>,
) -> Decision<Vec<Line>> {
    let is_chosen =
        |line: &&Line| line.state == LineState::Held && chosen.is_none_or(|chosen| chosen.contains(&line.index));
    for line in hold.lines.iter().filter(is_chosen) {
        line.item.request_record(hold, rows);
    }
    let mut lines = Vec::with_capacity(hold.lines.len());
    for line in hold.lines.iter() {
        let state = match line.state {
            LineState::Held if is_chosen(&line) => {
                LineState::Confirmed { record: line.item.confirm(hold, line, rows, at)? }
            }
            LineState::Held => LineState::Released,
            state => state,
        };
        lines.push(Line { state, ..line.clone() });
    }
    Ok(lines)
}

/// Returns the prepared hold of a confirm attempt; `None` if the hold was lost, or the attempt is finished already.
pub fn find_prepared(rows: &mut WorkingSet, of: AttemptId) -> Decision<Option<Hold>> {
    let is_prepared = |hold: &&Hold| hold.state == HoldState::Prepared && hold.attempt == of.attempt;
    Ok(rows.holds.get(&of.hold)?.filter(is_prepared).cloned())
}

/// Returns the confirmed hold of an attempt that is already committed, as after a commit whose outcome was unknown;
/// `None` if the attempt is undecided. Stops with [`Stop::Retry`] if it was aborted, so that a new attempt is prepared.
pub fn recorded(rows: &mut WorkingSet, of: AttemptId) -> Decision<Option<Hold>> {
    match rows.decisions.get(&of)? {
        None => Ok(None),
        Some(Decided::Aborted) => Err(Stop::Retry),
        Some(Decided::Committed) => {
            Ok(Some(rows.confirmed_holds.get(&of.hold)?.cloned().expect("a committed attempt has its confirmed hold")))
        }
    }
}

/// Commits a confirm attempt: records its outcome, and the confirmed hold. The caller has checked with [`recorded`] that
/// it is undecided.
pub fn commit(rows: &mut WorkingSet, hold: &Hold, records: Records<'_>) {
    rows.decisions.put(hold.attempt_id(), Decided::Committed);
    rows.confirmed_holds.insert(hold.id, hold.confirmed(records));
}

/// Finishes a confirm attempt: with its records, or aborted. No effect if it is finished already, or if the hold was
/// lost.
pub fn finish(rows: &mut WorkingSet, of: AttemptId, records: Option<Records<'_>>, now: Timestamp) -> Decision<()> {
    let Some(hold) = find_prepared(rows, of)? else { return Ok(()) };
    place::request_indexes(rows, &hold);
    match records {
        // A hold of the system becomes no record: every outcome cancels it.
        _ if hold.origin == Origin::System => cancel::end(rows, &hold, hold.with_state(HoldState::Cancelled), now),
        Some(records) => end(rows, &hold, records, now),
        None => {
            let reverted = Hold { state: HoldState::Held, ..hold.clone() };
            place::update(rows, &hold, reverted, now)
        }
    }
}

/// Ends a hold as confirmed.
pub fn end(rows: &mut WorkingSet, hold: &Hold, records: Records<'_>, now: Timestamp) -> Decision<()> {
    cancel::end(rows, hold, hold.confirmed(records), now)
}

impl Hold {
    /// Returns the hold as confirmed by these records.
    #[must_use]
    pub fn confirmed(&self, records: Records<'_>) -> Self {
        let state = |line: &Line| match (line.state, records) {
            (LineState::Held, Records::Shared(record)) => LineState::Confirmed { record },
            (_, Records::Lines(lines)) => {
                lines.iter().find(|confirmed| confirmed.index == line.index).map_or(LineState::Released, |it| it.state)
            }
            (state, Records::Shared(_)) => state,
        };
        let lines = self.lines.iter().map(|line| Line { state: state(line), ..line.clone() }).collect();
        Self { lines, ..self.with_state(HoldState::Confirmed) }
    }
}
