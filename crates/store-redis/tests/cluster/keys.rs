//! Keys in Redis: documented names, each with a time to live.

use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::lock::LockSlots;
use holdfast_core::calendar::rebuild::SetOperatingHours;
use holdfast_core::calendar::room::{CreateRoom, RoomDraft};
use holdfast_core::calendar::{LocalTime, OpenInterval, SlotStart};
use holdfast_core::hold::{self, HoldState, LineState};
use holdfast_core::id::UserId;
use holdfast_core::stay::StayItem;
use holdfast_core::time::Span;
use holdfast_engine::Store as _;
use holdfast_engine::store::Keep;
use holdfast_testkit::Place;
use redis::Commands as _;

use crate::support::{Cluster, LIFETIME_MAX, TTL, tomorrow};

/// Returns a connection to Redis, and the prefix of all keys.
pub(crate) fn look_into(cluster: &Cluster) -> (redis::Connection, &str) {
    let Place::Cluster { redis_url, prefix, .. } = &cluster.place else { unreachable!("it is a cluster") };
    (redis::Client::open(redis_url.as_str()).unwrap().get_connection().unwrap(), prefix)
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_keys_have_documented_names_and_ttl() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let hold = server.place(5, room_type).await.unwrap();

    let (mut redis, prefix) = look_into(&cluster);
    let (from, to) = (tomorrow(), tomorrow().tomorrow().unwrap());
    let client_key = hold.item::<StayItem>().client_key.unwrap();
    let kept = TTL.as_millis() / 1_000;
    let day = 24 * 3_600;
    for (name, seconds) in [
        (format!("hold:{}", hold.id), kept + day),
        (format!("hold:idx:5:{room_type}:{from}:{to}"), kept),
        (format!("hold:snapshot:{client_key}:{room_type}:{from}:{to}"), kept),
        (format!("hold-count:{room_type}:{from}"), kept),
    ] {
        let ttl: i64 = redis.ttl(format!("{prefix}{name}")).unwrap();
        assert!((seconds - 5..=seconds + 35).contains(&ttl), "{name}: {ttl} s, expected {seconds} s");
    }
    server.cancel(hold.id).await.unwrap();
    let value: Vec<u8> = redis.get(format!("{prefix}hold:{}", hold.id)).unwrap();
    let value = String::from_utf8_lossy(&value);
    assert!(value.contains("CANCELLED"), "ended holds stay readable: {value}");
}

/// Rows of a hold of weeks live as long as it does.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_long_hold_live_until_its_end() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let hold = server.place_long(5, room_type).await.unwrap();
    let ended = server.place(6, room_type).await.unwrap();
    server.cancel(ended.id).await.unwrap();

    let (mut redis, prefix) = look_into(&cluster);
    let (from, to) = (tomorrow(), tomorrow().tomorrow().unwrap());
    let client_key = hold.item::<StayItem>().client_key.unwrap();
    let kept = LIFETIME_MAX.as_millis() / 1_000;
    let day = 24 * 3_600;
    for (name, seconds) in [
        (format!("hold:{}", hold.id), kept + day),
        (format!("hold:idx:5:{room_type}:{from}:{to}"), kept),
        (format!("hold:snapshot:{client_key}:{room_type}:{from}:{to}"), kept),
        (format!("hold-count:{room_type}:{from}"), kept),
        ("holds:stay:5:0".to_owned(), kept),
        (format!("hold:{}", ended.id), day),
    ] {
        let ttl: i64 = redis.ttl(format!("{prefix}{name}")).unwrap();
        assert!((seconds - 5..=seconds + 35).contains(&ttl), "{name}: {ttl} s, expected {seconds} s");
    }
}

/// Confirming writes the hold to PostgreSQL, too.
#[tokio::test(flavor = "multi_thread")]
async fn confirmed_hold_outlives_its_live_row() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let id = server.place_long(5, room_type).await.unwrap().id;
    let reservation = server.confirm(id).await.unwrap().id;
    let confirmed = server.ask(|rows, _| hold::get(rows, id)).await.unwrap().unwrap();
    assert_eq!(confirmed.state, HoldState::Confirmed);
    assert_eq!(confirmed.lines[0].state, LineState::Confirmed { record: reservation.get() });

    let (mut redis, prefix) = look_into(&cluster);
    let key = format!("{prefix}hold:{id}");
    let (ttl, day): (i64, i64) = (redis.ttl(&key).unwrap(), 24 * 3_600);
    assert!((day - 5..=day + 35).contains(&ttl), "{ttl} s");
    let gone: i64 = redis.del(&key).unwrap();
    assert_eq!(gone, 1);
    for after in [25, 48, 60 * 24] {
        cluster.clock.advance(Span::from_hours(after));
        while server.store.purge(Keep::default()).await.unwrap() {}
        let kept = cluster.server().await.ask(|rows, _| hold::get(rows, id)).await.unwrap();
        assert_eq!(kept.as_ref(), Some(&confirmed), "after {after} h more");
    }
}

/// Secondary index entries of a lost hold never block a user.
#[tokio::test(flavor = "multi_thread")]
async fn index_entries_of_lost_hold_are_overwritten() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let hold = server.place(5, room_type).await.unwrap();
    let (mut redis, prefix) = look_into(&cluster);
    let gone: i64 = redis.del(format!("{prefix}hold:{}", hold.id)).unwrap();
    assert_eq!(gone, 1);
    server.place(5, room_type).await.unwrap();
}

/// Each slot has keys of its own, because each expires at its own time.
#[tokio::test(flavor = "multi_thread")]
async fn slot_keys_have_documented_names_and_ttl() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let draft = RoomDraft {
        name: Some("room".into()),
        slot_minutes: Some(60),
        base_price: Some(1_000),
        ..RoomDraft::default()
    };
    let room = server.run(CreateRoom(draft)).await.unwrap().id;
    let time = |text| LocalTime::parse_end(text).unwrap();
    let open = vec![OpenInterval { from: time("09:00"), to: time("12:00") }];
    let hours = SetOperatingHours { room, weekly: std::array::from_fn(|_| open.clone()), exceptions: Vec::new() };
    server.run(hours).await.unwrap();
    server.run(GenerateSlots { room, until: None }).await.unwrap();
    let slots = vec![SlotStart::new(tomorrow(), time("09:00")).unwrap()];
    let lock = LockSlots { random: [5; 10], room, user: UserId::new(5).unwrap(), slots, ttl: None };
    let lock = server.run(lock).await.unwrap();

    let (mut redis, prefix) = look_into(&cluster);
    let slot = format!("{room}:{}:09:00", tomorrow());
    let day = 24 * 3_600;
    for (name, seconds) in [
        (format!("hold:{}", lock.id), 300 + day),
        (format!("locks:{slot}"), 300),
        (format!("lock-count:{slot}"), 300),
        ("holds:room:5:0".to_owned(), 300),
    ] {
        let ttl: i64 = redis.ttl(format!("{prefix}{name}")).unwrap();
        assert!((seconds - 5..=seconds + 35).contains(&ttl), "{name}: {ttl} s, expected {seconds} s");
    }
}
