//! Rooms for tests of the calendar.

use holdfast_client::{Lock, Slot, SlotStatus};
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::support::{RawResponse, TestApp};

/// Every day from nine to noon: three slots.
pub(crate) fn mornings() -> Value {
    every_day("09:00", "12:00")
}

pub(crate) fn every_day(from: &str, to: &str) -> Value {
    let hours = json!([{"from": from, "to": to}]);
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let weekly: serde_json::Map<_, _> = days.into_iter().map(|day| (day.to_owned(), hours.clone())).collect();
    json!({ "weekly": weekly })
}

impl TestApp {
    pub(crate) async fn json(&self, method: &str, path: &str, body: &Value) -> RawResponse {
        self.send(method, path, &[], &body.to_string()).await
    }

    /// Creates a room with hourly slots at 10,000 from nine to noon, today and all days ahead.
    pub(crate) async fn room(&self) -> u64 {
        self.room_with(&json!({}), &mornings()).await
    }

    /// Creates a room with slots by these hours; `more` overrides its default fields.
    pub(crate) async fn room_with(&self, more: &Value, hours: &Value) -> u64 {
        let mut room = json!({"name": "회의실", "slotMinutes": 60, "basePrice": 10_000});
        for (name, value) in more.as_object().unwrap() {
            room[name] = value.clone();
        }
        let made = self.json("POST", "/v1/rooms", &room).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let id = made.json["id"].as_u64().unwrap();
        self.admin().set_operating_hours(id, hours).await.unwrap();
        self.admin().generate_slots(Some(id), None).await.unwrap();
        id
    }

    pub(crate) async fn slots_on(&self, room: u64, date: Date) -> Vec<Slot> {
        self.admin().slots(room, date, date).await.unwrap()
    }

    /// Returns the start times of a day's slots.
    pub(crate) async fn times_on(&self, room: u64, date: Date) -> Vec<String> {
        self.slots_on(room, date).await.into_iter().map(|slot| slot.time).collect()
    }

    pub(crate) async fn statuses_on(&self, room: u64, date: Date) -> Vec<SlotStatus> {
        self.slots_on(room, date).await.into_iter().map(|slot| slot.status).collect()
    }

    pub(crate) async fn locked(&self, user: u64, room: u64, date: Date, times: &[&str]) -> Lock {
        self.guest(user).lock_slots(room, date, times).await.unwrap()
    }

    pub(crate) async fn reserved(&self, user: u64, room: u64, date: Date, times: &[&str]) -> u64 {
        let lock = self.locked(user, room, date, times).await;
        self.guest(user).confirm_lock(lock.lock_id).await.unwrap().reservation_id
    }
}
