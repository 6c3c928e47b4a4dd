//! Servers start, are isolated, restart in place, and are removed when dropped.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use holdfast_testkit::{NatsOptions, NatsServer, PostgresOptions, PostgresServer, RedisOptions, RedisServer};
use holdfast_testkit::{nats, postgres, redis};
use tokio_postgres::{Client, NoTls};

use crate::support::{folder_of, is_running};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sends one inline command and reads the first line of the response.
fn redis_command(url: &str, command: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap().unwrap();
    if first.starts_with('$') && first != "$-1" { lines.next().unwrap().unwrap() } else { first }
}

#[tokio::test]
async fn databases_are_empty_and_isolated() {
    let (one, other) = (postgres().database(), postgres().database());
    assert_ne!(one.url(), other.url());
    connect(one.url()).await.batch_execute("CREATE TABLE room ()").await.unwrap();
    connect(other.url()).await.batch_execute("CREATE TABLE room ()").await.unwrap();
}

#[tokio::test]
async fn database_is_dropped_despite_connections() {
    let database = postgres().database();
    let (client, name) = (connect(database.url()).await, database.name().to_owned());
    drop(database);
    assert!(client.batch_execute("SELECT 1").await.is_err());
    let admin = connect(&postgres().url()).await;
    let left = admin.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&name]).await.unwrap();
    assert!(left.is_none());
}

#[test]
fn template_is_filled_once() {
    static FILLED: AtomicU32 = AtomicU32::new(0);
    let server = PostgresServer::start(&PostgresOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let database = server.postgres().database_from("rooms", async |url| {
                    FILLED.fetch_add(1, Ordering::Relaxed);
                    connect(&url)
                        .await
                        .batch_execute("CREATE TABLE room (); INSERT INTO room DEFAULT VALUES")
                        .await
                        .unwrap();
                });
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let rooms = connect(database.url()).await.query("SELECT FROM room", &[]).await.unwrap();
                    assert_eq!(rooms.len(), 1);
                });
            });
        }
    });
    assert_eq!(FILLED.load(Ordering::Relaxed), 1);
}

#[test]
fn failed_template_is_filled_again() {
    let name = "half_filled";
    let server = PostgresServer::start(&PostgresOptions::default()).unwrap();
    let fails = || server.postgres().database_from(name, async |_| panic!("on purpose"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails)).is_err());
    server.postgres().database_from(name, async |_| {});
    server.postgres().database_from(name, async |_| panic!("the template is filled"));
}

#[tokio::test]
async fn postgres_restarts_with_port_and_data() {
    let server = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
    let database = server.postgres().database();
    let client = connect(database.url()).await;
    client.batch_execute("CREATE TABLE room (); INSERT INTO room DEFAULT VALUES").await.unwrap();
    for _ in 0..2 {
        server.stop_immediate();
        assert!(client.batch_execute("SELECT 1").await.is_err());
        server.restart().unwrap();
        let rooms = connect(database.url()).await.query("SELECT FROM room", &[]).await.unwrap();
        assert_eq!(rooms.len(), 1);
    }
}

#[test]
fn redis_restarts_with_port_and_file() {
    for (appendonly, expected) in [(true, "v"), (false, "$-1")] {
        let server = RedisServer::start(&RedisOptions { appendonly }).unwrap();
        let url = server.url().to_owned();
        assert_eq!(redis_command(&url, "SET k v"), "+OK");
        server.kill();
        assert!(TcpStream::connect(url.strip_prefix("redis://").unwrap()).is_err());
        server.restart().unwrap();
        assert_eq!(server.url(), url);
        assert_eq!(redis_command(&url, "GET k"), expected, "appendonly: {appendonly}");
    }
}

#[test]
fn redis_prefixes_are_isolated() {
    let (one, other) = (redis().prefix(), redis().prefix());
    assert_eq!(redis_command(redis().url(), &format!("SET {one}k v")), "+OK");
    assert_eq!(redis_command(redis().url(), &format!("GET {other}k")), "$-1");
}

#[test]
fn nats_restarts_on_same_port() {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let introduction = || {
        let stream = TcpStream::connect(server.url().strip_prefix("nats://").unwrap()).unwrap();
        BufReader::new(stream).lines().next().unwrap().unwrap()
    };
    assert!(introduction().contains("\"jetstream\":true"), "{}", introduction());
    server.kill();
    server.restart().unwrap();
    assert!(introduction().contains("\"jetstream\":true"), "{}", introduction());
    assert_ne!(nats().url(), server.url());
}

#[test]
fn dropped_server_leaves_no_process_or_folder() {
    let postgres = PostgresServer::start(&PostgresOptions::default()).unwrap();
    let redis = RedisServer::start(&RedisOptions { appendonly: true }).unwrap();
    let nats = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let pids = [postgres.pid(), redis.pid(), nats.pid()].map(Option::unwrap);
    let folders = pids.map(folder_of);
    assert!(pids.iter().all(|pid| is_running(*pid)));
    drop((postgres, redis, nats));
    for (pid, folder) in pids.into_iter().zip(folders) {
        assert!(!is_running(pid) && !folder.exists(), "{pid} {}", folder.display());
    }
}

#[test]
fn server_outlives_its_starting_thread() {
    let start = || RedisServer::start(&RedisOptions::default()).unwrap();
    let server = std::thread::spawn(start).join().unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(200) {
        assert_eq!(redis_command(server.url(), "PING"), "+PONG");
    }
}
