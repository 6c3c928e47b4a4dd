//! The near-term slot cache is never older than the last commit of any server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use SlotStatus::{Available, Locked, Maintenance, Reserved};
use holdfast_core::calendar::{RoomId, SlotStatus, slot};
use holdfast_core::time::Span;
use holdfast_engine::StoreError;
use holdfast_store_redis::fault::{Faults, Point};
use holdfast_testkit::{RedisOptions, RedisServer};
use redis::Commands as _;

use crate::keys::look_into;
use crate::loss::cluster_on;
use crate::support::{Cluster, Server, tomorrow};

/// Returns the slots of tomorrow, and the number of round trips to PostgreSQL.
async fn look(server: &Server, room: RoomId) -> (Vec<SlotStatus>, u64) {
    let before = server.store.durable().round_trips();
    let slots = server.slots(room).await;
    (slots, server.store.durable().round_trips() - before)
}

/// Returns the slots of tomorrow from the cache.
async fn look_again(server: &Server, room: RoomId) -> Vec<SlotStatus> {
    let (slots, asked) = look(server, room).await;
    assert_eq!(asked, 0, "PostgreSQL is not queried for cached slots: {slots:?}");
    slots
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_invalidate_caches_of_all_servers() {
    let cluster = Cluster::new();
    let (here, there) = (cluster.server().await, cluster.server().await);
    let room = here.meeting_room().await;
    for server in [&here, &there] {
        assert_eq!(look(server, room).await, (vec![Available; 3], 1), "the first read loads the cache");
        assert_eq!(look_again(server, room).await, [Available; 3]);
    }

    let lock = here.lock(1, room, &[9]).await.unwrap();
    assert_eq!(look_again(&there, room).await, [Locked, Available, Available], "locks are in Redis in any case");
    let reservation = here.confirm_lock(lock.id).await.unwrap();
    assert_eq!(look(&there, room).await, (vec![Reserved, Available, Available], 1));
    assert_eq!(look_again(&there, room).await, [Reserved, Available, Available]);
    assert_eq!(look(&here, room).await.0, [Reserved, Available, Available], "the server itself, too");

    there.maintain(room, &[11]).await.unwrap();
    assert_eq!(look(&here, room).await.0, [Reserved, Available, Maintenance]);
    here.cancel_room(reservation.id).await.unwrap();
    assert_eq!(look(&there, room).await, (vec![Available, Available, Maintenance], 1));
    there.unblock(room, &[11]).await.unwrap();
    assert_eq!(look(&here, room).await, (vec![Available; 3], 1));
    assert_eq!(look_again(&here, room).await, [Available; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_room_and_slots_are_visible_at_once() {
    let cluster = Cluster::new();
    let (here, there) = (cluster.server().await, cluster.server().await);
    let room = here.unmade_room().await;
    assert_eq!(look(&there, room).await.0, []);
    here.make_slots(room).await.unwrap();
    assert_eq!(look(&there, room).await.0, [Available; 3]);
}

/// A server that dies after it has intent a change.
struct Dying;

#[async_trait::async_trait]
impl Faults for Dying {
    async fn at(&self, point: Point) -> Result<(), StoreError> {
        if point == Point::RecordDecided { Err(StoreError::Unavailable("the server is dead".into())) } else { Ok(()) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_intent_disables_cache() {
    let cluster = Cluster::new();
    let (here, there) = (cluster.server().await, cluster.server().await);
    let room = here.meeting_room().await;
    let lock = here.lock(1, room, &[9]).await.unwrap();
    let reservation = here.confirm_lock(lock.id).await.unwrap();
    look(&there, room).await;
    assert_eq!(look_again(&there, room).await, [Reserved, Available, Available]);

    let dead = Server { store: here.store.clone().with_faults(Arc::new(Dying)), ..here.clone() };
    dead.cancel_room(reservation.id).await.unwrap_err();
    for _ in 0..2 {
        assert_eq!(
            look(&there, room).await,
            (vec![Reserved, Available, Available], 2),
            "PostgreSQL is queried each time"
        );
    }
    here.cancel_room(reservation.id).await.unwrap();
    assert_eq!(look(&there, room).await.0, [Available; 3]);

    // The intent has expired.
    cluster.clock.advance(Span::from_hours(1));
    look(&there, room).await;
    assert_eq!(look_again(&there, room).await, [Available; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_changes_are_visible_everywhere() {
    let cluster = Cluster::new();
    let servers = [cluster.server().await, cluster.server().await, cluster.server().await];
    let room = servers[0].meeting_room().await;
    let at_work = Arc::new(AtomicBool::new(true));
    let lookers = servers.clone().map(|server| {
        let at_work = at_work.clone();
        tokio::spawn(async move {
            while at_work.load(Ordering::Relaxed) {
                server.slots(room).await;
            }
        })
    });
    let workers = [9_u32, 10, 11].map(|hour| {
        let servers = servers.clone();
        tokio::spawn(async move {
            let slot = (hour - 9) as usize;
            for round in 0..12 {
                let (here, there) = (&servers[round % 3], &servers[(round + 1) % 3]);
                let lock = here.lock(u64::from(hour), room, &[hour]).await.unwrap();
                assert_eq!(there.slots(room).await[slot], Locked, "round {round} of {hour}");
                let reservation = here.confirm_lock(lock.id).await.unwrap();
                assert_eq!(there.slots(room).await[slot], Reserved, "round {round} of {hour}");
                there.cancel_room(reservation.id).await.unwrap();
                assert_eq!(here.slots(room).await[slot], Available, "round {round} of {hour}");
            }
        })
    });
    for worker in workers {
        worker.await.unwrap();
    }
    at_work.store(false, Ordering::Relaxed);
    for looker in lookers {
        looker.await.unwrap();
    }
    look(&servers[0], room).await;
    assert_eq!(look_again(&servers[0], room).await, [Available; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rolled_back_redis_invalidates_caches() {
    let redis = RedisServer::start(&RedisOptions { appendonly: true }).unwrap();
    let cluster = cluster_on(&redis);
    let (here, there) = (cluster.server().await, cluster.server().await);
    let room = here.meeting_room().await;
    look(&there, room).await;
    assert_eq!(look_again(&there, room).await, [Available; 3]);
    let key = format!("slots:{room}");
    let cache_version: String = look_into(&cluster).0.hget(&key, "cache_version").unwrap();
    here.maintain(room, &[9, 10]).await.unwrap();

    // The last writes are lost: the old cache version is back.
    let () = look_into(&cluster).0.hset(&key, "cache_version", cache_version).unwrap();
    redis.kill();
    redis.restart().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(there.slots(room).await, [Maintenance, Maintenance, Available]);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_for_missing_room_leaves_no_key() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let (room, missing) = (server.meeting_room().await, RoomId::new(4_711).unwrap());
    server.ask(|rows, _| slot::ids(rows, missing, tomorrow(), tomorrow())).await.unwrap_err();
    look(&server, room).await;
    let (mut redis, prefix) = look_into(&cluster);
    let left: [bool; 2] = [room, missing].map(|room| redis.exists(format!("{prefix}slots:{room}")).unwrap());
    assert_eq!(left, [true, false]);
    let lasts: i64 = redis.ttl(format!("{prefix}slots:{room}")).unwrap();
    assert!((1..=120).contains(&lasts), "a cache_version lasts {lasts} s");
}
