//! The contract's sentences on the waiting room, on every kind of room.

use holdfast_core::time::Span;
use holdfast_waiting_room::{Refusal, Status, Timings};

use crate::support::{Door, EVENT, Kind, keys, user};

#[tokio::test]
async fn joining_again_gives_the_same_place() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 0).await;
        let first = door.join(1).await;
        assert!(first.new);
        door.join(2).await;
        let again = door.join(1).await;
        assert_eq!((again.new, again.view), (false, first.view), "{kind:?}");
        assert_eq!(door.standing(2).await, "waiting 1", "{kind:?}");
    }
}

#[tokio::test]
async fn one_who_is_inside_joins_again_and_is_inside() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join(1).await;
        let entry = door.enter(1).await.unwrap().entry;
        let again = door.join(1).await;
        assert!(!again.new, "{kind:?}");
        assert_eq!(again.view.status, Status::Entered(entry), "{kind:?}");
        assert_eq!(door.counts().await, (0, 0, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn who_is_not_queued_is_told_so() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        assert_eq!(door.poll(1).await, None, "{kind:?}");
        assert_eq!(door.enter(1).await, Err(Refusal::NotInQueue), "{kind:?}");
        assert!(!door.leave(1).await, "leaving is no error: {kind:?}");
        assert_eq!(door.entry(1).await, None, "{kind:?}");
    }
}

#[tokio::test]
async fn ready_means_a_rank_below_the_places_left() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 2).await;
        // The order of ids says nothing.
        door.join_all([30, 10, 20]).await;
        let standings = [door.standing(30).await, door.standing(10).await, door.standing(20).await];
        assert_eq!(standings, ["ready 0", "ready 1", "waiting 2"], "{kind:?}");
        door.enter(10).await.unwrap();
        assert_eq!(door.standing(30).await, "ready 0", "{kind:?}");
        assert_eq!(door.standing(20).await, "waiting 1", "{kind:?}");
        assert_eq!(door.counts().await, (1, 1, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn entering_too_early_is_refused_and_keeps_the_place() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join_all([1, 2]).await;
        door.enter(1).await.unwrap();
        door.wait(299);
        let Err(Refusal::NotYourTurn(view)) = door.enter(2).await else { panic!("{kind:?}: too early") };
        assert_eq!((view.status, view.rank), (Status::Waiting, 0), "{kind:?}");
        door.wait(1);
        assert_eq!(door.counts().await, (0, 1, 0), "at 300 s the entry is over, who tried is there: {kind:?}");
    }
}

#[tokio::test]
async fn entering_again_gives_the_same_entry_and_the_token_proves_it() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join(1).await;
        let first = door.enter(1).await.unwrap();
        assert!(first.first);
        assert_eq!(first.entry.expires_at, door.now() + Span::from_secs(300), "{kind:?}");
        door.wait(100);
        let again = door.enter(1).await.unwrap();
        assert_eq!((again.first, &again.entry), (false, &first.entry), "{kind:?}");
        assert_eq!(door.entry(1).await, Some(first.entry.clone()), "{kind:?}");
        let claims = keys().check(&first.entry.token, EVENT, user(1), door.now()).unwrap();
        assert_eq!(claims.entry_id, first.entry.id, "{kind:?}");
        let full_second = first.entry.expires_at.as_millis().cast_unsigned().div_ceil(1_000).cast_signed() * 1_000;
        assert_eq!(claims.expires_at.as_millis(), full_second, "{kind:?}");
    }
}

#[tokio::test]
async fn polling_renews_an_entry_up_to_entry_max_in_all() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join_all([1, 2]).await;
        let entered_at = door.now();
        let first = door.enter(1).await.unwrap().entry;
        for minute in (4..30).step_by(4) {
            door.wait(240);
            let Some(Status::Entered(entry)) = door.poll(1).await.map(|view| view.status) else {
                panic!("{kind:?}: polled and yet out after {minute} minutes")
            };
            assert_eq!(entry.id, first.id, "{kind:?}");
            let renewed = door.now() + Span::from_secs(300);
            assert_eq!(entry.expires_at, renewed.min(entered_at + Span::from_secs(1_800)), "{kind:?}");
            door.poll(2).await;
        }
        door.wait(1_800 - 7 * 240 - 1);
        assert_eq!(door.standing(1).await, "entered", "{kind:?}");
        door.wait(1);
        assert_eq!(door.entry(1).await, None, "{kind:?}");
        assert_eq!((door.standing(1).await, door.standing(2).await), ("gone".into(), "ready 0".into()), "{kind:?}");
    }
}

#[tokio::test]
async fn places_are_filled_right_after_entries_end() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 3).await;
        door.join_all(1..=3).await;
        for number in 1..=3 {
            door.enter(number).await.unwrap();
        }
        door.wait(200);
        door.join_all(4..=10).await;
        assert_eq!(door.counts().await, (7, 0, 3), "{kind:?}");
        door.wait(100);
        assert_eq!(door.counts().await, (4, 3, 0), "{kind:?}");
        // They were ready from the moment the entries ended, not from when somebody looked.
        door.wait(60);
        assert_eq!(door.counts().await, (1, 3, 0), "{kind:?}");
        assert_eq!(door.standing(7).await, "ready 0", "{kind:?}");
    }
}

#[tokio::test]
async fn ready_time_runs_from_the_moment_there_is_space() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join_all([1, 2]).await;
        door.enter(1).await.unwrap();
        door.wait(250);
        door.join_all([2, 3]).await;
        let until = door.now() + Span::from_secs(50) + Span::from_secs(60);
        door.wait(90);
        // The entry ended forty seconds ago: twenty are left.
        let Some(Status::Ready { until: told }) = door.poll(2).await.map(|view| view.status) else {
            panic!("{kind:?}: not ready")
        };
        assert_eq!(told, until, "{kind:?}");
        door.wait(19);
        assert_eq!(door.standing(2).await, "ready 0", "polling does not prolong it: {kind:?}");
        door.wait(1);
        assert_eq!((door.standing(2).await, door.standing(3).await), ("gone".into(), "ready 0".into()), "{kind:?}");
    }
}

#[tokio::test]
async fn who_is_not_heard_of_loses_the_place_and_blocks_nobody() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 0).await;
        door.join_all([1, 2, 3]).await;
        door.wait(299);
        assert_eq!(door.standing(2).await, "waiting 1", "{kind:?}");
        door.join(3).await;
        door.wait(1);
        assert_eq!(door.standing(1).await, "gone", "{kind:?}");
        assert_eq!(
            (door.standing(2).await, door.standing(3).await),
            ("waiting 0".into(), "waiting 1".into()),
            "{kind:?}"
        );
        let back = door.join(1).await;
        assert_eq!((back.new, back.view.rank), (true, 2), "at the end: {kind:?}");
    }
}

#[tokio::test]
async fn while_paused_nobody_is_ready_and_those_inside_stay() {
    for kind in Kind::ALL {
        let mut door = Door::new(kind, 2).await;
        door.join_all([1, 2]).await;
        door.enter(1).await.unwrap();
        door.configure(|settings| settings.paused = true).await;
        assert_eq!(door.counts().await, (1, 0, 1), "{kind:?}");
        assert!(door.stats().await.paused, "{kind:?}");
        assert!(matches!(door.enter(2).await, Err(Refusal::NotYourTurn(_))), "{kind:?}");
        assert!(door.join(3).await.new, "joins go on: {kind:?}");
        door.wait(100);
        assert_eq!(
            (door.standing(1).await, door.standing(2).await),
            ("entered".into(), "waiting 0".into()),
            "{kind:?}"
        );
        door.configure(|settings| settings.paused = false).await;
        let until = door.now() + Span::from_secs(60);
        assert_eq!(door.poll(2).await.unwrap().status, Status::Ready { until }, "a whole ready_ttl: {kind:?}");
    }
}

#[tokio::test]
async fn nobody_is_ready_before_sales_open_and_then_at_once() {
    for kind in Kind::ALL {
        let mut door = Door::new(kind, 1).await;
        let opens_at = door.now() + Span::from_secs(100);
        door.configure(|settings| settings.sales_open_at = Some(opens_at)).await;
        door.join_all([1, 2]).await;
        let view = door.poll(1).await.unwrap();
        assert_eq!((view.status, view.estimated_wait_seconds), (Status::Waiting, 100), "{kind:?}");
        door.wait(99);
        assert!(matches!(door.enter(1).await, Err(Refusal::NotYourTurn(_))), "{kind:?}");
        door.wait(11);
        let until = opens_at + Span::from_secs(60);
        assert_eq!(door.poll(1).await.unwrap().status, Status::Ready { until }, "{kind:?}");
    }
}

#[tokio::test]
async fn lowering_the_limit_evicts_nobody() {
    for kind in Kind::ALL {
        let mut door = Door::new(kind, 4).await;
        door.join_all(1..=6).await;
        for number in 1..=3 {
            door.enter(number).await.unwrap();
        }
        door.configure(|settings| settings.max_concurrent = 2).await;
        assert_eq!(door.counts().await, (3, 0, 3), "{kind:?}");
        assert_eq!(
            (door.standing(1).await, door.standing(4).await),
            ("entered".into(), "waiting 0".into()),
            "{kind:?}"
        );
        door.leave(1).await;
        assert_eq!(door.counts().await, (3, 0, 2), "{kind:?}");
        door.leave(2).await;
        assert_eq!(door.counts().await, (2, 1, 1), "{kind:?}");
        door.configure(|settings| settings.max_concurrent = 10).await;
        assert_eq!(door.counts().await, (0, 3, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn settings_that_are_out_of_date_are_ignored() {
    for kind in Kind::ALL {
        let mut door = Door::new(kind, 1).await;
        let stale = door.settings.clone();
        door.configure(|settings| settings.paused = true).await;
        door.join(1).await;
        let current = std::mem::replace(&mut door.settings, stale);
        assert_eq!(door.standing(1).await, "waiting 0", "{kind:?}");
        assert!(door.stats().await.paused, "{kind:?}");
        door.settings = current;
    }
}

#[tokio::test]
async fn leaving_gives_up_the_place_or_the_entry() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join_all([1, 2, 3]).await;
        door.enter(1).await.unwrap();
        assert!(door.leave(2).await, "{kind:?}");
        assert_eq!(door.standing(3).await, "waiting 0", "{kind:?}");
        assert!(door.leave(1).await, "{kind:?}");
        assert!(!door.leave(1).await, "{kind:?}");
        assert_eq!(door.standing(3).await, "ready 0", "{kind:?}");
    }
}

#[tokio::test]
async fn giving_an_entry_back_leaves_a_place_alone() {
    for kind in Kind::ALL {
        let door = Door::new(kind, 1).await;
        door.join(1).await;
        door.enter(1).await.unwrap();
        assert!(door.give_back(1).await, "{kind:?}");
        assert_eq!(door.entry(1).await, None, "{kind:?}");
        door.join(1).await;
        assert!(!door.give_back(1).await, "{kind:?}");
        assert_eq!(door.standing(1).await, "ready 0", "{kind:?}");
    }
}

#[tokio::test]
async fn the_rate_of_admission_is_that_of_the_last_minute() {
    for kind in Kind::ALL {
        let mut door = Door::new(kind, 10).await;
        door.join_all(1..=70).await;
        for number in 1..=10 {
            door.enter(number).await.unwrap();
        }
        let stats = door.stats().await;
        assert_eq!((stats.admitted_per_minute, stats.max_concurrent), (10, 10), "{kind:?}");
        // Twenty are ahead of the thirtieth, ten get in per minute.
        assert_eq!(door.poll(31).await.unwrap().estimated_wait_seconds, 21 * 6, "{kind:?}");
        door.wait(61);
        assert_eq!(door.stats().await.admitted_per_minute, 0, "{kind:?}");
        assert_eq!(door.poll(31).await.unwrap().estimated_wait_seconds, 21 * 30, "a guess: {kind:?}");
        door.configure(|settings| settings.max_concurrent = 20).await;
        assert_eq!(door.poll(11).await.unwrap().estimated_wait_seconds, 0, "ready: {kind:?}");
    }
}

#[tokio::test]
async fn who_polls_as_told_never_falls_out() {
    let timings = Timings { ready_ttl: Span::from_secs(7), waiter_ttl: Span::from_secs(11), ..Timings::default() };
    for kind in [Kind::Pure, Kind::Redis] {
        let door = Door::with(kind, 2, timings).await;
        let people = 1..=40_u64;
        let mut due: Vec<(i64, u64)> = Vec::new();
        for number in people {
            due.push((door.join(number).await.view.poll_after_ms as i64, number));
        }
        let (mut now, mut order) = (0, Vec::new());
        while !due.is_empty() {
            due.sort_unstable();
            let (at, number) = due.remove(0);
            door.clock.advance(Span::from_millis(at - now));
            now = at;
            let view = door.poll(number).await.unwrap_or_else(|| panic!("{kind:?}: {number} fell out at {at} ms"));
            match view.status {
                Status::Waiting => due.push((at + view.poll_after_ms as i64, number)),
                Status::Ready { .. } => {
                    door.enter(number).await.unwrap();
                    order.push(number);
                    due.push((at + 2_000, number));
                }
                Status::Entered(_) => assert!(door.leave(number).await),
            }
        }
        assert_eq!(order.len(), 40, "{kind:?}");
    }
}
