//! Stays in JSON.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{HoldId, ReservationId, RoomTypeId};

#[cfg(feature = "core")]
mod convert;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewRoomType))]
pub struct NewRoomTypeBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000))]
    pub total_quantity: u32,
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_i64))]
    pub base_price: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 10_000))]
    pub description: Option<String>,
    /// ISO 4217; `KRW` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    /// IANA name; `Asia/Seoul` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub time_zone: Option<String>,
}

impl NewRoomTypeBody {
    pub fn new(name: impl Into<String>, total_quantity: u32, base_price: i64) -> Self {
        Self { name: name.into(), total_quantity, base_price, description: None, currency: None, time_zone: None }
    }
}

/// Omitted fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomTypeChange))]
pub struct RoomTypeChangeBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000))]
    pub total_quantity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_i64))]
    pub base_price: Option<i64>,
    /// `null` removes it.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "crate::present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, max_length = 10_000))]
    pub description: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub time_zone: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomType))]
pub struct RoomTypeView {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
    pub id: u64,
    pub name: String,
    pub total_quantity: u32,
    pub base_price: i64,
    pub description: Option<String>,
    pub currency: String,
    pub time_zone: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NightRange))]
pub struct NightRangeBody {
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub from: String,
    /// Exclusive.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub to: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NightsClosed))]
pub struct NightsClosedView {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
    pub room_type_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub from: Date,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub to: Date,
    pub closed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Availability))]
pub struct AvailabilityView {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
    pub room_type_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub check_in: Date,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub check_out: Date,
    /// Minimum over the nights.
    pub available: u32,
    pub nights: Vec<NightView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Night))]
pub struct NightView {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub date: Date,
    pub total_quantity: u32,
    pub reserved_count: u32,
    pub hold_count: u32,
    pub available: u32,
    pub closed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewHold))]
pub struct NewHoldBody {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
    pub room_type_id: u64,
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub check_in: String,
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub check_out: String,
    /// Optional if a header or token names the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// UUID or ULID generated by the client.
    pub client_hold_key: String,
    /// Number of rooms; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100))]
    pub quantity: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Hold))]
pub struct StayHoldView {
    #[cfg_attr(feature = "openapi", schema(value_type = HoldId))]
    pub hold_id: Uuid,
    #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
    pub room_type_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub check_in: Date,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub check_out: Date,
    pub user_id: UserId,
    pub client_hold_key: String,
    /// Number of rooms.
    pub quantity: u32,
    pub status: HoldStatus,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expired_at: Timestamp,
    pub price: i64,
    pub currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ReservationId>))]
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum HoldStatus {
    Held,
    Confirmed,
    Cancelled,
    Replaced,
    Expired,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Reservation))]
pub struct StayReservationView {
    #[cfg_attr(feature = "openapi", schema(value_type = ReservationId))]
    pub reservation_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = HoldId))]
    pub hold_id: Uuid,
    #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
    pub room_type_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub check_in: Date,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub check_out: Date,
    pub user_id: UserId,
    /// Number of rooms.
    pub quantity: u32,
    pub status: ReservationStatus,
    pub price: i64,
    pub currency: String,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub confirmed_at: Timestamp,
    #[serde(serialize_with = "crate::optional_time", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub cancelled_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReservationStatus {
    Confirmed,
    Cancelled,
}
