//! Statistics of sales of a room.
//!
//! Old slots are purged, reservations are kept. So sold slots and revenue are computed from reservations, the number of
//! slots from those that still exist, and utilization from reserved slots that still exist.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::RANGE_DAYS_MAX;
use super::local_time::{DayRange, SlotStart};
use super::reservation::{RoomReservation, RoomReservationState};
use super::room::{self, RoomId};
use super::slot::{self, LockedBy, SlotsOf};
use crate::command::{Context, Decision};
use crate::money::Currency;
use crate::working_set::WorkingSet;

#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    pub room: RoomId,
    pub days: DayRange,
    pub total: Sold,
    pub currency: Currency,
    /// Every day of the range, in order.
    pub by_day: Vec<(Date, Sold)>,
    /// Hours 0 to 23 of the day, by the start of a slot.
    pub by_hour: [Sold; 24],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sold {
    /// Slots that still exist.
    pub total_slots: u32,
    pub reserved_slots: u32,
    /// Reserved slots that still exist.
    pub reserved_slots_kept: u32,
    pub revenue: i64,
}

impl Sold {
    /// Returns the reserved fraction of the existing slots, 0 to 1; 0 if there are none.
    pub fn utilization(&self) -> f64 {
        if self.total_slots == 0 { 0.0 } else { f64::from(self.reserved_slots_kept) / f64::from(self.total_slots) }
    }

    fn add_reserved(&mut self, price: i64, is_kept: bool) {
        self.reserved_slots += 1;
        self.reserved_slots_kept += u32::from(is_kept);
        self.revenue += price;
    }
}

/// Computes statistics of a room. `reservations` contains those with a slot on these days; cancelled and other
/// reservations are ignored.
pub fn stats(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    room: RoomId,
    from: Date,
    to: Date,
    reservations: &[RoomReservation],
) -> Decision<Stats> {
    let days = DayRange::new(from, to, RANGE_DAYS_MAX)?;
    rows.calendar.rooms.request(&room);
    let slots = slot::scan(rows, SlotsOf { room, days });
    let currency = room::find(rows, room)?.currency;
    let slots = slots?;
    slots.iter().filter(|(_, slot)| slot.outside_hours).for_each(|(id, _)| slot::request_rows(rows, *id));
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
        let locked_by = if slot.outside_hours { slot::locked_by(rows, id, at.now)? } else { LockedBy::None };
        if slot.exists(locked_by) {
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
        let day = self.by_day.binary_search_by_key(&start.date(), |(date, _)| *date).expect("the day is in the range");
        count(&mut self.total);
        count(&mut self.by_day[day].1);
        count(&mut self.by_hour[usize::from(start.time().minutes() / 60)]);
    }
}
