//! Rooms by the hour: rooms, slots, locks, reservations.

pub use holdfast_api::calendar::lock::{
    LineView as LockedSlot, LockStatus, LockView as Lock, RoomReservationStatus, RoomReservationView as RoomReservation,
};
use holdfast_api::calendar::room::HoursView;
pub use holdfast_api::calendar::room::{GeneratedView as Generated, NewRoomBody as NewRoom, RoomView as Room};
pub use holdfast_api::calendar::slot::{
    AvailabilityView as SlotAvailability, ResultView as SlotAvailabilityResult, SlotView as Slot,
    StatusView as SlotStatus,
};

use jiff::civil::Date;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Client, Error, List, read};

impl Client {
    pub async fn create_room(&self, room: &NewRoom) -> Result<Room, Error> {
        self.post("/v1/rooms", room).await
    }

    pub async fn room(&self, id: u64) -> Result<Room, Error> {
        self.get(&format!("/v1/rooms/{id}"), &[]).await
    }

    /// Replaces the operating hours, given as in the API's JSON. Returns the reservations that are outside of them now.
    pub async fn set_operating_hours(&self, id: u64, hours: &Value) -> Result<Vec<u64>, Error> {
        let path = format!("/v1/rooms/{id}/operating-hours");
        let answer: HoursView = read(self.call(Method::PUT, &path).json(hours)).await?;
        Ok(answer.affected_reservations.unwrap_or_default())
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
