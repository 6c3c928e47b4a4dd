//! Tee times in JSON.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{BookingId, CourseId, NotificationId, TeeSlotId};

#[cfg(feature = "core")]
mod convert;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewCourse))]
pub struct NewCourseBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    /// IANA name; `Asia/Seoul` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1))]
    pub time_zone: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Course))]
pub struct CourseView {
    #[cfg_attr(feature = "openapi", schema(value_type = CourseId))]
    pub id: u64,
    pub name: String,
    pub time_zone: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewTeeSlots))]
pub struct NewSlotsBody {
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1_000))]
    pub slots: Vec<NewSlotBody>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewTeeSlot))]
pub struct NewSlotBody {
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: String,
    /// `HH:MM` in the course's time zone.
    #[cfg_attr(feature = "openapi", schema(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    pub start_time: String,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000))]
    pub max_players: u32,
    /// Per player.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_i64))]
    pub price: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TeeSlot))]
pub struct SlotView {
    #[cfg_attr(feature = "openapi", schema(value_type = TeeSlotId))]
    pub id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = CourseId))]
    pub course_id: u64,
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: String,
    pub start_time: String,
    pub max_players: u32,
    pub booked_players: u32,
    pub available_players: u32,
    /// `AVAILABLE`, `FULLY_BOOKED` or `CLOSED`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: TeeSlotStatus,
    pub price: i64,
    pub currency: String,
    pub version: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SlotClosing))]
pub struct CloseBody {
    /// Also cancel all bookings, with a full refund.
    pub cancel_bookings: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewBooking))]
pub struct NewBookingBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 255))]
    pub idempotency_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(value_type = TeeSlotId))]
    pub game_time_slot_id: u64,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000))]
    pub player_count: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Cancellation))]
pub struct CancelBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1_000))]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Booking))]
pub struct BookingView {
    #[cfg_attr(feature = "openapi", schema(value_type = BookingId))]
    pub id: u64,
    pub booking_number: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: BookingStatus,
    pub user_id: UserId,
    #[cfg_attr(feature = "openapi", schema(value_type = TeeSlotId))]
    pub game_time_slot_id: u64,
    pub player_count: u32,
    pub unit_price: i64,
    pub total_price: i64,
    pub currency: String,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub tee_off: Timestamp,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// Reason for which the booking failed.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub failure_reason: Option<FailureReason>,
    pub refund: Option<RefundView>,
    /// Actions on the booking, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<HistoryView>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Refund))]
pub struct RefundView {
    pub percent: u8,
    pub amount: i64,
    /// Rule that sets the amount: `AT_LEAST_7_DAYS`, `LAST_DAY`, `PENDING`, `ADMIN`, `SYSTEM`, `NO_SHOW`.
    pub rule: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BookingHistoryEntry))]
pub struct HistoryView {
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub action: BookingAction,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// A user id, `admin` or `system`.
    pub by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Notification))]
pub struct NotificationView {
    #[cfg_attr(feature = "openapi", schema(value_type = NotificationId))]
    pub id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = BookingId))]
    pub booking_id: u64,
    pub user_id: UserId,
    /// Type of the event: `booking.confirmed`, …
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub r#type: Cow<'static, str>,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TeeSlotStatus {
    Available,
    FullyBooked,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BookingStatus {
    Pending,
    Confirmed,
    Completed,
    Cancelled,
    NoShow,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BookingAction {
    Created,
    Confirmed,
    Failed,
    Cancelled,
    Completed,
    NoShow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FailureReason {
    SlotFull,
    SlotClosed,
    SlotNotFound,
    SlotReleased,
    SlotRefused,
    SagaTimeout,
}
