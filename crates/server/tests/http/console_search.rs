//! Search by any id: every object with an id is found, with its history.

use std::time::Duration;

use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{buyer, option};
use crate::support::{TestApp, day, placed, with_app};
use crate::tickets::{open_event, seat};
use crate::webhook_support::Receiver;

/// Returns the words of the search results.
async fn found(app: &TestApp, id: &str) -> String {
    let page = app.send("GET", &format!("/console/search?q={id}"), &[("hx-request", "true")], "").await;
    assert_eq!(page.status, 200);
    let mut words = String::new();
    let mut is_tag = false;
    for delivery_request in page.text.chars() {
        match delivery_request {
            '<' => (is_tag, words) = (true, words + " "),
            '>' => is_tag = false,
            _ if !is_tag => words.push(delivery_request),
            _ => {}
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the words of the result of one kind.
async fn story(app: &TestApp, kind: &str, id: &str) -> String {
    let words = found(app, id).await;
    let title = format!("{kind} {id} ");
    let start = words.find(&title).unwrap_or_else(|| panic!("no {title}in {words}"));
    words[start..].to_owned()
}

fn has(words: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(words.contains(part), "no {part} in {words}");
    }
}

profiles!(holds_and_reservations_are_found_by_id);
async fn holds_and_reservations_are_found_by_id(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        let hold = placed(app, 7, &room_type, day(1), day(2)).await;
        has(&story(app, "Stay hold", &hold.hold_id.to_string()).await, &["Held", "Expires", "Cancel"]);
        let stay = app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
        let published = "stay.reservation.confirmed outbox";
        has(&story(app, "Stay hold", &hold.hold_id.to_string()).await, &["Confirmed", "Created", published]);
        has(
            &story(app, "Stay reservation", &stay.reservation_id.to_string()).await,
            &["Confirmed", "Created", published],
        );

        let event = open_event(app, 3).await;
        let seats = app.guest(8).hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        has(&story(app, "Seat hold", &seats.hold_id.to_string()).await, &["Held", "A1"]);
        let sold = app.guest(8).confirm_seat_hold(seats.hold_id).await.unwrap();
        has(
            &story(app, "Seat reservation", &sold.reservation_id.to_string()).await,
            &["Reserved", "seat.reserved outbox"],
        );

        let room = app.room().await;
        let lock = app.locked(9, room, day(1), &["09:00"]).await;
        has(&story(app, "Room lock", &lock.lock_id.to_string()).await, &["Locked", "09:00"]);
        let used = app.guest(9).confirm_lock(lock.lock_id).await.unwrap();
        has(
            &story(app, "Room reservation", &used.reservation_id.to_string()).await,
            &["Reserved", "room.slot.reserved"],
        );
        has(&found(app, "00000000-0000-7000-8000-000000000000").await, &["No results"]);
    })
    .await;
}

profiles!(shop_reservations_are_found_in_any_state);
async fn shop_reservations_are_found_in_any_state(profile: Profile) {
    with_app(profile, async |app| {
        // Ids of reservations differ from those of orders.
        let (beans, other) = (option(app, 1_000, 50).await, option(app, 2_000, 50).await);
        let first = buyer(app, 1_000_000).await;
        first.put_cart_item(beans, 1).await.unwrap();
        first.put_cart_item(other, 2).await.unwrap();
        let reserved = first.reserve_order().await.unwrap();
        let second = reserved[1].reservation_id.to_string();
        if !app.profile_is_split() {
            let words = story(app, "Shop reservation", &second).await;
            has(&words, &["Reserved", "ETH-HD-200", "Created", "Expires", "Cancel"]);
        }
        let order = first.pay_order(&holdfast_client::Payment::default()).await.unwrap();
        let paid = format!("Paid as order {}", order.order_id);
        has(&story(app, "Shop reservation", &second).await, &["Confirmed", "Created", &paid, "order.paid outbox"]);
        has(&story(app, "Order", &order.order_id.to_string()).await, &["Paid", "order.paid outbox"]);
        first.cancel_order(order.order_id).await.unwrap();
        let cancelled = format!("Order {} cancelled", order.order_id);
        has(&story(app, "Shop reservation", &second).await, &[&paid, &cancelled, "order.cancelled outbox"]);

        if !app.profile_is_split() {
            // Further reservations before and after, at the same moment and at others.
            let mut numbers = Vec::new();
            for at in 0..12 {
                let someone = buyer(app, 0).await;
                someone.put_cart_item(beans, 1).await.unwrap();
                numbers.push(someone.reserve_order().await.unwrap()[0].reservation_id);
                if at % 3 == 0 {
                    app.pass(Span::from_secs(1));
                }
                if at == 4 {
                    someone.release_order().await.unwrap();
                }
            }
            has(&story(app, "Shop reservation", &numbers[4].to_string()).await, &["Released"]);
            has(&story(app, "Shop reservation", &numbers[11].to_string()).await, &["Reserved"]);
            app.pass(Span::from_hours(1));
            for number in &numbers[5..] {
                has(&story(app, "Shop reservation", &number.to_string()).await, &["Expired"]);
            }
        }
        assert!(!found(app, "999999").await.contains("Shop reservation"));
        has(&story(app, "Customer account", &first.id.to_string()).await, &["손님 하나", "Balance"]);
    })
    .await;
}

profiles!(bookings_events_and_deliveries_are_found);
async fn bookings_events_and_deliveries_are_found(profile: Profile) {
    with_app(profile, async |app| {
        let receiver = Receiver::start().await;
        let webhook = json!({"url": receiver.url("/told"), "types": ["order."]});
        assert_eq!(app.json("POST", "/v1/webhooks", &webhook).await.status, 201);
        let beans = option(app, 1_000, 50).await;
        buyer(app, 1_000_000).await.buy(beans, 3).await;
        let delivered = async {
            loop {
                let words = found(app, "msg_1").await;
                if words.contains("Delivered") {
                    return words;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let words = tokio::time::timeout(Duration::from_secs(20), delivered).await.unwrap();
        has(&words, &["Webhook delivery 1", "order.paid", "/told"]);
        let outbox = app.send("GET", "/v1/admin/outbox", &[], "").await;
        let event = outbox.json["items"].as_array().unwrap().iter().find(|it| it["eventType"] == "order.paid").unwrap();
        has(&story(app, "Outbox event", &event["id"].to_string()).await, &["order.paid", "Sent", "productOptionId"]);
    })
    .await;
}

profiles!(customers_are_found_by_text);
async fn customers_are_found_by_text(profile: Profile) {
    with_app(profile, async |app| {
        for user in ["auth0|5f7c8ec7", "550e8400-e29b-41d4-a716-446655440000"] {
            app.admin().create_account_of(user, "손님 하나").await.unwrap();
            has(&found(app, &user.replace('|', "%7C")).await, &["Customer", user, "손님 하나"]);
        }
    })
    .await;
}
