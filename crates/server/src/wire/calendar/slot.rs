//! Slots, availability and statistics in JSON.

use holdfast_core::Fault;
use holdfast_core::calendar::availability::{AskedSlot, AskedStatus, Availability, AvailabilityResult};
use holdfast_core::calendar::stats::{Sold, Stats};
use holdfast_core::calendar::{LocalTime, RoomReservationId, SlotStart, SlotStatus, SlotView as Slot};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::request::parse_date;
use crate::wire::ids::{self, RoomId, UserId};

/// Slot, named by its start.
#[derive(Deserialize, Serialize, ToSchema)]
#[schema(as = SlotRef)]
pub struct SlotRefBody {
    #[schema(format = Date)]
    date: String,
    /// `HH:MM`
    time: String,
}

impl SlotRefBody {
    pub fn new(start: SlotStart) -> Self {
        Self { date: start.date().to_string(), time: start.time().to_string() }
    }
}

/// Either `date` and `times`, or `slots`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AskedSlots)]
pub struct AskBody {
    #[schema(format = Date)]
    pub date: Option<String>,
    /// `HH:MM`
    #[schema(max_items = 100)]
    pub times: Option<Vec<String>>,
    /// For several dates.
    #[schema(max_items = 100)]
    pub slots: Option<Vec<SlotRefBody>>,
    /// User whose own locks do not count; optional.
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
}

/// Either `date` and `times`, or `slots`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BlockSlots)]
pub struct BlockBody {
    #[schema(format = Date)]
    pub date: Option<String>,
    /// `HH:MM`
    #[schema(max_items = 300)]
    pub times: Option<Vec<String>>,
    #[schema(max_items = 300)]
    pub slots: Option<Vec<SlotRefBody>>,
    /// `BLOCKED` or `MAINTENANCE`.
    pub status: String,
}

/// Either `date` and `times`, or `slots`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UnblockSlots)]
pub struct UnblockBody {
    #[schema(format = Date)]
    pub date: Option<String>,
    /// `HH:MM`
    #[schema(max_items = 300)]
    pub times: Option<Vec<String>>,
    #[schema(max_items = 300)]
    pub slots: Option<Vec<SlotRefBody>>,
}

/// Parses the requested slots, given in either of two forms.
pub fn starts(
    date: Option<&String>,
    times: Option<&Vec<String>>,
    slots: Option<&Vec<SlotRefBody>>,
) -> Result<Vec<SlotStart>, Problem> {
    match (date, times, slots) {
        (None, None, Some(slots)) => {
            let start = |slot: &SlotRefBody| start("slots", parse_date("slots", &slot.date)?, "slots", &slot.time);
            slots.iter().map(start).collect()
        }
        (Some(date), Some(times), None) => {
            let date = parse_date("date", date)?;
            times.iter().map(|time| start("date", date, "times", time)).collect()
        }
        (_, _, Some(_)) => Err(Problem::invalid("slots", &Fault::UnknownValue)),
        (None, _, None) => Err(Problem::invalid("date", &Fault::Missing)),
        (Some(_), None, None) => Err(Problem::invalid("times", &Fault::Missing)),
    }
}

fn start(date_field: &'static str, date: Date, time_field: &'static str, time: &str) -> Result<SlotStart, Problem> {
    let time = LocalTime::parse_start(time).ok_or_else(|| Problem::invalid(time_field, &Fault::NotATime))?;
    SlotStart::new(date, time).ok_or_else(|| Problem::invalid(date_field, &Fault::InThePast))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Slot)]
pub struct SlotView {
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    date: Date,
    time: String,
    minutes: u16,
    status: StatusView,
    base_price: i64,
    final_price: i64,
    currency: String,
    is_peak_time: bool,
    is_holiday: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ids::RoomReservationId>)]
    reservation_id: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SlotStatus)]
pub enum StatusView {
    Available,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
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

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SlotAvailability)]
pub struct AvailabilityView {
    #[schema(value_type = RoomId)]
    room_id: u64,
    result: ResultView,
    /// Total of those slots that the caller can lock now.
    total_price: i64,
    currency: String,
    slots: Vec<AskedSlotView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SlotAvailabilityResult)]
pub enum ResultView {
    Available,
    PartiallyAvailable,
    Unavailable,
    TemporarilyUnavailable,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AskedSlot)]
pub struct AskedSlotView {
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    date: Date,
    time: String,
    status: AskedStatusView,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = AskedSlotStatus)]
pub enum AskedStatusView {
    Available,
    /// Locked by the caller, who may lock it again.
    LockedByCaller,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
    /// The slot has started.
    Past,
    /// There is no such slot.
    NotFound,
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
            slots: availability.slots.iter().map(AskedSlotView::new).collect(),
        }
    }
}

impl AskedSlotView {
    fn new(slot: &AskedSlot) -> Self {
        Self {
            date: slot.start.date(),
            time: slot.start.time().to_string(),
            status: match slot.status {
                AskedStatus::Available => AskedStatusView::Available,
                AskedStatus::LockedByCaller => AskedStatusView::LockedByCaller,
                AskedStatus::Locked => AskedStatusView::Locked,
                AskedStatus::Reserved => AskedStatusView::Reserved,
                AskedStatus::Blocked => AskedStatusView::Blocked,
                AskedStatus::Maintenance => AskedStatusView::Maintenance,
                AskedStatus::Past => AskedStatusView::Past,
                AskedStatus::Missing => AskedStatusView::NotFound,
            },
            price: slot.price,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = RepriceSlots)]
pub struct RepriceBody {
    #[schema(format = Date)]
    pub from: String,
    /// Inclusive; at most 366 days.
    #[schema(format = Date)]
    pub to: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RepricedSlots)]
pub struct RepricedView {
    /// Number of slots with a changed price.
    pub slots_repriced: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomStats)]
pub struct StatsView {
    #[schema(value_type = RoomId)]
    room_id: u64,
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    from: Date,
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    to: Date,
    /// Slots that are still in the calendar.
    total_slots: u32,
    reserved_slots: u32,
    /// Share of the slots in the calendar that are reserved, 0 to 1.
    utilization: f64,
    revenue: i64,
    currency: String,
    by_day: Vec<DayView>,
    by_hour: Vec<HourView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomStatsDay)]
pub struct DayView {
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    date: Date,
    total_slots: u32,
    reserved_slots: u32,
    utilization: f64,
    revenue: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomStatsHour)]
pub struct HourView {
    /// 0 to 23.
    hour: usize,
    total_slots: u32,
    reserved_slots: u32,
    utilization: f64,
    revenue: i64,
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
