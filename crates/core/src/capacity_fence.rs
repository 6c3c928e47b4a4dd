//! The capacity fence: lowers a capacity where live and durable rows lie in two stores.
//!
//! The fence binds every new hold before the lower capacity is recorded, including those decided by a server that still
//! reads the old capacity.

use crate::command::{Decision, Stop};
use crate::time::{Span, Timestamp};
use crate::unit::{CapacityFence, Resource};
use crate::working_set::WorkingSet;

/// Lifetime of a fence, in case the server that set it fails before recording.
const FENCE_TTL: Span = Span::from_secs(60);
/// Upper bound of the time between load and commit of the recording step; stores refuse to commit rows that were loaded
/// earlier.
const RECORD_TIMEOUT: Span = Span::from_secs(20);

/// Backs off while another command has a fence on the same resource.
pub fn check_unfenced(rows: &mut WorkingSet, resource: Resource, now: Timestamp) -> Decision<()> {
    let is_fenced = rows.fences.get(&resource)?.is_some_and(|fence| fence.ends_at > now);
    if is_fenced { Err(Stop::Retry) } else { Ok(()) }
}

/// Sets a fence: new holds may claim up to `capacity` only. The caller has checked with [`check_unfenced`] that the
/// resource has none.
pub fn set(rows: &mut WorkingSet, resource: Resource, capacity: u32, now: Timestamp) -> CapacityFence {
    let fence = CapacityFence { capacity, ends_at: now + FENCE_TTL };
    rows.fences.put(resource, fence);
    fence
}

/// Returns the capacity of the attempt's own fence, which may be recorded if the fence outlasts the commit. Otherwise
/// the attempt took too long, or the capacity to record was not prepared: prepare again.
pub fn fenced_capacity(
    rows: &mut WorkingSet,
    resource: Resource,
    own: Option<CapacityFence>,
    now: Timestamp,
) -> Decision<u32> {
    let fence = rows.fences.get(&resource)?.copied();
    match fence.filter(|fence| own == Some(*fence) && fence.ends_at > now + RECORD_TIMEOUT) {
        Some(fence) => Ok(fence.capacity),
        None => Err(Stop::Retry),
    }
}

/// Removes the fence of this attempt; a fence of another attempt stays.
pub fn remove(rows: &mut WorkingSet, resource: Resource, own: Option<CapacityFence>) -> Decision<()> {
    if own.is_some() && rows.fences.get(&resource)?.copied() == own {
        rows.fences.delete(resource);
    }
    Ok(())
}
