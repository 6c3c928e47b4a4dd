//! Foreign messages on the bus, and events while NATS is unavailable.

use std::time::{Duration, Instant};

use holdfast_core::time::Span;
use holdfast_events::nats::{Connection, Delivery, HeaderMap, Publication, Verdict};
use holdfast_server::Config;
use holdfast_server::config::Secret;
use holdfast_server::roles::{Role, Roles};
use holdfast_testkit::{NatsOptions, NatsServer, Profile};
use serde_json::{Value, json};

use crate::auth::{LATER, SECRET, token};
use crate::support::{TestApp, over_nats, over_nats_with};
use crate::tee_services::{book, join, tell_of_slot, without_course};
use crate::tee_times::{booked, booking, get, send, slot, until};

/// Course service written from the contract alone: its replies have ids of their own, contain only the documented
/// fields, and are plain messages.
fn act_for_course(connection: &Connection, answer: &'static str, more: &'static str) {
    let connection = connection.clone();
    tokio::spawn(async move {
        let answering = connection.clone();
        let handle = move |delivery: Delivery| {
            let connection = answering.clone();
            async move {
                let event: Value = serde_json::from_slice(&delivery.payload).unwrap();
                let mut data = json!({});
                for name in ["bookingId", "gameTimeSlotId", "playerCount"] {
                    data[name] = event["data"][name].clone();
                }
                if !more.is_empty() {
                    data["reason"] = json!(more);
                }
                let id = format!("0195d2a1-7c1e-7e2f-9d52-{:012}", data["bookingId"].as_u64().unwrap());
                let answer_of =
                    json!({"specversion": "1.0", "id": id, "source": "/courses", "type": answer, "data": data});
                let payload = answer_of.to_string().into();
                let publication = Publication { subject: answer, id: &id, key: 0, headers: HeaderMap::new(), payload };
                connection.publish(&publication).await.unwrap();
                Verdict::Processed
            }
        };
        connection.consume("course", handle, std::future::pending()).await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_course_service_can_reply() {
    over_nats(Profile::Embedded, &[without_course()], &async |app: &TestApp| {
        let connection = join(app).await;
        tell_of_slot(&connection, 848).await;
        act_for_course(&connection, "slot.reserved", "");
        let made = book(app, 848, &[]).await;
        let path = format!("/bookings/{}?userId=7", made["id"]);
        assert_eq!(until(app, &path, |it| it["status"] != "PENDING").await["status"], "CONFIRMED");
    })
    .await;
    over_nats(Profile::Embedded, &[without_course()], &async |app: &TestApp| {
        let connection = join(app).await;
        tell_of_slot(&connection, 848).await;
        act_for_course(&connection, "slot.reserve.failed", "GREEN_UNDER_WATER");
        let made = book(app, 848, &[]).await;
        let path = format!("/bookings/{}?userId=7", made["id"]);
        let settled = until(app, &path, |it| it["status"] != "PENDING").await;
        assert_eq!((&settled["status"], &settled["failureReason"]), (&json!("FAILED"), &json!("SLOT_REFUSED")));
        // Unknown values are stored unchanged.
        let last = settled["history"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["action"], &last["reason"]), (&json!("FAILED"), &json!("GREEN_UNDER_WATER")));
    })
    .await;
}

fn of_bookings(event: &Value, made: &Value) -> bool {
    event["eventType"] == "slot.reserve" && event["payload"]["bookingId"] == made["id"]
}

/// Returns the `slot.reserve` of a booking in the outbox, once it satisfies `is_so`; the store's time advances
/// meanwhile.
async fn reserve_of(app: &TestApp, made: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
    let found = |shown: &Value| {
        shown["items"].as_array().unwrap().iter().find(|event| of_bookings(event, made)).unwrap().clone()
    };
    found(&passing_until(app, "/v1/admin/outbox?limit=500", |shown| is_so(&found(shown))).await)
}

/// Advances the time until the response satisfies `is_so`.
async fn passing_until(app: &TestApp, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let shown = get(app, path).await;
        if is_so(&shown) {
            return shown;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "{shown}");
        app.pass(Span::from_millis(100));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_away(app: &TestApp) {
    let away = async { while !app.send("GET", "/readyz", &[], "").await.json["bus"].is_string() {} };
    tokio::time::timeout(Duration::from_secs(20), away).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_resumes_when_nats_reconnects() {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let url = server.url().to_owned();
    let own = |config: &mut Config| {
        config.server.nats_url = Some(Secret::new(&url));
        config.tee.outbox_poll = Duration::from_millis(50);
        config.tee.outbox_retries_max = 2;
    };
    over_nats_with(Profile::Embedded, &[Roles::ALL], own, &async |app: &TestApp| {
        let slot = slot(app, 10, 9).await;
        let before = booked(app, 7, slot, 1, "a").await;
        // Otherwise later events of this booking wait behind unpublished ones.
        until(app, "/v1/admin/outbox?status=PENDING", |shown| shown["items"] == json!([])).await;
        tokio::task::block_in_place(|| server.kill());
        until_away(app).await;
        let made = send(app, "POST", "/bookings", &booking(8, slot, 2, "b")).await.json;
        let cancelled = app.send("POST", &format!("/bookings/{}/cancel?userId=7", before["id"]), &[], "").await;
        assert_eq!(cancelled.json["status"], "CANCELLED");
        let once = reserve_of(app, &made, |event| event["retryCount"] == 1).await;
        assert_eq!(once["status"], "PENDING", "it will be retried");
        let failed = reserve_of(app, &made, |event| event["status"] == "FAILED").await;
        assert_eq!(failed["retryCount"], 2);
        let retried = app.send("POST", &format!("/v1/admin/outbox/{}/retry", failed["id"]), &[], "").await;
        assert_eq!((&retried.json["status"], &retried.json["retryCount"]), (&json!("PENDING"), &json!(0)));
        reserve_of(app, &made, |event| event["status"] == "FAILED").await;
        let is_failed = |shown: &Value, name: &str| {
            shown["items"].as_array().unwrap().iter().any(|event| event["eventType"] == name)
        };
        let all = ["booking.created", "slot.release", "booking.cancelled"];
        let are_failed = |shown: &Value| all.iter().all(|name| is_failed(shown, name));
        passing_until(app, "/v1/admin/outbox?status=FAILED", are_failed).await;

        tokio::task::block_in_place(|| server.restart().unwrap());
        let path = format!("/bookings/{}?userId=8", made["id"]);
        assert_eq!(until(app, &path, |it| it["status"] != "PENDING").await["status"], "CONFIRMED");
        until(app, &format!("/v1/slots/{slot}"), |slot| slot["bookedPlayers"] == 2).await;
        until(app, "/v1/notifications?limit=500", |published| published["items"].as_array().unwrap().len() == 3).await;
        assert_eq!(get(app, "/v1/admin/outbox?status=FAILED").await["items"], json!([]));
        until(app, "/v1/admin/outbox?status=PENDING", |shown| shown["items"] == json!([])).await;
    })
    .await;
}

/// Pauses or resumes a process.
fn signal(server: &NatsServer, name: &str) {
    let pid = server.pid().unwrap().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn event_in_flight_is_shown_as_processing() {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let url = server.url().to_owned();
    let own = |config: &mut Config| config.server.nats_url = Some(Secret::new(&url));
    over_nats_with(Profile::Embedded, &[Roles::ALL], own, &async |app: &TestApp| {
        let slot = slot(app, 10, 9).await;
        assert_eq!(booked(app, 7, slot, 1, "a").await["status"], "CONFIRMED");
        signal(&server, "-STOP");
        let made = send(app, "POST", "/bookings", &booking(8, slot, 2, "b")).await.json;
        reserve_of(app, &made, |event| event["status"] == "PROCESSING").await;
        let shown = get(app, "/v1/admin/outbox?status=PROCESSING").await;
        assert!(shown["items"].as_array().unwrap().iter().any(|event| of_bookings(event, &made)), "{shown}");
        signal(&server, "-CONT");
        reserve_of(app, &made, |event| event["status"] == "SENT").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn booking_over_nats_works_with_tokens() {
    let auth = |config: &mut Config| config.auth.jwt_secret = Some(Secret::new(SECRET));
    over_nats_with(Profile::Embedded, &Role::ALL.map(|role| Roles::of([role])), auth, &async |app: &TestApp| {
        let bearer =
            |sub: &str, role: &str| format!("Bearer {}", token(&json!({"sub": sub, "role": role, "exp": LATER})));
        let (admin, user, other) = (bearer("1", "admin"), bearer("7", "user"), bearer("8", "user"));
        let ask = async |who: &str, method: &str, path: &str, body: Value| {
            let body = if method == "GET" { String::new() } else { body.to_string() };
            app.send(method, path, &[("authorization", who)], &body).await
        };
        let away = async { while ask(&admin, "GET", "/v1/courses", json!({})).await.status == 503 {} };
        tokio::time::timeout(Duration::from_secs(20), away).await.unwrap();
        let course = ask(&admin, "POST", "/v1/courses", json!({"name": "파크골프장"})).await;
        assert_eq!(course.status, 201, "{}", course.text);
        let when = crate::support::day(10).to_string();
        let slots = json!({"slots": [{"date": when, "startTime": "09:00", "maxPlayers": 4, "price": 20_000}]});
        let path = format!("/v1/courses/{}/slots", course.json["id"]);
        assert_eq!(ask(&user, "POST", &path, slots.clone()).await.refusal(), (403, "FORBIDDEN"));
        let slot = ask(&admin, "POST", &path, slots).await.json[0]["id"].as_u64().unwrap();
        let asked = json!({"idempotencyKey": "a", "gameTimeSlotId": slot, "playerCount": 2});
        let made = ask(&user, "POST", "/bookings", asked).await;
        assert_eq!((made.status, &made.json["userId"]), (202, &json!(7)), "{}", made.text);
        let path = format!("/bookings/{}", made.json["id"]);
        let confirmed = async { while ask(&user, "GET", &path, json!({})).await.json["status"] != "CONFIRMED" {} };
        tokio::time::timeout(Duration::from_secs(20), confirmed).await.unwrap();
        assert_eq!(ask(&other, "GET", &path, json!({})).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(app.send("GET", &path, &[], "").await.refusal(), (401, "UNAUTHENTICATED"));
        assert_eq!(ask(&user, "GET", "/v1/admin/outbox", json!({})).await.refusal(), (403, "FORBIDDEN"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn booking_over_nats_works_in_cluster() {
    for roles in [&[Roles::ALL][..], &Role::ALL.map(|role| Roles::of([role]))] {
        over_nats(Profile::Cluster, roles, &async |app: &TestApp| {
            let slot = slot(app, 10, 4).await;
            assert_eq!(booked(app, 7, slot, 3, "a").await["status"], "CONFIRMED");
            assert_eq!(booked(app, 8, slot, 2, "a").await["failureReason"], "SLOT_FULL");
            until(app, &format!("/v1/slots/{slot}"), |slot| slot["bookedPlayers"] == 3).await;
            until(app, "/v1/notifications?limit=500", |published| published["items"].as_array().unwrap().len() == 2)
                .await;
        })
        .await;
    }
}
