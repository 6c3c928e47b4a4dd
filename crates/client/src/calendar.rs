//! Rooms by the hour: rooms, slots, locks, reservations.

use jiff::Timestamp;
use jiff::civil::Date;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Client, Error, List, read};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewRoom {
    pub name: String,
    pub slot_minutes: u32,
    pub base_price: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

impl NewRoom {
    pub fn new(name: impl Into<String>, slot_minutes: u32, base_price: i64) -> Self {
        Self { name: name.into(), slot_minutes, base_price, time_zone: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    pub id: u64,
    pub name: String,
    pub time_zone: String,
    pub country: String,
    pub currency: String,
    pub slot_minutes: u32,
    pub base_price: i64,
    pub holiday_percent: u32,
    pub active: bool,
    pub generated_until: Option<Date>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generated {
    pub slots_created: u64,
    pub generated_until: Option<Date>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    pub date: Date,
    pub time: String,
    pub minutes: u32,
    pub status: SlotStatus,
    pub base_price: i64,
    pub final_price: i64,
    pub currency: String,
    pub is_peak_time: bool,
    pub is_holiday: bool,
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SlotStatus {
    Available,
    Locked,
    Reserved,
    Blocked,
    Maintenance,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotAvailability {
    pub result: SlotAvailabilityResult,
    pub total_price: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SlotAvailabilityResult {
    Available,
    PartiallyAvailable,
    Unavailable,
    TemporarilyUnavailable,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lock {
    pub lock_id: Uuid,
    pub room_id: u64,
    pub user_id: u64,
    pub slots: Vec<LockedSlot>,
    pub total_price: i64,
    pub status: String,
    pub expires_at: Timestamp,
    pub reservation_id: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LockedSlot {
    pub date: Date,
    pub time: String,
    pub minutes: u32,
    pub price: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomReservation {
    pub reservation_id: u64,
    pub lock_id: Uuid,
    pub room_id: u64,
    pub user_id: u64,
    pub slots: Vec<LockedSlot>,
    pub total_price: i64,
    pub status: String,
    pub confirmed_at: Timestamp,
    pub cancelled_at: Option<Timestamp>,
}

impl Client {
    pub async fn create_room(&self, room: &NewRoom) -> Result<Room, Error> {
        self.post("/v1/rooms", room).await
    }

    pub async fn room(&self, id: u64) -> Result<Room, Error> {
        self.get(&format!("/v1/rooms/{id}"), &[]).await
    }

    /// Replaces the operating hours, given as in the API's JSON. Returns the reservations that are outside of them now.
    pub async fn set_operating_hours(&self, id: u64, hours: &Value) -> Result<Vec<u64>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            affected_reservations: Vec<u64>,
        }
        let path = format!("/v1/rooms/{id}/operating-hours");
        let answer: Answer = read(self.call(Method::PUT, &path).json(hours)).await?;
        Ok(answer.affected_reservations)
    }

    /// Generates the slots of one room, or of all.
    pub async fn generate_slots(&self, room: Option<u64>, until: Option<Date>) -> Result<Generated, Error> {
        let mut body = json!({});
        if let Some(room) = room {
            body["roomId"] = json!(room);
        }
        if let Some(until) = until {
            body["until"] = json!(until);
        }
        self.post("/v1/calendar/generate", &body).await
    }

    pub async fn slots(&self, room: u64, from: Date, to: Date) -> Result<Vec<Slot>, Error> {
        let query = [("from", from.to_string()), ("to", to.to_string())];
        self.get(&format!("/v1/rooms/{room}/slots"), &query).await
    }

    pub async fn slot_availability(&self, room: u64, date: Date, times: &[&str]) -> Result<SlotAvailability, Error> {
        let body = json!({"date": date, "times": times});
        self.post(&format!("/v1/rooms/{room}/availability"), &body).await
    }

    pub async fn lock_slots(&self, room: u64, date: Date, times: &[&str]) -> Result<Lock, Error> {
        self.post(&format!("/v1/rooms/{room}/locks"), &json!({"date": date, "times": times})).await
    }

    pub async fn lock(&self, id: Uuid) -> Result<Lock, Error> {
        self.get(&format!("/v1/locks/{id}"), &[]).await
    }

    pub async fn confirm_lock(&self, id: Uuid) -> Result<RoomReservation, Error> {
        read(self.call(Method::POST, &format!("/v1/locks/{id}/confirm"))).await
    }

    pub async fn release_lock(&self, id: Uuid) -> Result<(), Error> {
        read(self.call(Method::DELETE, &format!("/v1/locks/{id}"))).await
    }

    pub async fn room_reservation(&self, id: u64) -> Result<RoomReservation, Error> {
        self.get(&format!("/v1/room-reservations/{id}"), &[]).await
    }

    /// `query` accepts `userId`, `roomId`, `limit` and `cursor`.
    pub async fn room_reservations(&self, query: &[(&str, String)]) -> Result<List<RoomReservation>, Error> {
        self.get("/v1/room-reservations", query).await
    }

    pub async fn cancel_room_reservation(&self, id: u64) -> Result<RoomReservation, Error> {
        read(self.call(Method::POST, &format!("/v1/room-reservations/{id}/cancel"))).await
    }
}
