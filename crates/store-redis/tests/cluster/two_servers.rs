//! What two servers see of each other.

use holdfast_core::actor::Actor;
use holdfast_core::audit::Audit;
use holdfast_core::rejection::Rejection;
use holdfast_core::stay::hold::ConfirmHold;
use holdfast_core::stay::night_unit;
use holdfast_core::time::Span;
use holdfast_core::unit::{Unit, Units};
use holdfast_core::{Rows, ShopRejection, StayRejection};
use holdfast_engine::store::Tier;
use holdfast_engine::{Answer, Clock as _, Refused, Store as _, StoreError};

use crate::shop::{payment, reserve};
use crate::support::{Cluster, TTL, place, rejected, tomorrow};

#[tokio::test(flavor = "multi_thread")]
async fn what_one_does_the_other_sees_at_once() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(1).await;
    let hold = a.place(1, room_type).await.unwrap();
    assert_eq!(
        rejected(b.place(2, room_type).await),
        Rejection::Stay(StayRejection::RoomNotAvailable { date: tomorrow() })
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

/// What is decided rests on the first reading; a later one, of a range that the row is part of, must not hide that the row
/// has changed in between.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_read_twice_and_differs_is_a_conflict() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(2).await;
    let unit = night_unit(room_type, tomorrow());
    let mut session = a.store.begin(Tier::Live).await.unwrap();
    let mut rows = Rows::default();
    rows.held.want(&unit);
    session.load(&mut rows).await.unwrap();
    b.place(1, room_type).await.unwrap();
    rows.held.scan(&Units::from(Unit { part: 0, ..unit })).unwrap_err();
    let read_again = session.load(&mut rows).await;
    assert!(matches!(read_again, Err(StoreError::Conflict)), "{read_again:?}");
}

/// A hold and what is counted of it are read one after the other: if it is confirmed in between, nobody sees the hold without
/// its count.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_in_two_steps_was_so_at_one_moment() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(2).await;
    let hold = b.place(1, room_type).await.unwrap();
    let mut session = a.store.begin(Tier::Live).await.unwrap();
    let mut rows = Rows::default();
    rows.stay.holds.want(&hold.id);
    session.load(&mut rows).await.unwrap();
    b.confirm(hold.id).await.unwrap();
    rows.held.want(&night_unit(room_type, tomorrow()));
    let read_on = session.load(&mut rows).await;
    assert!(matches!(read_on, Err(StoreError::Conflict)), "{read_on:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_people_at_two_servers_get_exactly_what_there_is() {
    let cluster = Cluster::new();
    let servers = [cluster.server().await, cluster.server().await];
    let room_type = servers[0].room_type(37).await;
    let engines = servers.each_ref().map(|server| server.engine().0);
    let mut tasks = tokio::task::JoinSet::new();
    for user in 1..=200_u64 {
        let engine = engines[user as usize % 2].clone();
        tasks.spawn(async move {
            // Somebody else may be first many times over; who waits long enough gets an answer.
            loop {
                match engine.run(place(user, room_type), None).await {
                    Ok(Answer::Fresh(hold)) if user % 3 == 0 => {
                        let confirm = ConfirmHold { id: hold.id, actor: Actor::Admin };
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
async fn a_hold_ends_by_time_alone_and_cannot_be_confirmed_after() {
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
async fn fewer_rooms_than_are_held_or_reserved_are_refused_wherever_they_are_held() {
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
        Rejection::Stay(StayRejection::RoomNotAvailable { date: tomorrow() })
    );
    b.lower(room_type, 4).await.unwrap();
    a.place(3, room_type).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lowering_and_placing_at_once_never_leave_a_hold_without_a_room() {
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
async fn two_hundred_buyers_at_two_servers_get_and_pay_for_exactly_what_there_is() {
    let cluster = Cluster::new();
    let servers = [cluster.server().await, cluster.server().await];
    let option = servers[0].goods(37).await;
    let engines = servers.each_ref().map(|server| server.engine().0);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200 {
        let user = servers[0].buyer(option, 1).await;
        // Reserves at one and pays at the other.
        let (reserving, paying) = (engines[number % 2].clone(), engines[(number + 1) % 2].clone());
        tasks.spawn(async move {
            loop {
                match reserving.run(reserve(user, false), None).await {
                    Ok(_) => break,
                    Err(Refused::LockTimeout) => {}
                    Err(Refused::Rejected(Rejection::Shop(ShopRejection::InsufficientAvailableStock { .. }))) => {
                        return false;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            loop {
                match paying.run(payment(user), None).await {
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
