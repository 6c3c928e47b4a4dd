//! Batches of a server that has the database to itself.

use holdfast_core::stay::hold::CancelHold;
use holdfast_core::stay::reservation::CancelReservation;
use holdfast_core::time::Span;
use holdfast_core::{Actor, Rejection};
use holdfast_engine::store::{Page, StayLists as _, StayReservationFilter};
use holdfast_engine::{Refused, Store as _};

use crate::support::{confirm, connect, counts, create, database, findings, number, open, place, run, run_all};

#[tokio::test]
async fn what_is_placed_confirmed_and_cancelled_is_there_after_a_restart() {
    let database = database();
    let (store, clock) = open(database.url()).await;
    run(&store, create(3)).await.unwrap();
    let holds: Vec<_> = run_all(&store, (1..=4).map(place)).await;
    assert_eq!(holds[3], Err(Refused::Rejected(Rejection::RoomNotAvailable { date: crate::support::NIGHT })));
    let holds: Vec<_> = holds.into_iter().flatten().collect();
    let first = run(&store, confirm(&holds[0])).await.unwrap();
    run(&store, confirm(&holds[1])).await.unwrap();
    run(&store, CancelHold { id: holds[2].id, actor: Actor::Admin }).await.unwrap();
    run(&store, CancelReservation { id: first.id, actor: Actor::Admin }).await.unwrap();
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
    let page = Page { after: None, limit: 10 };
    let listed = store.reservations(filter, page).await.unwrap();
    assert_eq!(listed.iter().map(|reservation| reservation.id.get()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store.room_types(Page { after: None, limit: 10 }).await.unwrap().len(), 1);
    clock.advance(Span::from_secs(1));
}

#[tokio::test]
async fn a_batch_costs_one_round_trip_to_load_and_one_to_commit() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(10_000)).await.unwrap();
    let trips = async |users: std::ops::Range<u64>| {
        let before = store.round_trips();
        assert!(run_all(&store, users.map(place)).await.iter().all(Result::is_ok));
        store.round_trips() - before
    };
    assert_eq!(trips(1..501).await, 2, "the night is not known yet");
    assert_eq!(trips(501..1001).await, 1, "everything is in memory");
    let before = store.round_trips();
    assert_eq!(counts(&store).await, (10_000, 0, 1_000));
    assert_eq!(store.round_trips(), before, "memory answers");
}

#[tokio::test]
async fn what_is_written_behind_its_back_is_noticed_and_read_again() {
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
    assert_eq!(refused, Err(Refused::Rejected(Rejection::RoomNotAvailable { date: crate::support::NIGHT })));
    assert_eq!(counts(&store).await, (1, 0, 1));
    assert_eq!(number(&client, "SELECT count(*) FROM stay_hold").await, 1);
}

#[tokio::test]
async fn a_row_that_is_gone_fails_the_batch_as_a_whole() {
    let database = database();
    let (store, _) = open(database.url()).await;
    run(&store, create(5)).await.unwrap();
    let hold = run(&store, place(1)).await.unwrap();
    let client = connect(database.url()).await;
    client.batch_execute("DELETE FROM stay_hold").await.unwrap();
    assert_eq!(run(&store, confirm(&hold)).await, Err(Refused::Internal));
    assert_eq!(number(&client, "SELECT count(*) FROM stay_reservation").await, 0);
    assert_eq!(number(&client, "SELECT count FROM commits").await, 2);
    assert_eq!(run(&store, confirm(&hold)).await, Err(Refused::Rejected(Rejection::StayHoldNotFound)));
    assert_eq!(counts(&store).await, (5, 0, 0));
}

#[tokio::test]
async fn time_never_runs_back_behind_the_last_commit() {
    let database = database();
    let (store, clock) = open(database.url()).await;
    run(&store, create(1)).await.unwrap();
    let first = run(&store, place(1)).await.unwrap();
    clock.advance(Span::from_secs(601));
    let second = run(&store, place(2)).await.unwrap();
    drop(store);

    let (store, _) = open(database.url()).await;
    assert_eq!(run(&store, confirm(&first)).await, Err(Refused::Rejected(Rejection::StayHoldExpired)));
    run(&store, confirm(&second)).await.unwrap();
}
