//! Reads beside batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdfast_core::stay::availability::availability;
use holdfast_core::{Context, Timestamp, WorkingSet};
use holdfast_engine::{Engine, EngineSettings, NoSink, Store as _};
use holdfast_store_postgres::{PostgresOptions, PostgresStore};
use jiff::ToSpan as _;

use crate::support::{NIGHT, confirm, counts, create, database, findings, limits, place, room_type, run};

/// Each reader queries a night that in-memory state may lack, while holds on it are placed and confirmed. The result
/// must never be less than the count answered before. Held and reserved are counted in different tables, so a read that
/// mixes two moments would miss the hold just being confirmed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn read_is_a_snapshot_of_answered_commits() {
    let database = database();
    let store = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap();
    let settings = EngineSettings { lock_wait: Duration::from_secs(5), queue_max: 10_000, limits: limits() };
    let (engine, thread) = Engine::start(Arc::new(store.clone()), Arc::new(NoSink), settings).unwrap();
    engine.run(create(100_000), None).await.unwrap();
    let answered = Arc::new(AtomicU32::new(0));
    let writers: Vec<_> = (0..4_u64)
        .map(|writer| {
            let (engine, answered) = (engine.clone(), answered.clone());
            tokio::spawn(async move {
                for number in 0..100 {
                    let hold = engine.run(place(1 + writer * 1_000 + number), None).await.unwrap();
                    let holdfast_engine::Answer::Fresh(hold) = hold else { unreachable!("there is no key") };
                    answered.fetch_add(1, Ordering::SeqCst);
                    engine.run(confirm(&hold), None).await.unwrap();
                }
            })
        })
        .collect();
    let mut reads = 0;
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let before = answered.load(Ordering::SeqCst);
        // The far night is never in memory, so the database is read each time.
        let seen = engine
            .query(|rows: &mut WorkingSet, at: &Context<'_>| {
                let far = NIGHT + 30.days();
                let far = availability(rows, at, room_type(), far, far + 1.day());
                let near = availability(rows, at, room_type(), NIGHT, NIGHT + 1.day());
                far?;
                near
            })
            .await
            .unwrap();
        let after = answered.load(Ordering::SeqCst);
        let sold = seen.nights[0].reserved + seen.nights[0].held;
        assert!(before <= sold && sold <= after + 4, "{before} answered before, {sold} seen, {after} after");
        reads += 1;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(reads > 0, "no read took place");
    assert_eq!(counts(&store).await, (100_000, 400, 0));
    drop(engine);
    tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
    assert_eq!(findings(&store).await, [""; 0]);
}

#[tokio::test]
async fn database_provides_time() {
    let database = database();
    let store = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap();
    let client = crate::support::connect(database.url()).await;
    let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    for _ in 0..20 {
        let before = crate::support::number(&client, clock).await;
        let told = store.read(&mut WorkingSet::default()).await.unwrap();
        let after = crate::support::number(&client, clock).await;
        let slack = 50;
        assert!((before - slack..=after + slack).contains(&told.as_millis()), "{before} {told:?} {after}");
        run(&store, create(1)).await.unwrap();
    }
    client.batch_execute("UPDATE commits SET last_at = '2099-01-01', count = count + 1").await.unwrap();
    drop(store);
    let store = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap();
    assert!(store.now() >= Timestamp::from_millis(4_070_908_800_000), "not behind the last commit");
}
