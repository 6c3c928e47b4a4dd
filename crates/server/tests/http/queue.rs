//! Waiting room.

use futures_util::future::join_all;
use holdfast_client::{Event, EventChange, NewEvent, QueueStats, QueueStatus};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::support::{TestApp, code, problem, refused, with_app, with_restart, with_settings};
use crate::tickets::seat;

/// Creates an event with this limit of users inside.
async fn event(app: &TestApp, max_concurrent: u32) -> Event {
    let new = NewEvent::with_row("콘서트", 50, 100_000);
    app.admin().create_event(&NewEvent { max_concurrent: Some(max_concurrent), ..new }).await.unwrap()
}

/// Lets the users 1, 2, … join in order.
async fn joined(app: &TestApp, event: &Event, users: u64) {
    for user in 1..=users {
        app.guest(user).join_queue(event.id).await.unwrap();
    }
}

async fn inside(app: &TestApp, event: &Event, user: u64) {
    app.guest(user).join_queue(event.id).await.unwrap();
    app.guest(user).enter_queue(event.id).await.unwrap();
}

async fn stats(app: &TestApp, event: &Event) -> (u64, u64, u64) {
    let QueueStats { waiting, ready, entered, .. } = app.admin().queue_stats(event.id).await.unwrap();
    (waiting, ready, entered)
}

profiles!(repeated_queue_join_keeps_place);
async fn repeated_queue_join_keeps_place(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 1).await;
        let path = format!("/v1/events/{}/queue", event.id);
        let first = app.send("POST", &path, &[], r#"{"userId": 1}"#).await;
        assert_eq!(first.status, 201);
        for (name, expected) in [
            ("status", json!("ready")),
            ("rank", json!(0)),
            ("aheadCount", json!(0)),
            ("estimatedWaitSeconds", json!(0)),
            ("remainingSeats", json!(50)),
        ] {
            assert_eq!(first.json[name], expected, "{name}");
        }
        assert!(first.json["pollAfterMs"].as_u64().unwrap() > 0);
        let second = app.send("POST", &path, &[], r#"{"userId": 2}"#).await;
        assert_eq!((second.status, &second.json["status"], &second.json["rank"]), (201, &json!("waiting"), &json!(1)));
        assert_eq!(second.json["aheadCount"], json!(1), "aheadCount equals rank");
        let again = app.send("POST", &path, &[], r#"{"userId": 2}"#).await;
        assert_eq!((again.status, again.json), (200, second.json));
    })
    .await;
}

profiles!(poll_returns_position_uncached);
async fn poll_returns_position_uncached(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 1).await;
        joined(app, &event, 3).await;
        let polled = app.send("GET", &format!("/v1/events/{}/queue?userId=3", event.id), &[], "").await;
        assert_eq!((polled.status, &polled.json["rank"]), (200, &json!(2)));
        assert_eq!(polled.header("cache-control"), Some("no-store"));
        let path = format!("/v1/events/{}/queue?userId=4", event.id);
        let outside = app.send("GET", &path, &[], "").await;
        assert_eq!((outside.refusal(), outside.header("cache-control")), ((404, "NOT_IN_QUEUE"), Some("no-store")));
        let joined = app.send("POST", &path, &[], "").await;
        assert_eq!((joined.status, joined.header("cache-control")), (201, Some("no-store")));
        app.guest(4).leave_queue(event.id).await.unwrap();
        app.guest(1).leave_queue(event.id).await.unwrap();
        let place = app.guest(3).poll_queue(event.id).await.unwrap();
        assert_eq!((place.status, place.rank), (QueueStatus::Waiting, 1), "a leaving user makes room");
        assert_eq!(app.guest(2).poll_queue(event.id).await.unwrap().status, QueueStatus::Ready);
    })
    .await;
}

profiles!(enter_in_turn_is_idempotent);
async fn enter_in_turn_is_idempotent(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 1).await;
        joined(app, &event, 2).await;
        let not_yet = problem(app.guest(2).enter_queue(event.id).await);
        assert_eq!((not_yet.status, &*not_yet.code, &not_yet.extra["rank"]), (409, "NOT_YOUR_TURN", &json!(1)));
        assert_eq!(code(app.guest(3).enter_queue(event.id).await), refused(404, "NOT_IN_QUEUE"));
        let entry = app.guest(1).enter_queue(event.id).await.unwrap();
        assert_eq!(entry.status, QueueStatus::Entered);
        assert_eq!(app.guest(1).enter_queue(event.id).await.unwrap(), entry);
        let place = app.guest(1).poll_queue(event.id).await.unwrap();
        assert_eq!((place.status, place.rank, place.ahead_count), (QueueStatus::Entered, 0, 0));
        assert_eq!(app.guest(1).join_queue(event.id).await.unwrap().status, QueueStatus::Entered);
        app.guest(1).leave_queue(event.id).await.unwrap();
        app.guest(1).leave_queue(event.id).await.expect("204 also when not queued");
        app.guest(2).enter_queue(event.id).await.unwrap();
    })
    .await;
}

profiles!(presented_token_must_prove_entry);
async fn presented_token_must_prove_entry(profile: Profile) {
    with_app(profile, async |app| {
        let (event, other) = (event(app, 5).await, event(app, 5).await);
        let enter = async |user: u64, event: &Event| {
            inside(app, event, user).await;
            app.guest(user).enter_queue(event.id).await.unwrap().token
        };
        let (mine, elsewhere, anothers) = (enter(1, &event).await, enter(1, &other).await, enter(2, &event).await);
        let forged = format!("{}{}", &mine[..mine.len() - 4], "AAAA");
        let calls = |token: &str| {
            let seats = json!({"userId": 1, "seatIds": [seat(&event, 1)], "token": token});
            let best = json!({"userId": 1, "count": 1, "token": token});
            [("hold", seats.clone()), ("best", best), ("reserve", seats)]
        };
        for token in [elsewhere.as_str(), &anothers, &forged, "", "token"] {
            for (call, body) in calls(token) {
                let path = format!("/v1/events/{}/seats/{call}", event.id);
                let refusal = app.send("POST", &path, &[], &body.to_string()).await;
                assert_eq!(refusal.refusal(), (403, "QUEUE_TOKEN_REQUIRED"), "{call}");
            }
        }
        // The entry is renewed, and its first token still proves it.
        app.pass(Span::from_secs(200));
        app.guest(1).poll_queue(event.id).await.unwrap();
        app.pass(Span::from_secs(200));
        for (call, body) in calls(&mine) {
            let path = format!("/v1/events/{}/seats/{call}", event.id);
            let done = app.send("POST", &path, &[], &body.to_string()).await;
            assert_eq!(done.status, 201, "{call}: {}", done.text);
        }
        // The token does not prove the next entry.
        let next = enter(1, &event).await;
        assert_ne!(next, mine);
        let (call, body) = &calls(&mine)[1];
        let path = format!("/v1/events/{}/seats/{call}", event.id);
        assert_eq!(app.send("POST", &path, &[], &body.to_string()).await.refusal(), (403, "QUEUE_TOKEN_REQUIRED"));
    })
    .await;
}

profiles!(reserving_needs_and_returns_entry);
async fn reserving_needs_and_returns_entry(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 2).await;
        let (guest, required) = (app.guest(1), refused(403, "QUEUE_TOKEN_REQUIRED"));
        let unknown = [seat(&event, 99_999)];
        assert_eq!(code(guest.hold_seats(event.id, &unknown).await), required, "the token is checked first");
        assert_eq!(code(guest.reserve_seats(event.id, &unknown).await), required);
        assert_eq!(code(guest.hold_best(event.id, 1, None).await), required);
        guest.join_queue(event.id).await.unwrap();
        assert_eq!(code(guest.hold_seats(event.id, &[seat(&event, 1)]).await), required, "ready is not inside");
        guest.enter_queue(event.id).await.unwrap();
        assert_eq!(code(guest.hold_seats(event.id, &unknown).await), refused(404, "SEAT_NOT_FOUND"));
        guest.hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        if !app.profile_is_split() {
            let polled = guest.poll_queue(event.id).await.unwrap();
            assert_eq!(polled.remaining_seats, 49, "a caller reads its own writes");
        }
        assert_eq!(stats(app, &event).await, (0, 0, 1), "holding keeps the entry");
        guest.reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        assert_eq!(stats(app, &event).await, (0, 0, 0));
        assert_eq!(code(guest.hold_seats(event.id, &[seat(&event, 2)]).await), required);
        app.admin().seats(event.id).await.expect("reading needs no entry");
    })
    .await;
}

profiles!(confirm_returns_entry_and_needs_none);
async fn confirm_returns_entry_and_needs_none(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 2).await;
        inside(app, &event, 1).await;
        let first = app.guest(1).hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        let second = app.guest(1).hold_seats(event.id, &[seat(&event, 2)]).await.unwrap();
        app.guest(1).confirm_seat_hold(first.hold_id).await.unwrap();
        assert_eq!(stats(app, &event).await, (0, 0, 0));
        app.guest(1).confirm_seat_hold(second.hold_id).await.expect("the entry is gone");
    })
    .await;
}

profiles!(reserve_replay_needs_no_entry);
async fn reserve_replay_needs_no_entry(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 2).await;
        inside(app, &event, 1).await;
        let guest = app.guest(1).with_idempotency_key("once");
        let reserved = guest.reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap();
        assert_eq!(guest.reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap(), reserved);
        let other = guest.reserve_seats(event.id, &[seat(&event, 2)]).await;
        assert_eq!(code(other), refused(422, "IDEMPOTENCY_KEY_REUSED"));
        inside(app, &event, 1).await;
        assert_eq!(guest.reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap(), reserved);
        assert_eq!(stats(app, &event).await.2, 1, "a replayed response takes no new entry");
    })
    .await;
}

profiles!(queue_calls_replay_by_key);
async fn queue_calls_replay_by_key(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 2).await;
        let path = format!("/v1/events/{}/queue", event.id);
        let key = [("idempotency-key", "k"), ("x-user-id", "1")];
        let first = app.send("POST", &path, &key, "{}").await;
        let again = app.send("POST", &path, &key, "{}").await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None));
        assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
        assert_eq!(first.json, again.json);
        let other = app.send("POST", &format!("{path}/enter"), &key, "{}").await;
        assert_eq!(other.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        assert_eq!(stats(app, &event).await, (0, 1, 0), "nothing changed");
    })
    .await;
}

profiles!(rejected_join_under_shared_key_has_no_place);
async fn rejected_join_under_shared_key_has_no_place(profile: Profile) {
    with_app(profile, async |app| {
        let (one, other) = (event(app, 2).await, event(app, 2).await);
        let join = async |event: &Event, key: &str, user: &str| {
            let headers = [("idempotency-key", key), ("x-user-id", user)];
            app.send("POST", &format!("/v1/events/{}/queue", event.id), &headers, "{}").await.status
        };
        for user in 1..=20 {
            let (key, user_id) = (format!("k{user}"), user.to_string());
            let (first, second) = tokio::join!(join(&one, &key, &user_id), join(&other, &key, &user_id));
            assert!([[201, 422], [422, 201]].contains(&[first, second]), "{first} {second}");
            let refused = if first == 422 { &one } else { &other };
            assert_eq!(code(app.guest(user).poll_queue(refused.id).await).0, 404);
            let (again, too) = tokio::join!(join(&one, "same", &user_id), join(&one, "same", &user_id));
            assert_eq!(again, too, "equal requests get one response");
        }
    })
    .await;
}

profiles!(entry_is_spent_once);
async fn entry_is_spent_once(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 2).await;
        for round in 0..10 {
            inside(app, &event, 1).await;
            let seats = [1, 2, 3].map(|number| seat(&event, round * 3 + number));
            let event_id = event.id;
            let tries = seats.map(|seat| async move { app.guest(1).reserve_seats(event_id, &[seat]).await });
            let (spent_entry, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
            assert_eq!((spent_entry.len(), lost.len()), (1, 2));
            let reservation = spent_entry.into_iter().next().unwrap().unwrap();
            app.guest(1).cancel_seat_reservation(reservation.reservation_id).await.unwrap();
            for lost in lost {
                assert_eq!(code(lost), refused(403, "QUEUE_TOKEN_REQUIRED"));
            }
        }
    })
    .await;
}

profiles!(queue_calls_need_queue);
async fn queue_calls_need_queue(profile: Profile) {
    with_app(profile, async |app| {
        let new = NewEvent::with_row("콘서트", 5, 1).without_queue();
        let event = app.admin().create_event(&new).await.unwrap();
        let disabled = refused(409, "QUEUE_DISABLED");
        assert_eq!(code(app.guest(1).join_queue(event.id).await), disabled);
        assert_eq!(code(app.guest(1).poll_queue(event.id).await), disabled);
        assert_eq!(code(app.guest(1).enter_queue(event.id).await), disabled);
        assert_eq!(code(app.guest(1).leave_queue(event.id).await), disabled);
        assert_eq!(code(app.admin().queue_stats(event.id).await), disabled);
        assert_eq!(code(app.admin().pause_queue(event.id).await), disabled);
        let unknown = refused(404, "EVENT_NOT_FOUND");
        for id in [77_777, 9_007_199_254_740_991] {
            assert_eq!(code(app.guest(1).join_queue(id).await), unknown);
            assert_eq!(code(app.guest(1).poll_queue(id).await), unknown);
            assert_eq!(code(app.guest(1).hold_seats(id, &[1]).await), unknown);
            assert_eq!(code(app.guest(1).seats(id).await), unknown);
        }
        app.guest(1).reserve_seats(event.id, &[seat(&event, 1)]).await.unwrap();
    })
    .await;
}

profiles!(entered_and_ready_fill_up_to_limit);
async fn entered_and_ready_fill_up_to_limit(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 3).await;
        joined(app, &event, 10).await;
        assert_eq!(stats(app, &event).await, (7, 3, 0));
        app.guest(1).enter_queue(event.id).await.unwrap();
        assert_eq!(stats(app, &event).await, (7, 2, 1));
        let change = |max| EventChange { max_concurrent: Some(max), ..EventChange::default() };
        app.admin().change_event(event.id, &change(1)).await.unwrap();
        let after = stats(app, &event).await;
        assert_eq!((after.1, after.2), (0, 1), "a lower limit keeps users inside: {after:?}");
        app.admin().change_event(event.id, &change(5)).await.unwrap();
        assert_eq!(stats(app, &event).await, (5, 4, 1), "a higher limit takes effect at once");
        // Entries expire: the next users become ready at once.
        for user in 2..=10 {
            app.guest(user).poll_queue(event.id).await.unwrap();
        }
        for user in 2..=5 {
            app.guest(user).enter_queue(event.id).await.unwrap();
        }
        assert_eq!(stats(app, &event).await, (5, 0, 5));
        app.pass(Span::from_secs(290));
        for user in 6..=10 {
            app.guest(user).poll_queue(event.id).await.unwrap();
        }
        app.pass(Span::from_secs(11));
        assert_eq!(stats(app, &event).await, (0, 5, 0));
    })
    .await;
}

profiles!(pause_keeps_users_inside_only);
async fn pause_keeps_users_inside_only(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 2).await;
        inside(app, &event, 1).await;
        joined(app, &event, 3).await;
        assert!(app.admin().pause_queue(event.id).await.unwrap().paused);
        assert_eq!(app.guest(2).poll_queue(event.id).await.unwrap().status, QueueStatus::Waiting);
        assert_eq!(code(app.guest(2).enter_queue(event.id).await), refused(409, "NOT_YOUR_TURN"));
        app.guest(4).join_queue(event.id).await.expect("joining is possible during a pause");
        assert_eq!(stats(app, &event).await, (3, 0, 1));
        app.guest(1).hold_seats(event.id, &[seat(&event, 1)]).await.expect("users inside stay");
        assert!(app.admin().queue_stats(event.id).await.unwrap().paused);
        assert!(app.admin().pause_queue(event.id).await.unwrap().paused, "may be repeated");
        assert!(!app.admin().resume_queue(event.id).await.unwrap().paused);
        assert_eq!(app.guest(2).poll_queue(event.id).await.unwrap().status, QueueStatus::Ready);
    })
    .await;
}

profiles!(users_are_not_ready_before_sales_open);
async fn users_are_not_ready_before_sales_open(profile: Profile) {
    with_app(profile, async |app| {
        let new = NewEvent::with_row("콘서트", 5, 1);
        let opens_at = app.now() + jiff::SignedDuration::from_secs(60);
        let event = app.admin().create_event(&NewEvent { sales_open_at: Some(opens_at), ..new }).await.unwrap();
        app.guest(1).join_queue(event.id).await.unwrap();
        let place = app.guest(1).poll_queue(event.id).await.unwrap();
        assert_eq!(place.status, QueueStatus::Waiting);
        assert!(place.estimated_wait_seconds >= 60);
        app.pass(Span::from_secs(60));
        assert_eq!(app.guest(1).poll_queue(event.id).await.unwrap().status, QueueStatus::Ready);
    })
    .await;
}

profiles!(poll_renews_entry_silence_loses_place);
async fn poll_renews_entry_silence_loses_place(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 1).await;
        inside(app, &event, 1).await;
        app.guest(2).join_queue(event.id).await.unwrap();
        app.guest(3).join_queue(event.id).await.unwrap();
        for _ in 0..8 {
            app.pass(Span::from_secs(200));
            assert_eq!(app.guest(1).poll_queue(event.id).await.unwrap().status, QueueStatus::Entered);
            app.guest(3).poll_queue(event.id).await.unwrap();
        }
        assert_eq!(code(app.guest(2).poll_queue(event.id).await), refused(404, "NOT_IN_QUEUE"), "silent for too long");
        app.pass(Span::from_secs(201));
        assert_eq!(
            code(app.guest(1).poll_queue(event.id).await),
            refused(404, "NOT_IN_QUEUE"),
            "thirty minutes in all"
        );
        assert_eq!(app.guest(3).poll_queue(event.id).await.unwrap().status, QueueStatus::Ready);
        app.pass(Span::from_secs(60));
        let lost = code(app.guest(3).enter_queue(event.id).await);
        assert_eq!(lost, refused(404, "NOT_IN_QUEUE"), "ready for a minute without entering");
    })
    .await;
}

profiles!(concurrent_queue_enters_respect_limit);
async fn concurrent_queue_enters_respect_limit(profile: Profile) {
    with_app(profile, async |app| {
        let event = event(app, 100).await;
        let event = &event;
        join_all((1..=300).map(|user| async move { app.guest(user).join_queue(event.id).await.unwrap() })).await;
        let tries = join_all((1..=300).map(|user| async move { app.guest(user).enter_queue(event.id).await })).await;
        assert_eq!(tries.iter().filter(|tried| tried.is_ok()).count(), 100);
        for refusal in tries.into_iter().filter(Result::is_err) {
            assert_eq!(code(refusal), refused(409, "NOT_YOUR_TURN"));
        }
        assert_eq!(stats(app, event).await, (200, 0, 100));
        assert_eq!(app.admin().queue_stats(event.id).await.unwrap().admitted_per_minute, 100);
    })
    .await;
}

profiles!(queue_survives_restart);
async fn queue_survives_restart(profile: Profile) {
    with_restart(
        profile,
        async |app| {
            let event = event(app, 1).await;
            joined(app, &event, 4).await;
            app.guest(1).enter_queue(event.id).await.unwrap();
            app.guest(3).leave_queue(event.id).await.unwrap();
        },
        async |app| {
            let event = app.admin().events(&[]).await.unwrap().items.remove(0);
            assert_eq!(stats(app, &event).await, (2, 0, 1));
            for (user, rank) in [(2, 0), (4, 1)] {
                let place = app.guest(user).poll_queue(event.id).await.unwrap();
                assert_eq!((place.status, place.rank), (QueueStatus::Waiting, rank));
            }
            app.guest(1).reserve_seats(event.id, &[seat(&event, 7)]).await.expect("the entry is still live");
            app.guest(2).enter_queue(event.id).await.unwrap();
        },
    )
    .await;
}

profiles!(entry_ends_after_entry_max);
async fn entry_ends_after_entry_max(profile: Profile) {
    with_settings(
        profile,
        |config| config.queue.entry_max = std::time::Duration::from_millis(500),
        async |app| {
            let event = event(app, 1).await;
            joined(app, &event, 2).await;
            app.guest(1).enter_queue(event.id).await.unwrap();
            app.pass(Span::from_millis(499));
            assert_eq!(app.guest(1).poll_queue(event.id).await.unwrap().status, QueueStatus::Entered);
            app.pass(Span::from_millis(1));
            assert_eq!(code(app.guest(1).poll_queue(event.id).await), refused(404, "NOT_IN_QUEUE"));
            app.guest(2).enter_queue(event.id).await.unwrap();
        },
    )
    .await;
}
