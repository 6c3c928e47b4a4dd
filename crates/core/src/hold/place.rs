//! Placing a hold: its counts, its index entries, its row.

use crate::command::Decision;
use crate::hold::{Hold, Line, Status, count, owner};
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Requests the counts and index entries of a hold.
pub fn request_indexes(rows: &mut WorkingSet, hold: &Hold) {
    count::request_counts(rows, hold);
    for line in hold.held_lines() {
        line.item.request_indexes(hold, rows);
    }
}

/// Requests the rows that [`index`] writes at start, where owners may have more holds than fit into their first row.
pub fn request_all_indexes(rows: &mut WorkingSet, hold: &Hold) {
    request_indexes(rows, hold);
    owner::request_overflow(rows, hold);
}

/// Inserts a new hold. The vertical has checked that its units are available.
pub fn insert(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    index(rows, hold, now)?;
    rows.holds.insert(hold.id, hold.clone());
    Ok(())
}

/// Writes the counts and index entries of a live hold. Stores that keep them in memory call it at start for every live
/// hold, in any order.
pub fn index(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    assert!(matches!(hold.status(now), Status::Held | Status::Prepared), "only a live hold is indexed");
    count::count(rows, hold, now)?;
    for line in hold.held_lines() {
        line.item.insert_indexes(hold, rows, now)?;
    }
    Ok(())
}

/// Counts the units of a line, and writes its index entries.
pub(crate) fn insert_line(rows: &mut WorkingSet, hold: &Hold, line: &Line, now: Timestamp) -> Decision<()> {
    count::count_line(rows, hold, line, now)?;
    line.item.insert_indexes(hold, rows, now)
}

/// Deletes all counts and index entries of a live hold, which the caller writes again for its successor.
pub(crate) fn remove(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    count::uncount(rows, hold, now)?;
    for line in hold.held_lines() {
        line.item.delete_indexes(hold, rows, now)?;
    }
    Ok(())
}

/// Replaces a live hold by its successor with another end or another attempt.
pub(super) fn update(rows: &mut WorkingSet, before: &Hold, after: Hold, now: Timestamp) -> Decision<()> {
    count::recount(rows, before, &after, now)?;
    for line in before.held_lines() {
        line.item.update_indexes(before, &after, rows, now)?;
    }
    rows.holds.put(after.id, after);
    Ok(())
}
