//! Servers that share a database.

use std::time::Duration;

use holdfast_core::audit::Audit;
use holdfast_core::calendar::local_time::SlotStart;
use holdfast_core::calendar::room::RoomId;
use holdfast_core::calendar::slot::{Slot, SlotId, SlotState};
use holdfast_core::id::HoldId;
use holdfast_core::idempotency::{self, IdempotencyRecordId};
use holdfast_core::schema::List;
use holdfast_core::stay::RoomType;
use holdfast_core::table::TableSet as _;
use holdfast_core::{Context, InMemoryState, WorkingSet};
use holdfast_engine::{Refused, Store as _, StoreError};
use holdfast_store_postgres::{DurableTier, OpenError, PostgresOptions, PostgresStore};

use crate::cluster::{
    change_rooms, confirm, confirm_in, create_room_type, decide, decision, event, join, live_hold, live_hold_on,
    to_rooms,
};
use crate::support::{connect, counts, create, cut_all, database, limits, number, open, place, room_type, run};

#[tokio::test]
async fn exclusive_and_shared_use_exclude_each_other() {
    let database = database();
    let (alone, _) = open(database.url()).await;
    let error = DurableTier::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::InUseAlone), "{error}");
    drop(alone);
    let (one, two) = (join(&database).await, join(&database).await);
    let error = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::InUseByCluster), "{error}");
    drop((one, two));
    open(database.url()).await;
}

#[tokio::test]
async fn concurrent_batches_conflict_then_succeed() {
    let database = database();
    let (one, two) = (join(&database).await, join(&database).await);
    create_room_type(&one, 2).await;
    let (first, second) = (live_hold(&one, 1), live_hold(&one, 2));
    // On a night without a row, and on one with a row.
    for attempt in 1..3 {
        let (mut a, mut rows_a) = (one.begin().await.unwrap(), WorkingSet::default());
        let (mut b, mut rows_b) = (two.begin().await.unwrap(), WorkingSet::default());
        let hold_a = if attempt == 1 { &first } else { &live_hold(&one, 3) };
        if attempt == 2 {
            let client = connect(database.url()).await;
            client.batch_execute("UPDATE room_type SET total_quantity = 5, version = version + 1").await.unwrap();
        }
        let reservation_a = confirm_in(&mut a, &mut rows_a, hold_a).await;
        let reservation_b = confirm_in(&mut b, &mut rows_b, &second).await;
        a.commit(&rows_a, &[], &[decision(&reservation_a, 1)]).await.unwrap();
        let lost = b.commit(&rows_b, &[], &[decision(&reservation_b, 1)]).await;
        assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
    }
    confirm(&two, &second).await.unwrap();
    let client = connect(database.url()).await;
    assert_eq!(number(&client, "SELECT reserved_count::bigint FROM room_type_stock").await, 3);
    assert_eq!(number(&client, "SELECT count(*) FROM hold_decision").await, 3);
    let mut confirmed = one.confirmed(&[first.hold.id, second.hold.id, HoldId::new(one.now(), [1; 10])]).await.unwrap();
    confirmed.sort_unstable();
    let mut expected = [first.hold.id, second.hold.id];
    expected.sort_unstable();
    assert_eq!(confirmed, expected);
    let mut audit = Audit::new(one.now());
    one.audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0]);
}

#[tokio::test]
async fn change_of_read_row_is_a_conflict() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 2).await;
    let hold = live_hold(&tier, 1);
    let (mut confirming, mut rows) = (tier.begin().await.unwrap(), WorkingSet::default());
    let reservation = confirm_in(&mut confirming, &mut rows, &hold).await;

    change_rooms(&tier, 0).await.unwrap();

    let lost = confirming.commit(&rows, &[], &[decision(&reservation, 1)]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
}

#[tokio::test]
async fn new_row_in_read_range_is_a_conflict() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 2).await;
    let (mut changing, mut changed) = (tier.begin().await.unwrap(), WorkingSet::default());
    decide(&mut changing, &mut changed, &InMemoryState::of_store(), &to_rooms(0)).await;
    confirm(&tier, &live_hold(&tier, 1)).await.unwrap();
    let lost = changing.commit(&changed, &[], &[]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
}

#[tokio::test]
async fn regenerated_slot_is_a_conflict() {
    let database = database();
    let tier = join(&database).await;
    let id = SlotId { room: RoomId::new(1).unwrap(), start: SlotStart::from_minutes(10_000_000).unwrap() };
    let (state, base_price, final_price) = (SlotState::Free, 1_000, 1_000);
    let hour =
        Slot { minutes: 60, state, base_price, final_price, is_peak: false, is_holiday: false, outside_hours: false };
    let (mut making, mut made) = (tier.begin().await.unwrap(), WorkingSet::default());
    made.calendar.slots.insert(id, hour);
    making.commit(&made, &[], &[]).await.unwrap();

    let (mut reserving, mut reserved) = (tier.begin().await.unwrap(), WorkingSet::default());
    let (mut remaking, mut remade) = (tier.begin().await.unwrap(), WorkingSet::default());
    for (session, rows) in [(&mut reserving, &mut reserved), (&mut remaking, &mut remade)] {
        rows.calendar.slots.request(&id);
        session.load(rows).await.unwrap();
    }
    remade.calendar.slots.delete(id);
    remade.calendar.slots.insert(id, Slot { minutes: 30, ..hour });
    remaking.commit(&remade, &[], &[]).await.unwrap();
    reserved.calendar.slots.put(id, Slot { state: SlotState::Blocked, ..hour });
    let lost = reserving.commit(&reserved, &[], &[]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
    let client = connect(database.url()).await;
    assert_eq!(number(&client, "SELECT minutes::bigint FROM time_slots").await, 30);
}

#[tokio::test]
async fn first_decision_is_final() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 5).await;

    let aborted = live_hold(&tier, 1);
    assert!(!tier.decide_aborted(aborted.hold.id, 1).await.unwrap());
    assert!(!tier.decide_aborted(aborted.hold.id, 1).await.unwrap());
    let late = confirm(&tier, &aborted).await;
    assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
    let client = connect(database.url()).await;
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, 0);
    assert_eq!(number(&client, "SELECT count(*) FROM room_type_stock").await, 0);

    let confirmed = live_hold(&tier, 2);
    confirm(&tier, &confirmed).await.unwrap();
    assert_eq!(tier.confirmed(&[aborted.hold.id, confirmed.hold.id]).await.unwrap(), [confirmed.hold.id]);
    assert!(tier.decide_aborted(confirmed.hold.id, 1).await.unwrap());
    assert!(tier.decide_aborted(confirmed.hold.id, 2).await.unwrap());
}

#[tokio::test]
async fn abort_waits_for_confirm_in_flight() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 5).await;
    let hold = HoldId::new(tier.now(), [9; 10]);
    let mut client = connect(database.url()).await;
    let transaction = client.transaction().await.unwrap();
    let insert = format!("INSERT INTO hold_decision VALUES ('{hold}', 1, true, now())");
    transaction.batch_execute(&insert).await.unwrap();
    let deciding = tokio::spawn({
        let tier = tier.clone();
        async move { tier.decide_aborted(hold, 1).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!deciding.is_finished(), "the abort waits");
    transaction.commit().await.unwrap();
    assert!(deciding.await.unwrap().unwrap());

    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute(&insert.replace(", 1, true", ", 2, true")).await.unwrap();
    let stuck = tokio::time::timeout(Duration::from_secs(20), tier.decide_aborted(hold, 2)).await;
    let stuck = stuck.expect("the wait is bounded");
    assert!(matches!(stuck, Err(StoreError::Conflict)), "{stuck:?}");
}

#[tokio::test]
async fn commit_on_stale_rows_is_a_conflict() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 5).await;
    let client = connect(database.url()).await;
    // Moves the database's clock forward by eleven seconds.
    let later = "CREATE OR REPLACE FUNCTION expect_fresh(loaded_at timestamptz, age_max interval) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN
            IF clock_timestamp() + interval '11 s' > loaded_at + age_max THEN
                RAISE EXCEPTION 'too old' USING ERRCODE = 'UH004';
            END IF;
        END $$";
    client.batch_execute(later).await.unwrap();
    let lost = confirm(&tier, &live_hold(&tier, 1)).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
}

#[tokio::test]
async fn ids_are_drawn_in_blocks_and_unique() {
    let database = database();
    let (one, two) = (join(&database).await, join(&database).await);
    create_room_type(&one, 100).await;
    let mut numbers = Vec::new();
    for user in 1..=6 {
        let tier = if user % 2 == 0 { &one } else { &two };
        let hold = live_hold(tier, user);
        numbers.push(confirm(tier, &hold).await.unwrap().id.get());
    }
    assert_eq!(numbers, [1, 32_769, 2, 32_770, 3, 32_771]);
    assert_eq!(one.outbox_last().await.unwrap(), 6);
    let outbox = two.outbox_after(2, 3).await.unwrap();
    assert_eq!(outbox.iter().map(|record| record.id).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(outbox[0].data, "{\"a\": 1}", "as it was written");
}

#[tokio::test]
async fn same_key_on_two_servers_is_a_conflict() {
    let database = database();
    let (one, two) = (join(&database).await, join(&database).await);
    let id = IdempotencyRecordId { caller: "u1".into(), key: "k".into() };
    let write = async |tier: &DurableTier, response: &str| {
        let (mut session, mut rows) = (tier.begin().await.unwrap(), WorkingSet::default());
        rows.idempotency_records.request(&id);
        let now = session.load(&mut rows).await.unwrap();
        assert!(rows.idempotency_records.get(&id).unwrap().is_none());
        let limits = limits();
        let at = Context { now, limits: &limits };
        idempotency::keep(&mut rows, &at, id.clone(), [1; 32], response.into());
        (session, rows)
    };
    let (mut a, rows_a) = write(&one, "first").await;
    let (mut b, rows_b) = write(&two, "second").await;
    a.commit(&rows_a, &[], &[]).await.unwrap();
    let lost = b.commit(&rows_b, &[], &[]).await;
    assert!(matches!(lost, Err(StoreError::Conflict)), "{lost:?}");
    let mut rows = WorkingSet::default();
    rows.idempotency_records.request(&id);
    two.read(&mut rows).await.unwrap();
    assert_eq!(rows.idempotency_records.get(&id).unwrap().unwrap().response, b"first");
}

#[tokio::test]
async fn batch_takes_two_round_trips() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 10).await;
    let hold = live_hold(&tier, 1);
    let (mut session, mut rows) = (tier.begin().await.unwrap(), WorkingSet::default());
    rows.holds.request(&hold.hold.id);
    rows.stay.room_types.request(&room_type());
    let before = tier.round_trips();
    session.load(&mut rows).await.unwrap();
    assert_eq!(tier.round_trips() - before, 1);
    assert!(!rows.is_loaded(), "live rows stay requested");
    assert!(rows.stay.room_types.get(&room_type()).unwrap().is_some());

    let reservation = confirm_in(&mut session, &mut rows, &hold).await;
    let before = tier.round_trips();
    session.commit(&rows, &[event(&tier)], &[decision(&reservation, 1)]).await.unwrap();
    assert_eq!(tier.round_trips() - before, 1);
    tier.check().await.unwrap();
    assert!(!tier.purge(holdfast_engine::store::Keep::default()).await.unwrap());
    assert_eq!(tier.list(&List::of::<RoomType>(None, 10)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn exclusive_server_reloads_after_shared_use() {
    let database = database();
    let (alone, _) = open(database.url()).await;
    run(&alone, create(5)).await.unwrap();
    run(&alone, place(1)).await.unwrap();
    cut_all(&connect(database.url()).await).await;
    let tier = join(&database).await;
    let Err(Refused::StoreUnavailable(why)) = run(&alone, place(2)).await else { panic!("the database is in use") };
    assert!(why.contains("servers with `server.redis_url` use this database"), "{why}");
    change_rooms(&tier, 7).await.unwrap();
    drop(tier);
    while alone.check().await.is_err() {}
    assert_eq!(counts(&alone).await, (7, 0, 1));
}

#[tokio::test]
async fn cut_connections_are_replaced() {
    let database = database();
    let tier = join(&database).await;
    create_room_type(&tier, 10).await;
    let client = connect(database.url()).await;
    for user in 1..5 {
        cut_all(&client).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        confirm(&tier, &live_hold(&tier, user)).await.unwrap();
    }
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, 4);
}

/// Concurrent servers confirm overlapping stays on the same few nights, while a reader follows their events.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_confirms_never_oversell() {
    const CONFIRMS: u64 = 160;
    let database = database();
    let tiers = [join(&database).await, join(&database).await, join(&database).await];
    create_room_type(&tiers[0], 10_000).await;
    let servers: Vec<_> = (0..6_u64)
        .map(|server| {
            let tier = tiers[server as usize % 3].clone();
            tokio::spawn(async move {
                let mut conflicts = 0;
                for user in (1..=CONFIRMS).filter(|user| user % 6 == server) {
                    let hold = live_hold_on(&tier, user, user % 4, 1 + user % 3);
                    while let Err(error) = confirm(&tier, &hold).await {
                        assert!(matches!(error, StoreError::Conflict), "{error}");
                        conflicts += 1;
                    }
                }
                conflicts
            })
        })
        .collect();
    let (mut last, mut told) = (0, 0);
    while told < CONFIRMS {
        for record in tiers[0].outbox_after(last, 100).await.unwrap() {
            assert_eq!(record.id, last + 1, "an event became visible after a later one");
            (last, told) = (record.id, told + 1);
        }
    }
    let mut conflicts = 0;
    for server in servers {
        conflicts += server.await.unwrap();
    }
    let mut audit = Audit::new(tiers[0].now());
    tiers[0].audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0]);
    let client = connect(database.url()).await;
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, CONFIRMS as i64);
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(number(&client, deadlocks).await, 0, "after {conflicts} conflicts");
}
