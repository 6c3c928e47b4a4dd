//! Lowering a capacity where live and durable rows lie in two stores: the lower capacity binds everybody, also those who
//! still see the old one, before it is recorded.

use crate::command::{Attempt, Decision, Stop};
use crate::rows::Rows;
use crate::time::{Span, Timestamp};
use crate::unit::{Limit, Resource};

/// What was prepared without a limit.
pub const NO_LIMIT: Attempt = Attempt(0);

/// How long a lower capacity binds before it is recorded, if whoever began that died.
const LIMIT_TTL: Span = Span::from_secs(60);
/// Recording takes no longer: stores refuse to commit what was loaded longer ago.
const RECORD_WITHIN: Span = Span::from_secs(20);

/// Stands back while somebody else lowers the capacity of the same resource.
pub fn check_free(rows: &mut Rows, resource: Resource, now: Timestamp) -> Decision<()> {
    let is_taken = rows.limits.get(&resource)?.is_some_and(|limit| limit.ends_at > now);
    if is_taken { Err(Stop::Busy) } else { Ok(()) }
}

/// From now on nobody may claim more than `capacity`. It is [free](check_free) to be limited.
pub fn bind(rows: &mut Rows, resource: Resource, capacity: u32, now: Timestamp) -> Attempt {
    let limit = Limit { capacity, ends_at: now + LIMIT_TTL };
    rows.limits.put(resource, limit);
    attempt_of(limit)
}

/// The capacity that may be recorded: that of one's own limit, if it outlasts the commit. Without one it took too long, or
/// there is more to lower than was prepared: prepare again.
pub fn bound(rows: &mut Rows, resource: Resource, attempt: Attempt, now: Timestamp) -> Decision<u32> {
    let limit = rows.limits.get(&resource)?.copied();
    let binds = |limit: &Limit| attempt_of(*limit) == attempt && limit.ends_at > now + RECORD_WITHIN;
    match limit.filter(binds) {
        Some(limit) if attempt != NO_LIMIT => Ok(limit.capacity),
        Some(_) | None => Err(Stop::Busy),
    }
}

/// Takes one's own limit back, and no other.
pub fn unbind(rows: &mut Rows, resource: Resource, attempt: Attempt) -> Decision<()> {
    if attempt != NO_LIMIT && rows.limits.get(&resource)?.is_some_and(|limit| attempt_of(*limit) == attempt) {
        rows.limits.delete(resource);
    }
    Ok(())
}

/// Tells one limit from another.
fn attempt_of(limit: Limit) -> Attempt {
    Attempt(limit.ends_at.as_millis() as u32 | 1)
}
