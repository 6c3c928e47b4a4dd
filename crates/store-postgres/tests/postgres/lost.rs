//! Lost connections, and a database that becomes unavailable and recovers.

use std::time::{Duration, Instant};

use holdfast_core::{Command, WorkingSet};
use holdfast_engine::{Refused, Store};
use holdfast_testkit::{PostgresOptions as ServerOptions, PostgresServer};

use crate::support::{confirm, connect, counts, create, cut_all, database, findings, number, open, place, run};

/// Retries while the error rules out a commit.
async fn run_until_back<C: Command + Clone>(store: &dyn Store, command: C) -> Result<C::Outcome, Refused> {
    let began = Instant::now();
    loop {
        match run(store, command.clone()).await {
            Err(Refused::StoreUnavailable(_)) if began.elapsed() < Duration::from_secs(10) => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            done => return done,
        }
    }
}

#[tokio::test]
async fn connections_cut_between_batches_recover() {
    let database = database();
    let (store, _) = open(database.url()).await;
    let client = connect(database.url()).await;
    run(&store, create(20)).await.unwrap();
    let hold = run(&store, place(1)).await.unwrap();
    // Time to detect the loss; otherwise the first batch would correctly end in doubt.
    let notice = async || tokio::time::sleep(Duration::from_millis(100)).await;
    for round in 1..10 {
        cut_all(&client).await;
        notice().await;
        run_until_back(&store, place(round + 1)).await.unwrap();
        cut_all(&client).await;
        notice().await;
        assert_eq!(counts(&store).await, (20, 0, round as u32 + 1));
    }
    run_until_back(&store, confirm(&hold)).await.unwrap();
    assert_eq!(number(&client, "SELECT count(*) FROM hold").await, 10);
    assert_eq!(findings(&store).await, [""; 0]);
}

/// Cut at random moments, a command may fail definitely or in doubt. The database must then agree with the answers: all
/// that succeeded, none that were rejected, each at most once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_batches_are_atomic_and_not_repeated() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(100_000)).await.unwrap();
    let url = database.url().to_owned();
    let cutter = tokio::spawn(async move {
        let client = connect(&url).await;
        for round in 0..40_u64 {
            tokio::time::sleep(Duration::from_micros(20_000 + round * 731 % 30_000)).await;
            cut_all(&client).await;
        }
    });
    let (mut placed, mut unsure, mut user) = (Vec::new(), Vec::new(), 0);
    while !cutter.is_finished() {
        user += 1;
        match run(&store, place(user)).await {
            Ok(hold) => placed.push(hold.id),
            Err(Refused::StoreUnavailable(_)) => tokio::time::sleep(Duration::from_millis(1)).await,
            Err(Refused::OutcomeUnknown) => unsure.push(user),
            Err(other) => panic!("{other:?}"),
        }
    }
    cutter.await.unwrap();
    while store.check().await.is_err() {}
    let client = connect(database.url()).await;
    let rows = client.query("SELECT id::text, user_id::bigint FROM hold", &[]).await.unwrap();
    let found: std::collections::HashMap<String, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for id in &placed {
        assert!(found.contains_key(&id.to_string()), "{id} was answered and is lost");
    }
    let unsure_and_done = found.values().filter(|user| unsure.contains(&(**user as u64))).count();
    assert_eq!(found.len(), placed.len() + unsure_and_done);
    assert_eq!(counts(&store).await, (100_000, 0, found.len() as u32), "in-memory state equals the database");
    assert_eq!(number(&client, "SELECT count FROM commits").await, 1 + found.len() as i64);
    assert_eq!(findings(&store).await, [""; 0]);
    assert!(placed.len() > 10, "{} placed", placed.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_outage_fails_fast_and_recovers() {
    let server = PostgresServer::start(&ServerOptions { durable: true }).unwrap();
    let database = server.postgres().database();
    let (store, _) = open(database.url()).await;
    run(&store, create(10)).await.unwrap();
    let first = run(&store, place(1)).await.unwrap();
    for round in 2..4 {
        server.stop_immediate();
        let began = Instant::now();
        for _ in 0..20 {
            let refused = run(&store, place(round)).await.unwrap_err();
            assert!(matches!(refused, Refused::StoreUnavailable(_)), "{refused:?}");
            assert!(store.check().await.is_err());
        }
        // If each waited for a connection, they would take forty seconds.
        assert!(began.elapsed() < Duration::from_secs(20), "{:?} for 40 calls", began.elapsed());
        server.restart().unwrap();
        run_until_back(&store, place(round)).await.unwrap();
        assert_eq!(counts(&store).await, (10, 0, round as u32));
    }
    run(&store, confirm(&first)).await.unwrap();
    assert_eq!(findings(&store).await, [""; 0]);
}

#[tokio::test]
async fn server_that_lost_database_reloads_state() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(10)).await.unwrap();
    run(&store, place(1)).await.unwrap();
    let client = connect(database.url()).await;
    // Another server that waits for the lock.
    let waiting = "SELECT pg_advisory_lock(classid::bigint::int, objid::bigint::int) FROM pg_locks
        WHERE locktype = 'advisory' AND classid::bigint = 1215063110
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let other = connect(database.url()).await;
    let waiting = tokio::spawn(async move {
        other.batch_execute(waiting).await.unwrap();
        other
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let owner = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
        AND classid::bigint = 1215063110
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    client.batch_execute(owner).await.unwrap();
    let other = waiting.await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    for _ in 0..3 {
        let Err(Refused::StoreUnavailable(why)) = run(&store, place(2)).await else { panic!("the database is in use") };
        assert!(why.contains("another server already uses this database"), "{why}");
        assert!(store.read(&mut WorkingSet::default()).await.is_err(), "in-memory state may be stale");
    }
    let others_work = "BEGIN; UPDATE room_type SET total_quantity = 3; UPDATE commits SET count = count + 1; COMMIT";
    other.batch_execute(others_work).await.unwrap();
    drop(other);
    run_until_back(&store, place(2)).await.unwrap();
    assert_eq!(counts(&store).await, (3, 0, 2));
}
