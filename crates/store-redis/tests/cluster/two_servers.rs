//! Mutual visibility of two servers.

use holdfast_core::actor::Actor;
use holdfast_core::audit::Audit;
use holdfast_core::rejection::Rejection;
use holdfast_core::stay::{ConfirmStayHold, night_unit};
use holdfast_core::time::Span;
use holdfast_core::unit::{Unit, Units};
use holdfast_core::{ShopRejection, StayRejection, WorkingSet};
use holdfast_engine::store::Tier;
use holdfast_engine::{Answer, Clock as _, Refused, Store as _, StoreError};

use crate::shop::{payment, reserve};
use crate::support::{Cluster, TTL, place, rejected, tomorrow};

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_visible_to_other_server() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(1).await;
    let hold = a.place(1, room_type).await.unwrap();
    assert_eq!(
        rejected(b.place(2, room_type).await),
        Rejection::Stay(StayRejection::RoomNotAvailable { available: 0, date: tomorrow() })
    );
    let reservation = b.confirm(hold.id).await.unwrap();
    let night = a.night(room_type).await;
    assert_eq!((night.reserved, night.held, night.available), (1, 0, 0));
    let again = rejected(a.confirm(hold.id).await);
    assert_eq!(
        again,
        Rejection::Stay(StayRejection::StayHoldAlreadyProcessed { reservation: Some(reservation.id.get()) })
    );
}

/// Decisions rest on the first read. A later read of a range with the row must not hide that it has changed in between.
#[tokio::test(flavor = "multi_thread")]
async fn changed_row_on_reread_is_a_conflict() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(2).await;
    let unit = night_unit(room_type, tomorrow());
    let mut session = a.store.begin(Tier::Live).await.unwrap();
    let mut rows = WorkingSet::default();
    rows.held.request(&unit);
    session.load(&mut rows).await.unwrap();
    b.place(1, room_type).await.unwrap();
    rows.held.scan(&Units::from(Unit { part: 0, ..unit })).unwrap_err();
    let read_again = session.load(&mut rows).await;
    assert!(matches!(read_again, Err(StoreError::Conflict)), "{read_again:?}");
}

/// A hold and its counts are read one after the other: if it is confirmed in between, no command sees the hold without
/// its counts.
#[tokio::test(flavor = "multi_thread")]
async fn two_step_read_is_a_snapshot() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(2).await;
    let hold = b.place(1, room_type).await.unwrap();
    let mut session = a.store.begin(Tier::Live).await.unwrap();
    let mut rows = WorkingSet::default();
    rows.holds.request(&hold.id);
    session.load(&mut rows).await.unwrap();
    b.confirm(hold.id).await.unwrap();
    rows.held.request(&night_unit(room_type, tomorrow()));
    let read_on = session.load(&mut rows).await;
    assert!(matches!(read_on, Err(StoreError::Conflict)), "{read_on:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_guests_get_exact_capacity() {
    let cluster = Cluster::new();
    let servers = [cluster.server().await, cluster.server().await];
    let room_type = servers[0].room_type(37).await;
    let engines = servers.each_ref().map(|server| server.engine().0);
    let mut tasks = tokio::task::JoinSet::new();
    for user in 1..=200_u64 {
        let engine = engines[user as usize % 2].clone();
        tasks.spawn(async move {
            // Another server may be first repeatedly; a command that waits long enough gets an answer.
            loop {
                match engine.run(place(user, room_type), None).await {
                    Ok(Answer::Fresh(hold)) if user % 3 == 0 => {
                        let confirm = ConfirmStayHold::new(hold.id, Actor::Admin);
                        return engine.run(confirm, None).await.is_ok();
                    }
                    Ok(_) => return true,
                    Err(Refused::LockTimeout) => {}
                    Err(Refused::Rejected(_)) => return false,
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
    let got = tasks.join_all().await.into_iter().filter(|got| *got).count();
    let night = servers[0].night(room_type).await;
    assert_eq!((got, night.reserved + night.held, night.available), (37, 37, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_expires_by_time_and_blocks_confirm() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(1).await;
    let hold = a.place(1, room_type).await.unwrap();
    cluster.clock.advance(TTL);
    assert_eq!(rejected(b.confirm(hold.id).await), Rejection::Stay(StayRejection::StayHoldExpired));
    cluster.clock.advance(Span::from_secs(1));
    b.place(2, room_type).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn capacity_below_holds_is_rejected() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(5).await;
    a.place(1, room_type).await.unwrap();
    let hold = b.place(2, room_type).await.unwrap();
    a.confirm(hold.id).await.unwrap();
    assert_eq!(
        rejected(b.lower(room_type, 1).await),
        Rejection::Stay(StayRejection::RoomsInUse { date: tomorrow(), in_use: 2 })
    );
    a.lower(room_type, 2).await.unwrap();
    assert_eq!(
        rejected(b.place(3, room_type).await),
        Rejection::Stay(StayRejection::RoomNotAvailable { available: 0, date: tomorrow() })
    );
    b.lower(room_type, 4).await.unwrap();
    a.place(3, room_type).await.unwrap();
}

/// A hold of weeks outlives its night, and can still be confirmed.
#[tokio::test(flavor = "multi_thread")]
async fn capacity_below_long_holds_is_rejected() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(1).await;
    let hold = a.place_long(1, room_type).await.unwrap();
    cluster.clock.advance(Span::from_hours(31 * 24 - 1));
    assert_eq!(
        rejected(b.lower(room_type, 0).await),
        Rejection::Stay(StayRejection::RoomsInUse { date: tomorrow(), in_use: 1 })
    );
    b.confirm(hold.id).await.unwrap();
    let mut audit = Audit::new(a.clock.now());
    a.store.audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_decrease_keeps_holds_backed() {
    for round in 0..10 {
        let cluster = Cluster::new();
        let (a, b) = (cluster.server().await, cluster.server().await);
        let room_type = a.room_type(6).await;
        let placing = async {
            let mut holds = Vec::new();
            for user in 1..=6 {
                if let Ok(hold) = a.place(user, room_type).await {
                    holds.push(hold.id);
                }
            }
            holds
        };
        let (holds, lowered) = tokio::join!(placing, b.lower(room_type, 3));
        let night = a.night(room_type).await;
        assert!(night.held <= night.total_quantity, "round {round}: {night:?}, lowered: {lowered:?}");
        for hold in holds {
            a.confirm(hold).await.unwrap_or_else(|error| panic!("round {round}: a live hold is refused: {error}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_buyers_get_exact_stock() {
    let cluster = Cluster::new();
    let servers = [cluster.server().await, cluster.server().await];
    let option = servers[0].goods(37).await;
    let engines = servers.each_ref().map(|server| server.engine().0);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200 {
        let user = servers[0].buyer(option, 1).await;
        // Reserves on one server and pays on the other.
        let (reserving, paying) = (engines[number % 2].clone(), engines[(number + 1) % 2].clone());
        tasks.spawn(async move {
            loop {
                match reserving.run(reserve(user.clone(), false), None).await {
                    Ok(_) => break,
                    Err(Refused::LockTimeout) => {}
                    Err(Refused::Rejected(Rejection::Shop(ShopRejection::InsufficientAvailableStock { .. }))) => {
                        return false;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            loop {
                match paying.run(payment(user.clone()), None).await {
                    Ok(_) => return true,
                    Err(Refused::LockTimeout) => {}
                    Err(other) => panic!("a live reservation can always be paid: {other}"),
                }
            }
        });
    }
    let got = tasks.join_all().await.into_iter().filter(|got| *got).count();
    assert_eq!((got, servers[0].stock(option).await), (37, (0, 0, 0)));
    let mut audit = Audit::new(servers[0].clock.now());
    servers[0].store.audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0]);
}
