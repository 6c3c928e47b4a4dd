//! Stays: room types, holds, reservations.

pub use holdfast_api::stay::{
    AvailabilityView as Availability, HoldStatus, NewRoomTypeBody as NewRoomType, NightView as Night,
    ReservationStatus, RoomTypeChangeBody as RoomTypeChange, RoomTypeView as RoomType, StayHoldView as Hold,
    StayReservationView as Reservation,
};

use jiff::civil::Date;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Client, Error, List, Problem, UserId, read};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewHold {
    pub room_type_id: u64,
    pub check_in: Date,
    pub check_out: Date,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    pub client_hold_key: String,
}

impl NewHold {
    pub fn new(room_type_id: u64, check_in: Date, check_out: Date, client_hold_key: Uuid) -> Self {
        Self { room_type_id, check_in, check_out, user_id: None, client_hold_key: client_hold_key.to_string() }
    }
}

/// Result of one line of a batch.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum BatchLine {
    Hold(Box<Hold>),
    Problem(Box<Problem>),
}

impl Client {
    pub async fn create_room_type(&self, room_type: &NewRoomType) -> Result<RoomType, Error> {
        self.post("/v1/room-types", room_type).await
    }

    pub async fn change_room_type(&self, id: u64, change: &RoomTypeChange) -> Result<RoomType, Error> {
        read(self.call(Method::PATCH, &format!("/v1/room-types/{id}")).json(change)).await
    }

    pub async fn room_type(&self, id: u64) -> Result<RoomType, Error> {
        self.get(&format!("/v1/room-types/{id}"), &[]).await
    }

    pub async fn room_types(&self, cursor: Option<String>) -> Result<List<RoomType>, Error> {
        self.get("/v1/room-types", &cursor.map(|cursor| ("cursor", cursor)).into_iter().collect::<Vec<_>>()).await
    }

    /// Stops selling the nights `[from, to)`.
    pub async fn close_nights(&self, id: u64, from: Date, to: Date) -> Result<(), Error> {
        self.post::<Value>(&format!("/v1/room-types/{id}/close-nights"), &serde_json::json!({"from": from, "to": to}))
            .await
            .map(|_| ())
    }

    /// Sells the nights `[from, to)` again.
    pub async fn open_nights(&self, id: u64, from: Date, to: Date) -> Result<(), Error> {
        self.post::<Value>(&format!("/v1/room-types/{id}/open-nights"), &serde_json::json!({"from": from, "to": to}))
            .await
            .map(|_| ())
    }

    pub async fn availability(&self, id: u64, check_in: Date, check_out: Date) -> Result<Availability, Error> {
        let query = [("checkIn", check_in.to_string()), ("checkOut", check_out.to_string())];
        self.get(&format!("/v1/room-types/{id}/availability"), &query).await
    }

    pub async fn place_hold(&self, hold: &NewHold) -> Result<Hold, Error> {
        self.post("/v1/holds", hold).await
    }

    /// Places several holds. Each line succeeds or fails on its own; results are in the order of the lines.
    pub async fn place_holds(&self, holds: &[NewHold]) -> Result<Vec<BatchLine>, Error> {
        #[derive(Deserialize)]
        struct Results {
            results: Vec<BatchLine>,
        }
        let answer: Results = self.post("/v1/holds:batch", &serde_json::json!({ "holds": holds })).await?;
        Ok(answer.results)
    }

    pub async fn hold(&self, id: Uuid) -> Result<Hold, Error> {
        self.get(&format!("/v1/holds/{id}"), &[]).await
    }

    pub async fn confirm_hold(&self, id: Uuid) -> Result<Reservation, Error> {
        read(self.call(Method::POST, &format!("/v1/holds/{id}/confirm"))).await
    }

    pub async fn cancel_hold(&self, id: Uuid) -> Result<(), Error> {
        read(self.call(Method::DELETE, &format!("/v1/holds/{id}"))).await
    }

    pub async fn reservation(&self, id: u64) -> Result<Reservation, Error> {
        self.get(&format!("/v1/reservations/{id}"), &[]).await
    }

    /// `query` accepts `userId`, `roomTypeId`, `status`, `limit` and `cursor`.
    pub async fn reservations(&self, query: &[(&str, String)]) -> Result<List<Reservation>, Error> {
        self.get("/v1/reservations", query).await
    }

    pub async fn cancel_reservation(&self, id: u64) -> Result<Reservation, Error> {
        read(self.call(Method::POST, &format!("/v1/reservations/{id}/cancel"))).await
    }
}
