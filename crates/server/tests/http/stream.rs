//! `/v1/stream`: server-sent events.

use std::time::Duration;

use axum::body::Body;
use futures_util::{StreamExt as _, TryStreamExt as _};
use holdfast_client::Client;
use holdfast_server::router::router;
use serde_json::Value;
use tower::Service as _;

use crate::support::{TestApp, day, placed, with_app};

/// Open stream, read event by event.
pub(crate) struct Listening {
    bytes: std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<bytes::Bytes, axum::Error>> + Send>>,
    buffer: String,
}

impl Listening {
    pub(crate) async fn open(client: &Client, query: &str, last_event_id: Option<&str>) -> Self {
        let mut request = client.request(reqwest::Method::GET, &format!("/v1/stream{query}"));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { bytes: Box::pin(response.bytes_stream().map_err(axum::Error::new)), buffer: String::new() }
    }

    /// Opens the stream in process: nothing is read before the test requests it.
    async fn open_unread(app: &TestApp, last_event_id: &str) -> Self {
        let request = http::Request::get("/v1/stream").header("last-event-id", last_event_id);
        let response = router(app.app()).0.call(request.body(Body::empty()).unwrap()).await.unwrap();
        Self { bytes: Box::pin(response.into_body().into_data_stream()), buffer: String::new() }
    }

    /// Returns the next event: its id and its `CloudEvent`.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let found = field("id:").zip(field("data:"));
                let found = found.map(|(id, data)| (id.to_owned(), serde_json::from_str(data).unwrap()));
                self.buffer = String::from(rest);
                match found {
                    Some(event) => return event,
                    None => continue,
                }
            }
            let read = tokio::time::timeout(Duration::from_secs(30), self.bytes.next());
            let bytes = read.await.expect("an event arrives").expect("the stream is open").unwrap();
            self.buffer.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    pub(crate) async fn next_types(&mut self, count: usize) -> Vec<String> {
        let mut types = Vec::new();
        for _ in 0..count {
            types.push(self.next().await.1["type"].as_str().unwrap().to_owned());
        }
        types
    }
}

/// Holds, replaces, cancels, holds, confirms, cancels.
async fn one_of_everything(app: &TestApp, user: u64) {
    let room_type = app.room_type(5).await;
    placed(app, user, &room_type, day(1), day(2)).await;
    let second = placed(app, user, &room_type, day(1), day(2)).await;
    app.guest(user).cancel_hold(second.hold_id).await.unwrap();
    let third = placed(app, user, &room_type, day(1), day(2)).await;
    let reservation = app.guest(user).confirm_hold(third.hold_id).await.unwrap();
    app.guest(user).cancel_reservation(reservation.reservation_id).await.unwrap();
}

const EVERYTHING: [&str; 7] = [
    "stay.hold.placed",
    "stay.hold.replaced",
    "stay.hold.placed",
    "stay.hold.cancelled",
    "stay.hold.placed",
    "stay.reservation.confirmed",
    "stay.reservation.cancelled",
];

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_streamed_once_and_in_order() {
    with_app(async |app| {
        let mut listening = Listening::open(&app.admin(), "", None).await;
        one_of_everything(app, 1).await;
        let (id, first) = listening.next().await;
        assert_eq!((&first["specversion"], &first["type"]), (&"1.0".into(), &"stay.hold.placed".into()));
        assert_eq!(
            (first["id"].as_str(), &first["data"]["userId"], &first["data"]["status"]),
            (Some(&*id), &1.into(), &"HELD".into())
        );
        assert!(first["time"].as_str().unwrap().ends_with('Z') && first["source"].is_string());
        assert_eq!(listening.next_types(6).await, EVERYTHING[1..]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_is_filtered_by_owner_and_type() {
    with_app(async |app| {
        let mut theirs = Listening::open(&app.guest(2), "", None).await;
        let mut reservations = Listening::open(&app.admin(), "?types=stay.reservation.", None).await;
        let mut two = Listening::open(&app.admin(), "?types=stay.hold.cancelled,stay.hold.replaced", None).await;
        one_of_everything(app, 1).await;
        one_of_everything(app, 2).await;
        for expected in EVERYTHING {
            let (_, event) = theirs.next().await;
            assert_eq!((event["type"].as_str(), &event["data"]["userId"]), (Some(expected), &2.into()));
        }
        let both = ["stay.reservation.confirmed", "stay.reservation.cancelled"];
        assert_eq!(reservations.next_types(4).await, [both, both].concat());
        let holds = ["stay.hold.replaced", "stay.hold.cancelled"];
        assert_eq!(two.next_types(4).await, [holds, holds].concat());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_stream_replays_durable_events() {
    with_app(async |app| {
        let mut listening = Listening::open(&app.admin(), "", None).await;
        one_of_everything(app, 1).await;
        let mut last_fleeting = String::new();
        for _ in 0..5 {
            last_fleeting = listening.next().await.0;
        }
        let confirmed = listening.next().await.0;
        drop(listening);
        one_of_everything(app, 2).await;

        let mut back = Listening::open(&app.admin(), "", Some(&confirmed)).await;
        let missed = ["stay.reservation.cancelled", "stay.reservation.confirmed", "stay.reservation.cancelled"];
        assert_eq!(back.next_types(3).await, missed);
        let mut back = Listening::open(&app.admin(), "", Some(&last_fleeting)).await;
        assert_eq!(back.next_types(4).await, [["stay.reservation.confirmed"].as_slice(), &missed].concat());
        one_of_everything(app, 3).await;
        assert_eq!(back.next_types(7).await, EVERYTHING, "live events follow, none twice");

        let mut from_elsewhere = Listening::open(&app.admin(), "", Some("999999999")).await;
        one_of_everything(app, 4).await;
        assert_eq!(from_elsewhere.next_types(7).await, EVERYTHING, "an id of another store starts from here");
        let bad = app.send("GET", "/v1/stream", &[("last-event-id", "abc")], "").await;
        assert_eq!(bad.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_events_follow_replayed_ones() {
    with_app(async |app| {
        one_of_everything(app, 1).await;
        let mut back = Listening::open_unread(app, "0").await;
        let mut from_elsewhere = Listening::open_unread(app, "999999999").await;
        one_of_everything(app, 2).await;
        assert_eq!(back.next_types(2).await, EVERYTHING[5..], "replayed events");
        assert_eq!(back.next_types(7).await, EVERYTHING, "live events");
        assert_eq!(from_elsewhere.next_types(7).await, EVERYTHING);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unpublished_commit_is_streamed_in_order() {
    with_app(async |app| {
        let mut listening = Listening::open(&app.admin(), "?types=stay.reservation.", None).await;
        app.commit_untold("stay.reservation.confirmed").await;
        one_of_everything(app, 7).await;
        let told = ["stay.reservation.confirmed", "stay.reservation.confirmed", "stay.reservation.cancelled"];
        assert_eq!(listening.next_types(3).await, told);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_stream_does_not_delay_shutdown() {
    let listening = tokio::sync::Mutex::new(Vec::new());
    with_app(async |app| {
        listening.lock().await.push(Listening::open(&app.admin(), "", None).await);
    })
    .await;
    for mut listening in listening.into_inner() {
        while let Some(kept_alive) = listening.bytes.next().await {
            kept_alive.expect("the stream was ended, and not cut off after waiting for it");
        }
    }
}
