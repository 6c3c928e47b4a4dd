//! The public server with every tee-time service in a process and on a store of its own: it behaves like a single
//! server.

use std::collections::BTreeMap;

use holdfast_events::nats::{HeaderMap, Publication};
use holdfast_server::config::Secret;
use holdfast_server::roles::{Role, Roles};
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::auth::{LATER, SECRET, token};
use crate::stream::Listening;
use crate::support::{TestApp, over_nats, over_nats_with};
use crate::tee_services::join;
use crate::tee_times::{booked, get, slot, until};
use crate::webhook_support::{Receiver, subscribe};

fn apart() -> [Roles; 4] {
    Role::ALL.map(|role| Roles::of([role]))
}

/// Collects the events of each booking, in order.
async fn published(listening: &mut Listening, count: usize) -> BTreeMap<u64, Vec<String>> {
    let mut published: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for _ in 0..count {
        let (_, event) = listening.next().await;
        let booking = event["data"]["bookingId"].as_u64().unwrap();
        published.entry(booking).or_default().push(event["type"].as_str().unwrap().to_owned());
    }
    published
}

profiles!(remote_booking_events_reach_subscribers: embedded postgres);
async fn remote_booking_events_reach_subscribers(profile: Profile) {
    over_nats(profile, &apart(), &async |app: &TestApp| {
        let receiver = Receiver::start().await;
        subscribe(app, &receiver.url("/all"), &["booking."]).await;
        let mut listening = Listening::open(&app.admin(), "?types=booking.", None).await;
        let mut theirs = Listening::open(&app.guest(8), "?types=booking.", None).await;
        let slot = slot(app, 10, 5).await;
        let mut ids = Vec::new();
        for (user, players, end) in [(7, 1, "cancel"), (8, 1, "complete"), (9, 1, "no-show"), (10, 5, "")] {
            let made = booked(app, user, slot, players, "a").await;
            ids.push(made["id"].as_u64().unwrap());
            if !end.is_empty() {
                let path = format!("/bookings/{}/{end}", made["id"]);
                assert_eq!(app.send("POST", &path, &[], "").await.status, 200, "{end}");
            }
        }
        let all = published(&mut listening, 11).await;
        let expected = [
            (ids[0], vec!["booking.created", "booking.confirmed", "booking.cancelled"]),
            (ids[1], vec!["booking.created", "booking.confirmed", "booking.completed"]),
            (ids[2], vec!["booking.created", "booking.confirmed", "booking.no_show"]),
            (ids[3], vec!["booking.created", "booking.failed"]),
        ];
        let of = |types: Vec<&str>| types.into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(all, expected.into_iter().map(|(id, types)| (id, of(types))).collect(), "in order, each once");

        let (first, created) = theirs.next().await;
        assert_eq!((&created["data"]["userId"], &created["data"]["status"]), (&json!(8), &json!("PENDING")));
        assert_eq!(created["time"], get(app, &format!("/bookings/{}?userId=8", ids[1])).await["createdAt"]);
        assert_eq!(theirs.next_types(2).await, ["booking.confirmed", "booking.completed"], "no other user's events");
        let mut resumed = Listening::open(&app.guest(8), "?types=booking.", Some(&first)).await;
        assert_eq!(resumed.next_types(2).await, ["booking.confirmed", "booking.completed"]);

        let delivered = receiver.until(11).await;
        let mut names: Vec<&str> = delivered.iter().map(|it| it.header("webhook-id")).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 11, "each has been delivered");
        let here = get(app, "/v1/admin/outbox?service=api").await;
        let here = here["items"].as_array().unwrap().clone();
        assert_eq!(here.iter().filter(|event| event["status"] == "SENT").count(), 11, "none is left to publish");
    })
    .await;
}

/// Sends an event of a booking service, in a message of its own.
async fn tell(app: &TestApp, message: &str, id: &str, booking: u64) {
    let data = json!({"bookingId": booking, "gameTimeSlotId": 1, "playerCount": 2, "userId": 7, "status": "CONFIRMED"});
    let event = json!({"specversion": "1.0", "id": id, "source": "/test", "type": "booking.confirmed", "data": data});
    let (headers, payload) = (HeaderMap::new(), event.to_string().into());
    let publication = Publication { subject: "booking.confirmed", id: message, key: booking, headers, payload };
    join(app).await.publish(&publication).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_event_is_published_once() {
    over_nats(Profile::Embedded, &apart(), &async |app: &TestApp| {
        let mut listening = Listening::open(&app.admin(), "?types=booking.", None).await;
        tell(app, "first", "f00d-1", 41).await;
        tell(app, "second", "f00d-1", 41).await;
        tell(app, "third", "f00d-2", 42).await;
        let all = published(&mut listening, 2).await;
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), [41, 42]);
        until(app, "/v1/admin/outbox?service=api", |here| here["items"].as_array().unwrap().len() == 2).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_servers_publish_each_event_once() {
    over_nats(Profile::Cluster, &apart(), &async |app: &TestApp| {
        let (another, engine) = app.start_another_with(Roles::of([Role::Api])).await;
        let mut listening = Listening::open(&app.admin(), "?types=booking.", None).await;
        let slot = slot(app, 10, 30).await;
        futures_util::future::join_all((1..=30).map(async |user| booked(app, user, slot, 1, "a").await)).await;
        let all = published(&mut listening, 60).await;
        assert!(all.len() == 30 && all.values().all(|types| types == &["booking.created", "booking.confirmed"]));
        another.stop();
        drop(another);
        tokio::task::spawn_blocking(move || engine.join().unwrap()).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_database_publishes_event_once() {
    over_nats(Profile::Cluster, &[Roles::of([Role::Api])], &async |app: &TestApp| {
        let (services, engine) = app.start_another_with(Roles::of([Role::Booking, Role::Course, Role::Notify])).await;
        while app.send("GET", "/bookings", &[], "").await.status == 503 {}
        let mut listening = Listening::open(&app.admin(), "?types=booking.", None).await;
        let slot = slot(app, 10, 4).await;
        assert_eq!(booked(app, 7, slot, 1, "a").await["status"], "CONFIRMED");
        let all = published(&mut listening, 2).await;
        assert_eq!(all.into_values().next().unwrap(), ["booking.created", "booking.confirmed"]);
        until(app, "/v1/notifications?userId=7", |published| published["items"].as_array().unwrap().len() == 1).await;
        let events = get(app, "/v1/admin/outbox?service=api&limit=500").await["items"].as_array().unwrap().clone();
        assert_eq!(events.iter().filter(|it| it["eventType"] == "booking.confirmed").count(), 1);
        services.stop();
        drop(services);
        tokio::task::spawn_blocking(move || engine.join().unwrap()).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn booking_outbox_is_shown_and_retried() {
    over_nats(Profile::Embedded, &apart(), &async |app: &TestApp| {
        let slot = slot(app, 10, 4).await;
        booked(app, 7, slot, 1, "a").await;
        let is_sent = |event: &Value, name: &str| event["eventType"] == name && event["status"] == "SENT";
        let shown = until(app, "/v1/admin/outbox", |shown| {
            shown["items"].as_array().unwrap().iter().any(|event| is_sent(event, "slot.reserve"))
        })
        .await;
        let reserve = shown["items"].as_array().unwrap().iter().find(|it| is_sent(it, "slot.reserve")).unwrap();
        let retried = app.send("POST", &format!("/v1/admin/outbox/{}/retry", reserve["id"]), &[], "").await;
        assert_eq!((retried.status, &retried.json["eventType"]), (200, &json!("slot.reserve")));
        until(app, "/v1/admin/outbox?service=course", |shown| {
            shown["items"].as_array().unwrap().iter().any(|event| is_sent(event, "slot.reserved"))
        })
        .await;
    })
    .await;
}

/// Calls the routes that the console's pages use.
async fn through_the_console(app: &TestApp, headers: &[(&str, &str)]) {
    let page = async |method: &str, path: &str, body: Value| {
        let ours = [headers, &[("sec-fetch-site", "same-origin"), ("content-type", "application/json")]].concat();
        app.send(method, &format!("/console/{path}"), &ours, &body.to_string()).await
    };
    let course = page("POST", "api/v1/courses", json!({"name": "파크골프장"})).await;
    assert_eq!(course.status, 201, "{}", course.text);
    let when = crate::support::day(10).to_string();
    let slots = json!({"slots": [{"date": when, "startTime": "09:00", "maxPlayers": 4, "price": 20_000}]});
    let made = page("POST", &format!("api/v1/courses/{}/slots", course.json["id"]), slots).await;
    let body = crate::tee_times::booking(7, made.json[0]["id"].as_u64().unwrap(), 2, "a");
    let booking = page("POST", "api/bookings", body).await;
    assert_eq!(booking.status, 202, "{}", booking.text);
    let path = format!("api/bookings/{}", booking.json["id"]);
    let mut seen = page("GET", &path, json!({})).await;
    while seen.json["status"] != "CONFIRMED" {
        assert_eq!(seen.status, 200, "{}", seen.text);
        seen = page("GET", &path, json!({})).await;
    }
    let latest = page("GET", "api/bookings?order=desc&limit=1", json!({})).await;
    assert_eq!(latest.json["items"][0]["id"], booking.json["id"], "{}", latest.text);
    assert_eq!(page("GET", "api/v1/courses", json!({})).await.json["items"].as_array().unwrap().len(), 1);
    let story = page("GET", &format!("search?q={}", booking.json["bookingNumber"].as_str().unwrap()), json!({})).await;
    assert!(story.text.contains("CONFIRMED") || story.text.contains("confirmed"), "{}", story.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn console_reaches_remote_services() {
    over_nats(Profile::Embedded, &apart(), &async |app: &TestApp| {
        through_the_console(app, &[]).await;
        assert_eq!(
            get(app, "/v1/courses").await["items"].as_array().unwrap().len(),
            1,
            "courses are served by their service"
        );
    })
    .await;
    let auth = |config: &mut holdfast_server::Config| config.auth.jwt_secret = Some(Secret::new(SECRET));
    over_nats_with(Profile::Embedded, &apart(), auth, &async |app: &TestApp| {
        let session = format!("holdfast_session={}", token(&json!({"sub": "1", "role": "admin", "exp": LATER})));
        through_the_console(app, &[("cookie", &session)]).await;
        let unauthenticated = app.send("GET", "/console/api/bookings", &[], "").await;
        assert_eq!(unauthenticated.refusal(), (401, "UNAUTHENTICATED"));
    })
    .await;
}
