//! Webhooks: signed delivery of durable events to subscribers, with retries.

use std::collections::BTreeSet;
use std::time::Duration;

use holdfast_client::NewRoomType;
use holdfast_core::WorkingSet;
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::relay::Partition;
use holdfast_core::time::Span;
use holdfast_events::webhooks::network::Network;
use holdfast_server::Config;
use holdfast_server::config::Secret;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::auth::{SECRET, caller, with_auth};
use crate::shop_support::{buyer, option};
use crate::stream::Listening;
use crate::support::{RawResponse, TestApp, day, new_hold, placed, with_app, with_restart, with_settings};
use crate::tee_times;
use crate::tickets::{open_event, seat};
use crate::webhook_support::{Received, Receiver, all_are, deliveries, expected_signature, send, subscribe};

/// Short polling, so that changes of the test's clock are noticed soon.
fn watchful(config: &mut Config) {
    config.webhook.poll = Duration::from_millis(5);
}

/// Creates a durable event that webhooks deliver.
async fn reserved(app: &TestApp) {
    let room_type = app.room_type(1).await;
    let hold = placed(app, 7, &room_type, day(30), day(31)).await;
    app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
}

async fn get(app: &TestApp, path: &str) -> RawResponse {
    app.send("GET", path, &[], "").await
}

/// The idempotency record of a caller without a name holds an answer, and not the secret that the first answer showed.
async fn assert_no_secret_is_kept(app: &TestApp, key: &str, first: &RawResponse) {
    let secret = first.json["secret"].as_str().unwrap();
    let id = IdempotencyRecordId { caller: "unnamed".into(), key: key.into() };
    let kept = |rows: &mut WorkingSet| Ok(rows.idempotency_records.get(&id)?.map(|record| record.response.clone()));
    let kept = app.app().query(|rows, _| kept(rows)).await.ok().flatten().expect("an idempotency record");
    let kept = String::from_utf8_lossy(&kept);
    assert!(kept.contains("createdAt") && !kept.contains(secret), "{kept}");
}

profiles!(event_is_delivered_once_and_signed);
async fn event_is_delivered_once_and_signed(profile: Profile) {
    with_app(profile, async |app| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook?a=b"), &["stay.reservation."]).await;
        let secret = webhook["secret"].as_str().unwrap();
        let room_type = app.room_type(1).await;
        let hold = placed(app, 7, &room_type, day(1), day(2)).await;
        let reservation = app.guest(7).confirm_hold(hold.hold_id).await.unwrap();

        let requests = receiver.until(1).await;
        let (event, request) = (requests[0].json(), &requests[0]);
        assert_eq!(request.path, "/hook?a=b");
        assert_eq!(request.header("content-type"), "application/cloudevents+json; charset=utf-8");
        assert_eq!(event["type"], "stay.reservation.confirmed");
        assert_eq!(event["specversion"], "1.0");
        assert_eq!(event["data"]["reservationId"], reservation.reservation_id);
        assert_eq!(request.header("webhook-signature"), expected_signature(secret, request));
        assert_eq!(request.header("webhook-timestamp"), app.now().as_second().to_string());

        let log = deliveries(app, &webhook, all_are("DELIVERED")).await;
        let expected = json!([{"id": log[0]["id"], "webhookId": webhook["id"], "eventId": event["id"],
            "eventType": event["type"], "status": "DELIVERED", "attempts": 1, "lastStatus": 204, "lastError": null,
            "nextAttemptAt": null, "createdAt": log[0]["createdAt"], "messageId": log[0]["messageId"]}]);
        assert_eq!(Value::from(log.clone()), expected);
        let message_id = request.header("webhook-id");
        assert!(message_id.starts_with("msg_") && message_id.ends_with(&format!("_{}", log[0]["id"])), "{message_id}");
        assert_eq!(receiver.received().len(), 1);
    })
    .await;
}

profiles!(webhook_secret_is_shown_once);
async fn webhook_secret_is_shown_once(profile: Profile) {
    with_app(profile, async |app| {
        let url = "https://example.com/hook";
        let body = json!({"url": url, "types": ["booking.confirmed", "order."]}).to_string();
        let key = [("idempotency-key", "a"), ("content-type", "application/json")];
        let made = app.send("POST", "/v1/webhooks", &key, &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert!(made.json["secret"].as_str().unwrap().starts_with("whsec_"));
        let again = app.send("POST", "/v1/webhooks", &key, &body).await;
        let mut shown = made.json.clone();
        shown.as_object_mut().unwrap().remove("secret");
        assert_eq!((again.header("idempotent-replayed"), &again.json), (Some("true"), &shown), "without the secret");
        assert_no_secret_is_kept(app, "a", &made).await;
        let expected = json!({"id": made.json["id"], "url": url, "types": ["booking.confirmed", "order."],
            "status": "ACTIVE", "createdAt": made.json["createdAt"]});
        assert_eq!(shown, expected);
        let path = format!("/v1/webhooks/{}", made.json["id"]);
        assert_eq!(get(app, &path).await.json, expected);

        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let all = json!({"url": "http://127.0.0.1:9/x", "types": [], "secret": secret});
        let second = send(app, "POST", "/v1/webhooks", &all).await;
        assert_eq!((second.status, &second.json["secret"]), (201, &json!(secret)));
        let page = get(app, "/v1/webhooks?limit=1").await.json;
        assert_eq!(page["items"], json!([expected]));
        let rest = get(app, &format!("/v1/webhooks?cursor={}", page["nextCursor"].as_str().unwrap())).await.json;
        assert_eq!((&rest["items"][0]["id"], &rest["nextCursor"]), (&second.json["id"], &json!(null)));
        assert_eq!(rest["items"][0]["secret"], json!(null));
        assert_eq!(get(app, &format!("{path}/deliveries")).await.json, json!({"items": [], "nextCursor": null}));

        assert_eq!(send(app, "DELETE", &path, &json!({})).await.status, 204);
        let unknown = (404, "WEBHOOK_NOT_FOUND");
        assert_eq!(send(app, "DELETE", &path, &json!({})).await.refusal(), unknown);
        assert_eq!(get(app, &path).await.refusal(), unknown);
        assert_eq!(get(app, &format!("{path}/deliveries")).await.refusal(), unknown);
        assert_eq!(send(app, "POST", &format!("{path}/enable"), &json!({})).await.refusal(), unknown);
        assert_eq!(send(app, "POST", &format!("{path}/deliveries/1/retry"), &json!({})).await.refusal(), unknown);
        let path = format!("/v1/webhooks/{}/deliveries/1/retry", second.json["id"]);
        let refused = send(app, "POST", &path, &json!({})).await;
        assert_eq!(refused.refusal(), (404, "WEBHOOK_DELIVERY_NOT_FOUND"));
    })
    .await;
}

profiles!(rotated_secret_overlaps_for_a_day);
async fn rotated_secret_overlaps_for_a_day(profile: Profile) {
    with_app(profile, async |app| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay.reservation."]).await;
        let first = webhook["secret"].as_str().unwrap();
        let path = format!("/v1/webhooks/{}", webhook["id"]);
        let rotate = format!("{path}/rotate-secret");
        let key = [("idempotency-key", "new secret")];
        let changed = app.send("POST", &rotate, &key, "").await;
        assert_eq!(changed.status, 200, "{}", changed.text);
        let again = app.send("POST", &rotate, &key, "").await;
        let mut shown = changed.json.clone();
        shown.as_object_mut().unwrap().remove("secret");
        assert_eq!((again.header("idempotent-replayed"), &again.json), (Some("true"), &shown), "without the secret");
        assert_no_secret_is_kept(app, "new secret", &changed).await;
        let second = changed.json["secret"].as_str().unwrap();
        assert_ne!(second, first);
        let until: jiff::Timestamp = changed.json["earlierSecretUntil"].as_str().unwrap().parse().unwrap();
        assert_eq!(until.as_second() - app.now().as_second(), 24 * 3_600);
        let shown = get(app, &path).await.json;
        assert_eq!((&shown["secret"], &shown["earlierSecretUntil"]), (&Value::Null, &Value::Null), "shown once");

        reserved(app).await;
        let both = &receiver.until(1).await[0];
        let expected = [second, first].map(|secret| expected_signature(secret, both)).join(" ");
        assert_eq!(both.header("webhook-signature"), expected, "whichever the receiver knows");

        let chosen = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        app.pass(Span::from_hours(20));
        assert_eq!(send(app, "POST", &rotate, &json!({"secret": chosen})).await.json["secret"], chosen);
        app.pass(Span::from_hours(4));
        reserved(app).await;
        let later = &receiver.until(2).await[1];
        let expected = [chosen, second].map(|secret| expected_signature(secret, later)).join(" ");
        assert_eq!(later.header("webhook-signature"), expected, "the old secret has expired");

        let bad = send(app, "POST", &rotate, &json!({"secret": "topsecret"})).await;
        assert_eq!((bad.refusal(), &bad.json["field"]), ((400, "INVALID_INPUT"), &json!("secret")));
        let unknown = send(app, "POST", "/v1/webhooks/999/rotate-secret", &json!({})).await;
        assert_eq!(unknown.refusal(), (404, "WEBHOOK_NOT_FOUND"));
    })
    .await;
}

profiles!(invalid_webhook_names_field);
async fn invalid_webhook_names_field(profile: Profile) {
    with_app(profile, async |app| {
        let good = json!({"url": "https://example.com", "types": ["order."]});
        let many: Vec<_> = (0..51).map(|number| format!("order.{number}")).collect();
        for (field, wrong) in [
            ("url", json!("ftp://example.com")),
            ("url", json!("https://user:word@example.com")),
            ("url", json!("example.com")),
            ("url", json!(format!("https://example.com/{}", "a".repeat(2_000)))),
            ("url", json!(7)),
            ("url", json!(null)),
            ("types", json!("order.")),
            ("types", json!(["orders"])),
            ("types", json!([""])),
            ("types", json!(["stay.hold."])),
            ("types", json!(["slot.reserve"])),
            ("types", json!(["order.", "order."])),
            ("types", json!(many)),
            ("secret", json!("topsecret")),
            ("secret", json!("whsec_c2hvcnQ=")),
        ] {
            let mut body = good.clone();
            body[field] = wrong.clone();
            let refused = send(app, "POST", "/v1/webhooks", &body).await;
            assert_eq!((refused.refusal(), &refused.json["field"]), ((400, "INVALID_INPUT"), &json!(field)), "{wrong}");
        }
        let short = json!({"url": "https://example.com", "types": [], "secret": "whsec_c2hvcnQ="}).to_string();
        let short = app.send("POST", "/v1/webhooks", &[("accept-language", "en")], &short).await;
        let wanted = "secret must be whsec_ followed by base64 of 24 to 64 random bytes.";
        assert_eq!(short.json["reason"], json!(wanted));
        let missing = send(app, "POST", "/v1/webhooks", &json!({"url": "https://example.com"})).await;
        assert_eq!((missing.refusal(), &missing.json["field"]), ((400, "INVALID_INPUT"), &json!("types")));
        assert_eq!(get(app, "/v1/webhooks").await.json["items"], json!([]));
        let webhook = subscribe(app, "https://example.com", &[]).await;
        let asked = get(app, &format!("/v1/webhooks/{}/deliveries?status=LOST", webhook["id"])).await;
        assert_eq!((asked.refusal(), &asked.json["field"]), ((400, "INVALID_INPUT"), &json!("status")));
        assert_eq!(get(app, "/v1/webhooks/0").await.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}

profiles!(hold_events_are_sent_if_subscribed);
async fn hold_events_are_sent_if_subscribed(profile: Profile) {
    with_app(profile, async |app| {
        let receiver = Receiver::start().await;
        let some = subscribe(app, &receiver.url("/some"), &["stay.hold.placed"]).await;
        let all = subscribe(app, &receiver.url("/all"), &["*"]).await;
        let durable = subscribe(app, &receiver.url("/durable"), &[]).await;
        // Ephemeral events are subscribed a moment after the webhook is created.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let room_type = app.room_type(2).await;
        let hold = placed(app, 7, &room_type, day(30), day(31)).await;
        app.guest(7).cancel_hold(hold.hold_id).await.unwrap();
        let hold = placed(app, 7, &room_type, day(30), day(31)).await;
        app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
        let types = async |webhook: &Value, count: usize| {
            let log = deliveries(app, webhook, |log| log.len() == count && all_are("DELIVERED")(log)).await;
            let mut types: Vec<_> = log.iter().map(|it| it["eventType"].as_str().unwrap().to_owned()).collect();
            types.sort();
            types
        };
        assert_eq!(types(&some, 2).await, ["stay.hold.placed"; 2]);
        let placed = "stay.hold.placed";
        assert_eq!(types(&all, 4).await, ["stay.hold.cancelled", placed, placed, "stay.reservation.confirmed"]);
        assert_eq!(types(&durable, 1).await, ["stay.reservation.confirmed"]);
    })
    .await;
}

profiles!(failed_delivery_is_retried_with_same_id);
async fn failed_delivery_is_retried_with_same_id(profile: Profile) {
    with_settings(profile, watchful, async |app| {
        let receiver = Receiver::start().await;
        receiver.will_answer(&[500, 302, 204]);
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        let secret = webhook["secret"].as_str().unwrap();
        reserved(app).await;
        receiver.until(1).await;
        let log = deliveries(app, &webhook, |log| log.len() == 1 && log[0]["lastStatus"] == 500).await;
        assert_eq!((&log[0]["status"], &log[0]["lastError"]), (&json!("PENDING"), &json!("answered 500")));
        app.pass(Span::from_secs(6));
        receiver.until(2).await;
        let log = deliveries(app, &webhook, |log| log[0]["lastStatus"] == 302).await;
        assert_eq!(log[0]["lastError"], "answered 302; redirects are not followed");
        app.pass(Span::from_secs(6 * 60));
        let requests = receiver.until(3).await;
        let log = deliveries(app, &webhook, all_are("DELIVERED")).await;
        assert_eq!((&log[0]["attempts"], &log[0]["lastStatus"]), (&json!(3), &json!(204)));
        let ids: BTreeSet<_> = requests.iter().map(|request| request.header("webhook-id")).collect();
        let times: BTreeSet<_> = requests.iter().map(|request| request.header("webhook-timestamp")).collect();
        let bodies: BTreeSet<_> = requests.iter().map(|request| &request.body).collect();
        let paths: BTreeSet<_> = requests.iter().map(|request| &*request.path).collect();
        assert_eq!((ids.len(), times.len(), bodies.len()), (1, 3, 1), "signed again for each attempt");
        assert_eq!(paths, BTreeSet::from(["/hook"]), "no redirect was followed");
        for request in &requests {
            assert_eq!(request.header("webhook-signature"), expected_signature(secret, request));
        }
    })
    .await;
}

/// Seconds between the store's time and the next attempt of a delivery whose last attempt was answered with `status`.
async fn wait_after(app: &TestApp, webhook: &Value, status: u16) -> i64 {
    let log = deliveries(app, webhook, |log| log.len() == 1 && log[0]["lastStatus"] == status).await;
    let next: jiff::Timestamp = log[0]["nextAttemptAt"].as_str().unwrap().parse().unwrap();
    next.as_second() - app.now().as_second()
}

profiles!(retry_after_delays_the_next_attempt);
async fn retry_after_delays_the_next_attempt(profile: Profile) {
    with_settings(profile, watchful, async |app| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        receiver.will_answer_later(503, "3600");
        reserved(app).await;
        assert_eq!(wait_after(app, &webhook, 503).await, 3_600, "seconds");

        let date = app.now() + jiff::SignedDuration::from_hours(3);
        let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
        receiver.will_answer_later(429, &date);
        app.pass(Span::from_hours(1));
        assert_eq!(wait_after(app, &webhook, 429).await, 2 * 3_600, "a date: {date}");

        receiver.will_answer_later(500, "99999999");
        app.pass(Span::from_hours(2));
        assert_eq!(wait_after(app, &webhook, 500).await, 24 * 3_600, "bounded");

        receiver.will_answer_later(502, "1");
        app.pass(Span::from_hours(24));
        let wait = wait_after(app, &webhook, 502).await;
        assert!((2 * 3_600..=2 * 3_600 + 24 * 60).contains(&wait), "the schedule is later: {wait}");

        receiver.will_answer_later(504, "soon");
        app.pass(Span::from_hours(3));
        let wait = wait_after(app, &webhook, 504).await;
        assert!((5 * 3_600..=6 * 3_600).contains(&wait), "unreadable: {wait}");
        app.pass(Span::from_hours(6));
        deliveries(app, &webhook, all_are("DELIVERED")).await;
    })
    .await;
}

/// The `webhook-id` of the first delivery of an installation.
async fn first_message_id(profile: Profile) -> String {
    let id = std::sync::Mutex::new(String::new());
    with_settings(profile, watchful, async |app: &TestApp| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        reserved(app).await;
        let log = deliveries(app, &webhook, all_are("DELIVERED")).await;
        let sent = receiver.until(1).await[0].header("webhook-id").to_owned();
        assert_eq!(log[0]["messageId"], json!(sent), "an operator finds it in the log");
        *id.lock().unwrap() = sent;
    })
    .await;
    id.into_inner().unwrap()
}

/// Two installations deliver to one receiver, which recognises repeats by `webhook-id`.
#[tokio::test(flavor = "multi_thread")]
async fn message_ids_differ_between_installations() {
    let [one, other] = [first_message_id(Profile::Embedded).await, first_message_id(Profile::Embedded).await];
    assert_ne!(one, other);
}

profiles!(dead_delivery_is_shown_and_retried);
async fn dead_delivery_is_shown_and_retried(profile: Profile) {
    let once = |config: &mut Config| {
        watchful(config);
        config.webhook.retry_after = Vec::new();
    };
    with_settings(profile, once, async |app| {
        let receiver = Receiver::start().await;
        receiver.will_answer(&[503]);
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        reserved(app).await;
        let log = deliveries(app, &webhook, all_are("FAILED")).await;
        assert_eq!((&log[0]["attempts"], &log[0]["lastError"]), (&json!(1), &json!("answered 503")));
        let path = format!("/v1/webhooks/{}/deliveries", webhook["id"]);
        assert_eq!(get(app, &format!("{path}?status=FAILED")).await.json["items"], json!(log));
        assert_eq!(get(app, &format!("{path}?status=DELIVERED")).await.json["items"], json!([]));
        let retry = format!("{path}/{}/retry", log[0]["id"]);
        let tried = send(app, "POST", &retry, &json!({})).await;
        assert_eq!((tried.status, &tried.json["status"]), (200, &json!("PENDING")));
        let log = deliveries(app, &webhook, all_are("DELIVERED")).await;
        assert_eq!(log[0]["attempts"], 2);
        let again = send(app, "POST", &retry, &json!({})).await;
        assert_eq!(again.refusal(), (409, "WEBHOOK_DELIVERY_NOT_FAILED"));
        let metrics = get(app, "/metrics").await.text;
        assert!(metrics.contains("holdfast_webhook_deliveries_total{outcome=\"delivered\"}"), "{metrics}");
    })
    .await;
}

profiles!(gone_receiver_is_disabled);
async fn gone_receiver_is_disabled(profile: Profile) {
    with_settings(profile, watchful, async |app| {
        let receiver = Receiver::start().await;
        receiver.will_answer(&[410]);
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        let path = format!("/v1/webhooks/{}", webhook["id"]);
        reserved(app).await;
        let log = deliveries(app, &webhook, all_are("FAILED")).await;
        assert_eq!(log[0]["lastStatus"], 410);
        let shown = get(app, &path).await.json;
        assert_eq!((&shown["status"], shown["disabledAt"].is_string()), (&json!("DISABLED"), true));
        let retry = send(app, "POST", &format!("{path}/deliveries/{}/retry", log[0]["id"]), &json!({})).await;
        assert_eq!(retry.refusal(), (409, "WEBHOOK_DISABLED"));
        // Another subscriber shows when the event would have been delivered.
        let other = subscribe(app, &receiver.url("/other"), &["stay."]).await;
        reserved(app).await;
        deliveries(app, &other, all_are("DELIVERED")).await;
        assert_eq!(deliveries(app, &webhook, |_| true).await.len(), 1, "no delivery was created");
        let enabled = send(app, "POST", &format!("{path}/enable"), &json!({})).await;
        assert_eq!((enabled.status, &enabled.json["status"]), (200, &json!("ACTIVE")));
        reserved(app).await;
        deliveries(app, &webhook, |log| log.len() == 2 && log[1]["status"] == "DELIVERED").await;
    })
    .await;
}

profiles!(events_of_all_verticals_are_delivered);
async fn events_of_all_verticals_are_delivered(profile: Profile) {
    with_app(profile, async |app| {
        let receiver = Receiver::start().await;
        let all = subscribe(app, &receiver.url("/all"), &[]).await;
        let some = subscribe(app, &receiver.url("/some"), &["order.", "booking.confirmed", "seat.reserved"]).await;
        reserved(app).await;
        let (option, user) = (option(app, 1_000, 10).await, buyer(app, 10_000).await);
        let order = user.buy(option, 1).await.order_id;
        user.cancel_order(order).await.unwrap();
        let event = open_event(app, 2).await;
        app.guest(7).reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        let room = app.room().await;
        app.reserved(7, room, day(1), &["09:00"]).await;
        tee_times::booked_one(app).await;

        let types = |log: &[Value]| -> Vec<String> {
            let mut types: Vec<_> = log.iter().map(|it| it["eventType"].as_str().unwrap().to_owned()).collect();
            types.sort();
            types
        };
        let expected = [
            "booking.confirmed",
            "booking.created",
            "order.cancelled",
            "order.paid",
            "room.slot.reserved",
            "seat.reserved",
            "stay.reservation.confirmed",
        ];
        let log = deliveries(app, &all, |log| log.len() >= expected.len() && all_are("DELIVERED")(log)).await;
        assert_eq!(types(&log), expected, "each once, and no internal messages");
        let log = deliveries(app, &some, |log| log.len() >= 4 && all_are("DELIVERED")(log)).await;
        assert_eq!(types(&log), ["booking.confirmed", "order.cancelled", "order.paid", "seat.reserved"]);
        let mut sent: Vec<_> =
            receiver.received().iter().filter(|it| it.path == "/all").map(Received::event_type).collect();
        sent.sort();
        assert_eq!(sent, expected);
    })
    .await;
}

profiles!(slow_receiver_delays_no_other);
async fn slow_receiver_delays_no_other(profile: Profile) {
    let narrow = |config: &mut Config| {
        watchful(config);
        config.webhook.per_webhook_max = 2;
        config.webhook.concurrency_max = 3;
    };
    with_settings(profile, narrow, async |app| {
        let receiver = Receiver::start().await;
        let slow = subscribe(app, &receiver.url("/slow"), &["stay."]).await;
        let quick = subscribe(app, &receiver.url("/quick"), &["stay."]).await;
        for _ in 0..4 {
            reserved(app).await;
        }
        let log = deliveries(app, &quick, |log| log.len() == 4 && all_are("DELIVERED")(log)).await;
        assert!(log.iter().all(|delivery| delivery["attempts"] == 1));
        let to_slow = || receiver.received().iter().filter(|it| it.path == "/slow").count();
        receiver.until(6).await;
        assert_eq!(to_slow(), 2, "at most two concurrent deliveries");
        let path = format!("/v1/webhooks/{}", slow["id"]);
        assert_eq!(send(app, "DELETE", &path, &json!({})).await.status, 204);
        receiver.open_gate();
        reserved(app).await;
        deliveries(app, &quick, |log| log.len() == 5 && all_are("DELIVERED")(log)).await;
        assert_eq!(to_slow(), 2, "waiting deliveries were dropped");
    })
    .await;
}

profiles!(webhooks_need_admin_and_public_address);
async fn webhooks_need_admin_and_public_address(profile: Profile) {
    with_auth(profile, async |app| {
        let body = |url: &str| json!({"url": url, "types": ["order."]}).to_string();
        let post = async |role: &str, url: &str| {
            let request = caller(app, "1", role).request(reqwest::Method::POST, "/v1/webhooks");
            let response = request.body(body(url)).send().await.unwrap();
            let status = response.status().as_u16();
            (status, response.json::<Value>().await.unwrap())
        };
        let anonymous = app.send("POST", "/v1/webhooks", &[], &body("https://example.com")).await;
        assert_eq!(anonymous.refusal(), (401, "UNAUTHENTICATED"));
        let (status, refused) = post("user", "https://example.com").await;
        assert_eq!((status, &refused["code"]), (403, &json!("FORBIDDEN")));
        for url in [
            "http://127.0.0.1/hook",
            "http://localhost:8080/",
            "http://10.1.2.3/",
            "http://192.168.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.64.0.1/",
            "http://[::1]/",
            "http://[fd00:ec2::254]/",
            "http://[::ffff:10.0.0.1]/",
            "http://0.0.0.0/",
        ] {
            let (status, refused) = post("admin", url).await;
            assert_eq!(
                (status, &refused["code"], &refused["field"]),
                (400, &json!("INVALID_INPUT"), &json!("url")),
                "{url}"
            );
        }
        let (status, made) = post("admin", "http://203.0.114.1/hook").await;
        assert_eq!(status, 201, "{made}");
        for path in ["/v1/webhooks".to_owned(), format!("/v1/webhooks/{}/deliveries", made["id"])] {
            for (role, expected) in [("user", 403), ("admin", 200), ("service", 200)] {
                let response = caller(app, "1", role).request(reqwest::Method::GET, &path).send().await.unwrap();
                assert_eq!(response.status().as_u16(), expected, "{role} {path}");
            }
        }
    })
    .await;
}

profiles!(allowed_private_network_receives_webhooks);
async fn allowed_private_network_receives_webhooks(profile: Profile) {
    let networks = |config: &mut Config| {
        config.auth.jwt_secret = Some(Secret::new(SECRET));
        config.webhook.allow_networks = vec![Network::parse("127.0.0.0/8").unwrap()];
    };
    with_settings(profile, networks, async |app| {
        let receiver = Receiver::start().await;
        let post = async |url: &str| {
            let request = caller(app, "1", "admin").request(reqwest::Method::POST, "/v1/webhooks");
            let body = json!({"url": url, "types": ["stay."]}).to_string();
            request.body(body).send().await.unwrap().status().as_u16()
        };
        for refused in ["http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/"] {
            assert_eq!(post(refused).await, 400, "{refused}");
        }
        let mapped = format!("http://[::ffff:127.0.0.1]:{}/mapped", receiver.address.port());
        assert_eq!((post(&receiver.url("/plain")).await, post(&mapped).await), (201, 201));
        let admin = caller(app, "1", "admin");
        let room_type = admin.create_room_type(&NewRoomType::new("객실", 1, 1)).await.unwrap();
        let guest = caller(app, "7", "user");
        let hold = guest.place_hold(&new_hold(&room_type, day(30), day(31))).await.unwrap();
        guest.confirm_hold(hold.hold_id).await.unwrap();
        let paths: BTreeSet<_> = receiver.until(2).await.into_iter().map(|request| request.path).collect();
        assert_eq!(paths, BTreeSet::from(["/mapped".to_owned(), "/plain".to_owned()]));
    })
    .await;
}

profiles!(events_name_the_configured_source);
async fn events_name_the_configured_source(profile: Profile) {
    let source = "https://shop.example.com/seoul";
    with_settings(
        profile,
        |config| config.events.source = source.into(),
        async |app| {
            let receiver = Receiver::start().await;
            subscribe(app, &receiver.url("/hook"), &["stay."]).await;
            let mut listening = Listening::open(&app.admin(), "", None).await;
            reserved(app).await;
            for event_type in ["stay.hold.placed", "stay.reservation.confirmed"] {
                let (_, event) = listening.next().await;
                assert_eq!((&event["type"], &event["source"]), (&json!(event_type), &json!(source)));
            }
            assert_eq!(receiver.until(1).await[0].json()["source"], source);
            let (_, replayed) = Listening::open(&app.admin(), "", Some("0")).await.next().await;
            assert_eq!(replayed["source"], source);
        },
    )
    .await;
}

profiles!(pending_delivery_survives_restart);
/// Pending deliveries are attempted after a restart, and old ones are purged.
async fn pending_delivery_survives_restart(profile: Profile) {
    let receiver = Receiver::start().await;
    with_restart(
        profile,
        async |app| {
            let receiver = &receiver;
            receiver.will_answer(&[204, 500]);
            let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
            reserved(app).await;
            deliveries(app, &webhook, all_are("DELIVERED")).await;
            app.pass(Span::from_hours(15 * 24));
            reserved(app).await;
            deliveries(app, &webhook, |log| log.iter().any(|it| it["lastStatus"] == 500)).await;
        },
        async |app| {
            let webhook = get(app, "/v1/webhooks").await.json["items"][0].clone();
            app.pass(Span::from_secs(10));
            let log = deliveries(app, &webhook, |log| log.len() == 1 && all_are("DELIVERED")(log)).await;
            assert_eq!(log[0]["attempts"], 2);
        },
    )
    .await;
    assert_eq!(receiver.received().len(), 3, "a success, a failure and its retry");
}

profiles!(unpublished_commit_is_delivered);
async fn unpublished_commit_is_delivered(profile: Profile) {
    with_settings(profile, watchful, async |app| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        app.commit_unpublished("stay.reservation.confirmed").await;
        deliveries(app, &webhook, all_are("DELIVERED")).await;
        assert_eq!(receiver.received().len(), 1);
    })
    .await;
}

profiles!(outbox_is_purged_without_webhooks);
async fn outbox_is_purged_without_webhooks(profile: Profile) {
    with_settings(profile, watchful, async |app| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        reserved(app).await;
        deliveries(app, &webhook, all_are("DELIVERED")).await;
        let gone = app.send("DELETE", &format!("/v1/webhooks/{}", webhook["id"]), &[], "").await;
        assert_eq!(gone.status, 204);
        reserved(app).await;
        let last = app.outbox_last().await;
        // Entries behind all positions are purged when they are old.
        let mark =
            |rows: &mut WorkingSet| Ok(rows.relay.relays.get(&Partition::WEBHOOKS)?.map(|relay| relay.sent_up_to));
        let marked = async {
            while app.app().query(|rows, _| mark(rows)).await.ok().flatten() != Some(last) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), marked).await.expect("the position has advanced");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_deliver_each_event_once() {
    let watchful = |config: &mut Config| watchful(config);
    with_settings(Profile::Cluster, watchful, async |app: &TestApp| {
        let receiver = Receiver::start().await;
        let webhook = subscribe(app, &receiver.url("/hook"), &["stay."]).await;
        let (other, engine) = app.start_another().await;
        for _ in 0..20 {
            reserved(app).await;
        }
        let log = deliveries(app, &webhook, |log| log.len() == 20 && all_are("DELIVERED")(log)).await;
        assert!(log.iter().all(|delivery| delivery["attempts"] == 1));
        let ids: BTreeSet<_> = receiver.received().iter().map(|it| it.header("webhook-id").to_owned()).collect();
        assert_eq!((ids.len(), receiver.received().len()), (20, 20));
        other.stop();
        drop(other);
        tokio::task::spawn_blocking(move || engine.join().unwrap()).await.unwrap();
    })
    .await;
}
