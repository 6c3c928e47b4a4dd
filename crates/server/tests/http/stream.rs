//! `/v1/stream`: server-sent events.

use std::time::Duration;

use axum::body::Body;
use futures_util::{StreamExt as _, TryStreamExt as _};
use holdfast_client::Client;
use holdfast_core::time::Span;
use holdfast_server::router::router;
use holdfast_testkit::{Profile, profiles};
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

    /// Opens the stream in process, unread until the test requests it.
    async fn open_unread(app: &TestApp, last_event_id: &str) -> Self {
        let request = http::Request::get("/v1/stream").header("last-event-id", last_event_id);
        let response = router(app.app()).0.call(request.body(Body::empty()).unwrap()).await.unwrap();
        Self { bytes: Box::pin(response.into_body().into_data_stream()), buffer: String::new() }
    }

    /// Returns the next event: its id and its `CloudEvent`.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        loop {
            let block = self.next_block().await;
            if let Some((id, data)) = field(&block, "id:").zip(field(&block, "data:")) {
                return (id.to_owned(), serde_json::from_str(data).unwrap());
            }
        }
    }

    /// The next block that names an id, with or without data: an `EventSource` sends it as `Last-Event-ID` when it reconnects.
    pub(crate) async fn next_id(&mut self) -> String {
        loop {
            if let Some(id) = field(&self.next_block().await, "id:") {
                return id.to_owned();
            }
        }
    }

    /// The lines up to the next empty one.
    async fn next_block(&mut self) -> String {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.buffer = rest;
                return block;
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

fn field<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Holds, replaces, cancels, holds, confirms, cancels: one of everything.
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

profiles!(changes_are_streamed_once_and_in_order);
async fn changes_are_streamed_once_and_in_order(profile: Profile) {
    with_app(profile, async |app| {
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

profiles!(stream_is_filtered_by_owner_and_type);
async fn stream_is_filtered_by_owner_and_type(profile: Profile) {
    with_app(profile, async |app| {
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

profiles!(resumed_stream_replays_durable_events);
async fn resumed_stream_replays_durable_events(profile: Profile) {
    with_app(profile, async |app| {
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

profiles!(first_connect_tells_the_newest_id);
/// A client that reconnects before its first event misses nothing.
async fn first_connect_tells_the_newest_id(profile: Profile) {
    with_app(profile, async |app| {
        one_of_everything(app, 1).await;
        let mut first = Listening::open(&app.admin(), "?types=stay.reservation.", None).await;
        let newest = first.next_id().await;
        assert_eq!(newest, app.outbox_last().await.to_string());
        drop(first);
        one_of_everything(app, 2).await;
        let mut back = Listening::open(&app.admin(), "", Some(&newest)).await;
        assert_eq!(back.next_id().await, newest, "no event of the replay was sent yet");
        assert_eq!(back.next_types(2).await, EVERYTHING[5..], "what happened in between");
        let mut from_elsewhere = Listening::open(&app.admin(), "", Some("999999999")).await;
        assert_eq!(from_elsewhere.next_id().await, app.outbox_last().await.to_string());
    })
    .await;
}

/// Confirms a reservation of a day that is still ahead after days have passed.
async fn reserve(app: &TestApp, user: u64) {
    let room_type = app.room_type(1).await;
    let hold = placed(app, user, &room_type, day(60), day(61)).await;
    app.guest(user).confirm_hold(hold.hold_id).await.unwrap();
}

profiles!(events_older_than_the_keep_are_a_gap);
/// Events are replayed over `stream.keep`; from before that the first event is of type `stream.gap`, under any filter.
async fn events_older_than_the_keep_are_a_gap(profile: Profile) {
    with_app(profile, async |app| {
        for user in [1, 2, 3] {
            reserve(app, user).await;
        }
        let old = app.outbox_last().await;
        app.pass(Span::from_hours(25));
        for user in [4, 5] {
            reserve(app, user).await;
        }
        for (client, query) in
            [(app.admin(), "?types=seat."), (app.guest(9), ""), (app.admin(), "?types=stay.reservation.confirmed")]
        {
            for id in [0, old - 1] {
                let (id, gap) = Listening::open(&client, query, Some(&id.to_string())).await.next().await;
                assert_eq!((&gap["type"], &gap["specversion"]), (&"stream.gap".into(), &"1.0".into()));
                assert_eq!(id.split('.').next(), Some(&*old.to_string()), "the client resumes after the gap");
            }
        }
        let mut admin = Listening::open(&app.admin(), "", Some("0")).await;
        let (gap, _) = admin.next().await;
        for user in [4, 5] {
            assert_eq!(admin.next().await.1["data"]["userId"], user);
        }
        for id in [gap, old.to_string(), format!("{old}.7")] {
            let mut back = Listening::open(&app.admin(), "", Some(&id)).await;
            let (_, first) = back.next().await;
            assert_eq!(first["data"]["userId"], 4, "nothing was missed after {id}");
        }
        app.pass(Span::from_hours(25));
        reserve(app, 6).await;
        let mut back = Listening::open(&app.admin(), "", Some("0")).await;
        assert_eq!(back.next_types(2).await, ["stream.gap", "stay.reservation.confirmed"]);
    })
    .await;
}

profiles!(replay_of_new_store_has_no_gap);
async fn replay_of_new_store_has_no_gap(profile: Profile) {
    with_app(profile, async |app| {
        reserve(app, 1).await;
        let mut listening = Listening::open(&app.admin(), "", Some("0")).await;
        assert_eq!(listening.next_types(1).await, ["stay.reservation.confirmed"]);
    })
    .await;
}

profiles!(concurrent_replays_get_each_event_once);
/// Twelve clients replay three pages of events at once, some from the beginning and some from the middle of a page.
async fn concurrent_replays_get_each_event_once(profile: Profile) {
    with_app(profile, async |app| {
        app.commit_unpublished_many("stay.reservation.confirmed", 1_234).await;
        reserve(app, 1).await;
        let last = app.outbox_last().await;
        let replays = (0..12_u64).map(async |client| {
            let after = client % 4 * 333;
            // The last event is another user's.
            let (client, until) = if client % 3 == 0 { (app.guest(7), last - 1) } else { (app.admin(), last) };
            let mut listening = Listening::open(&client, "", Some(&after.to_string())).await;
            for expected in after + 1..=until {
                assert_eq!(listening.next().await.0, expected.to_string());
            }
        });
        futures_util::future::join_all(replays).await;
    })
    .await;
}

profiles!(live_events_follow_replayed_ones);
async fn live_events_follow_replayed_ones(profile: Profile) {
    with_app(profile, async |app| {
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

profiles!(unpublished_commit_is_streamed_in_order);
async fn unpublished_commit_is_streamed_in_order(profile: Profile) {
    with_app(profile, async |app| {
        let mut listening = Listening::open(&app.admin(), "?types=stay.reservation.", None).await;
        app.commit_unpublished("stay.reservation.confirmed").await;
        one_of_everything(app, 7).await;
        let published = ["stay.reservation.confirmed", "stay.reservation.confirmed", "stay.reservation.cancelled"];
        assert_eq!(listening.next_types(3).await, published);
    })
    .await;
}

profiles!(open_stream_does_not_delay_shutdown);
async fn open_stream_does_not_delay_shutdown(profile: Profile) {
    let listening = tokio::sync::Mutex::new(Vec::new());
    with_app(profile, async |app| {
        listening.lock().await.push(Listening::open(&app.admin(), "", None).await);
    })
    .await;
    for mut listening in listening.into_inner() {
        while let Some(kept_alive) = listening.bytes.next().await {
            kept_alive.expect("the stream was ended, and not cut off after waiting for it");
        }
    }
}
