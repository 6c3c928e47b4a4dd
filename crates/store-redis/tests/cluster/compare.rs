//! Validation of read sets of any size, and against clock changes.

use holdfast_core::actor::Actor;
use holdfast_core::stay::{CancelStayHold, ConfirmStayHold, night_unit};
use holdfast_core::{Command, WorkingSet};
use holdfast_engine::store::Tier;
use holdfast_engine::{Answer, Batch, NoSink, Store as _, StoreError};
use redis::Commands as _;

use crate::keys::look_into;
use crate::support::{Cluster, Server, limits, place, tomorrow};

/// More rows than one call of the script compares at once.
const MANY: u64 = 1_100;

/// Runs all commands in one batch; each must succeed.
async fn all<C: Command>(server: &Server, commands: impl Iterator<Item = C>) -> Vec<C::Outcome> {
    let mut batch = Batch::default();
    let pending: Vec<_> = commands.map(|command| batch.add(command, None)).collect();
    batch.run(&server.store, &NoSink, &limits()).await;
    let mut outcomes = Vec::new();
    for answer in pending {
        let Answer::Fresh(outcome) = answer.await.unwrap().unwrap() else { panic!("there was no key") };
        outcomes.push(outcome);
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn large_batch_is_written() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2 * MANY as u32).await;
    let held = all(&server, (1..=2 * MANY).map(|user| place(user, room_type))).await;
    let (kept, given_back) = held.split_at(MANY as usize);
    all(&server, kept.iter().map(|hold| ConfirmStayHold::new(hold.id, Actor::Admin))).await;
    all(&server, given_back.iter().map(|hold| CancelStayHold::new(hold.id, Actor::Admin))).await;
    let night = server.night(room_type).await;
    assert_eq!((night.reserved, night.held, night.available), (MANY as u32, 0, MANY as u32));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_row_of_many_is_a_conflict() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(2).await;
    let nights = tomorrow().series(jiff::Span::new().days(1)).take(MANY as usize);
    for was_there in [false, true] {
        let mut session = a.store.begin(Tier::Live).await.unwrap();
        let mut rows = WorkingSet::default();
        for night in nights.clone() {
            rows.held.request(&night_unit(room_type, night));
        }
        session.load(&mut rows).await.unwrap();
        b.place(1 + u64::from(was_there), room_type).await.unwrap();
        let committed = session.commit(&mut rows, &[]).await.map(|_| ());
        assert!(matches!(committed, Err(StoreError::Conflict)), "was it there? {was_there}: {committed:?}");
    }
}

/// The age of a read from before the clock was set back is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn read_from_future_is_a_conflict() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    server.place(1, room_type).await.unwrap();
    let (mut redis, prefix) = look_into(&cluster);
    let (clock, ahead) = (format!("{prefix}clock"), 5_000_000_i64);
    let latest: i64 = redis.get(&clock).unwrap();

    for (is_set_back, is_refused) in [(false, false), (true, true)] {
        let () = redis.set(&clock, latest + ahead).unwrap();
        let mut session = server.store.begin(Tier::Live).await.unwrap();
        let mut rows = WorkingSet::default();
        rows.held.request(&night_unit(room_type, tomorrow()));
        session.load(&mut rows).await.unwrap();
        if is_set_back {
            let () = redis.del(&clock).unwrap();
        }
        let committed = session.commit(&mut rows, &[]).await.map(|_| ());
        assert_eq!(matches!(committed, Err(StoreError::Conflict)), is_refused, "{committed:?}");
    }
}
