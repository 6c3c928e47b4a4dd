//! Locks on slots, and reservations, in JSON.

use holdfast_core::Timestamp;
use holdfast_core::calendar::{BlockStatus, RoomId, RoomLock, RoomReservation, RoomReservationState, SlotStart};
use holdfast_core::hold::Status;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::slot::SlotRefBody;
use crate::wire::ids::{self, LockId, RoomReservationId, UserId};

/// Either `date` and `times`, or `slots`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewLock)]
pub struct NewLockBody {
    /// Optional if a header or token names the caller.
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    #[schema(format = Date)]
    pub date: Option<String>,
    /// `HH:MM`
    #[schema(max_items = 100)]
    pub times: Option<Vec<String>>,
    /// For several dates.
    #[schema(max_items = 100)]
    pub slots: Option<Vec<SlotRefBody>>,
    /// Shortens the life of the lock; a longer life than the setting has no effect.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Lock)]
pub struct LockView {
    #[schema(value_type = LockId)]
    lock_id: Uuid,
    #[schema(value_type = ids::RoomId)]
    room_id: u64,
    #[schema(value_type = UserId)]
    user_id: u64,
    slots: Vec<LineView>,
    total_price: i64,
    currency: String,
    status: LockStatus,
    #[serde(serialize_with = "crate::wire::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(serialize_with = "crate::wire::time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RoomReservationId>)]
    reservation_id: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LockStatus {
    Locked,
    Confirmed,
    Released,
    Replaced,
    Expired,
}

/// Slot, at the price at which it was locked.
#[derive(Serialize, ToSchema)]
#[schema(as = LockedSlot)]
pub struct LineView {
    #[serde(serialize_with = "super::date")]
    #[schema(value_type = String, format = Date)]
    date: Date,
    time: String,
    minutes: u16,
    price: i64,
}

impl LineView {
    fn new(start: SlotStart, minutes: u16, price: i64) -> Self {
        Self { date: start.date(), time: start.time().to_string(), minutes, price }
    }
}

impl LockView {
    pub fn new(lock: &RoomLock, now: Timestamp) -> Self {
        let (status, reservation_id) = match lock.status(now) {
            // A prepared confirmation is shown as locked: it is decided within a moment.
            Status::Held | Status::Prepared => (LockStatus::Locked, None),
            Status::Confirmed { record } => (LockStatus::Confirmed, Some(record)),
            Status::Cancelled => (LockStatus::Released, None),
            Status::Replaced => (LockStatus::Replaced, None),
            Status::Expired => (LockStatus::Expired, None),
        };
        Self {
            lock_id: lock.id.0,
            room_id: lock.room.get(),
            user_id: lock.owner.get(),
            slots: lock.slots.iter().map(|slot| LineView::new(slot.start, slot.minutes, slot.price)).collect(),
            total_price: lock.total,
            currency: lock.currency.as_str().to_owned(),
            status,
            created_at: lock.created_at,
            expires_at: lock.expires_at,
            reservation_id,
        }
    }

    /// State of the lock when it was placed.
    pub fn placed(lock: &RoomLock) -> Self {
        Self::new(lock, lock.created_at)
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomReservation)]
pub struct RoomReservationView {
    #[schema(value_type = RoomReservationId)]
    reservation_id: u64,
    #[schema(value_type = LockId)]
    lock_id: Uuid,
    #[schema(value_type = ids::RoomId)]
    room_id: u64,
    #[schema(value_type = UserId)]
    user_id: u64,
    slots: Vec<LineView>,
    total_price: i64,
    currency: String,
    status: RoomReservationStatus,
    #[serde(serialize_with = "crate::wire::time")]
    #[schema(value_type = String, format = DateTime)]
    confirmed_at: Timestamp,
    #[serde(serialize_with = "crate::wire::optional_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RoomReservationStatus {
    Reserved,
    Cancelled,
}

impl RoomReservationView {
    pub fn new(reservation: &RoomReservation) -> Self {
        let (status, cancelled_at) = match reservation.state {
            RoomReservationState::Confirmed => (RoomReservationStatus::Reserved, None),
            RoomReservationState::Cancelled { at } => (RoomReservationStatus::Cancelled, Some(at)),
        };
        let line = |slot: &holdfast_core::calendar::ReservedSlot| LineView::new(slot.start, slot.minutes, slot.price);
        Self {
            reservation_id: reservation.id.get(),
            lock_id: reservation.lock.0,
            room_id: reservation.room.get(),
            user_id: reservation.user.get(),
            slots: reservation.slots.iter().map(line).collect(),
            total_price: reservation.total,
            currency: reservation.currency.as_str().to_owned(),
            status,
            confirmed_at: reservation.confirmed_at,
            cancelled_at,
        }
    }
}

/// Result of blocking or unblocking slots.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedView {
    room_id: u64,
    slots: Vec<SlotRefBody>,
    status: &'static str,
}

impl BlockedView {
    pub fn new(room: RoomId, slots: &[SlotStart], status: BlockStatus) -> Self {
        Self {
            room_id: room.get(),
            slots: slots.iter().map(|start| SlotRefBody::new(*start)).collect(),
            status: match status {
                BlockStatus::Blocked => "BLOCKED",
                BlockStatus::Maintenance => "MAINTENANCE",
            },
        }
    }
}
