//! Bookings of other users, over the API.

use serde_json::{Value, json};

use super::Demo;

/// Calls the API as a user; the call must succeed.
pub(crate) async fn call(method: &str, url: &str, path: &str, user: u64, body: Value) -> Value {
    let request = reqwest::Client::new()
        .request(method.parse().unwrap(), format!("{url}{path}"))
        .header("X-User-Id", user.to_string())
        .header("Prefer", "wait=4");
    let request = if body.is_null() { request } else { request.json(&body) };
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let text = answer.text().await.unwrap();
    assert!(status.is_success(), "{method} {path}: {status} {text}");
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    if json["data"].is_null() { json } else { json["data"].clone() }
}

/// Returns the date so many days from today, in the demo's time zone.
#[expect(clippy::disallowed_methods, reason = "the demo's data begins today, by the machine's clock")]
pub(crate) fn tomorrow(days: i32) -> String {
    let seoul = jiff::tz::TimeZone::get("Asia/Seoul").unwrap();
    let today = jiff::Timestamp::now().to_zoned(seoul).date();
    today.saturating_add(jiff::Span::new().days(days)).to_string()
}

/// Creates bookings of every kind, so that pages have data.
pub(crate) async fn book_something(demo: &Demo) {
    let url = &demo.server.url;
    for (user, room_type, from, to, confirm) in
        [(11, 1, 1, 4, true), (12, 1, 2, 4, true), (13, 1, 3, 5, false), (14, 2, 1, 3, true), (15, 3, 2, 6, true)]
    {
        let key = format!("0f0e8f3c-35a4-4c39-8f0a-2f1f5a9d7e{user}");
        let stay = json!({ "roomTypeId": room_type, "checkIn": tomorrow(from), "checkOut": tomorrow(to), "clientHoldKey": key });
        let hold = call("POST", url, "/v1/holds", user, stay).await;
        if confirm {
            let hold = hold["holdId"].as_str().unwrap();
            call("POST", url, &format!("/v1/holds/{hold}/confirm"), user, json!({})).await;
        }
    }
    for (user, option, quantity) in [(1, 1, 2), (2, 2, 1)] {
        let line = json!({ "userId": user, "productOptionId": option, "quantity": quantity });
        call("PUT", url, "/api/cart/items", user, line).await;
        call("POST", url, "/api/order/reserve", user, json!({ "userId": user })).await;
    }
    call("POST", url, "/api/order", 1, json!({ "userId": 1 })).await;
    for (user, slot, players) in [(41, 1, 2), (42, 2, 4), (43, 2, 1)] {
        let booking = json!({ "idempotencyKey": "b", "gameTimeSlotId": slot, "playerCount": players });
        call("POST", url, "/bookings", user, booking).await;
    }
    for (user, count, confirm) in [(21, 3, true), (22, 2, true), (23, 4, false), (24, 2, true)] {
        call("POST", url, "/v1/events/1/queue", user, json!({})).await;
        call("POST", url, "/v1/events/1/queue/enter", user, json!({})).await;
        let hold = call("POST", url, "/v1/events/1/seats/best", user, json!({ "count": count })).await;
        if confirm {
            let hold = hold["holdId"].as_str().unwrap();
            call("POST", url, &format!("/v1/seat-holds/{hold}/confirm"), user, json!({})).await;
        }
    }
    for (user, day, time, confirm) in [(31, 1, "10:00", true), (32, 2, "14:00", true), (33, 2, "15:00", false)] {
        let lock = json!({ "date": tomorrow(day), "times": [time] });
        let lock = call("POST", url, "/v1/rooms/1/locks", user, lock).await;
        if confirm {
            let lock = lock["lockId"].as_str().unwrap();
            call("POST", url, &format!("/v1/locks/{lock}/confirm"), user, json!({})).await;
        }
    }
}
