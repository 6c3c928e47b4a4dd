//! Tickets in JSON.

use holdfast_core::Timestamp;
use holdfast_core::hold::Status;
use holdfast_core::ticket::event::EventView as Sold;
use holdfast_core::ticket::seat::{SeatMap, SeatStatus};
use holdfast_core::ticket::{ReservedSeat, SeatHold, SeatReservation, SeatReservationState, TicketEvent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::present;
use crate::wire::ids::{EventId, HoldId, SeatId, SeatReservationId, UserId};

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewEvent)]
pub struct NewEventBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    #[schema(format = DateTime)]
    pub starts_at: Option<String>,
    /// Before, no seat is sold and no user is admitted; on sale at once by default.
    #[schema(format = DateTime)]
    pub sales_open_at: Option<String>,
    /// ISO 4217; `KRW` by default.
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    /// Maximum number of users inside at once; 800 by default.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub max_concurrent: Option<u32>,
    /// Whether users enter through the waiting room; `true` by default.
    pub queue_enabled: Option<bool>,
    /// Maximum number of seats a user may hold and have reserved; 10 by default.
    #[schema(minimum = 1, maximum = 100_000)]
    pub max_seats_per_user: Option<u32>,
    #[schema(min_items = 1, max_items = 100_000)]
    pub seats: Vec<NewSeatBody>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewSeat)]
pub struct NewSeatBody {
    /// Seats whose labels differ by one in the last number only are adjacent.
    #[schema(min_length = 1, max_length = 100)]
    pub label: String,
    #[schema(min_length = 1, max_length = 100)]
    pub section: Option<String>,
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub price: i64,
}

/// Omitted fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EventChange)]
pub struct EventChangeBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: Option<String>,
    /// `null` removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub starts_at: Option<Option<String>>,
    /// `null` removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub sales_open_at: Option<Option<String>>,
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub max_concurrent: Option<u32>,
    pub queue_enabled: Option<bool>,
    #[schema(minimum = 1, maximum = 100_000)]
    pub max_seats_per_user: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Event)]
pub struct EventView {
    #[schema(value_type = EventId)]
    id: u64,
    name: String,
    #[serde(serialize_with = "super::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    starts_at: Option<Timestamp>,
    #[serde(serialize_with = "super::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    sales_open_at: Option<Timestamp>,
    currency: String,
    max_concurrent: u32,
    queue_enabled: bool,
    max_seats_per_user: u32,
    seat_count: u32,
    /// Neither held nor reserved.
    remaining_seats: u32,
    paused: bool,
}

impl EventView {
    pub fn new(Sold { event, remaining, .. }: &Sold) -> Self {
        Self {
            id: event.id.get(),
            name: event.name.to_string(),
            starts_at: event.starts_at,
            sales_open_at: event.sales_open_at,
            currency: event.currency.as_str().to_owned(),
            max_concurrent: event.max_concurrent,
            queue_enabled: event.queue_enabled,
            max_seats_per_user: event.max_seats_per_user,
            seat_count: event.seat_count,
            remaining_seats: *remaining,
            paused: event.paused,
        }
    }

    /// State of the event when it was created.
    pub fn created(event: &TicketEvent) -> Self {
        Self::new(&Sold { event: event.clone(), remaining: event.seat_count, remaining_until: None })
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Seat)]
pub struct SeatView<'a> {
    #[schema(value_type = SeatId)]
    id: u64,
    label: &'a str,
    section: Option<&'a str>,
    price: i64,
    status: SeatStatusView,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = SeatStatus)]
pub enum SeatStatusView {
    Available,
    Held,
    Reserved,
}

impl<'a> SeatView<'a> {
    pub fn all(map: &'a SeatMap) -> Vec<Self> {
        let seats = map.seats().map(|(id, seat, status)| Self {
            id: id.get(),
            label: &seat.label,
            section: seat.section.as_deref(),
            price: seat.price,
            status: match status {
                SeatStatus::Available => SeatStatusView::Available,
                SeatStatus::Held => SeatStatusView::Held,
                SeatStatus::Reserved => SeatStatusView::Reserved,
            },
        });
        seats.collect()
    }
}

/// Requested seats.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChosenSeats)]
pub struct SeatsBody {
    /// Optional if a header or token names the caller.
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    #[schema(value_type = Vec<SeatId>, min_items = 1, max_items = 1_000)]
    pub seat_ids: Vec<u64>,
    /// Token from `enter`. Optional, since an entry belongs to its user. If present, it must prove that entry.
    pub token: Option<String>,
}

/// Requested number of seats, at any position.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BestSeats)]
pub struct BestSeatsBody {
    /// Optional if a header or token names the caller.
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    #[schema(minimum = 1, maximum = 1_000)]
    pub count: u32,
    /// Any section by default.
    pub section: Option<String>,
    /// Token from `enter`. Optional, since an entry belongs to its user. If present, it must prove that entry.
    pub token: Option<String>,
}

/// Seat in a hold or reservation, at its fixed price.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TakenSeat)]
pub struct TakenSeatView {
    #[schema(value_type = SeatId)]
    id: u64,
    label: String,
    section: Option<String>,
    price: i64,
}

fn taken(seats: &[ReservedSeat]) -> Vec<TakenSeatView> {
    let view = |seat: &ReservedSeat| TakenSeatView {
        id: seat.seat.get(),
        label: seat.label.to_string(),
        section: seat.section.as_deref().map(str::to_owned),
        price: seat.price,
    };
    seats.iter().map(view).collect()
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SeatHold)]
pub struct SeatHoldView {
    #[schema(value_type = HoldId)]
    hold_id: Uuid,
    #[schema(value_type = EventId)]
    event_id: u64,
    #[schema(value_type = UserId)]
    user_id: u64,
    seats: Vec<TakenSeatView>,
    status: super::stay::HoldStatus,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    total_price: i64,
    currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SeatReservationId>)]
    reservation_id: Option<u64>,
}

impl SeatHoldView {
    pub fn new(hold: &SeatHold, now: Timestamp) -> Self {
        use super::stay::HoldStatus;
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
            event_id: hold.event.get(),
            user_id: hold.owner.get(),
            seats: taken(&hold.seats),
            status,
            created_at: hold.created_at,
            expires_at: hold.expires_at,
            total_price: hold.total,
            currency: hold.currency.as_str().to_owned(),
            reservation_id,
        }
    }

    /// State of the hold when it was placed.
    pub fn placed(hold: &SeatHold) -> Self {
        Self::new(hold, hold.created_at)
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SeatReservation)]
pub struct SeatReservationView {
    #[schema(value_type = SeatReservationId)]
    reservation_id: u64,
    #[schema(value_type = HoldId)]
    hold_id: Uuid,
    #[schema(value_type = EventId)]
    event_id: u64,
    #[schema(value_type = UserId)]
    user_id: u64,
    seats: Vec<TakenSeatView>,
    total_price: i64,
    currency: String,
    status: SeatReservationStatus,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    reserved_at: Timestamp,
    #[serde(serialize_with = "super::optional_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SeatReservationStatus {
    Reserved,
    Cancelled,
}

impl SeatReservationView {
    pub fn new(reservation: &SeatReservation) -> Self {
        let (status, cancelled_at) = match reservation.state {
            SeatReservationState::Reserved => (SeatReservationStatus::Reserved, None),
            SeatReservationState::Cancelled { at } => (SeatReservationStatus::Cancelled, Some(at)),
        };
        Self {
            reservation_id: reservation.id.get(),
            hold_id: reservation.hold.0,
            event_id: reservation.event.get(),
            user_id: reservation.user.get(),
            seats: taken(&reservation.seats),
            total_price: reservation.total,
            currency: reservation.currency.as_str().to_owned(),
            status,
            reserved_at: reservation.reserved_at,
            cancelled_at,
        }
    }
}
