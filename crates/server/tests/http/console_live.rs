//! Live pages: computed once for all viewers, and only after a change.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use holdfast_client::{EventChange, NewEvent};
use holdfast_core::time::Span;
use holdfast_server::Config;
use holdfast_server::config::Secret;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Map, Value, json};

use crate::auth::{LATER, SECRET, token};
use crate::shop_support::{buyer, option};
use crate::support::{TestApp, day, placed, with_app, with_settings};
use crate::tickets::{open_event, seat};

/// Viewer of a page, with the present state of its parts.
struct Viewer {
    bytes: std::pin::Pin<Box<dyn Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
    parts: Map<String, Value>,
    /// Number of events received.
    published: usize,
}

impl Viewer {
    async fn of(app: &TestApp, page: &str) -> Self {
        let request = app.admin().request(reqwest::Method::GET, &format!("/console/live/{page}"));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { bytes: Box::pin(answer.bytes_stream()), text: String::new(), parts: Map::new(), published: 0 }
    }

    /// Returns the next changed parts; `None` on timeout.
    async fn next(&mut self, within: Duration) -> Option<Map<String, Value>> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let rest = self.text.split_off(end + 2);
                let event = std::mem::replace(&mut self.text, rest);
                let event = event.trim_end();
                let news = event.strip_prefix("event: parts\ndata: ").map(|data| serde_json::from_str(data).unwrap());
                assert!(news.is_some() || event == ":", "{event}");
                let Some(Value::Object(news)) = news else { continue };
                self.published += 1;
                self.parts.extend(news.clone());
                return Some(news);
            }
            let read = tokio::time::timeout(within, self.bytes.next()).await.ok()?;
            self.text.push_str(std::str::from_utf8(&read.unwrap().unwrap()).unwrap());
        }
    }

    /// Waits until the parts satisfy `is_wanted`.
    async fn until(&mut self, is_wanted: impl Fn(&Map<String, Value>) -> bool) {
        while !is_wanted(&self.parts) {
            let news = self.next(Duration::from_secs(20)).await;
            assert!(news.is_some(), "never came: {:?}", self.parts);
        }
    }
}

profiles!(viewers_see_changes_and_expiry);
async fn viewers_see_changes_and_expiry(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        let nights = format!("nights:{}", room_type.id);
        let count = |parts: &Map<String, Value>, what: &str| parts[&nights][1][what].as_u64().unwrap();
        let mut viewer = Viewer::of(app, "stays?month=2027-03").await;
        viewer.until(|parts| parts.contains_key(&nights) && count(parts, "available") == 9).await;
        let hold = placed(app, 7, &room_type, day(1), day(2)).await;
        viewer.until(|parts| count(parts, "holdCount") == 1).await;
        app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
        viewer.until(|parts| count(parts, "reservedCount") == 1 && parts["reservations"][0]["userId"] == 7).await;
        placed(app, 8, &room_type, day(1), day(2)).await;
        viewer.until(|parts| count(parts, "holdCount") == 1).await;
        app.pass(Span::from_hours(1));
        viewer.until(|parts| count(parts, "holdCount") == 0).await;
        // Changes without an event are shown as well.
        app.admin().close_nights(room_type.id, day(1), day(2)).await.unwrap();
        viewer.until(|parts| parts[&nights][1]["closed"] == true).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_parts_are_sent() {
    with_app(Profile::Embedded, async |app: &TestApp| {
        let event = open_event(app, 40).await;
        let page = format!("tickets?event={}", event.id);
        let (mut one, mut other) = (Viewer::of(app, &page).await, Viewer::of(app, &page).await);
        for viewer in [&mut one, &mut other] {
            viewer.until(|parts| parts.get("statuses").is_some_and(|it| *it == "A".repeat(40))).await;
        }
        assert_eq!(one.next(Duration::from_secs(3)).await, None, "nothing happens");

        app.guest(1).hold_seats(event.id, &[seat(&event, 3)]).await.unwrap();
        let news = one.next(Duration::from_secs(20)).await.unwrap();
        assert_eq!(news, *json!({ "statuses": format!("AAH{}", "A".repeat(37)) }).as_object().unwrap());
        assert_eq!(other.next(Duration::from_secs(20)).await.unwrap(), news, "all viewers receive the same");
        // A change of another vertical.
        app.room_type(3).await;
        assert_eq!(one.next(Duration::from_secs(3)).await, None);

        // A later viewer receives all parts.
        let mut late = Viewer::of(app, &page).await;
        late.until(|parts| parts.get("statuses") == news.get("statuses")).await;
        assert_eq!((late.published, late.parts.len()), (1, 6));
    })
    .await;
}

profiles!(waiting_room_changes_are_shown);
async fn waiting_room_changes_are_shown(profile: Profile) {
    with_app(profile, async |app| {
        let event = app.admin().create_event(&NewEvent::with_row("콘서트", 3, 100)).await.unwrap();
        let one_inside = EventChange { max_concurrent: Some(1), ..EventChange::default() };
        app.admin().change_event(event.id, &one_inside).await.unwrap();
        let mut viewer = Viewer::of(app, "tickets").await;
        let queue = |parts: &Map<String, Value>| {
            let queue = &parts.get("queue").cloned().unwrap_or_default();
            ["waiting", "ready", "entered"].map(|count| queue[count].as_u64().unwrap_or(99))
        };
        viewer.until(|parts| queue(parts) == [0, 0, 0]).await;
        for user in 1..=3 {
            app.guest(user).join_queue(event.id).await.unwrap();
        }
        app.guest(1).enter_queue(event.id).await.unwrap();
        viewer.until(|parts| queue(parts) == [2, 0, 1]).await;
        app.guest(1).leave_queue(event.id).await.unwrap();
        viewer.until(|parts| queue(parts)[2] == 0).await;
        app.admin().pause_queue(event.id).await.unwrap();
        viewer.until(|parts| parts["events"][0]["paused"] == true).await;
    })
    .await;
}

profiles!(sales_figures_are_exact_after_cancel);
async fn sales_figures_are_exact_after_cancel(profile: Profile) {
    with_app(profile, async |app| {
        let beans = option(app, 1_000, 50).await;
        let buyer = buyer(app, 1_000_000).await;
        let order = buyer.buy(beans, 3).await;
        buyer.buy(beans, 4).await;
        buyer.reserve(beans, 5).await;
        let mut viewer = Viewer::of(app, "shop").await;
        let seen = |parts: &Map<String, Value>| {
            let option = parts.get("products").map(|it| it[0]["options"][0].clone()).unwrap_or_default();
            ["availableStock", "reservedQuantity", "soldQuantity"].map(|count| option[count].as_u64().unwrap_or(99))
        };
        viewer.until(|parts| seen(parts) == [38, 5, 7]).await;
        buyer.cancel_order(order.order_id).await.unwrap();
        viewer.until(|parts| seen(parts) == [41, 5, 4]).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_pages_need_operator_and_report_errors() {
    let auth = |config: &mut Config| config.auth.jwt_secret = Some(Secret::new(SECRET));
    with_settings(Profile::Embedded, auth, async |app: &TestApp| {
        let look = async |role: &str| {
            let cookie = format!("holdfast_session={}", token(&json!({"sub": "1", "role": role, "exp": LATER})));
            app.send("GET", "/console/live/nonsense", &[("cookie", &cookie)], "").await
        };
        assert_eq!(look("admin").await.refusal(), (404, "NOT_FOUND"));
        assert_eq!(look("user").await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(app.send("GET", "/console/live/stays", &[], "").await.refusal(), (401, "UNAUTHENTICATED"));
    })
    .await;
    with_app(Profile::Embedded, async |app: &TestApp| {
        let request = app.admin().request(reqwest::Method::GET, "/console/live/bookings?status=NONSENSE");
        let mut bytes = request.send().await.unwrap().bytes_stream();
        let first = tokio::time::timeout(Duration::from_secs(20), bytes.next()).await.unwrap().unwrap().unwrap();
        let first = std::str::from_utf8(&first).unwrap();
        assert!(first.starts_with("event: failed\ndata: {") && first.contains("INVALID_INPUT"), "{first}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_shows_newest_reservations_first() {
    with_app(Profile::Embedded, async |app: &TestApp| {
        let room_type = app.room_type(100).await;
        for user in 1..=70 {
            let hold = placed(app, user, &room_type, day(1), day(2)).await;
            app.guest(user).confirm_hold(hold.hold_id).await.unwrap();
        }
        let mut viewer = Viewer::of(app, "stays").await;
        viewer.until(|parts| parts.contains_key("reservations")).await;
        let shown = viewer.parts["reservations"].as_array().unwrap();
        let numbers: Vec<_> = shown.iter().map(|it| it["reservationId"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (51..=70).rev().collect::<Vec<_>>());
    })
    .await;
}
