//! Tickets in JSON.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{EventId, HoldId, SeatId, SeatReservationId};
use crate::stay::HoldStatus;

#[cfg(feature = "core")]
mod convert;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewEvent))]
pub struct NewEventBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub starts_at: Option<String>,
    /// Before, no seat is sold and no user is admitted; on sale at once by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub sales_open_at: Option<String>,
    /// ISO 4217; `KRW` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    /// Maximum number of users inside at once; 800 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000))]
    pub max_concurrent: Option<u32>,
    /// Whether users enter through the waiting room; `true` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_enabled: Option<bool>,
    /// Maximum number of seats a user may hold and have reserved; 10 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_seats_per_user: Option<u32>,
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100_000))]
    pub seats: Vec<NewSeatBody>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewSeat))]
pub struct NewSeatBody {
    /// Seats whose labels differ by one in the last number only are adjacent.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100))]
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100))]
    pub section: Option<String>,
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_i64))]
    pub price: i64,
}

/// Omitted fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = EventChange))]
pub struct EventChangeBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: Option<String>,
    /// `null` removes it.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "crate::present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub starts_at: Option<Option<String>>,
    /// `null` removes it.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "crate::present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub sales_open_at: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000))]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_seats_per_user: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Event))]
pub struct EventView {
    #[cfg_attr(feature = "openapi", schema(value_type = EventId))]
    pub id: u64,
    pub name: String,
    #[serde(serialize_with = "crate::optional_time")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub starts_at: Option<Timestamp>,
    #[serde(serialize_with = "crate::optional_time")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub sales_open_at: Option<Timestamp>,
    pub currency: String,
    pub max_concurrent: u32,
    pub queue_enabled: bool,
    pub max_seats_per_user: u32,
    pub seat_count: u32,
    /// Neither held nor reserved.
    pub remaining_seats: u32,
    pub paused: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Seat))]
pub struct SeatView<'a> {
    #[cfg_attr(feature = "openapi", schema(value_type = SeatId))]
    pub id: u64,
    pub label: Cow<'a, str>,
    pub section: Option<Cow<'a, str>>,
    pub price: i64,
    pub status: SeatStatusView,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SeatStatus))]
pub enum SeatStatusView {
    Available,
    Held,
    Reserved,
}

/// Requested seats.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ChosenSeats))]
pub struct SeatsBody {
    /// Optional if a header or token names the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<SeatId>, min_items = 1, max_items = 1_000))]
    pub seat_ids: Vec<u64>,
    /// Token from `enter`. Optional, since an entry belongs to its user. If present, it must prove that entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Requested number of seats, at any position.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BestSeats))]
pub struct BestSeatsBody {
    /// Optional if a header or token names the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000))]
    pub count: u32,
    /// Any section by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Token from `enter`. Optional, since an entry belongs to its user. If present, it must prove that entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Seat in a hold or reservation, at its fixed price.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TakenSeat))]
pub struct TakenSeatView {
    #[cfg_attr(feature = "openapi", schema(value_type = SeatId))]
    pub id: u64,
    pub label: String,
    pub section: Option<String>,
    pub price: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SeatHold))]
pub struct SeatHoldView {
    #[cfg_attr(feature = "openapi", schema(value_type = HoldId))]
    pub hold_id: Uuid,
    #[cfg_attr(feature = "openapi", schema(value_type = EventId))]
    pub event_id: u64,
    pub user_id: UserId,
    pub seats: Vec<TakenSeatView>,
    pub status: HoldStatus,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
    pub total_price: i64,
    pub currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<SeatReservationId>))]
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SeatReservation))]
pub struct SeatReservationView {
    #[cfg_attr(feature = "openapi", schema(value_type = SeatReservationId))]
    pub reservation_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = HoldId))]
    pub hold_id: Uuid,
    #[cfg_attr(feature = "openapi", schema(value_type = EventId))]
    pub event_id: u64,
    pub user_id: UserId,
    pub seats: Vec<TakenSeatView>,
    pub total_price: i64,
    pub currency: String,
    pub status: SeatReservationStatus,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub reserved_at: Timestamp,
    #[serde(serialize_with = "crate::optional_time", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub cancelled_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SeatReservationStatus {
    Reserved,
    Cancelled,
}
