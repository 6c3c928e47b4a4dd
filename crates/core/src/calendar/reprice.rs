//! Repricing slots, as if they were generated today.

use jiff::civil::Date;

use super::holiday::{self, HolidaysOf};
use super::local_time::{DayRange, day_after};
use super::pricing::price;
use super::room::{self, RoomId};
use super::slot::{self, LockedBy, Slot, SlotState, SlotsOf};
use super::{BULK_WEIGHT, DAYS_PER_COMMAND_MAX, RANGE_DAYS_MAX, SLOTS_PER_COMMAND_MAX};
use crate::command::{Command, Context, Decision, writes};
use crate::working_set::WorkingSet;

/// Gives free slots that have not begun the price that they would have if generated now. Slots that are locked or not
/// for sale keep their prices.
///
/// Processes some days at a time; to be repeated from `next` while it is set.
#[derive(Clone, Debug)]
pub struct RepriceSlots {
    pub room: RoomId,
    pub from: Date,
    pub to: Date,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repriced {
    /// Number of slots with a new price.
    pub changed: u32,
    /// First day that remains.
    pub next: Option<Date>,
}

impl Command for RepriceSlots {
    type Outcome = Repriced;
    const NAME: &'static str = "calendar.slots.reprice";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Repriced> {
        let all = DayRange::new(self.from, self.to, RANGE_DAYS_MAX)?;
        let mut days = all.beginning(DAYS_PER_COMMAND_MAX);
        rows.calendar.rooms.request(&self.room);
        let slots = slot::scan(rows, SlotsOf { room: self.room, days });
        let room = room::find(rows, self.room)?;
        let holidays = holiday::within(rows, &HolidaysOf { country: room.country, days });
        let (mut slots, holidays) = (slots?, holidays?);
        // Processes whole days only: the day that exceeds the bound is left to the next command.
        if let Some((id, _)) = slots.get(SLOTS_PER_COMMAND_MAX) {
            let excess_day = id.start.date();
            slots.retain(|(id, _)| id.start.date() < excess_day);
            days.last = excess_day.yesterday().unwrap_or(excess_day);
        }
        slots.retain(|(id, slot)| slot.state == SlotState::Free && id.start.begins_at(&room.zone) > at.now);
        for (id, _) in &slots {
            slot::request_rows(rows, *id);
        }
        let mut changed = 0;
        for (id, slot) in slots {
            if slot::locked_by(rows, id, at.now)? != LockedBy::None {
                continue;
            }
            let price = price(&room, id.start, holidays.contains(&id.start.date()));
            let repriced = Slot {
                base_price: price.base_price,
                final_price: price.final_price,
                is_peak: price.is_peak,
                is_holiday: price.is_holiday,
                ..slot
            };
            if repriced != slot {
                rows.calendar.slots.put(id, repriced);
                changed += 1;
            }
        }
        Ok(Repriced { changed, next: (days.last < all.last).then(|| day_after(days.last)) })
    }

    fn lane(&self) -> u64 {
        self.room.get()
    }

    fn weight(&self) -> usize {
        BULK_WEIGHT
    }
}
