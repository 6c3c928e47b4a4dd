//! Slots, availability and statistics in JSON.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{self, RoomId};

#[cfg(feature = "core")]
pub use self::convert::starts;

#[cfg(feature = "core")]
mod convert;

/// Slot, named by its start.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SlotRef))]
pub struct SlotRefBody {
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: String,
    /// `HH:MM`
    pub time: String,
}

/// Either `date` and `times`, or `slots`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SlotAvailabilityRequest))]
pub struct SlotAvailabilityBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: Option<String>,
    /// `HH:MM`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub times: Option<Vec<String>>,
    /// For several dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub slots: Option<Vec<SlotRefBody>>,
    /// User whose own locks do not count; optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

/// Either `date` and `times`, or `slots`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BlockSlots))]
pub struct BlockBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: Option<String>,
    /// `HH:MM`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 300))]
    pub times: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 300))]
    pub slots: Option<Vec<SlotRefBody>>,
    /// `BLOCKED` or `MAINTENANCE`.
    pub status: String,
}

/// Either `date` and `times`, or `slots`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = UnblockSlots))]
pub struct UnblockBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: Option<String>,
    /// `HH:MM`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 300))]
    pub times: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 300))]
    pub slots: Option<Vec<SlotRefBody>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Slot))]
pub struct SlotView {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub date: Date,
    pub time: String,
    pub minutes: u16,
    pub status: StatusView,
    pub base_price: i64,
    pub final_price: i64,
    pub currency: String,
    pub is_peak_time: bool,
    pub is_holiday: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ids::RoomReservationId>))]
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SlotStatus))]
pub enum StatusView {
    Available,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SlotAvailability))]
pub struct AvailabilityView {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomId))]
    pub room_id: u64,
    pub result: ResultView,
    /// Total of those slots that the caller can lock now.
    pub total_price: i64,
    pub currency: String,
    pub slots: Vec<RequestedSlotView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SlotAvailabilityResult))]
pub enum ResultView {
    Available,
    PartiallyAvailable,
    Unavailable,
    TemporarilyUnavailable,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RequestedSlot))]
pub struct RequestedSlotView {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub date: Date,
    pub time: String,
    pub status: RequestedSlotStatusView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RequestedSlotStatus))]
pub enum RequestedSlotStatusView {
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

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RepriceSlots))]
pub struct RepriceBody {
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub from: String,
    /// Inclusive; at most 366 days.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub to: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RepricedSlots))]
pub struct RepricedView {
    /// Number of slots with a changed price.
    pub slots_repriced: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomStats))]
pub struct StatsView {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomId))]
    pub room_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub from: Date,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub to: Date,
    /// Slots that are still in the calendar.
    pub total_slots: u32,
    pub reserved_slots: u32,
    /// Share of the slots in the calendar that are reserved, 0 to 1.
    pub utilization: f64,
    pub revenue: i64,
    pub currency: String,
    pub by_day: Vec<DayView>,
    pub by_hour: Vec<HourView>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomStatsDay))]
pub struct DayView {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub date: Date,
    pub total_slots: u32,
    pub reserved_slots: u32,
    pub utilization: f64,
    pub revenue: i64,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomStatsHour))]
pub struct HourView {
    /// 0 to 23.
    pub hour: usize,
    pub total_slots: u32,
    pub reserved_slots: u32,
    pub utilization: f64,
    pub revenue: i64,
}
