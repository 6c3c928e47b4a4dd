//! Slot replicas of the booking service, built from messages of the course service. They contain what can be booked and
//! at which price; only the course service knows the free places.

use super::course::CourseId;
use super::message::SlotSnapshot;
use super::slot::TeeSlotId;
use crate::command::Decision;
use crate::money::Currency;
use crate::rejection::TeeRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// A replica of a slot at a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotReplica {
    pub course: CourseId,
    pub tee_off: Timestamp,
    pub max_players: u32,
    pub price: i64,
    pub currency: Currency,
    pub closed: bool,
    pub version: u64,
}

impl Row for SlotReplica {}

/// `slot.changed`: replaces an older replica.
pub(super) fn update(rows: &mut WorkingSet, news: &SlotSnapshot) -> Decision<()> {
    let SlotSnapshot { slot, course, tee_off, max_players, price, currency, closed, version } = *news;
    if rows.tee.slot_replicas.get(&slot)?.is_none_or(|replica| replica.version < version) {
        let replica = SlotReplica { course, tee_off, max_players, price, currency, closed, version };
        rows.tee.slot_replicas.put(slot, replica);
    }
    Ok(())
}

/// Returns the replica, or rejects an unknown slot.
pub fn find(rows: &mut WorkingSet, id: TeeSlotId) -> Decision<SlotReplica> {
    Ok(rows.tee.slot_replicas.get(&id)?.copied().ok_or(TeeRejection::SlotNotFound)?)
}
