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

use crate::retrying_client::Clients;
use crate::support::{NIGHT, Process, new_hold, run};

const ROUNDS: u32 = 21;
const SERVERS: usize = 3;
const CLIENTS: u64 = 64;
const ROOM_TYPES: u32 = 2;
const ROOMS: u32 = 150;
const NIGHTS: u64 = 6;
/// Short life of a hold, so that leftovers can be told from live holds.
const HOLD_TTL: &str = "4s";
/// Library that shifts the clock of a process.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

pub(crate) struct Cluster {
    postgres: PostgresServer,
    redis: RedisServer,
    database: TestDatabase,
    servers: Vec<Option<Process>>,
    /// Clients of the servers.
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
        // Servers log errors while a store is down, which is expected here.
        environment.push(("HOLDFAST_LOG_LEVEL", "off"));
        Process::start_with(&["--database-url", database, "--redis-url", redis], &environment)
    }

    fn kill_and_restart(&mut self, index: usize) {
        self.servers[index].take().expect("the server runs").kill_9();
        let server = self.server(&[]);
        self.clients.write().unwrap()[index] = server.client();
        self.servers[index] = Some(server);
    }

    fn client(&self) -> Client {
        self.clients.read().unwrap()[0].clone()
    }

    /// Kills one server, or restarts one of the stores, in turn.
    pub(crate) fn inject_fault(&mut self, round: u32) {
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

/// State of reservations that was answered to clients, and must persist.
type Told = Arc<Mutex<HashMap<u64, (u64, ReservationStatus)>>>;

#[tokio::test(flavor = "multi_thread")]
async fn cluster_survives_kills_and_restarts() {
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
        tokio::task::block_in_place(|| cluster.inject_fault(round));
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
        assert_eq!((found.status, found.user_id), (*status, (*user).into()), "reservation {number}");
    }
    nothing_is_left_over(&cluster.client(), &room_types).await;
    let (code, findings) = cluster.verify();
    assert_eq!(code, 0, "{findings}");
}

/// Checks that no unit is held once all holds have expired and all attempts are resolved.
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
        assert!(began.elapsed() < Duration::from_secs(30), "{held} nights are still held without a hold");
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
    /// Holds, then confirms, cancels or leaves, each on another server; records answered results only.
    async fn until_told_to_stop(self) {
        while !self.stop.load(Ordering::Relaxed) {
            let user = self.people.fetch_add(1, Ordering::Relaxed);
            if self.one_person(user).await.is_none() {
                // Pauses after a conflict or an outage.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    async fn one_person(&self, user: u64) -> Option<()> {
        let hold = self.server(user, 0).place_hold(&self.stay(user)).await.ok()?;
        // The outcome of a request without an answer is unknown, so it is not checked.
        match user % 4 {
            0 => {
                let number = self.server(user, 1).confirm_hold(hold.hold_id).await.ok()?.reservation_id;
                // Until the cancellation is answered, the reservation may be in either state.
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

    /// Returns another server at each step.
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

/// A wrong clock of a server has no effect: Redis provides the time.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_server_clock_has_no_effect() {
    let mut cluster = Cluster::start();
    let ahead = cluster.server(&[("LD_PRELOAD", FAKETIME), ("FAKETIME", "+1h")]);
    let (right, wrong) = (cluster.client(), ahead.client());
    let room_type = right.create_room_type(&NewRoomType::new("객실", 1, 1)).await.unwrap();

    let hold = right.as_user(1).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    assert_eq!(wrong.as_user(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Held);
    let taken = wrong.as_user(2).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap_err();
    assert_eq!(taken.code(), Some("ROOM_NOT_AVAILABLE"), "by the server's own clock the hold would have expired");
    wrong.as_user(1).cancel_hold(hold.hold_id).await.unwrap();

    let hold = wrong.as_user(2).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    let lives = hold.expired_at.as_second() - hold.created_at.as_second();
    assert!((3..=5).contains(&lives), "the hold has the configured life: {lives} s");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(right.as_user(2).hold(hold.hold_id).await.unwrap().status, HoldStatus::Expired);
    right.as_user(3).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    let (ended, _) = cluster.servers[0].as_mut().unwrap().terminate();
    assert!(ended.success());
}

#[test]
fn second_server_without_redis_is_rejected() {
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
