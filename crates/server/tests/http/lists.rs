//! Order and paging of every list in the API document.

use serde_json::{Value, json};

use crate::calendar_support::mornings;
use crate::shop_support::{buyer, option};
use holdfast_testkit::{Profile, profiles};

use crate::support::{TestApp, day, placed, with_app};
use crate::tee_times::{booked, send, slot};

/// Lists that [`fill`] gives at least three entries, with filters.
const FILLED: [&str; 14] = [
    "/v1/room-types",
    "/v1/reservations",
    "/v1/reservations?userId=7",
    "/v1/reservations?userId=7&roomTypeId=1&status=CONFIRMED",
    "/v1/reservations?roomTypeId=1",
    "/api/products",
    "/api/orders?userId=1",
    "/v1/rooms",
    "/v1/rooms/1/generations",
    "/v1/events",
    "/v1/courses",
    "/bookings?userId=7",
    "/v1/notifications",
    "/v1/admin/outbox?status=SENT",
];

/// Paths of all lists, with `1` as the id of what they belong to.
async fn lists(app: &TestApp) -> Vec<String> {
    let openapi = app.send("GET", "/openapi.json", &[], "").await.json;
    let has_cursor = |operation: &Value| {
        let mut parameters = operation["get"]["parameters"].as_array().into_iter().flatten();
        parameters.any(|parameter| parameter["name"] == "cursor")
    };
    let paths = openapi["paths"].as_object().unwrap().iter().filter(|(_, operations)| has_cursor(operations));
    paths.map(|(path, _)| path.replace("{id}", "1")).collect()
}

async fn fill(app: &TestApp) {
    let buyer = buyer(app, 1_000_000).await;
    for number in 0..3 {
        let room_type = app.room_type(9).await;
        let hold = placed(app, 7, &room_type, day(1), day(2)).await;
        app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
        buyer.buy(option(app, 1_000, 9).await, 1).await;
        app.json("POST", "/v1/rooms", &json!({"name": "A", "slotMinutes": 60, "basePrice": 1})).await;
        app.admin().set_operating_hours(1, &mornings()).await.unwrap();
        app.admin().generate_slots(Some(1), Some(day(70 + number))).await.unwrap();
        send(app, "POST", "/v1/events", &json!({"name": "A", "seats": [{"label": "A1", "price": 1}]})).await;
        let slot = slot(app, 10, 4).await;
        booked(app, 7, slot, 1, &slot.to_string()).await;
        send(app, "POST", "/v1/webhooks", &json!({"url": "http://127.0.0.1:9/", "types": []})).await;
    }
    for user in [7, 8] {
        let room_type = app.admin().room_type(1).await.unwrap();
        let hold = placed(app, user, &room_type, day(3), day(4)).await;
        app.guest(user).confirm_hold(hold.hold_id).await.unwrap();
    }
    let room_type = app.admin().room_type(1).await.unwrap();
    let hold = placed(app, 7, &room_type, day(5), day(6)).await;
    app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
}

/// Returns the entries of a list, page by page, without what may change meanwhile.
async fn entries(app: &TestApp, list: &str, order: &str, limit: usize) -> Vec<Value> {
    let (mut entries, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = page(app, list, &format!("order={order}&limit={limit}&cursor={cursor}")).await;
        for mut entry in page["items"].as_array().unwrap().clone() {
            for changing in ["status", "retryCount", "attempts", "nextAttemptAt", "lastError"] {
                entry.as_object_mut().unwrap().remove(changing);
            }
            entries.push(entry);
        }
        match page["nextCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return entries,
        }
    }
}

async fn page(app: &TestApp, list: &str, query: &str) -> Value {
    let answer = app.send("GET", &with_query(list, query), &[("x-user-id", user_of(list))], "").await;
    assert_eq!(answer.status, 200, "{list} {query}: {}", answer.text);
    answer.json.get("data").unwrap_or(&answer.json).clone()
}

fn with_query(list: &str, query: &str) -> String {
    let glue = if list.contains('?') { '&' } else { '?' };
    format!("{list}{glue}{query}")
}

/// Header of a caller who may see the list: with auth off, a list shows the entries of the user that a header names.
fn user_of(list: &str) -> &'static str {
    if list.starts_with("/api/orders") { "1" } else { "7" }
}

profiles!(lists_run_in_both_orders);
async fn lists_run_in_both_orders(profile: Profile) {
    with_app(profile, async |app| {
        fill(app).await;
        let all = lists(app).await;
        assert_eq!(all.len(), 16, "{all:?}");
        for list in FILLED.iter().copied().chain(all.iter().map(String::as_str)) {
            let oldest_first = entries(app, list, "asc", 500).await;
            assert!(!FILLED.contains(&list) || oldest_first.len() >= 3, "{list}: {oldest_first:?}");
            let newest_first: Vec<_> = oldest_first.iter().rev().cloned().collect();
            assert_eq!(entries(app, list, "desc", 500).await, newest_first, "{list}");
            assert_eq!(entries(app, list, "desc", 2).await, newest_first, "{list}");
            assert_eq!(entries(app, list, "asc", 2).await, oldest_first, "{list}");
            let default = page(app, list, "limit=500").await;
            assert_eq!(default["items"].as_array().unwrap().len(), oldest_first.len(), "{list}");
        }
        let first = &page(app, "/v1/room-types", "limit=1").await["items"][0]["id"];
        assert_eq!(first, &json!(1), "ascending by default");
    })
    .await;
}

profiles!(unknown_list_order_is_rejected);
async fn unknown_list_order_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        for list in lists(app).await {
            for order in ["", "ASC", "descending", "1"] {
                let answer = app.send("GET", &with_query(&list, &format!("order={order}")), &[], "").await;
                assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{list} {order}");
                assert_eq!(answer.json["field"], "order", "{list} {order}");
            }
        }
    })
    .await;
}

profiles!(cursor_is_valid_in_its_order_only);
async fn cursor_is_valid_in_its_order_only(profile: Profile) {
    with_app(profile, async |app| {
        for _ in 0..2 {
            app.room_type(1).await;
        }
        for (order, other) in [("asc", "desc"), ("desc", "asc")] {
            let first = page(app, "/v1/room-types", &format!("limit=1&order={order}")).await;
            let cursor = first["nextCursor"].as_str().unwrap();
            let path = format!("/v1/room-types?order={other}&cursor={cursor}");
            let answer = app.send("GET", &path, &[], "").await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"));
            assert_eq!(answer.json["field"], "cursor");
        }
    })
    .await;
}

profiles!(cursor_beyond_all_numbers_is_rejected);
/// A cursor holds any number of 64 bits; one that no record can have is not passed on to a store.
async fn cursor_beyond_all_numbers_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        fill(app).await;
        for list in lists(app).await {
            for cursor in ["__________8", "gAAAAAAAAAA"] {
                let answer = app.send("GET", &with_query(&list, &format!("cursor={cursor}")), &[], "").await;
                assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{list} {cursor}");
                assert_eq!(answer.json["field"], "cursor", "{list} {cursor}");
            }
        }
    })
    .await;
}
