//! The life of a hold: an all-or-nothing claim of one owner on one or more units, with an end.
//!
//! A hold never changes a durable count. Its quantities are counted in `rows.held` by the second of their end, so they
//! stop counting without a job. The vertical defines what is claimed and what confirming records.

use crate::command::{Attempt, Context, Decision, Stop};
use crate::id::{HoldId, UserId};
use crate::rejection::Rejection;
use crate::table::{Count, Row};
use crate::time::{Span, Timestamp};
use crate::unit::{Holder, Kind, Resource, Unit};
use crate::working_set::WorkingSet;

/// Retention of ended holds, which stay readable for this time.
pub const ENDED_HOLD_KEPT: Span = Span::from_hours(24);

/// Upper bound of every hold TTL setting. Stores rely on it to find all live holds by the range of their ids, without
/// an index.
pub const HOLD_TTL_MAX: Span = Span::from_hours(24);

/// Upper bound of the time from placing a hold to its end: a hold ends on the next full second.
pub const HOLD_LIFETIME_MAX: Span = Span::from_millis(HOLD_TTL_MAX.as_millis() + 1_000);

/// Units that a vertical claims with a hold.
pub trait Claim: Clone + std::fmt::Debug + PartialEq {
    const KIND: Kind;

    /// Returns each unit once, with the quantity claimed of it.
    fn lines(&self) -> impl Iterator<Item = (Unit, u32)>;
}

/// A claim with its owner, end and state. Dereferences to the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold<C> {
    pub id: HoldId,
    pub owner: UserId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: HoldState,
    /// Number of confirm attempts that were prepared; stays 0 where confirming is a single commit.
    pub attempts: Attempt,
    pub claim: C,
}

/// Stored state of a hold. Expiry is not stored, because it follows from the time: see [`Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    Held,
    /// Prepared by a confirm attempt: the hold no longer ends by time, and only that attempt's outcome can end it.
    Prepared,
    /// Confirmed as the record of this number.
    Confirmed {
        record: u64,
    },
    Cancelled,
    Replaced {
        by: HoldId,
    },
}

/// Status of a hold at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Held,
    Prepared,
    Confirmed { record: u64 },
    Cancelled,
    Replaced,
    Expired,
}

impl<C: Claim> Hold<C> {
    pub fn status(&self, now: Timestamp) -> Status {
        match self.state {
            HoldState::Held if now < self.expires_at => Status::Held,
            HoldState::Held => Status::Expired,
            HoldState::Prepared => Status::Prepared,
            HoldState::Confirmed { record } => Status::Confirmed { record },
            HoldState::Cancelled => Status::Cancelled,
            HoldState::Replaced { .. } => Status::Replaced,
        }
    }

    pub fn is_live(&self, now: Timestamp) -> bool {
        self.status(now) == Status::Held
    }

    /// Returns the latest confirm attempt.
    pub fn attempt(&self) -> AttemptId {
        AttemptId { hold: self.id, attempt: self.attempts }
    }
}

impl<C> std::ops::Deref for Hold<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.claim
    }
}

impl<C: Claim> Row for Hold<C> {
    fn kept_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            HoldState::Prepared => None,
            HoldState::Held => Some(self.expires_at + ENDED_HOLD_KEPT),
            HoldState::Confirmed { .. } | HoldState::Cancelled | HoldState::Replaced { .. } => {
                Some(now + ENDED_HOLD_KEPT)
            }
        }
    }
}

/// Holds of one kind that have secondary indexes.
pub trait Indexed: Sized {
    /// Time after the end of a hold during which its index entries are still needed.
    const AFTER_END: Span = Span::from_millis(0);

    /// Whether the indexes include holds that have ended.
    fn indexes_ended_holds() -> bool {
        Self::AFTER_END > Span::from_millis(0)
    }

    /// Requests the rows that [`index`](Self::index) writes.
    fn request_indexes(rows: &mut WorkingSet, hold: &Self);

    /// Writes the secondary index entries of a hold. Stores that keep these indexes in memory call it at start, in the
    /// order of ids, for every live hold. If [`AFTER_END`](Self::AFTER_END) is not zero, they also call it for every
    /// hold that ended less than that long ago, in any state.
    fn index(rows: &mut WorkingSet, hold: &Self, now: Timestamp) -> Decision<()>;
}

/// Identity of one confirm attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    pub hold: HoldId,
    pub attempt: Attempt,
}

/// Durable outcome of a confirm attempt: the number of the record, or `None` if it was aborted. The first write
/// decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    pub record: Option<u64>,
}

impl Row for Decided {}

/// Returns the record of a confirm attempt that is already recorded, `None` if the attempt is undecided. Stops with
/// [`Stop::Retry`] if the attempt was aborted, so that a new attempt is prepared.
pub fn recorded_outcome(rows: &mut WorkingSet, of: AttemptId) -> Decision<Option<u64>> {
    match rows.decisions.get(&of)? {
        None => Ok(None),
        Some(Decided { record: None }) => Err(Stop::Retry),
        Some(Decided { record }) => Ok(*record),
    }
}

/// Records the outcome of a confirm attempt. The caller has checked with [`recorded_outcome`] that none is recorded.
pub fn record_outcome(rows: &mut WorkingSet, of: AttemptId, record: u64) {
    rows.decisions.put(of, Decided { record: Some(record) });
}

/// Returns the hold of a confirm attempt that is being recorded. Stops with [`Stop::Retry`] if the hold was lost or the
/// attempt was recovered meanwhile, so that a new attempt finds out.
pub fn prepared<C: Clone>(hold: Option<&Hold<C>>, of: AttemptId) -> Decision<Hold<C>> {
    find_prepared(hold, of).ok_or(Stop::Retry)
}

/// Returns the prepared hold of a confirm attempt that still has to be finished; `None` if the hold has ended already,
/// or was lost.
pub fn find_prepared<C: Clone>(hold: Option<&Hold<C>>, of: AttemptId) -> Option<Hold<C>> {
    hold.filter(|hold| hold.state == HoldState::Prepared && hold.attempts == of.attempt).cloned()
}

/// `available(unit, now) = capacity − confirmed − held(now)`, the only formula for availability.
pub fn available(rows: &mut WorkingSet, unit: Unit, capacity: u32, confirmed: u32, now: Timestamp) -> Decision<u32> {
    let held = held(rows, unit, now)?;
    Ok(capacity.saturating_sub(confirmed).saturating_sub(held))
}

/// Whether a prepared confirm attempt holds some of the unit. It may be recorded already, so that its quantity counts
/// twice until it is finished.
pub fn has_prepared(rows: &mut WorkingSet, unit: Unit) -> Decision<bool> {
    Ok(rows.held.get(&unit)?.is_some_and(|tally| tally.prepared() > 0))
}

/// Returns the effective capacity: the recorded one, or that of a lower capacity fence.
pub fn effective_capacity(rows: &mut WorkingSet, resource: Resource, capacity: u32, now: Timestamp) -> Decision<u32> {
    let fence = rows.fences.get(&resource)?.filter(|fence| fence.ends_at > now);
    Ok(fence.map_or(capacity, |fence| capacity.min(fence.capacity)))
}

/// Returns the quantity held of a unit at `now`.
pub fn held(rows: &mut WorkingSet, unit: Unit, now: Timestamp) -> Decision<u32> {
    Ok(rows.held.get(&unit)?.map_or(0, |tally| tally.live(now)))
}

/// Rejects a user who has reached the maximum number of live holds of a kind, and every user while holds are suspended.
pub fn check_hold_limit(rows: &mut WorkingSet, at: &Context<'_>, kind: Kind, user: UserId) -> Decision<()> {
    check_suspended(rows, at)?;
    let live = rows.holders.get(&Holder { kind, user })?.map_or(0, |tally| tally.live(at.now));
    let max = at.limits.holds_per_user_max;
    if live < max { Ok(()) } else { Err(Rejection::TooManyHolds { max }.into()) }
}

/// Rejects while holds are suspended after a loss of live rows.
pub fn check_suspended(rows: &WorkingSet, at: &Context<'_>) -> Result<(), Rejection> {
    match rows.suspended_until.filter(|until| at.now < *until) {
        Some(until) => Err(Rejection::HoldsSuspended { until }),
        None => Ok(()),
    }
}

/// Requests the counts that [`count`] and [`uncount`] change.
pub fn request_counts<C: Claim>(rows: &mut WorkingSet, owner: UserId, claim: &C) {
    rows.holders.request(&Holder { kind: C::KIND, user: owner });
    for (unit, _) in claim.lines() {
        rows.held.request(&unit);
    }
}

/// Counts a new hold on its units and for its owner. The vertical has checked the availability.
pub fn count<C: Claim>(rows: &mut WorkingSet, hold: &Hold<C>, now: Timestamp) -> Decision<()> {
    count_hold(rows, hold, now, 1)
}

/// Removes a confirmed, cancelled or replaced hold from all counts.
pub fn uncount<C: Claim>(rows: &mut WorkingSet, hold: &Hold<C>, now: Timestamp) -> Decision<()> {
    assert!(matches!(hold.status(now), Status::Held | Status::Prepared), "only a live hold is counted");
    count_hold(rows, hold, now, -1)
}

/// Prepares a live hold for confirming: its units count until the confirm attempt is finished, also past the hold's end.
pub fn prepare<C: Claim>(rows: &mut WorkingSet, hold: &Hold<C>, now: Timestamp) -> Decision<Hold<C>> {
    assert!(hold.is_live(now), "only a live hold can be prepared");
    let prepared = Hold { state: HoldState::Prepared, attempts: Attempt(hold.attempts.0 + 1), ..hold.clone() };
    count_units(rows, hold, now, -1)?;
    count_units(rows, &prepared, now, 1)?;
    Ok(prepared)
}

/// Reverts [`prepare`] after an aborted attempt: the hold ends by time again, or has already ended.
pub fn revert_prepare<C: Claim>(rows: &mut WorkingSet, prepared: &Hold<C>, now: Timestamp) -> Decision<Hold<C>> {
    assert_eq!(prepared.state, HoldState::Prepared, "only a prepared hold can be reverted");
    let hold = Hold { state: HoldState::Held, ..prepared.clone() };
    count_units(rows, prepared, now, -1)?;
    if hold.is_live(now) {
        count_units(rows, &hold, now, 1)?;
    }
    Ok(hold)
}

fn count_hold<C: Claim>(rows: &mut WorkingSet, hold: &Hold<C>, now: Timestamp, sign: i64) -> Decision<()> {
    count_units(rows, hold, now, sign)?;
    let holder = Holder { kind: C::KIND, user: hold.owner };
    rows.holders.count(&holder, Count { quantity: sign, ends_at: Some(hold.expires_at), now })?;
    Ok(())
}

fn count_units<C: Claim>(rows: &mut WorkingSet, hold: &Hold<C>, now: Timestamp, sign: i64) -> Decision<()> {
    let ends_at = (hold.state != HoldState::Prepared).then_some(hold.expires_at);
    for (unit, quantity) in hold.claim.lines() {
        rows.held.count(&unit, Count { quantity: sign * i64::from(quantity), ends_at, now })?;
    }
    Ok(())
}
