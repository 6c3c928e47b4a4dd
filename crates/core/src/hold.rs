//! The life of a claim: an all-or-nothing hold on one or more units, for one owner, that ends by itself.
//!
//! A hold never changes a durable count. Its quantities are counted in `rows.held` by the second in which they end; no
//! job has to run for them to stop counting. What is claimed, and what confirming writes down, is the vertical's.

use crate::command::{Attempt, Context, Decision, Stop};
use crate::id::{HoldId, UserId};
use crate::rejection::Rejection;
use crate::rows::Rows;
use crate::table::{Count, Row};
use crate::time::{Span, Timestamp};
use crate::unit::{Holder, Kind, Resource, Unit};

/// Ended holds stay readable this long.
pub const ENDED_HOLD_KEPT: Span = Span::from_hours(24);

/// No setting may let a hold live longer. Stores rely on it to find all live holds without an index.
pub const HOLD_TTL_MAX: Span = Span::from_hours(24);

/// What a vertical claims with a hold.
pub trait Claim: Clone + std::fmt::Debug + PartialEq {
    const KIND: Kind;

    /// Each unit once, with the quantity claimed of it.
    fn lines(&self) -> impl Iterator<Item = (Unit, u32)>;
}

/// A claim and its life. The fields of the claim can be read as if they were the hold's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold<C> {
    pub id: HoldId,
    pub owner: UserId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: HoldState,
    /// How often confirming it was begun, where that takes several steps.
    pub attempts: Attempt,
    pub claim: C,
}

/// What has been done with a hold. Running out of time is not done by anyone, so it is not a state: see [`Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    Held,
    /// Somebody is between two steps of confirming it. It no longer ends by time, and nobody else can end it.
    Confirming,
    /// It became the record of this number.
    Confirmed {
        record: u64,
    },
    Cancelled,
    Replaced {
        by: HoldId,
    },
}

/// What a hold is at a given moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Held,
    Confirming,
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
            HoldState::Confirming => Status::Confirming,
            HoldState::Confirmed { record } => Status::Confirmed { record },
            HoldState::Cancelled => Status::Cancelled,
            HoldState::Replaced { .. } => Status::Replaced,
        }
    }

    pub fn is_live(&self, now: Timestamp) -> bool {
        self.status(now) == Status::Held
    }
}

impl<C> std::ops::Deref for Hold<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.claim
    }
}

impl<C: Claim> Row for Hold<C> {}

/// Holds of one kind, and what is derived from them.
pub trait Remembered: Sized {
    /// For how long after its end a hold still leaves something behind.
    const AFTER_END: Span = Span::from_millis(0);

    /// Whether ended holds have to be remembered too.
    fn leaves_something() -> bool {
        Self::AFTER_END > Span::from_millis(0)
    }

    /// Says which rows [`remember`](Self::remember) will write.
    fn want_derived(rows: &mut Rows, hold: &Self);

    /// Writes down what is derived from a hold. Stores that keep derived rows in memory call this when they start, in the
    /// order of ids: for every live hold, and if there is something left behind, for every hold whose time was over less than
    /// [`AFTER_END`](Self::AFTER_END) ago, whatever became of it.
    fn remember(rows: &mut Rows, hold: &Self, now: Timestamp) -> Decision<()>;
}

/// One try to confirm a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TryId {
    pub hold: HoldId,
    pub attempt: Attempt,
}

/// How a try ended: the hold became the record of this number, or the try was given up. Whoever writes first has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    pub record: Option<u64>,
}

impl Row for Decided {}

/// The record a try has become already. One that was given up is nobody's any more: another has to be begun.
pub fn decided(rows: &mut Rows, of: TryId) -> Decision<Option<u64>> {
    match rows.decisions.get(&of)? {
        None => Ok(None),
        Some(Decided { record: None }) => Err(Stop::Busy),
        Some(Decided { record }) => Ok(*record),
    }
}

/// Decides that a try becomes this record. Nobody has decided otherwise: see [`decided`].
pub fn decide(rows: &mut Rows, of: TryId, record: u64) {
    rows.decisions.put(of, Decided { record: Some(record) });
}

/// The hold of a try that has to be settled; `None` if it has ended already, or was lost.
pub fn unsettled<C: Clone>(hold: Option<&Hold<C>>, of: TryId) -> Option<Hold<C>> {
    hold.filter(|hold| hold.state == HoldState::Confirming && hold.attempts == of.attempt).cloned()
}

/// `available(unit, now) = capacity − confirmed − held(now)`, the one formula.
pub fn available(rows: &mut Rows, unit: Unit, capacity: u32, confirmed: u32, now: Timestamp) -> Decision<u32> {
    let held = held(rows, unit, now)?;
    Ok(capacity.saturating_sub(confirmed).saturating_sub(held))
}

/// Whether some of what is held of a unit may be confirmed already, and so count twice for a moment.
pub fn is_in_doubt(rows: &mut Rows, unit: Unit) -> Decision<bool> {
    Ok(rows.held.get(&unit)?.is_some_and(|tally| tally.pinned() > 0))
}

/// The capacity to go by: the recorded one, or a lower one that is about to be.
pub fn limited(rows: &mut Rows, resource: Resource, capacity: u32, now: Timestamp) -> Decision<u32> {
    let limit = rows.limits.get(&resource)?.filter(|limit| limit.ends_at > now);
    Ok(limit.map_or(capacity, |limit| capacity.min(limit.capacity)))
}

/// What is held of a unit at `now`.
pub fn held(rows: &mut Rows, unit: Unit, now: Timestamp) -> Decision<u32> {
    Ok(rows.held.get(&unit)?.map_or(0, |tally| tally.live(now)))
}

/// Refuses one who already has as many live holds of a kind as anybody may have, and everybody while holds are suspended.
pub fn check_holder(rows: &mut Rows, at: &Context<'_>, kind: Kind, user: UserId) -> Decision<()> {
    check_suspended(rows, at)?;
    let live = rows.holders.get(&Holder { kind, user })?.map_or(0, |tally| tally.live(at.now));
    let max = at.limits.holds_per_user_max;
    if live < max { Ok(()) } else { Err(Rejection::TooManyHolds { max }.into()) }
}

/// Refuses while what is held is not known.
pub fn check_suspended(rows: &Rows, at: &Context<'_>) -> Result<(), Rejection> {
    match rows.suspended_until.filter(|until| at.now < *until) {
        Some(until) => Err(Rejection::HoldsSuspended { until }),
        None => Ok(()),
    }
}

/// Says which counts [`count`] and [`uncount`] will touch.
pub fn want_counts<C: Claim>(rows: &mut Rows, owner: UserId, claim: &C) {
    rows.holders.want(&Holder { kind: C::KIND, user: owner });
    for (unit, _) in claim.lines() {
        rows.held.want(&unit);
    }
}

/// Counts a new hold on its units and for its owner. The vertical has checked that there is room.
pub fn count<C: Claim>(rows: &mut Rows, hold: &Hold<C>, now: Timestamp) -> Decision<()> {
    recount(rows, hold, now, 1)
}

/// Takes a hold out of all counts: it was confirmed, cancelled or replaced.
pub fn uncount<C: Claim>(rows: &mut Rows, hold: &Hold<C>, now: Timestamp) -> Decision<()> {
    assert!(matches!(hold.status(now), Status::Held | Status::Confirming), "only a live hold is counted");
    recount(rows, hold, now, -1)
}

/// Begins to confirm a live hold: from now on its units count until it is settled, whatever the time.
pub fn pin<C: Claim>(rows: &mut Rows, hold: &Hold<C>, now: Timestamp) -> Decision<Hold<C>> {
    assert!(hold.is_live(now), "only a live hold can be confirmed");
    let pinned = Hold { state: HoldState::Confirming, attempts: Attempt(hold.attempts.0 + 1), ..hold.clone() };
    count_units(rows, hold, now, -1)?;
    count_units(rows, &pinned, now, 1)?;
    Ok(pinned)
}

/// Takes back what [`pin`] did: the hold ends by time again, or has done so already.
pub fn unpin<C: Claim>(rows: &mut Rows, pinned: &Hold<C>, now: Timestamp) -> Decision<Hold<C>> {
    assert_eq!(pinned.state, HoldState::Confirming, "only what is pinned is unpinned");
    let hold = Hold { state: HoldState::Held, ..pinned.clone() };
    count_units(rows, pinned, now, -1)?;
    if hold.is_live(now) {
        count_units(rows, &hold, now, 1)?;
    }
    Ok(hold)
}

fn recount<C: Claim>(rows: &mut Rows, hold: &Hold<C>, now: Timestamp, sign: i64) -> Decision<()> {
    count_units(rows, hold, now, sign)?;
    let holder = Holder { kind: C::KIND, user: hold.owner };
    rows.holders.count(&holder, Count { quantity: sign, ends_at: Some(hold.expires_at), now })?;
    Ok(())
}

fn count_units<C: Claim>(rows: &mut Rows, hold: &Hold<C>, now: Timestamp, sign: i64) -> Decision<()> {
    let ends_at = (hold.state != HoldState::Confirming).then_some(hold.expires_at);
    for (unit, quantity) in hold.claim.lines() {
        rows.held.count(&unit, Count { quantity: sign * i64::from(quantity), ends_at, now })?;
    }
    Ok(())
}
