//! Counts of live holds: availability, quantities held per unit, limit of holds per user.

use crate::command::{Context, Decision};
use crate::hold::{Hold, Line, owner};
use crate::id::UserId;
use crate::rejection::Rejection;
use crate::table::Count;
use crate::time::Timestamp;
use crate::unit::{Kind, Resource, Unit};
use crate::working_set::WorkingSet;

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
pub fn check_hold_limit(rows: &mut WorkingSet, at: &Context<'_>, kind: Kind, user: &UserId) -> Decision<()> {
    check_suspended(rows, at)?;
    let live = owner::live(rows, kind, user, at.now)?;
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
pub(super) fn request_counts(rows: &mut WorkingSet, hold: &Hold) {
    for kind in hold.kinds() {
        owner::request(rows, kind, &hold.owner);
    }
    for (unit, _) in hold.units() {
        rows.held.request(&unit);
    }
}

/// Counts a live hold on its units, and once per type of line for its owner.
pub(super) fn count(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    count_units(rows, hold, now, 1)?;
    owner::add(rows, hold, now)
}

/// Reverts [`count`].
pub(super) fn uncount(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    count_units(rows, hold, now, -1)?;
    owner::remove(rows, hold, now)
}

/// Moves the counts of a hold to another end. A hold that was prepared, or is, counts for its owner until its own end.
pub(super) fn recount(rows: &mut WorkingSet, before: &Hold, after: &Hold, now: Timestamp) -> Decision<()> {
    count_units(rows, before, now, -1)?;
    if after.counted_until().is_none_or(|end| now < end) {
        count_units(rows, after, now, 1)?;
    }
    if before.ends_at() != after.ends_at() {
        owner::remove(rows, before, now)?;
        owner::add(rows, after, now)?;
    }
    Ok(())
}

/// Counts a line of a live hold on its units.
pub(super) fn count_line(rows: &mut WorkingSet, hold: &Hold, line: &Line, now: Timestamp) -> Decision<()> {
    let ends_at = hold.counted_until();
    for (unit, quantity) in line.item.units() {
        rows.held.count(&unit, Count { quantity: quantity.into(), ends_at, now, hold: None })?;
    }
    Ok(())
}

fn count_units(rows: &mut WorkingSet, hold: &Hold, now: Timestamp, sign: i64) -> Decision<()> {
    let ends_at = hold.counted_until();
    for (unit, quantity) in hold.units() {
        rows.held.count(&unit, Count { quantity: sign * i64::from(quantity), ends_at, now, hold: None })?;
    }
    Ok(())
}
