//! Batches of a server that owns the database.

use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::rebuild::SetOperatingHours;
use holdfast_core::calendar::room::{CreateRoom, RoomDraft};
use holdfast_core::calendar::{LocalTime, OpenInterval};
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::schema::List;
use holdfast_core::schema::stay::StayReservationFilter;
use holdfast_core::stay::reservation::CancelStayReservation;
use holdfast_core::stay::{CancelStayHold, RoomType, StayReservation};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Rejection, StayRejection, WorkingSet};
use holdfast_engine::store;
use holdfast_engine::{Answer, Batch, NoSink, Once, Refused, Store, StoreError};

use crate::support::{confirm, connect, counts, create, database, findings, limits, number, open, place, run, run_all};

#[tokio::test]
async fn stays_survive_restart() {
    let database = database();
    let (store, clock) = open(database.url()).await;
    run(&store, create(3)).await.unwrap();
    let holds: Vec<_> = run_all(&store, (1..=4).map(place)).await;
    assert_eq!(
        holds[3],
        Err(Refused::Rejected(Rejection::Stay(StayRejection::RoomNotAvailable {
            available: 0,
            date: crate::support::NIGHT
        })))
    );
    let holds: Vec<_> = holds.into_iter().flatten().collect();
    let first = run(&store, confirm(&holds[0])).await.unwrap();
    run(&store, confirm(&holds[1])).await.unwrap();
    run(&store, CancelStayHold::new(holds[2].id, Actor::Admin)).await.unwrap();
    run(&store, CancelStayReservation { id: first.id, actor: Actor::Admin }).await.unwrap();
    let fifth = run(&store, place(5)).await.unwrap();
    assert_eq!(counts(&store).await, (3, 1, 1));
    let outbox = store.outbox_after(0, 100).await.unwrap();
    assert_eq!(outbox.iter().map(|record| record.id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(store.outbox_last().await.unwrap(), 3);
    drop(store);

    let (store, _) = open(database.url()).await;
    assert_eq!(counts(&store).await, (3, 1, 1));
    assert_eq!(findings(&store).await, [""; 0]);
    run(&store, confirm(&fifth)).await.unwrap();
    assert_eq!(counts(&store).await, (3, 2, 0));
    let filter = StayReservationFilter { confirmed: Some(true), ..StayReservationFilter::default() };
    let listed: Vec<StayReservation> = store::list(&store, filter.list(None, 10)).await.unwrap();
    assert_eq!(listed.iter().map(|reservation| reservation.id.get()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store::list::<RoomType>(&store, List::of::<RoomType>(None, 10)).await.unwrap().len(), 1);
    clock.advance(Span::from_secs(1));
}

#[tokio::test]
async fn batch_takes_two_round_trips() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(10_000)).await.unwrap();
    let trips = async |users: std::ops::Range<u64>| {
        let before = store.round_trips();
        assert!(run_all(&store, users.map(place)).await.iter().all(Result::is_ok));
        store.round_trips() - before
    };
    assert_eq!(trips(1..501).await, 2, "the night is not in memory");
    assert_eq!(trips(501..1001).await, 1, "everything is in memory");
    let before = store.round_trips();
    assert_eq!(counts(&store).await, (10_000, 0, 1_000));
    assert_eq!(store.round_trips(), before, "memory answers");
}

#[tokio::test]
async fn foreign_write_is_detected_and_reloaded() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(5)).await.unwrap();
    run(&store, place(1)).await.unwrap();
    let client = connect(database.url()).await;
    client
        .batch_execute("UPDATE commits SET count = count + 1; UPDATE room_type SET total_quantity = 1")
        .await
        .unwrap();
    let refused = run(&store, place(2)).await;
    assert_eq!(
        refused,
        Err(Refused::Rejected(Rejection::Stay(StayRejection::RoomNotAvailable {
            available: 0,
            date: crate::support::NIGHT
        })))
    );
    assert_eq!(counts(&store).await, (1, 0, 1));
    assert_eq!(number(&client, "SELECT count(*) FROM hold").await, 1);
}

#[tokio::test]
async fn missing_row_fails_whole_batch() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(5)).await.unwrap();
    let hold = run(&store, place(1)).await.unwrap();
    let client = connect(database.url()).await;
    client.batch_execute("DELETE FROM hold").await.unwrap();
    assert_eq!(run(&store, confirm(&hold)).await, Err(Refused::Internal));
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, 0);
    assert_eq!(number(&client, "SELECT count FROM commits").await, 2);
    assert_eq!(
        run(&store, confirm(&hold)).await,
        Err(Refused::Rejected(Rejection::Stay(StayRejection::StayHoldNotFound)))
    );
    assert_eq!(counts(&store).await, (5, 0, 0));
}

/// Creates a room with ten hourly slots a day, and returns the command that generates them.
async fn room_without_slots(store: &dyn Store) -> GenerateSlots {
    let draft = RoomDraft {
        name: Some("room".into()),
        slot_minutes: Some(60),
        base_price: Some(1_000),
        ..RoomDraft::default()
    };
    let room = run(store, CreateRoom(draft)).await.unwrap().id;
    let time = |text| LocalTime::parse_end(text).unwrap();
    let open = vec![OpenInterval { from: time("09:00"), to: time("19:00") }];
    let hours = SetOperatingHours { room, weekly: std::array::from_fn(|_| open.clone()), exceptions: Vec::new() };
    run(store, hours).await.unwrap();
    GenerateSlots { room, until: None }
}

#[tokio::test]
async fn bulk_insert_writes_all_columns() {
    let database = database();
    let (store, _) = open(database.url()).await;
    let client = connect(database.url()).await;
    let generate = room_without_slots(&store).await;
    let today = number(&client, "SELECT count(*) FROM time_slots").await;
    let generated = run(&store, generate).await.unwrap();
    assert!(generated.created > 500, "enough for a COPY: {generated:?}");
    assert_eq!(number(&client, "SELECT count(*) FROM time_slots").await, today + i64::from(generated.created));
    let sound = "SELECT count(*) FROM time_slots WHERE minutes = 60 AND status = 'AVAILABLE' AND reservation_id IS NULL
        AND base_price = 1000 AND final_price = 1000 AND NOT is_peak_time AND NOT outside_hours";
    assert_eq!(number(&client, sound).await, today + i64::from(generated.created));
    let starts = "SELECT count(DISTINCT (slot_date, slot_time)) FROM time_slots WHERE slot_time BETWEEN 540 AND 1080";
    assert_eq!(number(&client, starts).await, today + i64::from(generated.created));
    assert_eq!(findings(&store).await, [""; 0]);
}

#[tokio::test]
async fn failed_bulk_insert_fails_whole_batch() {
    let database = database();
    let (store, _) = open(database.url()).await;
    let client = connect(database.url()).await;
    let generate = room_without_slots(&store).await;
    let counts = "SELECT (SELECT count(*) FROM time_slots) * 1000 + (SELECT count FROM commits)";
    let before = number(&client, counts).await;
    let refuse = "ALTER TABLE time_slots ADD CONSTRAINT refused CHECK (slot_time <> 1080) NOT VALID";
    client.batch_execute(refuse).await.unwrap();
    assert_eq!(run(&store, generate.clone()).await, Err(Refused::Internal));
    assert_eq!(number(&client, counts).await, before);
    client.batch_execute("ALTER TABLE time_slots DROP CONSTRAINT refused").await.unwrap();
    assert!(run(&store, generate).await.unwrap().created > 500, "the store goes on");
}

#[tokio::test]
async fn time_never_precedes_last_commit() {
    let database = database();
    let (store, clock) = open(database.url()).await;
    run(&store, create(1)).await.unwrap();
    let first = run(&store, place(1)).await.unwrap();
    clock.advance(Span::from_secs(601));
    let second = run(&store, place(2)).await.unwrap();
    drop(store);

    let (store, _) = open(database.url()).await;
    assert_eq!(
        run(&store, confirm(&first)).await,
        Err(Refused::Rejected(Rejection::Stay(StayRejection::StayHoldExpired)))
    );
    run(&store, confirm(&second)).await.unwrap();
}

#[tokio::test]
async fn expired_rows_are_deleted_in_steps() {
    let database = database();
    let (store, clock) = open(database.url()).await;
    let client = connect(database.url()).await;
    run(&store, create(10_000)).await.unwrap();
    let holds = run_all(&store, (1..=1_500).map(place)).await;
    run(&store, confirm(holds[0].as_ref().unwrap())).await.unwrap();
    client
        .batch_execute(
            "INSERT INTO idempotency_key SELECT 'c', n::text, '', '', '2027-01-16' FROM generate_series(1, 1200) n;
             INSERT INTO hold_decision SELECT id, 1, false, created_at FROM hold",
        )
        .await
        .unwrap();
    assert!(!store.purge(store::Keep::default()).await.unwrap(), "nothing is old yet");
    clock.advance(Span::from_hours(8 * 24));
    assert!(store.purge(store::Keep::default()).await.unwrap());
    assert!(!store.purge(store::Keep::default()).await.unwrap());
    for table in ["hold WHERE state <> 'CONFIRMED'", "idempotency_key", "outbox", "hold_decision"] {
        assert_eq!(number(&client, &format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    assert_eq!(number(&client, "SELECT count(*) FROM hold").await, 1, "a confirmed hold is kept");
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, 1);
    assert_eq!(store.outbox_last().await.unwrap(), 1, "ids are not reused");
}

#[tokio::test]
async fn invalid_row_is_damage() {
    let database = database();
    let (store, _) = open(database.url()).await;
    let client = connect(database.url()).await;
    let bad = "INSERT INTO room_type VALUES (1, 'n', NULL, 1, 1, 'KRW', 'Middle/Earth')";
    client.batch_execute(bad).await.unwrap();
    let mut rows = WorkingSet::default();
    rows.stay.room_types.request(&crate::support::room_type());
    let error = store.read(&mut rows).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    store.check().await.unwrap();
}

#[tokio::test]
async fn response_is_replayed_until_key_expires() {
    let database = database();
    let (store, clock) = open(database.url()).await;
    let twice = async |rooms| {
        let mut batch = Batch::default();
        let id = IdempotencyRecordId { caller: "u1".into(), key: "once".into() };
        let render = Box::new(|room_type: &RoomType| Some(room_type.total_quantity.to_string().into_bytes()));
        let answer = batch.add(create(rooms), Some(Once { id, fingerprint: [1; 32], render }));
        batch.run(&store, &NoSink, &limits()).await;
        answer.await.unwrap().unwrap()
    };
    assert_eq!(twice(1).await, Answer::Recorded(b"1".into()));
    assert_eq!(twice(2).await, Answer::Replayed(b"1".into()));
    clock.advance(Span::from_hours(24));
    assert_eq!(twice(3).await, Answer::Recorded(b"3".into()));
    assert_eq!(twice(4).await, Answer::Replayed(b"3".into()));
}

/// `plans.rs` checks the planner's choice; this checks the scans that took place.
#[tokio::test]
async fn batches_never_scan_whole_tables() {
    const TABLES: &str = "('room_type', 'room_type_stock', 'hold', 'stay_reservation', 'idempotency_key')";
    let database = database();
    let client = connect(database.url()).await;
    client
        .batch_execute(
            "INSERT INTO room_type SELECT n, 'twin', NULL, 1000, 1, 'KRW', 'UTC' FROM generate_series(1, 100000) n;
             INSERT INTO room_type_stock SELECT n, '2030-01-01', 1000, 0, false FROM generate_series(1, 100000) n;
             INSERT INTO hold SELECT gen_random_uuid(), 'STAY', '2026-01-01', 'KRW', 1, '2026-01-01', NULL,
                 '2026-01-01', 'CANCELLED', NULL, 1, 0, 0, '', NULL, NULL FROM generate_series(1, 100000) n;
             INSERT INTO sequence VALUES ('room_type', 100001);
             SELECT pg_stat_force_next_flush()",
        )
        .await
        .unwrap();
    let scans = async |column: &str| {
        client.batch_execute("SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()").await.unwrap();
        let sum = format!("SELECT sum({column})::bigint FROM pg_stat_user_tables WHERE relname IN {TABLES}");
        number(&client, &sum).await
    };
    let (whole_tables, by_key) = (scans("seq_scan").await, scans("idx_scan").await);
    for batch in [1..2, 2..502] {
        let (store, _) = open(database.url()).await;
        let holds: Vec<_> = run_all(&store, batch.map(place)).await.into_iter().flatten().collect();
        let confirmed = run_all(&store, holds.iter().map(confirm)).await;
        assert!(confirmed.iter().all(Result::is_ok) && !confirmed.is_empty());
        let cancel = |id| CancelStayReservation { id, actor: Actor::Admin };
        run(&store, cancel(confirmed[0].as_ref().unwrap().id)).await.unwrap();
    }
    // Statistics are reported when the connections have ended.
    let began = std::time::Instant::now();
    while scans("idx_scan").await < by_key + 1_000 && began.elapsed().as_secs() < 5 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(scans("idx_scan").await > by_key);
    assert_eq!(scans("seq_scan").await, whole_tables);
}

/// One hold in a hundred is live, among ended and confirmed ones: starting and purging read theirs only.
#[tokio::test]
async fn start_and_purge_find_holds_by_end() {
    let database = database();
    let client = connect(database.url()).await;
    let (store, _) = open(database.url()).await;
    run(&store, create(100_000)).await.unwrap();
    run(&store, place(1)).await.unwrap();
    drop(store);
    let copies = "INSERT INTO hold
        SELECT gen_random_uuid(), origin, created_at, currency, n, it.ends_at, NULL, it.ends_at, it.state, NULL, revision,
            extensions, attempt, lines, NULL, NULL
        FROM hold, generate_series(1, 99900) n, LATERAL (
            SELECT CASE WHEN n % 100 < 50 THEN 'CONFIRMED' ELSE 'HELD' END AS state,
                CASE WHEN n % 100 BETWEEN 1 AND 98 THEN timestamptz '2026-01-01' ELSE timestamptz '2027-02-01' END
                    + n * interval '1 s' AS ends_at
        ) AS it";
    client.batch_execute(copies).await.unwrap();
    // Scans of the whole table or of its primary key, and entries read of the index by end.
    let scans = async || {
        client.batch_execute("SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()").await.unwrap();
        let whole = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'hold'";
        let keys = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'hold_pk'";
        let entries = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'hold_by_end'";
        (number(&client, whole).await, number(&client, keys).await, number(&client, entries).await)
    };
    for analyze in ["", "ANALYZE hold"] {
        client.batch_execute(analyze).await.unwrap();
        let before = scans().await;
        let (store, _) = open(database.url()).await;
        assert_eq!(counts(&store).await, (100_000, 0, 1_000));
        assert!(store.purge(store::Keep::default()).await.unwrap(), "many more have ended");
        drop(store);
        // Statistics are reported when the connections have ended.
        let began = std::time::Instant::now();
        while scans().await.2 < before.2 + 2_000 && began.elapsed().as_secs() < 5 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let after = scans().await;
        assert_eq!(after.0, before.0, "{analyze}: the whole table is not read");
        let (keys, entries) = (after.1 - before.1, after.2 - before.2);
        assert!(keys <= 2_000 && (2_000..5_000).contains(&entries), "{analyze}: {keys} keys, {entries} entries");
    }
}
