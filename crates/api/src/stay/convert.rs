//! Conversions from and to the types of the rules.

use holdfast_core::Timestamp;
use holdfast_core::hold::{Hold, Status};
use holdfast_core::stay::availability::{Availability, NightAvailability};
use holdfast_core::stay::{RoomType, StayDates, StayItem, StayReservation, StayReservationState};

use super::{
    AvailabilityView, HoldStatus, NightView, NightsClosedView, ReservationStatus, RoomTypeView, StayHoldView,
    StayReservationView,
};

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

impl NightsClosedView {
    pub fn new(room_type_id: u64, dates: StayDates, closed: bool) -> Self {
        Self { room_type_id, from: dates.check_in, to: dates.check_out, closed }
    }
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

impl HoldStatus {
    /// Returns the status of a hold at a time.
    pub fn of(hold: &Hold, now: Timestamp) -> Self {
        match hold.status(now) {
            // A prepared confirmation is shown as held: it is decided within a moment.
            Status::Held | Status::Prepared => Self::Held,
            Status::Confirmed => Self::Confirmed,
            Status::Cancelled => Self::Cancelled,
            Status::Replaced => Self::Replaced,
            Status::Expired => Self::Expired,
        }
    }
}

impl StayHoldView {
    pub fn new(hold: &Hold, now: Timestamp) -> Self {
        let item = hold.item::<StayItem>();
        Self {
            hold_id: hold.id.0,
            room_type_id: item.room_type.get(),
            check_in: item.dates.check_in,
            check_out: item.dates.check_out,
            user_id: (&hold.owner).into(),
            client_hold_key: item.client_key.map(|key| key.to_string()).unwrap_or_default(),
            quantity: item.quantity,
            status: HoldStatus::of(hold, now),
            created_at: hold.created_at.to_jiff(),
            expired_at: hold.ends_at().to_jiff(),
            price: hold.total(),
            currency: hold.currency.as_str().to_owned(),
            reservation_id: hold.record(),
        }
    }

    /// State of the hold when it was placed.
    pub fn placed(hold: &Hold) -> Self {
        Self::new(hold, hold.created_at)
    }
}

impl StayReservationView {
    pub fn new(reservation: &StayReservation) -> Self {
        let (status, cancelled_at) = match reservation.state {
            StayReservationState::Confirmed => (ReservationStatus::Confirmed, None),
            StayReservationState::Cancelled { at } => (ReservationStatus::Cancelled, Some(at.to_jiff())),
        };
        Self {
            reservation_id: reservation.id.get(),
            hold_id: reservation.hold.0,
            room_type_id: reservation.room_type.get(),
            check_in: reservation.dates.check_in,
            check_out: reservation.dates.check_out,
            user_id: (&reservation.user).into(),
            quantity: reservation.quantity,
            status,
            price: reservation.price,
            currency: reservation.currency.as_str().to_owned(),
            confirmed_at: reservation.confirmed_at.to_jiff(),
            cancelled_at,
        }
    }
}
