//! What the booking service knows of slots: its own copy, made of the course service's messages. It tells what can be booked
//! at all and at which price; whether there are places left only the course service knows.

use super::course::CourseId;
use super::message::SlotNews;
use super::slot::TeeSlotId;
use crate::command::Decision;
use crate::money::Currency;
use crate::rejection::TeeRejection;
use crate::rows::Rows;
use crate::table::Row;
use crate::time::Timestamp;

/// A slot, as it was at a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSlot {
    pub course: CourseId,
    pub tee_off: Timestamp,
    pub max_players: u32,
    pub price: i64,
    pub currency: Currency,
    pub closed: bool,
    pub version: u64,
}

impl Row for KnownSlot {}

/// `slot.changed`: what is older than what is known is not news.
pub(super) fn learn(rows: &mut Rows, news: &SlotNews) -> Decision<()> {
    let SlotNews { slot, course, tee_off, max_players, price, currency, closed, version } = *news;
    if rows.tee.known_slots.get(&slot)?.is_none_or(|known| known.version < version) {
        let known = KnownSlot { course, tee_off, max_players, price, currency, closed, version };
        rows.tee.known_slots.put(slot, known);
    }
    Ok(())
}

/// The slot, or the refusal that nobody has heard of it.
pub fn find(rows: &mut Rows, id: TeeSlotId) -> Decision<KnownSlot> {
    Ok(rows.tee.known_slots.get(&id)?.copied().ok_or(TeeRejection::SlotNotFound)?)
}
