//! Four processes, one per role, on four databases of two PostgreSQL servers, with NATS between them; each is killed in
//! turn under load. Every booking reaches a final state, every slot counts exactly the players of confirmed bookings,
//! and subscribers get each event once.
//!
//! `FAULT_ROUNDS=200 cargo test -p holdfast --test process services` runs it for longer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use holdfast_client::Client;
use holdfast_testkit::{NatsOptions, NatsServer, PostgresOptions, PostgresServer, TestDatabase};
use serde_json::{Value, json};

use crate::support::{NIGHT, Process, run};

const ROUNDS: u32 = 20;
const CLIENTS: u64 = 16;
const SLOTS: u64 = 6;
const PLACES: u32 = 150;
const ROLES: [&str; 4] = ["api", "booking", "course", "notify"];
/// Maximum time until all bookings are settled.
const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

struct Services {
    postgres: [PostgresServer; 2],
    nats: NatsServer,
    databases: Vec<TestDatabase>,
    processes: Vec<Option<Process>>,
    /// Client of the first process.
    api: Arc<RwLock<Client>>,
}

impl Services {
    fn start() -> Self {
        let postgres = [0, 1].map(|_| PostgresServer::start(&PostgresOptions { durable: true }).unwrap());
        let nats = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
        let databases = (0..ROLES.len()).map(|index| postgres[index / 2].postgres().database()).collect();
        let api = Arc::new(RwLock::new(Client::new("http://127.0.0.1:1")));
        let mut services = Self { postgres, nats, databases, processes: Vec::new(), api };
        services.processes = (0..ROLES.len()).map(|_| None).collect();
        (0..ROLES.len()).rev().for_each(|index| services.start_process(index));
        services
    }

    fn start_process(&mut self, index: usize) {
        let database = |index: usize| self.databases[index].url();
        let args = ["--roles", ROLES[index], "--nats-url", self.nats.url(), "--database-url", database(0)];
        let environment = [
            ("HOLDFAST_BOOKING_DATABASE_URL", database(1)),
            ("HOLDFAST_COURSE_DATABASE_URL", database(2)),
            ("HOLDFAST_NOTIFY_DATABASE_URL", database(3)),
            ("HOLDFAST_NATS_BYTES_MAX", "16777216"),
            ("HOLDFAST_TEE_SAGA_TIMEOUT", "4s"),
            ("HOLDFAST_TEE_SWEEP_EVERY", "1s"),
            ("HOLDFAST_TEE_BUS_TIMEOUT", "2s"),
            ("HOLDFAST_TEE_OUTBOX_POLL", "200ms"),
            // Servers log errors while another is down, which is expected here.
            ("HOLDFAST_LOG_LEVEL", "off"),
        ];
        let process = Process::start_with(&args, &environment);
        if index == 0 {
            *self.api.write().unwrap() = process.client();
        }
        self.processes[index] = Some(process);
    }

    /// Kills one process, in turn, and restarts it.
    fn inject_fault(&mut self, round: u32) {
        match round as usize % 7 {
            index @ 0..4 => {
                self.processes[index].take().unwrap().kill_9();
                self.start_process(index);
            }
            4 => {
                self.nats.kill();
                self.nats.restart().unwrap();
            }
            other => {
                self.postgres[other - 5].stop_immediate();
                self.postgres[other - 5].restart().unwrap();
            }
        }
    }
}

/// Returns status and body; `None` without a response.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let sent = client.request(method.parse().unwrap(), path).json(body).send().await.ok()?;
    let status = sent.status().as_u16();
    Some((status, sent.json().await.ok()?))
}

/// Retries until there is a response.
async fn get(api: &RwLock<Client>, path: &str) -> Value {
    let began = Instant::now();
    loop {
        let client = api.read().unwrap().clone();
        if let Some((200, found)) = send(&client, "GET", path, &Value::Null).await {
            return found;
        }
        assert!(began.elapsed() < SETTLE_TIMEOUT, "{path}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Books repeatedly, each time until there is an answer; cancels some.
async fn until_told_to_stop(api: Arc<RwLock<Client>>, slots: Vec<u64>, people: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let user = people.fetch_add(1, Ordering::Relaxed);
        let slot = slots[usize::try_from(user).unwrap() % slots.len()];
        let asked = json!({"idempotencyKey": "k", "userId": user, "gameTimeSlotId": slot, "playerCount": 1 + user % 3});
        let made = loop {
            let client = api.read().unwrap().clone();
            match send(&client, "POST", "/bookings", &asked).await {
                Some((200 | 202, made)) => break made,
                Some((status, problem)) if status < 500 && status != 409 && status != 429 => panic!("{problem}"),
                _ if stop.load(Ordering::Relaxed) => return,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        if user.is_multiple_of(4) {
            let client = api.read().unwrap().clone();
            send(&client, "POST", &format!("/bookings/{}/cancel?userId={user}", made["id"]), &json!({})).await;
        }
    }
}

async fn all_bookings(api: &RwLock<Client>) -> Vec<Value> {
    all(api, "/bookings?limit=500").await
}

async fn all(api: &RwLock<Client>, list: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(api, &format!("{list}{cursor}")).await;
        all.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// Returns a booking or slot that is not settled yet.
async fn unsettled(api: &RwLock<Client>, slots: &[u64]) -> Option<String> {
    let bookings = all_bookings(api).await;
    let mut players: BTreeMap<u64, u64> = BTreeMap::new();
    for booking in &bookings {
        match booking["status"].as_str().unwrap() {
            "PENDING" => return Some(format!("pending: {booking}")),
            "CONFIRMED" => {
                let slot = booking["gameTimeSlotId"].as_u64().unwrap();
                *players.entry(slot).or_default() += booking["playerCount"].as_u64().unwrap();
            }
            "CANCELLED" | "FAILED" => {}
            other => panic!("{other}"),
        }
    }
    for slot in slots {
        let found = get(api, &format!("/v1/slots/{slot}")).await["bookedPlayers"].as_u64().unwrap();
        let expected = players.get(slot).copied().unwrap_or_default();
        assert!(found <= u64::from(PLACES), "oversold");
        if found != expected {
            return Some(format!("slot {slot}: {found} booked, {expected} confirmed"));
        }
    }
    None
}

/// Returns an event of these bookings that subscribers of the first process have not received; fails on duplicates.
async fn missing_event(api: &RwLock<Client>, bookings: &[Value]) -> Option<String> {
    let mut told: BTreeMap<(u64, String), usize> = BTreeMap::new();
    for event in all(api, "/v1/admin/outbox?service=api&limit=500").await {
        let about = event["payload"]["bookingId"].as_u64().unwrap();
        *told.entry((about, event["eventType"].as_str().unwrap().to_owned())).or_default() += 1;
    }
    let twice = told.iter().find(|(_, count)| **count > 1);
    assert!(twice.is_none(), "received twice: {twice:?}");
    let expected = bookings.iter().flat_map(|booking| {
        let last = booking["status"].as_str().unwrap().to_lowercase();
        ["created", &last].map(|action| (booking["id"].as_u64().unwrap(), format!("booking.{action}")))
    });
    let missing = expected.into_iter().find(|event| !told.contains_key(event))?;
    // Tells whether the booking service has published the event.
    let sent = all(api, "/v1/admin/outbox?service=booking&limit=500").await;
    let sent: Vec<_> = sent.iter().filter(|event| event["payload"]["bookingId"] == missing.0).collect();
    Some(format!("not received: {missing:?}, published: {sent:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn bookings_settle_despite_kills() {
    let rounds = std::env::var("FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut services = tokio::task::block_in_place(Services::start);
    let api = services.api.clone();
    let client = api.read().unwrap().clone();
    let (_, course) = send(&client, "POST", "/v1/courses", &json!({"name": "파크골프장"})).await.unwrap();
    let slot = |number: u64| {
        let time = format!("09:{number:02}");
        json!({"date": NIGHT.to_string(), "startTime": time, "maxPlayers": PLACES, "price": 1})
    };
    let body = json!({"slots": (0..SLOTS).map(slot).collect::<Vec<_>>()});
    let (status, made) = send(&client, "POST", &format!("/v1/courses/{}/slots", course["id"]), &body).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let slots: Vec<u64> = made.as_array().unwrap().iter().map(|slot| slot["id"].as_u64().unwrap()).collect();

    let (people, stop) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(until_told_to_stop(api.clone(), slots.clone(), people.clone(), stop.clone())))
        .collect();
    for round in 0..rounds {
        tokio::time::sleep(Duration::from_millis(300 + u64::from(round * 37 % 200))).await;
        tokio::task::block_in_place(|| services.inject_fault(round));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    let began = Instant::now();
    while let Some(what) = unsettled(&api, &slots).await {
        assert!(began.elapsed() < SETTLE_TIMEOUT, "not at rest: {what}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let bookings = all_bookings(&api).await;
    while let Some(what) = missing_event(&api, &bookings).await {
        assert!(began.elapsed() < SETTLE_TIMEOUT, "not at rest: {what}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let count = |status: &str| bookings.iter().filter(|booking| booking["status"] == status).count();
    println!(
        "{rounds} rounds, {} bookings: {} confirmed, {} cancelled, {} failed; at rest after {:?}",
        bookings.len(),
        count("CONFIRMED"),
        count("CANCELLED"),
        count("FAILED"),
        began.elapsed()
    );
    assert!(count("CONFIRMED") > 50 && count("CANCELLED") > 5, "there was load");
    for process in services.processes.iter_mut().flatten() {
        assert!(process.terminate().0.success());
    }
    for database in &services.databases {
        let (code, findings) = run(&["verify", "--database-url", database.url()]);
        assert_eq!(code, 0, "{findings}");
    }
}
