//! Conversions from and to the types of the rules.

use holdfast_core::Fault;
use holdfast_core::calendar::availability::{Availability, AvailabilityResult, RequestedSlot, RequestedSlotStatus};
use holdfast_core::calendar::stats::{Sold, Stats};
use holdfast_core::calendar::{LocalTime, RoomReservationId, SlotStart, SlotStatus, SlotView as Slot};
use jiff::civil::Date;

use super::{
    AvailabilityView, DayView, HourView, RequestedSlotStatusView, RequestedSlotView, ResultView, SlotRefBody, SlotView,
    StatsView, StatusView,
};
use crate::parse::{InvalidField, parse_date};

impl SlotRefBody {
    pub fn new(start: SlotStart) -> Self {
        Self { date: start.date().to_string(), time: start.time().to_string() }
    }
}

/// Parses the requested slots, given in either of two forms.
pub fn starts(
    date: Option<&String>,
    times: Option<&Vec<String>>,
    slots: Option<&Vec<SlotRefBody>>,
) -> Result<Vec<SlotStart>, InvalidField> {
    match (date, times, slots) {
        (None, None, Some(slots)) => {
            let start = |slot: &SlotRefBody| start("slots", parse_date("slots", &slot.date)?, "slots", &slot.time);
            slots.iter().map(start).collect()
        }
        (Some(date), Some(times), None) => {
            let date = parse_date("date", date)?;
            times.iter().map(|time| start("date", date, "times", time)).collect()
        }
        (_, _, Some(_)) => Err(InvalidField::new("slots", Fault::UnknownValue)),
        (None, _, None) => Err(InvalidField::new("date", Fault::Missing)),
        (Some(_), None, None) => Err(InvalidField::new("times", Fault::Missing)),
    }
}

fn start(
    date_field: &'static str,
    date: Date,
    time_field: &'static str,
    time: &str,
) -> Result<SlotStart, InvalidField> {
    let time = LocalTime::parse_start(time).ok_or_else(|| InvalidField::new(time_field, Fault::NotATime))?;
    SlotStart::new(date, time).ok_or_else(|| InvalidField::new(date_field, Fault::InThePast))
}

impl SlotView {
    pub fn new(slot: &Slot) -> Self {
        Self {
            date: slot.date,
            time: slot.time.to_string(),
            minutes: slot.minutes,
            status: match slot.status {
                SlotStatus::Available => StatusView::Available,
                SlotStatus::Locked => StatusView::Locked,
                SlotStatus::Reserved => StatusView::Reserved,
                SlotStatus::Blocked => StatusView::Blocked,
                SlotStatus::Maintenance => StatusView::Maintenance,
            },
            base_price: slot.base_price,
            final_price: slot.final_price,
            currency: slot.currency.as_str().to_owned(),
            is_peak_time: slot.is_peak,
            is_holiday: slot.is_holiday,
            reservation_id: slot.reservation.map(RoomReservationId::get),
        }
    }

    pub fn list(slots: &[Slot]) -> Vec<Self> {
        slots.iter().map(Self::new).collect()
    }
}

impl AvailabilityView {
    pub fn new(availability: &Availability) -> Self {
        Self {
            room_id: availability.room.get(),
            result: match availability.result {
                AvailabilityResult::Available => ResultView::Available,
                AvailabilityResult::PartiallyAvailable => ResultView::PartiallyAvailable,
                AvailabilityResult::Unavailable => ResultView::Unavailable,
                AvailabilityResult::TemporarilyUnavailable => ResultView::TemporarilyUnavailable,
            },
            total_price: availability.total_price,
            currency: availability.currency.as_str().to_owned(),
            slots: availability.slots.iter().map(RequestedSlotView::new).collect(),
        }
    }
}

impl RequestedSlotView {
    fn new(slot: &RequestedSlot) -> Self {
        Self {
            date: slot.start.date(),
            time: slot.start.time().to_string(),
            status: match slot.status {
                RequestedSlotStatus::Available => RequestedSlotStatusView::Available,
                RequestedSlotStatus::LockedByCaller => RequestedSlotStatusView::LockedByCaller,
                RequestedSlotStatus::Locked => RequestedSlotStatusView::Locked,
                RequestedSlotStatus::Reserved => RequestedSlotStatusView::Reserved,
                RequestedSlotStatus::Blocked => RequestedSlotStatusView::Blocked,
                RequestedSlotStatus::Maintenance => RequestedSlotStatusView::Maintenance,
                RequestedSlotStatus::Past => RequestedSlotStatusView::Past,
                RequestedSlotStatus::Missing => RequestedSlotStatusView::NotFound,
            },
            price: slot.price,
        }
    }
}

impl StatsView {
    pub fn new(stats: &Stats) -> Self {
        let day = |(date, sold): &(Date, Sold)| DayView {
            date: *date,
            total_slots: sold.total_slots,
            reserved_slots: sold.reserved_slots,
            utilization: sold.utilization(),
            revenue: sold.revenue,
        };
        let hour = |(hour, sold): (usize, &Sold)| HourView {
            hour,
            total_slots: sold.total_slots,
            reserved_slots: sold.reserved_slots,
            utilization: sold.utilization(),
            revenue: sold.revenue,
        };
        Self {
            room_id: stats.room.get(),
            from: stats.days.first,
            to: stats.days.last,
            total_slots: stats.total.total_slots,
            reserved_slots: stats.total.reserved_slots,
            utilization: stats.total.utilization(),
            revenue: stats.total.revenue,
            currency: stats.currency.as_str().to_owned(),
            by_day: stats.by_day.iter().map(day).collect(),
            by_hour: stats.by_hour.iter().enumerate().map(hour).collect(),
        }
    }
}
