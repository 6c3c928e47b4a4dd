//! Tests specific to rooms in Redis.

use std::sync::Arc;
use std::time::Duration;

use holdfast_connect::TlsRoots;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_testkit::{RedisOptions as ServerOptions, RedisServer, redis};
use holdfast_waiting_room::{Change, Error, RedisOptions, RedisRoom, Timings, WaitingRoom as _};
use redis::aio::MultiplexedConnection;

use crate::support::{EVENT, clock, keys, redis_room, space, user};

async fn connect() -> MultiplexedConnection {
    redis::Client::open(redis().url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn query<T: redis::FromRedisValue>(connection: &mut MultiplexedConnection, command: &str) -> T {
    let mut words = command.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    command.query_async(connection).await.unwrap()
}

#[tokio::test]
async fn keys_have_contract_names_and_expire() {
    let prefix = redis().prefix();
    let room = redis_room(&prefix, Timings::default(), None);
    for number in 1..=5 {
        room.join(EVENT, &space(2), &user(number)).await.unwrap();
    }
    room.enter(EVENT, &space(2), &user(2)).await.unwrap().unwrap();
    let mut redis = connect().await;
    let line: Vec<String> = query(&mut redis, &format!("ZRANGE {prefix}queue:7 0 -1")).await;
    assert_eq!(line, ["1", "3", "auth0|4:{a}%", "5"]);
    let entry = "token:7:auth0|2%3A%7Ba%7D%25";
    let inside: u64 = query(&mut redis, &format!("ZCARD {prefix}token:count:7")).await;
    assert_eq!(inside, 1);
    let left: i64 = query(&mut redis, &format!("PTTL {prefix}{entry}")).await;
    assert!((299_000..=300_000).contains(&left), "{left}");
    for key in ["queue:7", "queue:due:7", "queue:heard:7", "queue:ready:7", "queue:room:7", "token:count:7"] {
        let left: i64 = query(&mut redis, &format!("TTL {prefix}{key}")).await;
        assert!(left > 1_800, "{key}: {left}");
    }
    room.poll(EVENT, &space(2), &user(2)).await.unwrap().unwrap();
    room.leave(EVENT, &space(2), &user(2)).await.unwrap();
    let left: i64 = query(&mut redis, &format!("EXISTS {prefix}{entry}")).await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn call_takes_one_round_trip() {
    let room = redis_room(&redis().prefix(), Timings::default(), None);
    room.join(EVENT, &space(2), &user(1)).await.unwrap();
    let before = room.round_trips();
    room.join(EVENT, &space(2), &user(2)).await.unwrap();
    room.poll(EVENT, &space(2), &user(2)).await.unwrap().unwrap();
    room.enter(EVENT, &space(2), &user(2)).await.unwrap().unwrap();
    room.stats(EVENT, &space(2)).await.unwrap();
    assert_eq!(room.round_trips() - before, 4);
}

#[tokio::test]
async fn redis_provides_time() {
    let short = Timings { entry_ttl: Span::from_millis(200), ..Timings::default() };
    let room = redis_room(&redis().prefix(), short, None);
    room.join(EVENT, &space(1), &user(1)).await.unwrap();
    room.enter(EVENT, &space(1), &user(1)).await.unwrap().unwrap();
    room.join(EVENT, &space(1), &user(2)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(room.entry(EVENT, &space(1), &user(1)).await.unwrap(), None);
    assert!(room.enter(EVENT, &space(1), &user(2)).await.unwrap().is_ok());
}

#[tokio::test]
async fn deleted_entry_key_ends_entry() {
    let prefix = redis().prefix();
    let room = redis_room(&prefix, Timings::default(), None);
    room.join(EVENT, &space(1), &user(1)).await.unwrap();
    room.enter(EVENT, &space(1), &user(1)).await.unwrap().unwrap();
    let _: i64 = query(&mut connect().await, &format!("DEL {prefix}token:7:1")).await;
    assert_eq!(room.entry(EVENT, &space(1), &user(1)).await.unwrap(), None);
    assert_eq!(room.stats(EVENT, &space(1)).await.unwrap().entered, 0);
}

#[tokio::test]
async fn mass_expiry_is_split_into_bounded_runs() {
    let (prefix, clock) = (redis().prefix(), clock());
    let room = redis_room(&prefix, Timings::default(), Some(clock.clone()));
    // Writes the rows directly: tens of thousands of joins would take long.
    room.join(EVENT, &space(800), &user(1)).await.unwrap();
    let fill = "for i = 2, 35000 do
        redis.call('ZADD', KEYS[1], i, i)
        redis.call('ZADD', KEYS[2], ARGV[1] + i, i)
        redis.call('HSET', KEYS[3], i, string.format('%.0f', ARGV[1] + i))
    end
    redis.call('HSET', KEYS[4], 'number', 35000)";
    let mut filling = redis::cmd("EVAL");
    filling.arg(fill).arg(4);
    for key in ["queue:7", "queue:due:7", "queue:heard:7", "queue:room:7"] {
        filling.arg(format!("{prefix}{key}"));
    }
    filling.arg(crate::support::START + 300_000);
    filling.query_async::<()>(&mut connect().await).await.unwrap();
    assert_eq!(room.poll(EVENT, &space(800), &UserId::new(35_000).unwrap()).await.unwrap().unwrap().rank, 34_999);
    clock.advance(Span::from_secs(290));
    assert_eq!(
        room.poll(EVENT, &space(800), &UserId::new(20_000).unwrap()).await.unwrap().unwrap().rank,
        19_999 - 1 - 3 * 800
    );
    clock.advance(Span::from_secs(70));
    let before = room.round_trips();
    let view = room.poll(EVENT, &space(800), &UserId::new(20_000).unwrap()).await.unwrap().unwrap();
    assert_eq!(view.rank, 0, "all others have expired");
    let round_trips = room.round_trips() - before;
    assert!((2..50).contains(&round_trips), "{round_trips}");
}

#[tokio::test]
async fn admissions_are_published_to_all_servers() {
    let prefix = redis().prefix();
    let (here, there) = (redis_room(&prefix, Timings::default(), None), redis_room(&prefix, Timings::default(), None));
    let mut changes = there.subscribe();
    // The other server may not have subscribed yet.
    for number in 1..100 {
        here.join(EVENT, &space(100), &user(number)).await.unwrap();
        here.enter(EVENT, &space(100), &user(number)).await.unwrap().unwrap();
        while let Ok(change) = tokio::time::timeout(Duration::from_millis(100), changes.recv()).await {
            match change.unwrap() {
                Change::Moved { event } => assert_eq!(event, EVENT),
                Change::Admitted { event, user: who, .. } => return assert_eq!((event, who), (EVENT, user(number))),
            }
        }
    }
    panic!("no admission was received");
}

#[tokio::test]
async fn rooms_survive_redis_restart() {
    let server = RedisServer::start(&ServerOptions { appendonly: true }).unwrap();
    let options = RedisOptions {
        url: server.url().to_owned(),
        tls_roots: TlsRoots::default(),
        prefix: String::new(),
        timings: Timings::default(),
        keys: Arc::new(keys()),
        ids: Arc::new(|| [3; 16]),
        clock: None,
    };
    let room = RedisRoom::new(options).unwrap();
    for number in 1..=3 {
        room.join(EVENT, &space(1), &user(number)).await.unwrap();
    }
    let entry = room.enter(EVENT, &space(1), &user(1)).await.unwrap().unwrap().entry;
    server.kill();
    assert!(matches!(room.poll(EVENT, &space(1), &user(2)).await, Err(Error::Unavailable(_))));
    server.restart().unwrap();
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(room.enter(EVENT, &space(1), &user(1)).await.unwrap().unwrap().entry, entry);
    assert_eq!(room.poll(EVENT, &space(1), &user(3)).await.unwrap().unwrap().rank, 1);
}
