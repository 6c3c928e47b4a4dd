//! Price of a slot, fixed when it is generated.

use jiff::civil::Date;

use super::local_time::{SlotStart, day_before};
use super::room::{Peak, Room};

/// Price of a slot, and its surcharges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub base_price: i64,
    pub final_price: i64,
    pub is_peak: bool,
    pub is_holiday: bool,
}

/// Returns the price of a slot by its start. Surcharges of peak time and holiday add up, and the sum is rounded half
/// up. Of several peak windows the highest surcharge applies.
pub fn price(room: &Room, start: SlotStart, is_holiday: bool) -> Price {
    let peak = room.peak.iter().filter(|peak| covers(peak, start)).map(|peak| peak.percent).max();
    let holiday = if is_holiday { room.holiday_percent } else { 0 };
    let percent = 100 + i64::from(peak.unwrap_or(0)) + i64::from(holiday);
    Price {
        base_price: room.base_price,
        final_price: (room.base_price * percent + 50) / 100,
        is_peak: peak.is_some(),
        is_holiday,
    }
}

/// Whether a slot with this start begins in the window.
fn covers(peak: &Peak, start: SlotStart) -> bool {
    let (date, time) = (start.date(), start.time());
    let is_on = |date: Date| peak.days.contains(date.weekday());
    if peak.from < peak.to {
        is_on(date) && (peak.from..peak.to).contains(&time)
    } else {
        (is_on(date) && time >= peak.from) || (is_on(day_before(date)) && time < peak.to)
    }
}
