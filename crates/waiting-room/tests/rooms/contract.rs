//! Contract of the waiting room, on every implementation.

use holdfast_core::time::Span;
use holdfast_waiting_room::{Refusal, Status, Timings};

use crate::support::{EVENT, Kind, RoomFixture, keys, user};

#[tokio::test]
async fn repeated_join_keeps_place() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 0).await;
        let first = fixture.join(1).await;
        assert!(first.new);
        fixture.join(2).await;
        let again = fixture.join(1).await;
        assert_eq!((again.new, again.view), (false, first.view), "{kind:?}");
        assert_eq!(fixture.standing(2).await, "waiting 1", "{kind:?}");
    }
}

#[tokio::test]
async fn join_while_inside_keeps_entry() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join(1).await;
        let entry = fixture.enter(1).await.unwrap().entry;
        let again = fixture.join(1).await;
        assert!(!again.new, "{kind:?}");
        assert_eq!(again.view.status, Status::Entered(entry), "{kind:?}");
        assert_eq!(fixture.counts().await, (0, 0, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn call_without_position_is_rejected() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        assert_eq!(fixture.poll(1).await, None, "{kind:?}");
        assert_eq!(fixture.enter(1).await, Err(Refusal::NotInQueue), "{kind:?}");
        assert!(!fixture.leave(1).await, "leaving is no error: {kind:?}");
        assert_eq!(fixture.entry(1).await, None, "{kind:?}");
    }
}

#[tokio::test]
async fn ready_rank_is_below_free_space() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 2).await;
        // Order does not depend on user ids.
        fixture.join_all([30, 10, 20]).await;
        let standings = [fixture.standing(30).await, fixture.standing(10).await, fixture.standing(20).await];
        assert_eq!(standings, ["ready 0", "ready 1", "waiting 2"], "{kind:?}");
        fixture.enter(10).await.unwrap();
        assert_eq!(fixture.standing(30).await, "ready 0", "{kind:?}");
        assert_eq!(fixture.standing(20).await, "waiting 1", "{kind:?}");
        assert_eq!(fixture.counts().await, (1, 1, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn early_enter_is_rejected_and_keeps_place() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join_all([1, 2]).await;
        fixture.enter(1).await.unwrap();
        fixture.wait(299);
        let Err(Refusal::NotYourTurn(view)) = fixture.enter(2).await else { panic!("{kind:?}: too early") };
        assert_eq!((view.status, view.rank), (Status::Waiting, 0), "{kind:?}");
        fixture.wait(1);
        assert_eq!(fixture.counts().await, (0, 1, 0), "the entry ends at 300 s, the early user is ready: {kind:?}");
    }
}

#[tokio::test]
async fn repeated_enter_returns_same_entry() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join(1).await;
        let first = fixture.enter(1).await.unwrap();
        assert!(first.first);
        assert_eq!(first.entry.expires_at, fixture.now() + Span::from_secs(300), "{kind:?}");
        fixture.wait(100);
        let again = fixture.enter(1).await.unwrap();
        assert_eq!((again.first, &again.entry), (false, &first.entry), "{kind:?}");
        assert_eq!(fixture.entry(1).await, Some(first.entry.clone()), "{kind:?}");
        let claims = keys().check(&first.entry.token, EVENT, &user(1), fixture.now()).unwrap();
        assert_eq!(claims.entry_id, first.entry.id, "{kind:?}");
        let full_second = first.entry.expires_at.as_millis().cast_unsigned().div_ceil(1_000).cast_signed() * 1_000;
        assert_eq!(claims.expires_at.as_millis(), full_second, "{kind:?}");
    }
}

#[tokio::test]
async fn poll_renews_entry_up_to_entry_max() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join_all([1, 2]).await;
        let entered_at = fixture.now();
        let first = fixture.enter(1).await.unwrap().entry;
        for minute in (4..30).step_by(4) {
            fixture.wait(240);
            let Some(Status::Entered(entry)) = fixture.poll(1).await.map(|view| view.status) else {
                panic!("{kind:?}: entry lost despite polls after {minute} minutes")
            };
            assert_eq!(entry.id, first.id, "{kind:?}");
            let renewed = fixture.now() + Span::from_secs(300);
            assert_eq!(entry.expires_at, renewed.min(entered_at + Span::from_secs(1_800)), "{kind:?}");
            fixture.poll(2).await;
        }
        fixture.wait(1_800 - 7 * 240 - 1);
        assert_eq!(fixture.standing(1).await, "entered", "{kind:?}");
        fixture.wait(1);
        assert_eq!(fixture.entry(1).await, None, "{kind:?}");
        assert_eq!(
            (fixture.standing(1).await, fixture.standing(2).await),
            ("gone".into(), "ready 0".into()),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn ready_users_replace_ended_entries() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 3).await;
        fixture.join_all(1..=3).await;
        for number in 1..=3 {
            fixture.enter(number).await.unwrap();
        }
        fixture.wait(200);
        fixture.join_all(4..=10).await;
        assert_eq!(fixture.counts().await, (7, 0, 3), "{kind:?}");
        fixture.wait(100);
        assert_eq!(fixture.counts().await, (4, 3, 0), "{kind:?}");
        // They were ready from the moment the entries ended, not from the next call.
        fixture.wait(60);
        assert_eq!(fixture.counts().await, (1, 3, 0), "{kind:?}");
        assert_eq!(fixture.standing(7).await, "ready 0", "{kind:?}");
    }
}

#[tokio::test]
async fn ready_ttl_starts_when_space_frees() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join_all([1, 2]).await;
        fixture.enter(1).await.unwrap();
        fixture.wait(250);
        fixture.join_all([2, 3]).await;
        let until = fixture.now() + Span::from_secs(50) + Span::from_secs(60);
        fixture.wait(90);
        // The entry ended forty seconds ago: twenty are left.
        let Some(Status::Ready { until: reported }) = fixture.poll(2).await.map(|view| view.status) else {
            panic!("{kind:?}: not ready")
        };
        assert_eq!(reported, until, "{kind:?}");
        fixture.wait(19);
        assert_eq!(fixture.standing(2).await, "ready 0", "polling does not prolong it: {kind:?}");
        fixture.wait(1);
        assert_eq!(
            (fixture.standing(2).await, fixture.standing(3).await),
            ("gone".into(), "ready 0".into()),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn silent_waiter_loses_place() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 0).await;
        fixture.join_all([1, 2, 3]).await;
        fixture.wait(299);
        assert_eq!(fixture.standing(2).await, "waiting 1", "{kind:?}");
        fixture.join(3).await;
        fixture.wait(1);
        assert_eq!(fixture.standing(1).await, "gone", "{kind:?}");
        assert_eq!(
            (fixture.standing(2).await, fixture.standing(3).await),
            ("waiting 0".into(), "waiting 1".into()),
            "{kind:?}"
        );
        let back = fixture.join(1).await;
        assert_eq!((back.new, back.view.rank), (true, 2), "at the end: {kind:?}");
    }
}

#[tokio::test]
async fn pause_stops_admission_and_keeps_entries() {
    for kind in Kind::ALL {
        let mut fixture = RoomFixture::new(kind, 2).await;
        fixture.join_all([1, 2]).await;
        fixture.enter(1).await.unwrap();
        fixture.configure(|settings| settings.paused = true).await;
        assert_eq!(fixture.counts().await, (1, 0, 1), "{kind:?}");
        assert!(fixture.stats().await.paused, "{kind:?}");
        assert!(matches!(fixture.enter(2).await, Err(Refusal::NotYourTurn(_))), "{kind:?}");
        assert!(fixture.join(3).await.new, "joins go on: {kind:?}");
        fixture.wait(100);
        assert_eq!(
            (fixture.standing(1).await, fixture.standing(2).await),
            ("entered".into(), "waiting 0".into()),
            "{kind:?}"
        );
        fixture.configure(|settings| settings.paused = false).await;
        let until = fixture.now() + Span::from_secs(60);
        assert_eq!(fixture.poll(2).await.unwrap().status, Status::Ready { until }, "a whole ready_ttl: {kind:?}");
    }
}

#[tokio::test]
async fn users_become_ready_when_sales_open() {
    for kind in Kind::ALL {
        let mut fixture = RoomFixture::new(kind, 1).await;
        let opens_at = fixture.now() + Span::from_secs(100);
        fixture.configure(|settings| settings.sales_open_at = Some(opens_at)).await;
        fixture.join_all([1, 2]).await;
        let view = fixture.poll(1).await.unwrap();
        assert_eq!((view.status, view.estimated_wait_seconds), (Status::Waiting, 100), "{kind:?}");
        fixture.wait(99);
        assert!(matches!(fixture.enter(1).await, Err(Refusal::NotYourTurn(_))), "{kind:?}");
        fixture.wait(11);
        let until = opens_at + Span::from_secs(60);
        assert_eq!(fixture.poll(1).await.unwrap().status, Status::Ready { until }, "{kind:?}");
    }
}

#[tokio::test]
async fn lower_limit_keeps_entries() {
    for kind in Kind::ALL {
        let mut fixture = RoomFixture::new(kind, 4).await;
        fixture.join_all(1..=6).await;
        for number in 1..=3 {
            fixture.enter(number).await.unwrap();
        }
        fixture.configure(|settings| settings.max_concurrent = 2).await;
        assert_eq!(fixture.counts().await, (3, 0, 3), "{kind:?}");
        assert_eq!(
            (fixture.standing(1).await, fixture.standing(4).await),
            ("entered".into(), "waiting 0".into()),
            "{kind:?}"
        );
        fixture.leave(1).await;
        assert_eq!(fixture.counts().await, (3, 0, 2), "{kind:?}");
        fixture.leave(2).await;
        assert_eq!(fixture.counts().await, (2, 1, 1), "{kind:?}");
        fixture.configure(|settings| settings.max_concurrent = 10).await;
        assert_eq!(fixture.counts().await, (0, 3, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn stale_settings_are_ignored() {
    for kind in Kind::ALL {
        let mut fixture = RoomFixture::new(kind, 1).await;
        let stale = fixture.settings.clone();
        fixture.configure(|settings| settings.paused = true).await;
        fixture.join(1).await;
        let current = std::mem::replace(&mut fixture.settings, stale);
        assert_eq!(fixture.standing(1).await, "waiting 0", "{kind:?}");
        assert!(fixture.stats().await.paused, "{kind:?}");
        fixture.settings = current;
    }
}

#[tokio::test]
async fn leave_ends_place_or_entry() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join_all([1, 2, 3]).await;
        fixture.enter(1).await.unwrap();
        assert!(fixture.leave(2).await, "{kind:?}");
        assert_eq!(fixture.standing(3).await, "waiting 0", "{kind:?}");
        assert!(fixture.leave(1).await, "{kind:?}");
        assert!(!fixture.leave(1).await, "{kind:?}");
        assert_eq!(fixture.standing(3).await, "ready 0", "{kind:?}");
    }
}

#[tokio::test]
async fn give_back_keeps_place() {
    for kind in Kind::ALL {
        let fixture = RoomFixture::new(kind, 1).await;
        fixture.join(1).await;
        fixture.enter(1).await.unwrap();
        assert!(fixture.give_back(1).await, "{kind:?}");
        assert_eq!(fixture.entry(1).await, None, "{kind:?}");
        fixture.join(1).await;
        assert!(!fixture.give_back(1).await, "{kind:?}");
        assert_eq!(fixture.standing(1).await, "ready 0", "{kind:?}");
    }
}

#[tokio::test]
async fn admission_rate_covers_last_minute() {
    for kind in Kind::ALL {
        let mut fixture = RoomFixture::new(kind, 10).await;
        fixture.join_all(1..=70).await;
        for number in 1..=10 {
            fixture.enter(number).await.unwrap();
        }
        let stats = fixture.stats().await;
        assert_eq!((stats.admitted_per_minute, stats.max_concurrent), (10, 10), "{kind:?}");
        // Twenty are ahead of the thirtieth, ten get in per minute.
        assert_eq!(fixture.poll(31).await.unwrap().estimated_wait_seconds, 21 * 6, "{kind:?}");
        fixture.wait(61);
        assert_eq!(fixture.stats().await.admitted_per_minute, 0, "{kind:?}");
        assert_eq!(fixture.poll(31).await.unwrap().estimated_wait_seconds, 21 * 30, "from entry_ttl: {kind:?}");
        fixture.configure(|settings| settings.max_concurrent = 20).await;
        assert_eq!(fixture.poll(11).await.unwrap().estimated_wait_seconds, 0, "ready: {kind:?}");
    }
}

#[tokio::test]
async fn poller_at_given_interval_keeps_place() {
    let timings = Timings { ready_ttl: Span::from_secs(7), waiter_ttl: Span::from_secs(11), ..Timings::default() };
    for kind in [Kind::Pure, Kind::Redis] {
        let fixture = RoomFixture::with(kind, 2, timings).await;
        let users = 1..=40_u64;
        let mut due: Vec<(i64, u64)> = Vec::new();
        for number in users {
            due.push((fixture.join(number).await.view.poll_after_ms as i64, number));
        }
        let (mut now, mut order) = (0, Vec::new());
        while !due.is_empty() {
            due.sort_unstable();
            let (at, number) = due.remove(0);
            fixture.clock.advance(Span::from_millis(at - now));
            now = at;
            let view =
                fixture.poll(number).await.unwrap_or_else(|| panic!("{kind:?}: {number} lost the place at {at} ms"));
            match view.status {
                Status::Waiting => due.push((at + view.poll_after_ms as i64, number)),
                Status::Ready { .. } => {
                    fixture.enter(number).await.unwrap();
                    order.push(number);
                    due.push((at + 2_000, number));
                }
                Status::Entered(_) => assert!(fixture.leave(number).await),
            }
        }
        assert_eq!(order.len(), 40, "{kind:?}");
    }
}
