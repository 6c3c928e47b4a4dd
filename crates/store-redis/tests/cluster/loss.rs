//! Redis that is unavailable, reconnects, or has lost its data.

use holdfast_core::StayRejection;
use std::sync::Arc;
use std::time::Duration;

use holdfast_connect::TlsRoots;
use holdfast_core::rejection::Rejection;
use holdfast_core::time::Span;
use holdfast_engine::{Refused, Store as _};
use holdfast_store_postgres::{DurableTier, PostgresOptions};
use holdfast_store_redis::{ClusterStore, LiveOptions, LiveTier, OnLoss};
use holdfast_testkit::{Place, Profile, RedisOptions, RedisServer};

use crate::support::{Cluster, Server, TTL, rejected, tomorrow};

/// Cluster with a private Redis that the test may kill.
pub(crate) fn cluster_on(redis: &RedisServer) -> Cluster {
    let Place::Cluster { database, .. } = Place::new(Profile::Cluster) else { unreachable!("it is a cluster") };
    let place = Place::Cluster { database, redis_url: redis.url().to_owned(), prefix: String::new() };
    Cluster::at(place)
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_outage_fails_fast_and_loses_nothing() {
    let redis = RedisServer::start(&RedisOptions { appendonly: true }).unwrap();
    let cluster = cluster_on(&redis);
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let hold = server.place(1, room_type).await.unwrap();

    redis.kill();
    let began = std::time::Instant::now();
    let refused = server.place(2, room_type).await.unwrap_err();
    assert!(matches!(&refused, Refused::StoreUnavailable(why) if why.contains("Redis")), "{refused}");
    assert!(server.store.check().await.unwrap_err().to_string().contains("Redis"));
    assert!(began.elapsed() < Duration::from_secs(5), "every wait has a bound");

    redis.restart().unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.confirm(hold.id).await.unwrap();
    assert_eq!(server.night(room_type).await.available, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_holds_never_cause_overselling() {
    let redis = RedisServer::start(&RedisOptions { appendonly: false }).unwrap();
    let cluster = cluster_on(&redis);
    let (a, b) = (cluster.server().await, cluster.server().await);
    let room_type = a.room_type(2).await;
    let confirmed = a.place(1, room_type).await.unwrap();
    a.confirm(confirmed.id).await.unwrap();
    let lost = b.place(2, room_type).await.unwrap();

    redis.kill();
    redis.restart().unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let winner = a.place(3, room_type).await.unwrap();
    assert_eq!(
        rejected(b.place(4, room_type).await),
        Rejection::Stay(StayRejection::RoomNotAvailable { available: 0, date: tomorrow() })
    );
    assert_eq!(
        rejected(b.confirm(lost.id).await),
        Rejection::Stay(StayRejection::StayHoldNotFound),
        "the loser gets a clear answer"
    );
    b.confirm(winner.id).await.unwrap();
    let night = b.night(room_type).await;
    assert_eq!((night.reserved, night.held), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn quarantine_rejects_holds_for_one_ttl() {
    let redis = RedisServer::start(&RedisOptions { appendonly: false }).unwrap();
    let cluster = cluster_on(&redis);
    let Place::Cluster { database, redis_url, .. } = &cluster.place else { unreachable!("it is a cluster") };
    let open = async |is_first: bool, nonce: u64| {
        let options = PostgresOptions { clock: Some(cluster.clock.clone()), ..PostgresOptions::new(database.url()) };
        let durable = DurableTier::open(options).await.unwrap();
        let live = LiveTier::new(LiveOptions {
            url: redis_url.clone(),
            tls_roots: TlsRoots::default(),
            prefix: String::new(),
            on_loss: OnLoss::Quarantine(TTL),
            is_first,
            abandoned_after: Span::from_millis(0),
            nonce,
            clock: Some(cluster.clock.clone()),
        });
        Server { store: ClusterStore::new(live.unwrap(), durable), clock: Arc::clone(&cluster.clock) }
    };
    let server = open(true, 7).await;
    let room_type = server.room_type(4).await;
    server.place(1, room_type).await.unwrap();
    let lose = async || {
        redis.kill();
        redis.restart().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    };

    lose().await;
    let refused = rejected(server.place(2, room_type).await);
    assert!(matches!(refused, Rejection::HoldsSuspended { .. }), "{refused:?}");
    cluster.clock.advance(TTL);
    server.place(2, room_type).await.unwrap();

    lose().await;
    let later = open(false, 8_000_000_000).await;
    let refused = rejected(later.place(3, room_type).await);
    assert!(
        matches!(refused, Rejection::HoldsSuspended { .. }),
        "a server that starts later detects the loss: {refused:?}"
    );
    cluster.clock.advance(TTL);
    later.place(3, room_type).await.unwrap();
}
