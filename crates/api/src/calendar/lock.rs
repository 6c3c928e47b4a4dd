//! Locks on slots, and reservations, in JSON.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::calendar::slot::SlotRefBody;
use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{self, LockId, RoomReservationId};

#[cfg(feature = "core")]
mod convert;

/// Either `date` and `times`, or `slots`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewLock))]
pub struct NewLockBody {
    /// Optional if a header or token names the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
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
    /// Shortens the life of the lock; a longer life than the setting has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub ttl_seconds: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Lock))]
pub struct LockView {
    #[cfg_attr(feature = "openapi", schema(value_type = LockId))]
    pub lock_id: Uuid,
    #[cfg_attr(feature = "openapi", schema(value_type = ids::RoomId))]
    pub room_id: u64,
    pub user_id: UserId,
    pub slots: Vec<LineView>,
    pub total_price: i64,
    pub currency: String,
    pub status: LockStatus,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<RoomReservationId>))]
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LockStatus {
    Locked,
    Confirmed,
    Released,
    Replaced,
    Expired,
}

/// Slot, at the price at which it was locked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LockedSlot))]
pub struct LineView {
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub date: Date,
    pub time: String,
    pub minutes: u16,
    pub price: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RoomReservation))]
pub struct RoomReservationView {
    #[cfg_attr(feature = "openapi", schema(value_type = RoomReservationId))]
    pub reservation_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = LockId))]
    pub lock_id: Uuid,
    #[cfg_attr(feature = "openapi", schema(value_type = ids::RoomId))]
    pub room_id: u64,
    pub user_id: UserId,
    pub slots: Vec<LineView>,
    pub total_price: i64,
    pub currency: String,
    pub status: RoomReservationStatus,
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
pub enum RoomReservationStatus {
    Reserved,
    Cancelled,
}

/// Result of blocking or unblocking slots.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedView {
    pub room_id: u64,
    pub slots: Vec<SlotRefBody>,
    pub status: BlockedStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BlockedStatus {
    Blocked,
    Maintenance,
}
