//! Tee-time services over NATS: messages on the bus, and unavailable services.

use std::time::Duration;

use holdfast_events::nats::{Connection, Delivery, HeaderMap, Publication, Verdict};
use holdfast_server::Config;
use holdfast_server::config::Secret;
use holdfast_server::roles::{Role, Roles};
use holdfast_testkit::{NatsOptions, NatsServer, Profile};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{TestApp, day, over_nats, over_nats_with};
use crate::tee_times::{booked, booking, get, send, slot, until};

/// Connects a foreign program to the same bus.
pub(crate) async fn join(app: &TestApp) -> Connection {
    let connection = Connection::open(app.bus.clone().unwrap()).await.unwrap();
    while connection.check().is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    connection
}

async fn request(connection: &Connection, subject: &str, headers: HeaderMap, body: &Value) -> Value {
    let asked = connection.request(subject, headers, body.to_string().into(), Duration::from_secs(5)).await.unwrap();
    serde_json::from_slice(&asked.payload).unwrap()
}

/// Acts as the course service, and reports its messages.
fn act_for_course(connection: &Connection) -> mpsc::UnboundedReceiver<(String, Value)> {
    let (seen, receiver) = mpsc::unbounded_channel();
    let connection = connection.clone();
    tokio::spawn(async move {
        let handle = move |delivery: Delivery| {
            let event = serde_json::from_slice(&delivery.payload).unwrap_or_default();
            seen.send((delivery.subject, event)).ok();
            async { Verdict::Processed }
        };
        connection.consume("course", handle, std::future::pending()).await;
    });
    receiver
}

async fn next(seen: &mut mpsc::UnboundedReceiver<(String, Value)>, subject: &str) -> Value {
    let next = async {
        loop {
            let (found, event) = seen.recv().await.unwrap();
            if found == subject {
                return event;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), next).await.unwrap_or_else(|_| panic!("{subject} comes"))
}

/// Announces a slot to the booking service, as the course service does.
pub(crate) async fn tell_of_slot(connection: &Connection, slot: u64) {
    let tee_off = format!("{}T00:00:00Z", day(10)).parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let (id, data) = (
        format!("slot.changed:{slot}:1"),
        json!({"gameTimeSlotId": slot, "courseId": 1, "teeOffMs": tee_off, "maxPlayers": 4, "price": 20_000,
            "currency": "KRW", "closed": false, "slotVersion": 1}),
    );
    let event = json!({"specversion": "1.0", "id": id, "source": "/test", "type": "slot.changed", "data": data});
    let payload = event.to_string().into();
    let publication = Publication { subject: "slot.changed", id: &id, key: slot, headers: HeaderMap::new(), payload };
    connection.publish(&publication).await.unwrap();
}

/// Books as soon as the booking service knows the slot.
pub(crate) async fn book(app: &TestApp, slot: u64, headers: &[(&str, &str)]) -> Value {
    loop {
        let made = app.send("POST", "/bookings", headers, &booking(7, slot, 2, "a").to_string()).await;
        if made.status != 404 {
            assert_eq!(made.status, 202, "{}", made.text);
            return made.json;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn without_course() -> Roles {
    Roles::of([Role::Api, Role::Booking, Role::Notify])
}

#[tokio::test(flavor = "multi_thread")]
async fn booking_create_takes_json_or_cloud_event() {
    over_nats(Profile::Embedded, &Role::ALL.map(|role| Roles::of([role])), &async |app: &TestApp| {
        let (slot, connection) = (slot(app, 10, 4).await, join(app).await);
        let asked = booking(7, slot, 3, "a");
        let made = request(&connection, "booking.create", HeaderMap::new(), &asked).await;
        assert_eq!((&made["status"], &made["totalPrice"]), (&json!("PENDING"), &json!(60_000)), "{made}");
        let event = json!({"specversion": "1.0", "id": "x", "source": "/me", "type": "booking.create", "data": asked});
        let again = request(&connection, "booking.create", HeaderMap::new(), &event).await;
        assert_eq!(again["id"], made["id"], "the same key, the same booking");
        until(app, &format!("/bookings/{}?userId=7", made["id"]), |it| it["status"] == "CONFIRMED").await;
        let mut english = HeaderMap::new();
        english.insert("accept-language", "en");
        let refused = request(&connection, "booking.create", english, &booking(7, 999, 1, "b")).await;
        assert_eq!((&refused["code"], &refused["status"]), (&json!("SLOT_NOT_FOUND"), &json!(404)));
        let unnamed = json!({"idempotencyKey": "c", "gameTimeSlotId": slot, "playerCount": 1});
        let refused = request(&connection, "booking.create", HeaderMap::new(), &unnamed).await;
        assert_eq!((&refused["code"], &refused["field"]), (&json!("INVALID_INPUT"), &json!("userId")));
    })
    .await;
}

/// As in HTTP. NATS itself keeps and compares names as their sender wrote them.
#[tokio::test(flavor = "multi_thread")]
async fn booking_create_headers_match_in_any_case() {
    over_nats(Profile::Embedded, &[Roles::ALL], &async |app: &TestApp| {
        let (slot, connection) = (slot(app, 10, 4).await, join(app).await);
        for (name, key) in [("Idempotency-Key", "a"), ("IDEMPOTENCY-KEY", "b"), ("idempotency-key", "c")] {
            let mut headers = HeaderMap::new();
            headers.insert(name, key);
            let asked = booking(7, slot, 1, key).to_string();
            let request = async || {
                let asked = asked.clone().into();
                connection.request("booking.create", headers.clone(), asked, Duration::from_secs(5)).await.unwrap()
            };
            let (first, second) = (request().await, request().await);
            assert_eq!(first.headers.get("Idempotent-Replayed"), None, "{name}");
            assert_eq!(second.headers.get("Idempotent-Replayed"), Some("true"), "{name}: {second:?}");
            assert_eq!(first.payload, second.payload, "{name}");
        }
        let mut english = HeaderMap::new();
        english.insert("ACCEPT-LANGUAGE", "en");
        let refused = request(&connection, "booking.create", english, &booking(7, 999, 1, "d")).await;
        assert!(refused["detail"].as_str().unwrap().is_ascii(), "{refused}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn single_process_can_use_nats() {
    over_nats(Profile::Postgres, &[Roles::ALL], &async |app: &TestApp| {
        let slot = slot(app, 10, 5).await;
        let booking = async |user: u64| booked(app, user, slot, 1, "a").await;
        let all = futures_util::future::join_all((1..=20).map(booking)).await;
        assert_eq!(all.iter().filter(|booking| booking["status"] == "CONFIRMED").count(), 5);
        until(app, "/v1/notifications?limit=500", |published| published["items"].as_array().unwrap().len() == 20).await;
    })
    .await;
}

/// More than NATS leaves unacknowledged per consumer, some of which no store could keep.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_do_not_block_others() {
    over_nats(Profile::Postgres, &[Roles::ALL], &async |app: &TestApp| {
        let slot = slot(app, 10, 4).await;
        let connection = join(app).await;
        let tell = async |subject: &str, id: String, data: Value| {
            let event = json!({"specversion": "1.0", "id": id, "source": "/test", "type": subject, "data": data});
            let payload = event.to_string().into();
            let publication = Publication { subject, id: &id, key: 1, headers: HeaderMap::new(), payload };
            connection.publish(&publication).await.unwrap();
        };
        for unknown in 1_000..1_300 {
            let data = json!({"bookingId": unknown, "gameTimeSlotId": slot, "playerCount": 1});
            tell("slot.released", format!("unknown {unknown}"), data).await;
        }
        let huge = json!({"bookingId": 1_300, "gameTimeSlotId": slot, "playerCount": u32::MAX});
        tell("slot.reserve", "huge".into(), huge).await;
        assert_eq!(booked(app, 7, slot, 4, "a").await["status"], "CONFIRMED");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_cloud_events_with_trace() {
    over_nats(Profile::Embedded, &[without_course()], &async |app: &TestApp| {
        let connection = join(app).await;
        tell_of_slot(&connection, 848).await;
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let made = book(app, 848, &[("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"))]).await;
        let mut seen = act_for_course(&connection);
        let event = next(&mut seen, "slot.reserve").await;
        let id = &made["id"];
        assert_eq!(event["data"], json!({"bookingId": id, "gameTimeSlotId": 848, "playerCount": 2}));
        assert_eq!((&event["specversion"], &event["id"]), (&json!("1.0"), &json!(format!("slot.reserve:{id}"))));
        let traceparent = event["traceparent"].as_str().unwrap();
        assert!(traceparent.starts_with(&format!("00-{trace}-")) && !traceparent.contains("00f067aa0ba902b7"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_on_the_bus_name_the_source() {
    let own = |config: &mut Config| config.events.source = "urn:shop:seoul".into();
    over_nats_with(Profile::Embedded, &[without_course()], own, &async |app: &TestApp| {
        let connection = join(app).await;
        tell_of_slot(&connection, 848).await;
        book(app, 848, &[]).await;
        let mut seen = act_for_course(&connection);
        assert_eq!(next(&mut seen, "slot.reserve").await["source"], "urn:shop:seoul");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_service_is_named_in_errors() {
    over_nats(Profile::Embedded, &[Roles::of([Role::Api])], &async |app: &TestApp| {
        let bookings = app.send("GET", "/bookings", &[], "").await;
        assert_eq!((bookings.refusal(), &bookings.json["service"]), ((503, "SERVICE_UNAVAILABLE"), &json!("booking")));
        assert!(bookings.header("retry-after").is_some());
        let course = send(app, "POST", "/v1/courses", &json!({"name": "파크골프장"})).await;
        assert_eq!((course.refusal(), &course.json["service"]), ((503, "SERVICE_UNAVAILABLE"), &json!("course")));
        let outbox = app.send("GET", "/v1/admin/outbox?service=notify", &[], "").await;
        assert_eq!(outbox.json["service"], "notify");
        let bookings = app.send("GET", "/v1/admin/outbox", &[], "").await;
        assert_eq!(bookings.json["service"], "booking", "the default is the booking service");
        assert_eq!(get(app, "/v1/admin/outbox?service=api").await["items"], json!([]));
        app.room_type(1).await;
        assert_eq!(app.send("GET", "/readyz", &[], "").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_release_is_retried_until_it_succeeds() {
    let impatient = |config: &mut Config| {
        config.tee.outbox_retries_max = 0;
        config.tee.sweep_every = Duration::from_secs(1);
    };
    over_nats_with(Profile::Embedded, &[without_course()], impatient, &async |app: &TestApp| {
        let connection = join(app).await;
        tell_of_slot(&connection, 848).await;
        // No course service runs, and its stream is full.
        let payload = vec![b'x'; 300 << 10];
        for number in 0.. {
            let (id, payload) = (format!("junk:{number}"), payload.clone().into());
            let headers = HeaderMap::new();
            let junk = Publication { subject: "slot.reserve", id: &id, key: 0, headers, payload };
            if connection.publish(&junk).await.is_err() {
                break;
            }
        }
        for number in 0..100_000 {
            let (id, payload) = (format!("less:{number}"), vec![b'x'; 64].into());
            let headers = HeaderMap::new();
            let junk = Publication { subject: "slot.reserve", id: &id, key: 0, headers, payload };
            if connection.publish(&junk).await.is_err() {
                break;
            }
        }
        let made = book(app, 848, &[]).await;
        let cancelled = app.send("POST", &format!("/bookings/{}/cancel?userId=7", made["id"]), &[], "").await;
        assert_eq!(cancelled.json["status"], "CANCELLED");
        let is_release = |event: &Value| event["eventType"] == "slot.release";
        let failed = until(app, "/v1/admin/outbox?status=FAILED", |failed| {
            failed["items"].as_array().unwrap().iter().any(is_release)
        })
        .await;
        let release = failed["items"].as_array().unwrap().iter().find(|event| is_release(event)).unwrap();
        assert_eq!(release["payload"]["bookingId"], made["id"]);
        let metrics = app.send("GET", "/metrics", &[], "").await.text;
        assert!(metrics.contains("holdfast_outbox_dead_letters_total"), "the dead letter is counted");
        let mut seen = act_for_course(&connection);
        assert_eq!(next(&mut seen, "slot.release").await["data"]["bookingId"], made["id"]);
        until(app, "/v1/admin/outbox?status=SENT", |sent| sent["items"].as_array().unwrap().iter().any(is_release))
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bookings_settle_after_nats_outage() {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let url = server.url().to_owned();
    let own = |config: &mut Config| {
        config.server.nats_url = Some(Secret::new(&url));
        config.tee.outbox_retries_max = 0;
    };
    over_nats_with(Profile::Embedded, &[Roles::ALL], own, &async |app: &TestApp| {
        let slot = slot(app, 10, 4).await;
        assert_eq!(booked(app, 7, slot, 1, "a").await["status"], "CONFIRMED");
        tokio::task::block_in_place(|| server.kill());
        let not_ready = async {
            loop {
                let ready = app.send("GET", "/readyz", &[], "").await;
                if ready.json["bus"].is_string() {
                    return ready;
                }
            }
        };
        let not_ready = tokio::time::timeout(Duration::from_secs(20), not_ready).await.unwrap();
        let fault = not_ready.json["bus"].as_str().unwrap();
        assert!(fault.starts_with("NATS at ") && fault.ends_with(" is unavailable"), "{fault}");
        let made = send(app, "POST", "/bookings", &booking(8, slot, 2, "b")).await;
        assert_eq!((made.status, &made.json["status"]), (202, &json!("PENDING")));
        tokio::task::block_in_place(|| server.restart().unwrap());
        let path = format!("/bookings/{}?userId=8", made.json["id"]);
        assert_eq!(until(app, &path, |it| it["status"] != "PENDING").await["status"], "CONFIRMED");
        until(app, "/v1/notifications?userId=8", |published| published["items"].as_array().unwrap().len() == 1).await;
    })
    .await;
}
