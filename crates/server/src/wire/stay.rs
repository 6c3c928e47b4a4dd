//! Stays in JSON.

use holdfast_core::Timestamp;
use holdfast_core::hold::Status;
use holdfast_core::stay::availability::{Availability, NightAvailability};
use holdfast_core::stay::{RoomType, StayDates, StayHold, StayReservation, StayReservationState};
use jiff::civil::Date;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;
use uuid::Uuid;

use super::present;
use crate::wire::ids::{HoldId, ReservationId, RoomTypeId, UserId};

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewRoomType)]
pub struct NewRoomTypeBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    #[schema(maximum = 1_000_000)]
    pub total_quantity: u32,
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub base_price: i64,
    #[schema(max_length = 10_000)]
    pub description: Option<String>,
    /// ISO 4217; `KRW` by default.
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    /// IANA name; `Asia/Seoul` by default.
    #[schema(min_length = 1)]
    pub time_zone: Option<String>,
}

/// Omitted fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomTypeChange)]
pub struct RoomTypeChangeBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: Option<String>,
    #[schema(maximum = 1_000_000)]
    pub total_quantity: Option<u32>,
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub base_price: Option<i64>,
    /// `null` removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 10_000)]
    pub description: Option<Option<String>>,
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    #[schema(min_length = 1)]
    pub time_zone: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoomType)]
pub struct RoomTypeView {
    #[schema(value_type = RoomTypeId)]
    id: u64,
    name: String,
    total_quantity: u32,
    base_price: i64,
    description: Option<String>,
    currency: String,
    time_zone: String,
}

impl RoomTypeView {
    pub fn new(room_type: &RoomType) -> Self {
        Self {
            id: room_type.id.get(),
            name: room_type.name.to_string(),
            total_quantity: room_type.total_quantity,
            base_price: room_type.base_price,
            description: room_type.description.as_deref().map(str::to_owned),
            currency: room_type.currency.as_str().to_owned(),
            time_zone: room_type.zone.name().to_owned(),
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NightRange)]
pub struct NightRangeBody {
    #[schema(format = Date)]
    pub from: String,
    /// Exclusive.
    #[schema(format = Date)]
    pub to: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NightsClosed)]
pub struct NightsClosedView {
    #[schema(value_type = RoomTypeId)]
    room_type_id: u64,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    from: Date,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    to: Date,
    closed: bool,
}

impl NightsClosedView {
    pub fn new(room_type_id: u64, dates: StayDates, closed: bool) -> Self {
        Self { room_type_id, from: dates.check_in, to: dates.check_out, closed }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Availability)]
pub struct AvailabilityView {
    #[schema(value_type = RoomTypeId)]
    room_type_id: u64,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    check_in: Date,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    check_out: Date,
    /// Minimum over the nights.
    available: u32,
    nights: Vec<NightView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Night)]
pub struct NightView {
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    date: Date,
    total_quantity: u32,
    reserved_count: u32,
    hold_count: u32,
    available: u32,
    closed: bool,
}

impl AvailabilityView {
    pub fn new(availability: &Availability) -> Self {
        Self {
            room_type_id: availability.room_type.get(),
            check_in: availability.dates.check_in,
            check_out: availability.dates.check_out,
            available: availability.available,
            nights: availability.nights.iter().map(NightView::new).collect(),
        }
    }
}

impl NightView {
    fn new(night: &NightAvailability) -> Self {
        Self {
            date: night.date,
            total_quantity: night.total_quantity,
            reserved_count: night.reserved,
            hold_count: night.held,
            available: night.available,
            closed: night.closed,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewHold)]
pub struct NewHoldBody {
    #[schema(value_type = RoomTypeId)]
    pub room_type_id: u64,
    #[schema(format = Date)]
    pub check_in: String,
    #[schema(format = Date)]
    pub check_out: String,
    /// Optional if a header or token names the caller.
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    /// UUID or ULID generated by the client.
    pub client_hold_key: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Hold)]
pub struct StayHoldView {
    #[schema(value_type = HoldId)]
    hold_id: Uuid,
    #[schema(value_type = RoomTypeId)]
    room_type_id: u64,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    check_in: Date,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    check_out: Date,
    #[schema(value_type = UserId)]
    user_id: u64,
    client_hold_key: String,
    status: HoldStatus,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    expired_at: Timestamp,
    price: i64,
    currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReservationId>)]
    reservation_id: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HoldStatus {
    Held,
    Confirmed,
    Cancelled,
    Replaced,
    Expired,
}

impl StayHoldView {
    pub fn new(hold: &StayHold, now: Timestamp) -> Self {
        let (status, reservation_id) = match hold.status(now) {
            // A prepared confirmation is shown as held: it is decided within a moment.
            Status::Held | Status::Prepared => (HoldStatus::Held, None),
            Status::Confirmed { record } => (HoldStatus::Confirmed, Some(record)),
            Status::Cancelled => (HoldStatus::Cancelled, None),
            Status::Replaced => (HoldStatus::Replaced, None),
            Status::Expired => (HoldStatus::Expired, None),
        };
        Self {
            hold_id: hold.id.0,
            room_type_id: hold.room_type.get(),
            check_in: hold.dates.check_in,
            check_out: hold.dates.check_out,
            user_id: hold.owner.get(),
            client_hold_key: hold.client_key.to_string(),
            status,
            created_at: hold.created_at,
            expired_at: hold.expires_at,
            price: hold.price,
            currency: hold.currency.as_str().to_owned(),
            reservation_id,
        }
    }

    /// State of the hold when it was placed.
    pub fn placed(hold: &StayHold) -> Self {
        Self::new(hold, hold.created_at)
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Reservation)]
pub struct StayReservationView {
    #[schema(value_type = ReservationId)]
    reservation_id: u64,
    #[schema(value_type = HoldId)]
    hold_id: Uuid,
    #[schema(value_type = RoomTypeId)]
    room_type_id: u64,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    check_in: Date,
    #[serde(serialize_with = "date")]
    #[schema(value_type = String, format = Date)]
    check_out: Date,
    #[schema(value_type = UserId)]
    user_id: u64,
    status: ReservationStatus,
    price: i64,
    currency: String,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    confirmed_at: Timestamp,
    #[serde(serialize_with = "super::optional_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReservationStatus {
    Confirmed,
    Cancelled,
}

impl StayReservationView {
    pub fn new(reservation: &StayReservation) -> Self {
        let (status, cancelled_at) = match reservation.state {
            StayReservationState::Confirmed => (ReservationStatus::Confirmed, None),
            StayReservationState::Cancelled { at } => (ReservationStatus::Cancelled, Some(at)),
        };
        Self {
            reservation_id: reservation.id.get(),
            hold_id: reservation.hold.0,
            room_type_id: reservation.room_type.get(),
            check_in: reservation.dates.check_in,
            check_out: reservation.dates.check_out,
            user_id: reservation.user.get(),
            status,
            price: reservation.price,
            currency: reservation.currency.as_str().to_owned(),
            confirmed_at: reservation.confirmed_at,
            cancelled_at,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn date<S: Serializer>(date: &Date, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(date)
}
