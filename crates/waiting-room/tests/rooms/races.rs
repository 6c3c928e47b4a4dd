//! Many at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdfast_waiting_room::Refusal;

use crate::support::{Door, EVENT, Kind, user};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_hundred_try_to_enter_a_hundred_places_and_exactly_a_hundred_do() {
    for kind in Kind::ALL {
        let door = Arc::new(Door::new(kind, 100).await);
        let joins: Vec<_> = (1..=300).map(|number| tokio::spawn(run(door.clone(), number, false))).collect();
        let mut ranks = BTreeSet::new();
        for join in joins {
            ranks.insert(join.await.unwrap());
        }
        assert_eq!(ranks.len(), 300, "no ties: {kind:?}");
        assert_eq!((ranks.first(), ranks.last()), (Some(&0), Some(&299)), "{kind:?}");
        let enters: Vec<_> = (1..=300).map(|number| tokio::spawn(run(door.clone(), number, true))).collect();
        let mut entered = 0;
        for enter in enters {
            entered += enter.await.unwrap();
        }
        assert_eq!(entered, 100, "{kind:?}");
        assert_eq!(door.counts().await, (200, 0, 100), "{kind:?}");
    }
}

/// The rank on joining; or whether entering succeeded.
async fn run(door: Arc<Door>, number: u64, enter: bool) -> u64 {
    if !enter {
        return door.join(number).await.view.rank;
    }
    match door.room.enter(EVENT, &door.settings, user(number)).await.unwrap() {
        Ok(entered) => u64::from(entered.first),
        Err(Refusal::NotYourTurn(_)) => 0,
        Err(Refusal::NotInQueue) => panic!("{number} has joined"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_user_joining_and_entering_many_times_at_once_has_one_place_and_one_entry() {
    for kind in Kind::ALL {
        let door = Arc::new(Door::new(kind, 5).await);
        let joins = (0..50).map(|_| {
            let door = door.clone();
            tokio::spawn(async move { door.join(1).await.new })
        });
        let mut new = 0;
        for join in joins.collect::<Vec<_>>() {
            new += u32::from(join.await.unwrap());
        }
        assert_eq!(new, 1, "{kind:?}");
        let enters = (0..50).map(|_| {
            let door = door.clone();
            tokio::spawn(async move { door.enter(1).await.unwrap() })
        });
        let (mut tokens, mut first) = (BTreeSet::new(), 0);
        for enter in enters.collect::<Vec<_>>() {
            let entered = enter.await.unwrap();
            first += u32::from(entered.first);
            tokens.insert(entered.entry.token);
        }
        assert_eq!((tokens.len(), first), (1, 1), "{kind:?}");
        assert_eq!(door.counts().await, (0, 0, 1), "{kind:?}");
    }
}
