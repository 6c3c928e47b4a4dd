//! Conversions from and to the types of the rules.

use std::borrow::Cow;

use holdfast_core::Timestamp;
use holdfast_core::hold::Hold;
use holdfast_core::ticket::event::EventView as Sold;
use holdfast_core::ticket::seat::{SeatMap, SeatStatus};
use holdfast_core::ticket::{ReservedSeat, SeatReservation, SeatReservationState, SeatsItem, TicketEvent};

use super::{
    EventView, SeatHoldView, SeatReservationStatus, SeatReservationView, SeatStatusView, SeatView, TakenSeatView,
};
use crate::stay::HoldStatus;

impl EventView {
    pub fn new(Sold { event, remaining, .. }: &Sold) -> Self {
        Self {
            id: event.id.get(),
            name: event.name.to_string(),
            starts_at: event.starts_at.map(Timestamp::to_jiff),
            sales_open_at: event.sales_open_at.map(Timestamp::to_jiff),
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

impl<'a> SeatView<'a> {
    pub fn all(map: &'a SeatMap) -> Vec<Self> {
        let seats = map.seats().map(|(id, seat, status)| Self {
            id: id.get(),
            label: Cow::Borrowed(&seat.label),
            section: seat.section.as_deref().map(Cow::Borrowed),
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

impl TakenSeatView {
    pub(crate) fn new(seat: &ReservedSeat) -> Self {
        Self {
            id: seat.seat.get(),
            label: seat.label.to_string(),
            section: seat.section.as_deref().map(str::to_owned),
            price: seat.price,
        }
    }
}

fn taken(seats: &[ReservedSeat]) -> Vec<TakenSeatView> {
    seats.iter().map(TakenSeatView::new).collect()
}

impl SeatHoldView {
    pub fn new(hold: &Hold, now: Timestamp) -> Self {
        let item = hold.item::<SeatsItem>();
        Self {
            hold_id: hold.id.0,
            event_id: item.event.get(),
            user_id: (&hold.owner).into(),
            seats: taken(&item.seats),
            status: HoldStatus::of(hold, now),
            created_at: hold.created_at.to_jiff(),
            expires_at: hold.ends_at().to_jiff(),
            total_price: hold.total(),
            currency: hold.currency.as_str().to_owned(),
            reservation_id: hold.record(),
        }
    }

    /// State of the hold when it was placed.
    pub fn placed(hold: &Hold) -> Self {
        Self::new(hold, hold.created_at)
    }
}

impl SeatReservationView {
    pub fn new(reservation: &SeatReservation) -> Self {
        let (status, cancelled_at) = match reservation.state {
            SeatReservationState::Reserved => (SeatReservationStatus::Reserved, None),
            SeatReservationState::Cancelled { at } => (SeatReservationStatus::Cancelled, Some(at.to_jiff())),
        };
        Self {
            reservation_id: reservation.id.get(),
            hold_id: reservation.hold.0,
            event_id: reservation.event.get(),
            user_id: (&reservation.user).into(),
            seats: taken(&reservation.seats),
            total_price: reservation.total,
            currency: reservation.currency.as_str().to_owned(),
            status,
            reserved_at: reservation.reserved_at.to_jiff(),
            cancelled_at,
        }
    }
}
