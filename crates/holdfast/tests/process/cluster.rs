//! Three server processes on one PostgreSQL and one Redis, while servers are killed and both stores are restarted.
//!
//! `FAULT_ROUNDS=200 cargo test -p holdfast --test process cluster` runs it for longer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdfast_client::{Client, HoldStatus, NewHold, NewRoomType, ReservationStatus, RoomType};
use holdfast_testkit::{PostgresOptions, PostgresServer, RedisOptions, RedisServer, TestDatabase, postgres, redis};
use jiff::civil::Date;

use crate::asking::Clients;
use crate::support::{NIGHT, Process, new_hold, run};

const ROUNDS: u32 = 21;
const SERVERS: usize = 3;
const CLIENTS: u64 = 64;
const ROOM_TYPES: u32 = 2;
const ROOMS: u32 = 150;
const NIGHTS: u64 = 6;
/// How long a hold lives, so that what is left over can be told from what is held.
const HOLD_TTL: &str = "4s";
/// Makes a process believe in another time.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

pub(crate) struct Cluster {
    postgres: PostgresServer,
    redis: RedisServer,
    database: TestDatabase,
    servers: Vec<Option<Process>>,
    /// How clients reach them.
    pub(crate) clients: Clients,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let postgres = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
        let redis = RedisServer::start(&RedisOptions { appendonly: true }).unwrap();
        let database = postgres.postgres().database();
        let mut cluster = Self { postgres, redis, database, servers: Vec::new(), clients: Clients::default() };
        for _ in 0..SERVERS {
            let server = cluster.server(&[]);
            cluster.clients.write().unwrap().push(server.client());
            cluster.servers.push(Some(server));
        }
        cluster
    }

    fn server(&self, environment: &[(&str, &str)]) -> Process {
        let (database, redis) = (self.database.url(), self.redis.url());
        let mut environment = environment.to_vec();
        environment.push(("HOLDFAST_STAY_HOLD_TTL", HOLD_TTL));
        environment.push(("HOLDFAST_SHOP_HOLD_TTL", HOLD_TTL));
        environment.push(("HOLDFAST_TICKET_HOLD_TTL", HOLD_TTL));
        // Others complain when a store is away; that is what this is about.
        environment.push(("HOLDFAST_LOG_LEVEL", "off"));
        Process::start_with(&["--database-url", database, "--redis-url", redis], &environment)
    }

    fn kill_and_restart(&mut self, index: usize) {
        self.servers[index].take().expect("it runs").kill_9();
        let server = self.server(&[]);
        self.clients.write().unwrap()[index] = server.client();
        self.servers[index] = Some(server);
    }

    fn client(&self) -> Client {
        self.clients.read().unwrap()[0].clone()
    }

    /// One server dies, or one of the stores, each in its turn; it is there again at once.
    pub(crate) fn harm(&mut self, round: u32) {
        match round % 3 {
            0 => self.kill_and_restart(round as usize / 3 % SERVERS),
            1 => {
                self.redis.kill();
                self.redis.restart().unwrap();
            }
            _ => {
                self.postgres.stop_immediate();
                self.postgres.restart().unwrap();
            }
        }
    }

    pub(crate) fn verify(&self) -> (i32, String) {
        run(&["verify", "--database-url", self.database.url(), "--redis-url", self.redis.url()])
    }
}

/// What clients were told about reservations, and must still be so.
type Told = Arc<Mutex<HashMap<u64, (u64, ReservationStatus)>>>;

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_whatever_dies_sell_nothing_twice_lose_nothing_and_leak_nothing() {
    let rounds = std::env::var("FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut cluster = Cluster::start();
    let mut room_types = Vec::new();
    for number in 0..ROOM_TYPES {
        let new = NewRoomType::new(format!("객실 {number}"), ROOMS, 1);
        room_types.push(cluster.client().create_room_type(&new).await.unwrap());
    }
    let (told, stop) = (Told::default(), Arc::new(AtomicBool::new(false)));
    let people = Arc::new(AtomicU64::new(1));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let work = Work {
                servers: cluster.clients.clone(),
                room_types: room_types.clone(),
                people: people.clone(),
                told: told.clone(),
                stop: stop.clone(),
            };
            tokio::spawn(work.until_told_to_stop())
        })
        .collect();

    for round in 0..rounds {
        tokio::time::sleep(Duration::from_millis(300 + u64::from(round * 37 % 200))).await;
        tokio::task::block_in_place(|| cluster.harm(round));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    let told = std::mem::take(&mut *told.lock().unwrap());
    println!(
        "{rounds} rounds, {} people: {} reservations were acknowledged",
        people.load(Ordering::Relaxed),
        told.len()
    );
    assert!(told.len() > 50, "there was load: {} reservations", told.len());

    for (number, (user, status)) in &told {
        let found = cluster.client().as_user(*user).reservation(*number).await.unwrap();
        assert_eq!((found.status, found.user_id), (*status, *user), "reservation {number}");
    }
    nothing_is_left_over(&cluster.client(), &room_types).await;
    let (code, findings) = cluster.verify();
    assert_eq!(code, 0, "{findings}");
}

/// Once all holds have run out and what was unfinished is finished, nothing is held.
async fn nothing_is_left_over(client: &Client, room_types: &[RoomType]) {
    let began = Instant::now();
    let end = NIGHT.saturating_add(jiff::Span::new().days(10));
    loop {
        let mut held = 0;
        for room_type in room_types {
            for night in client.availability(room_type.id, NIGHT, end).await.unwrap().nights {
                assert!(night.reserved_count + night.hold_count <= ROOMS, "oversold: {night:?}");
                held += night.hold_count;
            }
        }
        if held == 0 {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{held} nights are still held by nobody");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

struct Work {
    servers: Clients,
    room_types: Vec<RoomType>,
    people: Arc<AtomicU64>,
    told: Told,
    stop: Arc<AtomicBool>,
}

impl Work {
    /// Holds, then confirms, cancels or leaves, each at another server; writes down only what was answered.
    async fn until_told_to_stop(self) {
        while !self.stop.load(Ordering::Relaxed) {
            let user = self.people.fetch_add(1, Ordering::Relaxed);
            if self.one_person(user).await.is_none() {
                // Whoever was in the way, or away, is left alone for a moment.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    async fn one_person(&self, user: u64) -> Option<()> {
        let hold = self.server(user, 0).place_hold(&self.stay(user)).await.ok()?;
        // A request that got no answer may or may not have been carried out: nothing is expected of it.
        match user % 4 {
            0 => {
                let number = self.server(user, 1).confirm_hold(hold.hold_id).await.ok()?.reservation_id;
                // Until the answer to a cancellation is there, it can be either.
                if user.is_multiple_of(8) {
                    self.server(user, 2).cancel_reservation(number).await.ok()?;
                    self.told.lock().unwrap().insert(number, (user, ReservationStatus::Cancelled));
                } else {
                    self.told.lock().unwrap().insert(number, (user, ReservationStatus::Confirmed));
                }
            }
            1 => self.server(user, 1).cancel_hold(hold.hold_id).await.ok()?,
            _ => {}
        }
        Some(())
    }

    /// Another server at each step.
    fn server(&self, user: u64, step: u64) -> Client {
        let servers = self.servers.read().unwrap();
        servers[usize::try_from(user + step).unwrap() % servers.len()].as_user(user)
    }

    fn stay(&self, user: u64) -> NewHold {
        let room_type = &self.room_types[usize::try_from(user).unwrap() % self.room_types.len()];
        let check_in: Date = NIGHT.saturating_add(jiff::Span::new().days(i64::try_from(user % NIGHTS).unwrap()));
        let nights = i64::try_from(1 + user % 3).unwrap();
        NewHold { check_out: check_in.saturating_add(jiff::Span::new().days(nights)), ..new_hold(room_type, check_in) }
    }
}

/// A clock set wrong changes nothing, because nobody asks it: Redis tells the time.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_whose_clocks_are_an_hour_apart_agree_on_what_has_expired() {
    let mut cluster = Cluster::start();
    let ahead = cluster.server(&[("LD_PRELOAD", FAKETIME), ("FAKETIME", "+1h")]);
    let (right, wrong) = (cluster.client(), ahead.client());
    let room_type = right.create_room_type(&NewRoomType::new("객실", 1, 1)).await.unwrap();

    let hold = right.as_user(1).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    assert_eq!(wrong.as_user(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Held);
    let taken = wrong.as_user(2).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap_err();
    assert_eq!(taken.code(), Some("ROOM_NOT_AVAILABLE"), "an hour ahead it would have expired long ago");
    wrong.as_user(1).cancel_hold(hold.hold_id).await.unwrap();

    let hold = wrong.as_user(2).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    let lives = hold.expired_at.as_second() - hold.created_at.as_second();
    assert!((3..=5).contains(&lives), "it lives as long as any other: {lives} s");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(right.as_user(2).hold(hold.hold_id).await.unwrap().status, HoldStatus::Expired);
    right.as_user(3).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    let (ended, _) = cluster.servers[0].as_mut().unwrap().terminate();
    assert!(ended.success());
}

#[test]
fn a_second_server_on_a_database_without_redis_is_told_what_to_set() {
    let database = postgres().database();
    let first = Process::start_with(&["--database-url", database.url()], &[]);
    let second = ["serve", "--listen", "127.0.0.1:0", "--database-url", database.url()];
    let (code, words) = run(&second);
    assert_eq!(code, 2, "{words}");
    assert!(
        words.contains("another server already uses this database") && words.contains("server.redis_url"),
        "{words}"
    );
    let (code, words) = run(&[&second[..], &["--redis-url", redis().url()]].concat());
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("a server without `server.redis_url` uses this database"), "{words}");
    first.kill_9();
}
