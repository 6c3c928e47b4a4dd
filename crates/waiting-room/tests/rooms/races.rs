//! Concurrent joins and enters of many users, and of one.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdfast_waiting_room::Refusal;

use crate::support::{EVENT, Kind, RoomFixture, user};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_enters_respect_limit() {
    for kind in Kind::ALL {
        let fixture = Arc::new(RoomFixture::new(kind, 100).await);
        let joins: Vec<_> = (1..=300).map(|number| tokio::spawn(join(fixture.clone(), number))).collect();
        let mut ranks = BTreeSet::new();
        for join in joins {
            ranks.insert(join.await.unwrap());
        }
        assert_eq!(ranks.len(), 300, "no ties: {kind:?}");
        assert_eq!((ranks.first(), ranks.last()), (Some(&0), Some(&299)), "{kind:?}");
        let enters: Vec<_> = (1..=300).map(|number| tokio::spawn(enter(fixture.clone(), number))).collect();
        let mut entered = 0;
        for enter in enters {
            entered += u32::from(enter.await.unwrap());
        }
        assert_eq!(entered, 100, "{kind:?}");
        assert_eq!(fixture.counts().await, (200, 0, 100), "{kind:?}");
    }
}

async fn join(fixture: Arc<RoomFixture>, number: u64) -> u64 {
    fixture.join(number).await.view.rank
}

/// Returns whether the user entered; the other outcome is a user whose turn has not come.
async fn enter(fixture: Arc<RoomFixture>, number: u64) -> bool {
    match fixture.room.enter(EVENT, &fixture.settings, &user(number)).await.unwrap() {
        Ok(entered) => entered.first,
        Err(Refusal::NotYourTurn(_)) => false,
        Err(Refusal::NotInQueue) => panic!("{number} has joined"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_of_user_share_one_entry() {
    for kind in Kind::ALL {
        let fixture = Arc::new(RoomFixture::new(kind, 5).await);
        let joins = (0..50).map(|_| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.join(1).await.new })
        });
        let mut new = 0;
        for join in joins.collect::<Vec<_>>() {
            new += u32::from(join.await.unwrap());
        }
        assert_eq!(new, 1, "{kind:?}");
        let enters = (0..50).map(|_| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.enter(1).await.unwrap() })
        });
        let (mut tokens, mut first) = (BTreeSet::new(), 0);
        for enter in enters.collect::<Vec<_>>() {
            let entered = enter.await.unwrap();
            first += u32::from(entered.first);
            tokens.insert(entered.entry.token);
        }
        assert_eq!((tokens.len(), first), (1, 1), "{kind:?}");
        assert_eq!(fixture.counts().await, (0, 0, 1), "{kind:?}");
    }
}
