//! Stream of a user's position in the queue.

use std::time::Duration;

use futures_util::StreamExt as _;
use holdfast_client::{Client, NewEvent};
use holdfast_testkit::{Profile, profiles};
use serde_json::Value;

use crate::support::with_app;

/// Reads the stream until an event satisfies `is_it`, and returns its data.
async fn wait_for(client: &Client, event: u64, act: impl AsyncFn(), is_it: impl Fn(&str, &Value) -> bool) -> Value {
    let request = client.request(reqwest::Method::GET, &format!("/v1/events/{event}/queue/stream"));
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-store");
    let (mut bytes, mut text) = (Box::pin(response.bytes_stream()), String::new());
    let mut acted = false;
    loop {
        let read = tokio::time::timeout(Duration::from_secs(30), bytes.next()).await;
        let chunk = read.expect("an event arrives").expect("the stream is open").unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((published, rest)) = text.split_once("\n\n") {
            let field = |name: &str| published.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let found = field("event:").zip(field("data:"));
            let found = found.map(|(name, data)| (name.to_owned(), serde_json::from_str::<Value>(data).unwrap()));
            text = rest.to_owned();
            if let Some((name, data)) = found
                && is_it(&name, &data)
            {
                return data;
            }
            if !acted {
                acted = true;
                act().await;
            }
        }
    }
}

profiles!(position_changes_are_streamed);
async fn position_changes_are_streamed(profile: Profile) {
    with_app(profile, async |app| {
        let new = NewEvent { max_concurrent: Some(1), ..NewEvent::with_row("콘서트", 5, 1) };
        let event = app.admin().create_event(&new).await.unwrap().id;
        for user in 1..=2 {
            app.guest(user).join_queue(event).await.unwrap();
        }
        let second = app.guest(2);
        let first_leaves = async || app.guest(1).leave_queue(event).await.unwrap();
        let ready = wait_for(&second, event, first_leaves, |name, place| name == "place" && place["status"] == "ready");
        let ready = ready.await;
        assert_eq!((&ready["rank"], &ready["remainingSeats"]), (&Value::from(0), &Value::from(5)));
        let leaves = async || second.leave_queue(event).await.unwrap();
        let end = wait_for(&second, event, leaves, |name, _| name == "end").await;
        assert_eq!(end["code"], "NOT_IN_QUEUE");
        let stranger = app.send("GET", &format!("/v1/events/{event}/queue/stream?userId=9"), &[], "").await;
        assert_eq!(stranger.refusal(), (404, "NOT_IN_QUEUE"));
    })
    .await;
}
