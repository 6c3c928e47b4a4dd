//! What was sold of a room.
//!
//! Old slots are cleared, reservations stay. So what was sold, and for how much, is told by reservations; how many slots
//! there are, by the slots that are still there; and utilization compares the two where both are known.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::RANGE_DAYS_MAX;
use super::reservation::{RoomReservation, RoomReservationState};
use super::room::{self, RoomId};
use super::slot::{self, LockedBy, SlotsOf};
use super::wall::{DayRange, SlotStart};
use crate::command::{Context, Decision};
use crate::money::Currency;
use crate::rows::Rows;

#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    pub room: RoomId,
    pub days: DayRange,
    pub total: Sold,
    pub currency: Currency,
    /// Every day asked for, in order.
    pub by_day: Vec<(Date, Sold)>,
    /// All hours of a day, from 0 on, by the beginning of a slot.
    pub by_hour: [Sold; 24],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sold {
    /// Slots that are still in the calendar.
    pub total_slots: u32,
    pub reserved_slots: u32,
    /// Of the reserved ones, those that are still in the calendar.
    pub reserved_slots_kept: u32,
    pub revenue: i64,
}

impl Sold {
    /// The part of the slots in the calendar that is reserved, 0 to 1; 0 if there are none.
    pub fn utilization(&self) -> f64 {
        if self.total_slots == 0 { 0.0 } else { f64::from(self.reserved_slots_kept) / f64::from(self.total_slots) }
    }

    fn add_reserved(&mut self, price: i64, is_kept: bool) {
        self.reserved_slots += 1;
        self.reserved_slots_kept += u32::from(is_kept);
        self.revenue += price;
    }
}

/// `reservations` are those of the room with a slot on these days; others among them do no harm, nor do cancelled ones.
pub fn stats(
    rows: &mut Rows,
    at: &Context<'_>,
    room: RoomId,
    from: Date,
    to: Date,
    reservations: &[RoomReservation],
) -> Decision<Stats> {
    let days = DayRange::new(from, to, RANGE_DAYS_MAX)?;
    rows.calendar.rooms.want(&room);
    let slots = slot::scan(rows, SlotsOf { room, days });
    let currency = room::find(rows, room)?.currency;
    let slots = slots?;
    slots.iter().filter(|(_, slot)| slot.outside_hours).for_each(|(id, _)| slot::want(rows, *id));
    let mut stats = Stats {
        room,
        days,
        total: Sold::default(),
        currency,
        by_day: days.days().map(|date| (date, Sold::default())).collect(),
        by_hour: [Sold::default(); 24],
    };
    let mut kept = BTreeSet::new();
    for (id, slot) in slots {
        let locked_by = if slot.outside_hours { slot::locked_by(rows, id, at.now)? } else { LockedBy::Nobody };
        if slot.is_there(locked_by) {
            kept.insert(id.start);
            stats.count(id.start, |sold| sold.total_slots += 1);
        }
    }
    for reservation in reservations {
        if reservation.room != room || reservation.state != RoomReservationState::Confirmed {
            continue;
        }
        for line in reservation.slots.iter().filter(|line| days.contains(line.date())) {
            stats.count(line.start, |sold| sold.add_reserved(line.price, kept.contains(&line.start)));
        }
    }
    Ok(stats)
}

impl Stats {
    fn count(&mut self, start: SlotStart, count: impl Fn(&mut Sold)) {
        let day = self.by_day.binary_search_by_key(&start.date(), |(date, _)| *date).expect("a day that was asked for");
        count(&mut self.total);
        count(&mut self.by_day[day].1);
        count(&mut self.by_hour[usize::from(start.time().minutes() / 60)]);
    }
}
