//! Tickets: events, seats, holds, reservations.

use holdfast_api::ticket::SeatView;
pub use holdfast_api::ticket::{
    EventView as Event, NewSeatBody as NewSeat, SeatHoldView as SeatHold, SeatReservationStatus,
    SeatReservationView as SeatReservation, SeatStatusView as SeatStatus, TakenSeatView as TakenSeat,
};

use jiff::Timestamp;
use reqwest::Method;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::{Client, Error, List, read};

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewEvent {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sales_open_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seats_per_user: Option<u32>,
    pub seats: Vec<NewSeat>,
}

impl NewEvent {
    /// Creates seats `A1`, `A2`… in one row, at one price.
    pub fn with_row(name: impl Into<String>, seats: u32, price: i64) -> Self {
        let seat = |number| NewSeat { label: format!("A{number}"), section: None, price };
        Self { name: name.into(), seats: (1..=seats).map(seat).collect(), ..Self::default() }
    }

    /// Lets every user hold and reserve without a waiting room.
    #[must_use]
    pub fn without_queue(self) -> Self {
        Self { queue_enabled: Some(false), ..self }
    }
}

/// Fields that are `None` stay as they are.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `Some(None)` removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Option<Timestamp>>,
    /// `Some(None)` removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sales_open_at: Option<Option<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seats_per_user: Option<u32>,
}

/// Seat on the map of an event.
pub type Seat = SeatView<'static>;

impl Client {
    pub async fn create_event(&self, event: &NewEvent) -> Result<Event, Error> {
        self.post("/v1/events", event).await
    }

    pub async fn change_event(&self, id: u64, change: &EventChange) -> Result<Event, Error> {
        read(self.call(Method::PATCH, &format!("/v1/events/{id}")).json(change)).await
    }

    pub async fn event(&self, id: u64) -> Result<Event, Error> {
        self.get(&format!("/v1/events/{id}"), &[]).await
    }

    pub async fn events(&self, query: &[(&str, String)]) -> Result<List<Event>, Error> {
        self.get("/v1/events", query).await
    }

    pub async fn seats(&self, event: u64) -> Result<Vec<Seat>, Error> {
        self.get(&format!("/v1/events/{event}/seats"), &[]).await
    }

    pub async fn hold_seats(&self, event: u64, seats: &[u64]) -> Result<SeatHold, Error> {
        self.post(&format!("/v1/events/{event}/seats/hold"), &json!({"seatIds": seats})).await
    }

    /// Holds the best available seats.
    pub async fn hold_best(&self, event: u64, count: u32, section: Option<&str>) -> Result<SeatHold, Error> {
        self.post(&format!("/v1/events/{event}/seats/best"), &json!({"count": count, "section": section})).await
    }

    pub async fn reserve_seats(&self, event: u64, seats: &[u64]) -> Result<SeatReservation, Error> {
        self.post(&format!("/v1/events/{event}/seats/reserve"), &json!({"seatIds": seats})).await
    }

    pub async fn seat_hold(&self, hold: Uuid) -> Result<SeatHold, Error> {
        self.get(&format!("/v1/seat-holds/{hold}"), &[]).await
    }

    pub async fn confirm_seat_hold(&self, hold: Uuid) -> Result<SeatReservation, Error> {
        read(self.call(Method::POST, &format!("/v1/seat-holds/{hold}/confirm"))).await
    }

    pub async fn cancel_seat_hold(&self, hold: Uuid) -> Result<(), Error> {
        read(self.call(Method::DELETE, &format!("/v1/seat-holds/{hold}"))).await
    }

    pub async fn seat_reservation(&self, id: u64) -> Result<SeatReservation, Error> {
        self.get(&format!("/v1/seat-reservations/{id}"), &[]).await
    }

    pub async fn seat_reservations(&self, query: &[(&str, String)]) -> Result<List<SeatReservation>, Error> {
        self.get("/v1/seat-reservations", query).await
    }

    pub async fn cancel_seat_reservation(&self, id: u64) -> Result<SeatReservation, Error> {
        read(self.call(Method::POST, &format!("/v1/seat-reservations/{id}/cancel"))).await
    }
}
