//! Connections that are cut, and a database that goes away and comes back.

use std::time::{Duration, Instant};

use holdfast_core::id::UserId;
use holdfast_engine::{Refused, Store as _};
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use holdfast_testkit::PostgresServer;

use crate::support::{confirm, connect, counts, create, cut_all, database, findings, number, open, place, run};

#[tokio::test]
async fn connections_cut_between_batches_are_made_again_and_nothing_is_lost() {
    let database = database();
    let (store, _) = open(database.url()).await;
    let client = connect(database.url()).await;
    run(&store, create(10)).await.unwrap();
    let hold = run(&store, place(1)).await.unwrap();
    for round in 0..5 {
        cut_all(&client).await;
        store.check().await.unwrap();
        assert_eq!(counts(&store).await, (10, 0, 1 + round));
        cut_all(&client).await;
        run(&store, place(u64::from(round) + 2)).await.unwrap();
    }
    run(&store, confirm(&hold)).await.unwrap();
    assert_eq!(findings(&store).await, [""; 0]);
    UserId::new(1).unwrap();
}
