//! Rooms, their hours, holidays, and slot generation, in JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::ids;

#[cfg(feature = "core")]
mod convert;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewRoom))]
pub struct NewRoomBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    /// IANA name; `Asia/Seoul` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// ISO 3166 country whose holidays apply; `KR` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{2}$"))]
    pub country: Option<String>,
    /// ISO 4217; `KRW` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 1_440))]
    pub slot_minutes: u32,
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000))]
    pub base_price: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 50))]
    pub peak: Option<Vec<PeakBody>>,
    /// Surcharge on holidays in percent: 50 multiplies the price by 1.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000))]
    pub holiday_percent: Option<u32>,
    /// `true` by default; inactive rooms get no slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

impl NewRoomBody {
    pub fn new(name: impl Into<String>, slot_minutes: u32, base_price: i64) -> Self {
        Self { name: name.into(), slot_minutes, base_price, ..Self::default() }
    }
}

/// Omitted fields stay as they are. Existing slots keep their price and length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomChange))]
pub struct RoomChangeBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: Option<String>,
    /// Cannot change once there are slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{2}$"))]
    pub country: Option<String>,
    /// Cannot change once there are slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 1_440))]
    pub slot_minutes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000))]
    pub base_price: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 50))]
    pub peak: Option<Vec<PeakBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000))]
    pub holiday_percent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

/// Times with a surcharge. If `to` is not after `from`, the time runs past midnight.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Peak))]
pub struct PeakBody {
    /// `mon` to `sun`.
    pub days: Vec<String>,
    /// `HH:MM`
    pub from: String,
    /// `HH:MM`, up to `24:00`
    pub to: String,
    /// Surcharge in percent: 50 multiplies the price by 1.5.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000))]
    pub percent: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Room))]
pub struct RoomView {
    #[cfg_attr(feature = "openapi", schema(value_type = ids::RoomId))]
    pub id: u64,
    pub name: String,
    pub time_zone: String,
    pub country: String,
    pub currency: String,
    pub slot_minutes: u16,
    pub base_price: i64,
    pub peak: Vec<PeakBody>,
    pub holiday_percent: u32,
    pub active: bool,
    /// Last day with generated slots.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = Date))]
    pub generated_until: Option<Date>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewOperatingHours))]
pub struct HoursBody {
    /// By weekday, `mon` to `sun`; omitted days are closed.
    pub weekly: BTreeMap<String, Vec<OpenIntervalBody>>,
    /// Dates with hours of their own; no hours mean closed.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 1_000))]
    pub exceptions: Vec<ExceptionBody>,
}

/// If `to` is before `from`, it is a time of the next day.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OpenInterval))]
pub struct OpenIntervalBody {
    /// `HH:MM`
    pub from: String,
    /// `HH:MM`, up to `24:00`
    pub to: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = HoursException))]
pub struct ExceptionBody {
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: String,
    pub hours: Vec<OpenIntervalBody>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OperatingHours))]
pub struct HoursView {
    #[cfg_attr(feature = "openapi", schema(value_type = ids::RoomId))]
    pub room_id: u64,
    pub weekly: BTreeMap<String, Vec<OpenIntervalBody>>,
    pub exceptions: Vec<ExceptionBody>,
    /// Reservations with a slot that is now outside the hours; they stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<ids::RoomReservationId>>))]
    pub affected_reservations: Option<Vec<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewHolidays))]
pub struct HolidaysBody {
    /// ISO 3166; `KR` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{2}$"))]
    pub country: Option<String>,
    #[cfg_attr(feature = "openapi", schema(max_items = 1_000))]
    pub dates: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Holidays))]
pub struct HolidaysView {
    pub country: String,
    pub dates: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = GenerateSlots))]
pub struct GenerateBody {
    /// All rooms by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ids::RoomId>))]
    pub room_id: Option<u64>,
    /// As many days ahead as the settings say, by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub until: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = GeneratedSlots))]
pub struct GeneratedView {
    pub slots_created: u64,
    /// Every active room has its slots up to this day.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = Date))]
    pub generated_until: Option<Date>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Generation))]
pub struct GenerationView {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub generation_date: Date,
    pub slots_created: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub generated_until: Date,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
}
