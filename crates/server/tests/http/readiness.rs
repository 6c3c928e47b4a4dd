//! `/readyz` finds out whether writes succeed, and answers at once regardless of stores and other connections.

use std::time::{Duration, Instant};

use holdfast_server::Config;
use holdfast_server::config::Secret;
use holdfast_server::roles::{Role, Roles};
use holdfast_testkit::{
    NatsOptions, NatsServer, Place, PostgresOptions, PostgresServer, Profile, RedisOptions, RedisServer, postgres,
    profiles,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{TestApp, day, new_hold, over_nats_with, with_app, with_place, with_settings};

/// Time for a server to notice a change: it probes once per second, and waits 2 s for an answer.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum latency of a health check, under any load.
const LATENCY_MAX: Duration = Duration::from_millis(100);

pub(crate) async fn until_ready_is(app: &TestApp, status: u16) -> Value {
    let began = Instant::now();
    loop {
        let answer = app.send("GET", "/readyz", &[], "").await;
        if answer.status == status {
            return answer.json;
        }
        assert!(began.elapsed() < DETECTION_TIMEOUT, "{} {}", answer.status, answer.json);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Asserts that a path is answered in time. The median of several tries counts: other tests load the machine, too.
async fn assert_answers_at_once(app: &TestApp, path: &str) {
    let mut took = Vec::new();
    for _ in 0..41 {
        let began = Instant::now();
        app.send("GET", path, &[], "").await;
        took.push(began.elapsed());
    }
    took.sort();
    assert!(took[took.len() / 2] < LATENCY_MAX, "{path} took {took:?}");
}

async fn write_fails(app: &TestApp) -> bool {
    app.admin().create_room_type(&holdfast_client::NewRoomType::new("객실", 1, 1)).await.is_err()
}

fn signal(pid: Option<u32>, name: &str) {
    let pid = pid.unwrap().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

/// A cluster on a Redis of its own.
fn on_redis(redis: &RedisServer, prefix: &str) -> Place {
    Place::Cluster { database: postgres().database(), redis_url: redis.url().to_owned(), prefix: prefix.to_owned() }
}

fn command(redis: &RedisServer, command: &str) -> String {
    let reply = tokio::task::block_in_place(|| redis.command(command)).unwrap();
    assert!(!reply.starts_with('-'), "{command}: {reply}");
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_replica_is_not_ready() {
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    with_place(on_redis(&redis, ""), &|_| {}, &async |app: &TestApp| {
        assert_eq!(until_ready_is(app, 200).await, json!({"status": "ready"}));
        command(&redis, "REPLICAOF 127.0.0.1 1");
        let room_type = app.room_type(1).await;
        let placed = app.guest(1).place_hold(&new_hold(&room_type, day(1), day(2))).await;
        assert!(placed.is_err(), "a replica takes no holds");
        let body = until_ready_is(app, 503).await;
        assert_eq!(body["status"], "unavailable");
        assert!(body["store"].as_str().unwrap().contains("read only replica"), "{body}");
        command(&redis, "REPLICAOF NO ONE");
        until_ready_is(app, 200).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_without_memory_is_not_ready() {
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    with_place(on_redis(&redis, ""), &|_| {}, &async |app: &TestApp| {
        until_ready_is(app, 200).await;
        command(&redis, "CONFIG SET maxmemory-policy noeviction");
        command(&redis, "CONFIG SET maxmemory 1");
        let body = until_ready_is(app, 503).await;
        assert!(body["store"].as_str().unwrap().contains("maxmemory"), "{body}");
        command(&redis, "CONFIG SET maxmemory 0");
        until_ready_is(app, 200).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_cluster_node_is_not_ready() {
    let [redis, other] = [(), ()].map(|()| RedisServer::start_cluster_node().unwrap());
    command(&redis, "CLUSTER ADDSLOTSRANGE 0 16383");
    with_place(on_redis(&redis, "{holdfast}:"), &|_| {}, &async |app: &TestApp| {
        until_ready_is(app, 200).await;
        command(&redis, &format!("CLUSTER MEET 127.0.0.1 {} {}", other.port(), other.cluster_port().unwrap()));
        let id = command(&other, "CLUSTER MYID").lines().nth(1).unwrap().to_owned();
        let slot = command(&redis, "CLUSTER KEYSLOT {holdfast}:").trim().trim_start_matches(':').to_owned();
        // A slot with keys cannot be given away directly.
        command(&redis, &format!("CLUSTER DELSLOTS {slot}"));
        let began = Instant::now();
        // Refused until the two have met.
        let give = format!("CLUSTER SETSLOT {slot} NODE {id}");
        while tokio::task::block_in_place(|| redis.command(&give)).unwrap().starts_with('-') {
            assert!(began.elapsed() < DETECTION_TIMEOUT, "the nodes meet");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let body = until_ready_is(app, 503).await;
        assert!(body["store"].as_str().unwrap().to_lowercase().contains("moved"), "{body}");
        assert_answers_at_once(app, "/readyz").await;
        let id = command(&redis, "CLUSTER MYID").lines().nth(1).unwrap().to_owned();
        command(&redis, &format!("CLUSTER SETSLOT {slot} NODE {id}"));
        until_ready_is(app, 200).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_redis_delays_no_health_check() {
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    with_place(on_redis(&redis, ""), &|_| {}, &async |app: &TestApp| {
        until_ready_is(app, 200).await;
        signal(redis.pid(), "-STOP");
        assert_answers_at_once(app, "/readyz").await;
        until_ready_is(app, 503).await;
        assert_answers_at_once(app, "/readyz").await;
        assert_answers_at_once(app, "/healthz").await;
        signal(redis.pid(), "-CONT");
        until_ready_is(app, 200).await;
    })
    .await;
}

profiles!(postgresql_standby_is_not_ready: postgres redis_cluster);
async fn postgresql_standby_is_not_ready(profile: Profile) {
    let server = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
    let database = server.postgres().database();
    let url = database.url().to_owned();
    let place = match profile {
        Profile::Postgres => Place::Postgres(database),
        _ => {
            let redis = holdfast_testkit::redis();
            Place::Cluster { database, redis_url: redis.url().to_owned(), prefix: redis.prefix() }
        }
    };
    with_place(place, &|_| {}, &async |app: &TestApp| {
        until_ready_is(app, 200).await;
        tokio::task::block_in_place(|| server.restart_as_standby().unwrap());
        let body = until_ready_is(app, 503).await;
        assert!(body["store"].is_string() && write_fails(app).await, "{body}");
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.execute("SELECT pg_promote()", &[]).await.unwrap();
        until_ready_is(app, 200).await;
    })
    .await;
}

profiles!(postgresql_that_blocks_writes_is_not_ready: postgres redis_cluster);
/// Reads succeed, but a write waits for a lock that is never given back.
async fn postgresql_that_blocks_writes_is_not_ready(profile: Profile) {
    with_app(profile, async |app: &TestApp| {
        until_ready_is(app, 200).await;
        let (Place::Postgres(database) | Place::Cluster { database, .. }) = app.place() else {
            unreachable!("both have a database")
        };
        let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute("BEGIN; LOCK TABLE idempotency_key IN SHARE MODE").await.unwrap();
        until_ready_is(app, 503).await;
        assert_answers_at_once(app, "/readyz").await;
        client.batch_execute("ROLLBACK").await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        until_ready_is(app, 200).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_nats_degrades_a_whole_server_only() {
    let api = Roles::of([Role::Api]);
    for (roles, status, expected) in [(Roles::ALL, 200, "degraded"), (api, 503, "unavailable")] {
        let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
        let url = server.url().to_owned();
        let own = |config: &mut Config| config.server.nats_url = Some(Secret::new(&url));
        over_nats_with(Profile::Embedded, &[roles], own, &async |app: &TestApp| {
            until_ready_is(app, 200).await;
            tokio::task::block_in_place(|| server.kill());
            let began = Instant::now();
            let answer = loop {
                let answer = app.send("GET", "/readyz", &[], "").await;
                if answer.json["bus"].is_string() {
                    break answer;
                }
                assert!(began.elapsed() < DETECTION_TIMEOUT, "{}", answer.json);
            };
            assert_eq!((answer.status, &answer.json["status"]), (status, &json!(expected)), "{roles}");
            let fault = answer.json["bus"].as_str().unwrap();
            assert!(fault.starts_with("NATS at ") && fault.ends_with(" is unavailable"), "{fault}");
            assert!(!write_fails(app).await, "the store takes writes");
            tokio::task::block_in_place(|| server.restart().unwrap());
            while until_ready_is(app, 200).await["status"] != "ready" {}
        })
        .await;
    }
}

/// Sends `text` on a connection of its own and leaves it open.
async fn half_sent(app: &TestApp, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(app.url.strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Answer to a request on a connection of its own that the server closes.
async fn ask_once(app: &TestApp, path: &str) -> String {
    let mut stream = half_sent(app, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn health_answers_while_connections_are_taken() {
    const CONNECTIONS_MAX: usize = 100;
    let few = |config: &mut Config| config.server.connections_max = CONNECTIONS_MAX;
    with_settings(Profile::Embedded, few, async |app: &TestApp| {
        let mut taken = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            // Idle after an answer: these stay open longer than the test runs.
            let mut stream = half_sent(app, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
            assert_ne!(stream.read(&mut [0; 1_024]).await.unwrap(), 0);
            taken.push(stream);
        }
        for _ in 0..3 * CONNECTIONS_MAX {
            taken.push(half_sent(app, "GET /v1/room-types HTTP/1.1\r\nHost: ").await);
        }
        for path in ["/healthz", "/readyz"] {
            assert!(ask_once(app, path).await.starts_with("HTTP/1.1 200 "), "{path}");
            assert_answers_at_once(app, path).await;
        }
        let refused = ask_once(app, "/v1/room-types").await.to_lowercase();
        for expected in ["http/1.1 503 ", "retry-after: 1", "connection: close", "service_unavailable"] {
            assert!(refused.contains(expected), "{expected}: {refused}");
        }
        drop(taken);
        let began = Instant::now();
        while app.send("GET", "/v1/room-types", &[], "").await.status != 200 {
            assert!(began.elapsed() < DETECTION_TIMEOUT, "connections are free again");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_sent_head_ends_its_connection() {
    with_app(Profile::Embedded, async |app: &TestApp| {
        let mut stream = half_sent(app, "GET /healthz HTTP/1.1\r\nHost: ").await;
        let ended = tokio::time::timeout(Duration::from_secs(40), stream.read(&mut [0; 1])).await;
        assert!(matches!(ended, Ok(Ok(0) | Err(_))), "the connection is closed: {ended:?}");
    })
    .await;
}
