//! Tee times: courses, slots, bookings and their refunds; three services in one process, or over NATS.

use std::time::{Duration, Instant};

use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::support::{RawResponse, Services, TestApp, day, services, with_app, with_services, with_settings};

pub(crate) async fn send(app: &TestApp, method: &str, path: &str, body: &Value) -> RawResponse {
    app.send(method, path, &[("content-type", "application/json")], &body.to_string()).await
}

pub(crate) async fn get(app: &TestApp, path: &str) -> Value {
    let answer = app.send("GET", path, &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json
}

/// Creates a slot at nine, `days` from today.
pub(crate) async fn slot(app: &TestApp, days: i32, max_players: u32) -> u64 {
    let course = send(app, "POST", "/v1/courses", &json!({"name": "파크골프장"})).await.json["id"].as_u64().unwrap();
    let slots = json!({"slots": [
        {"date": day(days).to_string(), "startTime": "09:00", "maxPlayers": max_players, "price": 20_000}
    ]});
    let made = send(app, "POST", &format!("/v1/courses/{course}/slots"), &slots).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.json[0]["id"].as_u64().unwrap()
}

pub(crate) fn booking(user: u64, slot: u64, players: u32, key: &str) -> Value {
    json!({"idempotencyKey": key, "userId": user, "gameTimeSlotId": slot, "playerCount": players})
}

/// Books, and waits until the booking is settled.
pub(crate) async fn booked(app: &TestApp, user: u64, slot: u64, players: u32, key: &str) -> Value {
    let body = booking(user, slot, players, key).to_string();
    let made = app.send("POST", "/bookings", &[("prefer", "wait=4")], &body).await;
    assert_eq!(made.status, 202, "{}", made.text);
    let path = format!("/bookings/{}?userId={user}", made.json["id"]);
    until(app, &path, |booking| booking["status"] != "PENDING").await
}

/// Creates a slot, and a confirmed booking of it.
pub(crate) async fn booked_one(app: &TestApp) -> Value {
    let slot = slot(app, 10, 4).await;
    booked(app, 7, slot, 2, "a").await
}

/// Polls until the response satisfies `what`, up to a timeout.
pub(crate) async fn until(app: &TestApp, path: &str, what: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let seen = get(app, path).await;
        if what(&seen) {
            return seen;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{seen}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

services!(slots_are_created_all_or_none);
async fn slots_are_created_all_or_none(services: Services) {
    with_services(services, async |app| {
        let course = send(app, "POST", "/v1/courses", &json!({"name": "파크골프장"})).await;
        assert_eq!((course.status, &course.json["timeZone"]), (201, &json!("Asia/Seoul")));
        let (course, date) = (course.json["id"].as_u64().unwrap(), day(5).to_string());
        assert_eq!(get(app, "/v1/courses").await["items"][0]["id"], course);
        let path = format!("/v1/courses/{course}/slots");
        let at = |time: &str| json!({"date": date, "startTime": time, "maxPlayers": 4, "price": 20_000});
        let made = send(app, "POST", &path, &json!({"slots": [at("09:10"), at("09:00")]})).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let expected = json!({"id": made.json[0]["id"], "courseId": course, "date": date, "startTime": "09:10",
            "maxPlayers": 4, "bookedPlayers": 0, "availablePlayers": 4, "status": "AVAILABLE", "price": 20_000,
            "currency": "KRW", "version": 1});
        assert_eq!(made.json[0], expected);
        let again = send(app, "POST", &path, &json!({"slots": [at("10:00"), at("09:00")]})).await;
        assert_eq!(again.refusal(), (409, "SLOT_EXISTS"));
        let listed = get(app, &format!("{path}?date={date}")).await;
        let times: Vec<_> = listed.as_array().unwrap().iter().map(|slot| slot["startTime"].as_str().unwrap()).collect();
        assert_eq!(times, ["09:00", "09:10"], "none of the rejected call, and in order");
        let unknown = send(app, "POST", "/v1/courses/999/slots", &json!({"slots": [at("09:00")]})).await;
        assert_eq!(unknown.refusal(), (404, "COURSE_NOT_FOUND"));
        assert_eq!(app.send("GET", "/v1/slots/999", &[], "").await.refusal(), (404, "SLOT_NOT_FOUND"));
        for (field, wrong) in [
            ("date", json!("2027-02-30")),
            ("startTime", json!("25:00")),
            ("maxPlayers", json!(0)),
            ("price", json!(-1)),
        ] {
            let mut slot = at("11:00");
            slot[field] = wrong;
            let refused = send(app, "POST", &path, &json!({"slots": [slot]})).await;
            assert_eq!((refused.refusal(), &refused.json["field"]), ((400, "INVALID_INPUT"), &json!(field)));
        }
    })
    .await;
}

services!(booking_is_confirmed_with_history);
async fn booking_is_confirmed_with_history(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 4).await;
        let made = send(app, "POST", "/bookings", &booking(7, slot, 3, "a")).await;
        assert_eq!(made.status, 202, "{}", made.text);
        assert!(made.json["bookingNumber"].as_str().unwrap().starts_with("BK-"));
        assert_eq!((&made.json["status"], &made.json["totalPrice"]), (&json!("PENDING"), &json!(60_000)));
        let path = format!("/bookings/{}?userId=7", made.json["id"]);
        let settled = until(app, &path, |booking| booking["status"] != "PENDING").await;
        assert_eq!(settled["status"], "CONFIRMED");
        let history: Vec<_> =
            settled["history"].as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
        assert_eq!(history, ["CREATED", "CONFIRMED"]);
        let shown = get(app, &format!("/v1/slots/{slot}")).await;
        assert_eq!((&shown["bookedPlayers"], &shown["availablePlayers"]), (&json!(3), &json!(1)));
        let other = app.send("GET", &format!("/bookings/{}", made.json["id"]), &[("x-user-id", "8")], "").await;
        assert_eq!(other.refusal(), (403, "FORBIDDEN"));
        assert_eq!(app.send("GET", "/bookings/999", &[], "").await.refusal(), (404, "BOOKING_NOT_FOUND"));
        let listed = get(app, "/bookings?userId=7&status=CONFIRMED").await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        assert_eq!(listed["items"][0]["history"], settled["history"]);
        assert_eq!(get(app, "/bookings?userId=7&status=FAILED").await["items"], json!([]));
        let published = until(app, "/v1/notifications?userId=7", |published| published["items"] != json!([])).await;
        assert_eq!(
            (&published["items"][0]["type"], &published["items"][0]["bookingId"]),
            (&json!("booking.confirmed"), &made.json["id"])
        );
    })
    .await;
}

services!(same_key_returns_same_booking);
async fn same_key_returns_same_booking(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 4).await;
        let first = booked(app, 7, slot, 2, "a").await;
        let again = send(app, "POST", "/bookings", &booking(7, slot, 2, "a")).await;
        assert_eq!((again.status, &again.json["id"]), (200, &first["id"]));
        let other = send(app, "POST", "/bookings", &booking(7, slot, 1, "a")).await;
        assert_eq!(other.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        let another = booked(app, 8, slot, 2, "a").await;
        assert_ne!(another["id"], first["id"], "keys are per user");
    })
    .await;
}

services!(booking_key_expires_after_a_day);
async fn booking_key_expires_after_a_day(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 4).await;
        let first = booked(app, 7, slot, 2, "a").await;
        app.pass(Span::from_hours(24));
        let second = booked(app, 7, slot, 1, "a").await;
        assert_ne!(second["id"], first["id"]);
        let again = send(app, "POST", "/bookings", &booking(7, slot, 1, "a")).await;
        assert_eq!((again.status, &again.json["id"]), (200, &second["id"]));
    })
    .await;
}

services!(booking_retry_replays_response);
async fn booking_retry_replays_response(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 8).await;
        let book = async |header: &str, body: &Value| {
            app.send("POST", "/bookings", &[("idempotency-key", header)], &body.to_string()).await
        };
        let first = book("k", &booking(7, slot, 2, "a")).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (202, None), "{}", first.text);
        let path = format!("/bookings/{}?userId=7", first.json["id"]);
        until(app, &path, |booking| booking["status"] == "CONFIRMED").await;
        let again = book("k", &booking(7, slot, 2, "a")).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (202, Some("true")));
        assert_eq!(again.text, first.text);
        for other in [booking(7, slot, 1, "a"), booking(7, slot, 2, "b")] {
            assert_eq!(book("k", &other).await.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        }
        assert_eq!(book("k", &booking(8, slot, 2, "a")).await.status, 202, "keys are per user");
        // The body's key is independent of the header's.
        let same = book("other", &booking(7, slot, 2, "a")).await;
        assert_eq!((same.status, &same.json["id"]), (200, &first.json["id"]));
        let same = send(app, "POST", "/bookings", &booking(7, slot, 2, "a")).await;
        assert_eq!((same.status, same.header("idempotent-replayed")), (200, None));
        let booked = get(app, &format!("/v1/slots/{slot}")).await["bookedPlayers"].as_u64().unwrap();
        assert!(booked <= 4, "two bookings of two: {booked}");
    })
    .await;
}

services!(waiting_retry_replays_outcome);
async fn waiting_retry_replays_outcome(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 4).await;
        let headers = [("idempotency-key", "k"), ("prefer", "wait=4")];
        let body = booking(7, slot, 2, "a").to_string();
        let first = app.send("POST", "/bookings", &headers, &body).await;
        assert_eq!((first.status, &first.json["status"]), (202, &json!("CONFIRMED")), "{}", first.text);
        let again = app.send("POST", "/bookings", &headers, &body).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (202, Some("true")));
        assert_eq!(again.text, first.text);
    })
    .await;
}

services!(impossible_booking_is_rejected_at_once);
async fn impossible_booking_is_rejected_at_once(services: Services) {
    with_services(services, async |app| {
        let (soon, past) = (slot(app, 10, 4).await, slot(app, -1, 4).await);
        let refused = async |body: Value| send(app, "POST", "/bookings", &body).await;
        assert_eq!(refused(booking(7, 999, 1, "a")).await.refusal(), (404, "SLOT_NOT_FOUND"));
        assert_eq!(refused(booking(7, past, 1, "a")).await.refusal(), (400, "INVALID_INPUT"));
        assert_eq!(refused(booking(7, soon, 5, "a")).await.refusal(), (400, "INVALID_INPUT"));
        assert_eq!(refused(booking(7, soon, 0, "a")).await.refusal(), (400, "INVALID_INPUT"));
        assert_eq!(refused(booking(7, soon, 1, " ")).await.refusal(), (400, "INVALID_INPUT"));
        assert_eq!(
            refused(json!({"userId": 7, "gameTimeSlotId": soon, "playerCount": 1})).await.refusal(),
            (400, "INVALID_INPUT")
        );
    })
    .await;
}

services!(full_or_closed_slot_fails_booking);
async fn full_or_closed_slot_fails_booking(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 4).await;
        booked(app, 7, slot, 3, "a").await;
        let full = booked(app, 8, slot, 2, "a").await;
        assert_eq!((&full["status"], &full["failureReason"]), (&json!("FAILED"), &json!("SLOT_FULL")));
        let last = booked(app, 8, slot, 1, "b").await;
        assert_eq!(last["status"], "CONFIRMED", "one place was left");
        assert_eq!(get(app, &format!("/v1/slots/{slot}")).await["status"], "FULLY_BOOKED");

        let close = format!("/v1/slots/{slot}/close");
        assert_eq!(send(app, "POST", &close, &json!({})).await.json["status"], "CLOSED");
        let repeated = app.send("POST", &close, &[], "").await;
        assert_eq!((repeated.status, &repeated.json["status"]), (200, &json!("CLOSED")));
        let closed = booked(app, 9, slot, 1, "a").await;
        assert_eq!((&closed["status"], &closed["failureReason"]), (&json!("FAILED"), &json!("SLOT_CLOSED")));
        let reopened = app.send("POST", &format!("/v1/slots/{slot}/reopen"), &[], "").await;
        assert_eq!(reopened.json["status"], "FULLY_BOOKED", "a full slot reopens as full");
        let kept = get(app, &format!("/bookings/{}?userId=8", last["id"])).await;
        assert_eq!(kept["status"], "CONFIRMED", "confirmed bookings stay");
    })
    .await;
}

services!(cancel_refunds_by_time_left);
async fn cancel_refunds_by_time_left(services: Services) {
    with_services(services, async |app| {
        for (days, percent, rule) in
            [(8, 100, "AT_LEAST_7_DAYS"), (5, 80, "AT_LEAST_3_DAYS"), (2, 50, "AT_LEAST_1_DAYS"), (1, 0, "LAST_DAY")]
        {
            let slot = slot(app, days, 4).await;
            let id = booked(app, 7, slot, 3, &format!("in {days} days")).await["id"].clone();
            let quote = get(app, &format!("/bookings/{id}/refund-quote?userId=7")).await;
            let expected = json!({"percent": percent, "amount": 60_000 * percent / 100, "rule": rule});
            assert_eq!(quote, expected);
            let other = send(app, "POST", &format!("/bookings/{id}/cancel?userId=8"), &json!({})).await;
            assert_eq!(other.refusal(), (403, "FORBIDDEN"));
            let cancelled =
                send(app, "POST", &format!("/bookings/{id}/cancel?userId=7"), &json!({"reason": "비"})).await;
            assert_eq!((&cancelled.json["status"], &cancelled.json["refund"]), (&json!("CANCELLED"), &expected));
            until(app, &format!("/v1/slots/{slot}"), |slot| slot["bookedPlayers"] == 0).await;
            let again = send(app, "POST", &format!("/bookings/{id}/cancel?userId=7"), &json!({})).await;
            assert_eq!(
                (again.refusal(), &again.json["reason"]),
                ((409, "BOOKING_NOT_CANCELLABLE"), &json!("CANCELLED"))
            );
            let history = get(app, &format!("/bookings/{id}?userId=7")).await["history"].clone();
            assert_eq!((&history[2]["by"], &history[2]["reason"]), (&json!("7"), &json!("비")));
        }
    })
    .await;
}

services!(operator_cancel_refunds_in_full);
async fn operator_cancel_refunds_in_full(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 1, 4).await;
        let [first, second] = [booked(app, 7, slot, 1, "a").await, booked(app, 7, slot, 1, "b").await];
        let by_operator = send(app, "POST", &format!("/bookings/{}/cancel", first["id"]), &json!({})).await;
        assert_eq!(by_operator.json["refund"], json!({"percent": 100, "amount": 20_000, "rule": "ADMIN"}));
        app.pass(Span::from_hours(48));
        let late = send(app, "POST", &format!("/bookings/{}/cancel?userId=7", second["id"]), &json!({})).await;
        assert_eq!((late.refusal(), &late.json["reason"]), ((409, "BOOKING_NOT_CANCELLABLE"), &json!("AFTER_TEE_OFF")));
        let complete =
            async |id: &Value, what: &str| app.send("POST", &format!("/bookings/{id}/{what}"), &[], "").await;
        assert_eq!(complete(&first["id"], "complete").await.refusal(), (409, "INVALID_STATE_TRANSITION"));
        assert_eq!(complete(&second["id"], "complete").await.json["status"], "COMPLETED");
        assert_eq!(complete(&second["id"], "no-show").await.refusal(), (409, "INVALID_STATE_TRANSITION"));
    })
    .await;
}

services!(no_show_gets_no_refund);
async fn no_show_gets_no_refund(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 1, 4).await;
        let booking = booked(app, 7, slot, 2, "a").await;
        let absent = app.send("POST", &format!("/bookings/{}/no-show", booking["id"]), &[], "").await;
        assert_eq!((&absent.json["status"], &absent.json["refund"]["percent"]), (&json!("NO_SHOW"), &json!(0)));
    })
    .await;
}

services!(closing_slot_refunds_bookings_in_full);
async fn closing_slot_refunds_bookings_in_full(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 2, 200).await;
        let mut ids = Vec::new();
        for user in 1..=3 {
            ids.push(booked(app, user, slot, 1, "a").await["id"].clone());
        }
        let closed = send(app, "POST", &format!("/v1/slots/{slot}/close"), &json!({"cancelBookings": true})).await;
        assert_eq!(closed.json["status"], "CLOSED");
        for id in ids {
            let booking = until(app, &format!("/bookings/{id}"), |booking| booking["status"] == "CANCELLED").await;
            assert_eq!(booking["refund"], json!({"percent": 100, "amount": 20_000, "rule": "SYSTEM"}));
        }
        until(app, &format!("/v1/slots/{slot}"), |slot| slot["bookedPlayers"] == 0).await;
    })
    .await;
}

services!(bookings_of_closed_slot_can_be_cancelled);
async fn bookings_of_closed_slot_can_be_cancelled(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 2, 4).await;
        let booking = booked(app, 1, slot, 1, "a").await;
        let close = async |body: &Value| send(app, "POST", &format!("/v1/slots/{slot}/close"), body).await.status;
        assert_eq!((close(&json!({})).await, close(&json!({"cancelBookings": true})).await), (200, 200));
        let path = format!("/bookings/{}", booking["id"]);
        until(app, &path, |booking| booking["status"] == "CANCELLED").await;
    })
    .await;
}

services!(concurrent_bookings_fill_slot_exactly);
async fn concurrent_bookings_fill_slot_exactly(services: Services) {
    with_services(services, async |app| {
        let slot = slot(app, 10, 40).await;
        let booking = async |user: u64| booked(app, user, slot, 1, "a").await;
        let all = futures_util::future::join_all((1..=200).map(booking)).await;
        let count = |status: &str| all.iter().filter(|booking| booking["status"] == status).count();
        assert_eq!((count("CONFIRMED"), count("FAILED")), (40, 160));
        assert_eq!(get(app, &format!("/v1/slots/{slot}")).await["bookedPlayers"], 40);
    })
    .await;
}

profiles!(outbox_is_shown_and_streams_bookings_only);
async fn outbox_is_shown_and_streams_bookings_only(profile: Profile) {
    with_app(profile, async |app| {
        let slot = slot(app, 10, 4).await;
        booked(app, 7, slot, 1, "a").await;
        let sent = until(app, "/v1/admin/outbox?status=SENT", |sent| {
            sent["items"].as_array().unwrap().iter().any(|event| event["eventType"] == "booking.confirmed")
        })
        .await;
        let types: Vec<_> =
            sent["items"].as_array().unwrap().iter().map(|it| it["eventType"].as_str().unwrap()).collect();
        assert_eq!(types, ["slot.changed", "booking.created", "slot.reserve", "slot.reserved", "booking.confirmed"]);
        let reserve = &sent["items"][2];
        assert_eq!(reserve["payload"], json!({"bookingId": 1, "gameTimeSlotId": slot, "playerCount": 1}));
        assert_eq!(reserve["retryCount"], 0);
        assert_eq!(get(app, "/v1/admin/outbox?status=FAILED").await["items"], json!([]));
        assert_eq!(app.send("GET", "/v1/admin/outbox?status=LOST", &[], "").await.refusal(), (400, "INVALID_INPUT"));
        let service = app.send("GET", "/v1/admin/outbox?service=king", &[], "").await;
        assert_eq!((service.refusal(), &service.json["field"]), ((400, "INVALID_INPUT"), &json!("service")));
        assert_eq!(
            get(app, "/v1/admin/outbox?service=course&status=FAILED").await["items"],
            json!([]),
            "the outbox is on this server"
        );
        let retried = app.send("POST", &format!("/v1/admin/outbox/{}/retry", reserve["id"]), &[], "").await;
        assert_eq!((retried.status, &retried.json["status"]), (200, &json!("SENT")), "a sent event stays sent");
        assert_eq!(app.send("POST", "/v1/admin/outbox/999/retry", &[], "").await.refusal(), (404, "NOT_FOUND"));
    })
    .await;
}

profiles!(sent_events_are_purged_after_a_week);
async fn sent_events_are_purged_after_a_week(profile: Profile) {
    with_app(profile, async |app| {
        booked_one(app).await;
        let sent = async || get(app, "/v1/admin/outbox?status=SENT").await["items"].as_array().unwrap().len();
        until(app, "/v1/admin/outbox?status=SENT", |sent| sent["items"].as_array().unwrap().len() == 5).await;
        app.pass(Span::from_hours(7 * 24 - 1));
        app.purge().await;
        assert_eq!(sent().await, 5, "not yet");
        app.pass(Span::from_hours(2));
        let began = Instant::now();
        // The relay stores its position a moment later.
        while sent().await > 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "{} are still there", sent().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
            app.purge().await;
        }
        assert_eq!(get(app, "/bookings/1?userId=7").await["status"], "CONFIRMED", "the booking itself stays");
    })
    .await;
}

profiles!(open_bookings_per_user_are_limited);
async fn open_bookings_per_user_are_limited(profile: Profile) {
    let few = |config: &mut holdfast_server::Config| config.engine.holds_per_user_max = 2;
    with_settings(profile, few, async |app| {
        let slot = slot(app, 10, 10).await;
        for number in 0..10 {
            let made = send(app, "POST", "/bookings", &booking(7, slot, 1, &format!("key {number}"))).await;
            assert_eq!(made.status, 202, "{}", made.text);
        }
        until(app, &format!("/v1/slots/{slot}"), |slot| slot["status"] == "FULLY_BOOKED").await;
    })
    .await;
}
