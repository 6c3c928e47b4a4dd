//! Faults at every wait between the stores while a user buys. After each: no order is paid and no unit sold twice, no payment is
//! lost, and no row is left over.

use std::sync::Arc;

use holdfast_core::ShopRejection;
use holdfast_core::id::UserId;
use holdfast_core::rejection::Rejection;
use holdfast_core::time::Span;
use holdfast_engine::{Refused, Store as _};
use holdfast_store_redis::fault::Point;

use crate::faults::{Gate, LIVE, RECORD, dying, for_each_fault};
use crate::shop::{BALANCE, LIFE, PRICE};
use crate::support::{Cluster, Server, rejected};

#[tokio::test(flavor = "multi_thread")]
async fn reserve_survives_faults() {
    for_each_fault(&LIVE, async |cluster, broken, healthy, what| {
        let option = healthy.goods(5).await;
        let (first, second) = (healthy.buyer(option, 2).await, healthy.buyer(option, 3).await);
        healthy.reserve(first).await.unwrap();
        let reserved = broken.reserve(second.clone()).await;
        let (_, held, _) = healthy.stock(option).await;
        match &reserved {
            Ok(_) => assert_eq!(held, 5, "{what}: answered, so it is committed"),
            Err(Refused::StoreUnavailable(_)) => assert_eq!(held, 2, "{what}: nothing changed"),
            Err(Refused::OutcomeUnknown) => assert!(held == 2 || held == 5, "{what}: all or nothing, {held}"),
            Err(other) => panic!("{what}: {other}"),
        }
        assert_eq!(healthy.is_reserved(second.clone()).await, held == 5, "{what}");
        cluster.clock.advance(LIFE + Span::from_secs(1));
        assert_eq!(healthy.stock(option).await, (5, 0, 5), "{what}: time frees everything");
        healthy.reserve(second).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exchange_and_release_survive_faults() {
    for_each_fault(&LIVE, async |_, broken, healthy, what| {
        let option = healthy.goods(5).await;
        let user = healthy.buyer(option, 2).await;
        healthy.reserve(user.clone()).await.unwrap();
        healthy.run(holdfast_core::shop::cart::PutCartItem { user: user.clone(), option, quantity: 5 }).await.unwrap();
        let exchanged = broken.exchange(user.clone()).await;
        let (_, held, _) = healthy.stock(option).await;
        assert!(held == 5 || (held == 2 && exchanged.is_err()), "{what}: {held} held, {exchanged:?}");
        healthy.exchange(user.clone()).await.unwrap();
        let given_back = broken.give_back(user).await;
        let (_, held, _) = healthy.stock(option).await;
        assert!(held == 0 || (held == 5 && given_back.is_err()), "{what}: {held} held, {given_back:?}");
    })
    .await;
}

/// Whether there is an order; never two.
async fn paid_once(healthy: &Server, user: UserId, what: &str) -> bool {
    let orders = healthy.orders(user).await;
    assert!(orders.len() <= 1, "{what}: paid twice, {orders:?}");
    orders.len() == 1
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let option = healthy.goods(3).await;
        let (user, other) = (healthy.buyer(option, 2).await, healthy.buyer(option, 2).await);
        healthy.reserve(user.clone()).await.unwrap();
        let paid = broken.pay(user.clone()).await;
        // No other user gets the goods, in any state of the reservation.
        assert!(healthy.reserve(other).await.is_err(), "{what}");
        healthy.recover_in_doubt().await;
        match paid {
            Ok(paid) => {
                assert_eq!((paid.order.paid, paid.balance_after), (PRICE, BALANCE - PRICE), "{what}");
                assert!(paid_once(healthy, user.clone(), what).await, "{what}: answered, so it is committed");
            }
            // The retry completes the payment, unless it is done.
            Err(Refused::StoreUnavailable(_) | Refused::OutcomeUnknown) => {
                if paid_once(healthy, user.clone(), what).await {
                    let again = rejected(healthy.pay(user.clone()).await);
                    assert_eq!(again, Rejection::Shop(ShopRejection::OrderReservationNotFound), "{what}");
                } else {
                    assert_eq!(healthy.balance(user.clone()).await, BALANCE, "{what}: all or nothing");
                    assert!(healthy.is_reserved(user.clone()).await, "{what}: the payment can be retried");
                    healthy.pay(user.clone()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
                }
            }
            Err(other) => panic!("{what}: {other}"),
        }
        assert_eq!(healthy.balance(user.clone()).await, BALANCE - PRICE, "{what}: paid once");
        assert_eq!(healthy.stock(option).await, (1, 0, 1), "{what}: sold once");
        cluster.clock.advance(LIFE + Span::from_secs(1));
        assert_eq!(healthy.stock(option).await, (1, 0, 1), "{what}");
        healthy.cancel_order(healthy.orders(user.clone()).await[0].id).await.unwrap();
        assert_eq!((healthy.balance(user).await, healthy.stock(option).await), (BALANCE, (3, 0, 3)), "{what}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn order_cancel_survives_faults() {
    for_each_fault(&RECORD, async |_, broken, healthy, what| {
        let option = healthy.goods(3).await;
        let user = healthy.buyer(option, 2).await;
        healthy.reserve(user.clone()).await.unwrap();
        let order = healthy.pay(user.clone()).await.unwrap().order;
        let cancelled = broken.cancel_order(order.id).await;
        match (healthy.balance(user).await, healthy.stock(option).await) {
            (BALANCE, (3, 0, 3)) => {
                let again = rejected(healthy.cancel_order(order.id).await);
                assert_eq!(again, Rejection::Shop(ShopRejection::OrderAlreadyCancelled), "{what}");
            }
            (balance, stock) => {
                assert!(cancelled.is_err(), "{what}: answered, so it is committed");
                assert_eq!((balance, stock), (BALANCE - PRICE, (1, 0, 1)), "{what}: all or nothing");
                healthy.cancel_order(order.id).await.unwrap();
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_decrease_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let option = healthy.goods(5).await;
        let (user, other) = (healthy.buyer(option, 2).await, healthy.buyer(option, 3).await);
        healthy.reserve(user.clone()).await.unwrap();
        broken.set_stock(option, 2).await.ok();
        let (stock, held, _) = healthy.stock(option).await;
        assert!(stock == 2 || stock == 5, "{what}: {stock}");
        assert!(held <= stock, "{what}: {held} held of {stock}");
        let more = healthy.reserve(other).await;
        assert!(more.is_err() || stock == 5, "{what}: {more:?}");
        healthy.pay(user).await.unwrap_or_else(|error| panic!("{what}: a live reservation can be paid: {error}"));
        // An abandoned capacity fence expires.
        cluster.clock.advance(LIFE + Span::from_secs(1));
        assert_eq!(healthy.stock(option).await, (stock - 2, 0, stock - 2), "{what}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_recovery_survives_faults() {
    let points = [Point::AbandonedListed, Point::AbandonedDecided, Point::LiveDecided];
    for_each_fault(&points, async |_, broken, healthy, what| {
        let option = healthy.goods(2).await;
        let user = healthy.buyer(option, 2).await;
        healthy.reserve(user.clone()).await.unwrap();
        // A server that dies right after it has prepared the reservation, or right after the payment was recorded.
        for point in [Point::LiveCommitted, Point::RecordCommitted] {
            dying(healthy, point).pay(user.clone()).await.unwrap_err();
            if let Ok(resolved) = broken.store.recover_in_doubt().await {
                for one in &resolved {
                    broken.recover(one).await.ok();
                }
            }
            healthy.recover_in_doubt().await;
        }
        assert!(paid_once(healthy, user.clone(), what).await, "{what}");
        assert_eq!(
            (healthy.balance(user.clone()).await, healthy.stock(option).await),
            (BALANCE - PRICE, (0, 0, 0)),
            "{what}"
        );
        assert!(!healthy.is_reserved(user).await, "{what}");
    })
    .await;
}

/// A slow server finds its attempt aborted, and starts another.
#[tokio::test(flavor = "multi_thread")]
async fn aborted_payment_is_followed_by_another() {
    let cluster = Cluster::new();
    let healthy = cluster.server().await;
    let option = healthy.goods(1).await;
    let user = healthy.buyer(option, 1).await;
    healthy.reserve(user.clone()).await.unwrap();
    let gate = Arc::new(Gate::default());
    let slow = Server { store: healthy.store.clone().with_faults(gate.clone()), ..healthy.clone() };
    let resolving = async {
        gate.reached.notified().await;
        let resolved = healthy.recover_in_doubt().await;
        gate.go_on.notify_one();
        resolved
    };
    let (paid, resolved) = tokio::join!(slow.pay(user), resolving);
    assert_eq!((paid.unwrap().balance_after, resolved), (BALANCE - PRICE / 2, 1), "the attempt was aborted in between");
    assert_eq!(healthy.stock(option).await, (0, 0, 0));
}
