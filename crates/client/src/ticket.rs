//! Tickets: events, seats, holds, reservations.

use jiff::Timestamp;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::stay::HoldStatus;
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

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSeat {
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    pub price: i64,
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

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub id: u64,
    pub name: String,
    pub starts_at: Option<Timestamp>,
    pub sales_open_at: Option<Timestamp>,
    pub currency: String,
    pub max_concurrent: u32,
    pub queue_enabled: bool,
    pub max_seats_per_user: u32,
    pub seat_count: u32,
    pub remaining_seats: u32,
    pub paused: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seat {
    pub id: u64,
    pub label: String,
    pub section: Option<String>,
    pub price: i64,
    pub status: SeatStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SeatStatus {
    Available,
    Held,
    Reserved,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakenSeat {
    pub id: u64,
    pub label: String,
    pub section: Option<String>,
    pub price: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatHold {
    pub hold_id: Uuid,
    pub event_id: u64,
    pub user_id: u64,
    pub seats: Vec<TakenSeat>,
    pub status: HoldStatus,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub total_price: i64,
    pub currency: String,
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatReservation {
    pub reservation_id: u64,
    pub hold_id: Uuid,
    pub event_id: u64,
    pub user_id: u64,
    pub seats: Vec<TakenSeat>,
    pub total_price: i64,
    pub currency: String,
    pub status: SeatReservationStatus,
    pub reserved_at: Timestamp,
    pub cancelled_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SeatReservationStatus {
    Reserved,
    Cancelled,
}

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
