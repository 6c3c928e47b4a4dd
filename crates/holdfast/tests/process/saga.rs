//! Bookings of tee times across the end of a server: a restart, a death, a pause, a cut network. Each booking is final within the promised time.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use holdfast_client::Client;
use holdfast_testkit::{Profile, TestDatabase, nats, postgres, profiles, redis};
use serde_json::{Value, json};

use crate::network::Link;
use crate::support::{NIGHT, Process, run, verify};

/// Within this time the servers that are left take over the leases and messages of one that is gone.
const PROMISED: Duration = Duration::from_secs(3);
/// Processing time of the saga itself on a loaded machine.
const SLACK: Duration = Duration::from_secs(2);
/// Time after which a booking counts as stalled for good, so that the failure shows how long it took.
const GIVE_UP_AFTER: Duration = Duration::from_secs(40);
/// Bookings per round: at least one in each partition of the relay, twice.
const BOOKINGS: u64 = 16;
const PLACES: u64 = 1_000;

/// A database, a Redis prefix and a NATS prefix shared by all servers of a test.
struct Cluster {
    database: TestDatabase,
    redis_prefix: String,
    nats_prefix: Option<String>,
}

impl Cluster {
    fn new(with_nats: bool) -> Self {
        let database = postgres().database();
        Self { database, redis_prefix: redis().prefix(), nats_prefix: with_nats.then(|| nats().prefix()) }
    }

    fn server(&self) -> Process {
        self.server_at(self.database.url(), redis().url(), nats().url())
    }

    /// Starts a server that reaches the others under these addresses.
    fn server_at(&self, database_url: &str, redis_url: &str, nats_url: &str) -> Process {
        let mut args = vec!["--database-url", database_url, "--redis-url", redis_url];
        let mut environment = vec![("HOLDFAST_REDIS_PREFIX", &*self.redis_prefix), ("HOLDFAST_LOG_LEVEL", "error")];
        if let Some(prefix) = &self.nats_prefix {
            args.extend(["--nats-url", nats_url]);
            environment.push(("HOLDFAST_NATS_PREFIX", prefix));
        }
        Process::start_with(&args, &environment)
    }

    fn verify(&self) {
        let redis = ["--redis-url", redis().url(), "--redis-prefix", &self.redis_prefix];
        let (code, findings) = run(&[&["verify", "--database-url", self.database.url()][..], &redis].concat());
        assert_eq!(code, 0, "{findings}");
    }
}

/// Status and body; `None` if no answer came.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let sent = client.request(method.parse().unwrap(), path).json(body).send().await.ok()?;
    let status = sent.status().as_u16();
    Some((status, sent.json().await.ok()?))
}

async fn get(client: &Client, path: &str) -> Value {
    let (status, found) = send(client, "GET", path, &Value::Null).await.expect("an answer");
    assert_eq!(status, 200, "{path}: {found}");
    found
}

async fn create_slot(client: &Client) -> u64 {
    let (_, course) = send(client, "POST", "/v1/courses", &json!({"name": "파크골프장"})).await.unwrap();
    let slot = json!({"date": NIGHT.to_string(), "startTime": "09:00", "maxPlayers": PLACES, "price": 1});
    let path = format!("/v1/courses/{}/slots", course["id"]);
    let (status, made) = send(client, "POST", &path, &json!({"slots": [slot]})).await.unwrap();
    assert_eq!(status, 201, "{made}");
    made[0]["id"].as_u64().unwrap()
}

/// Books one place for each user and returns the numbers of the bookings.
async fn book(client: &Client, slot: u64, users: std::ops::Range<u64>) -> Vec<u64> {
    let bookings = users.map(async |user| {
        let asked = json!({"idempotencyKey": "k", "userId": user, "gameTimeSlotId": slot, "playerCount": 1});
        let began = Instant::now();
        loop {
            match send(client, "POST", "/bookings", &asked).await {
                Some((200 | 202, made)) => return made["id"].as_u64().unwrap(),
                refused => assert!(began.elapsed() < GIVE_UP_AFTER, "{refused:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    join_all(bookings).await
}

/// Waits until all bookings are confirmed and returns the time since `since`.
async fn until_confirmed(client: &Client, bookings: &[u64], since: Instant) -> Duration {
    for id in bookings {
        loop {
            let booking = get(client, &format!("/bookings/{id}")).await;
            if booking["status"] != "PENDING" {
                assert_eq!(booking["status"], "CONFIRMED", "{booking}");
                break;
            }
            assert!(since.elapsed() < GIVE_UP_AFTER, "{booking}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    since.elapsed()
}

/// Books, then asserts that every booking is confirmed within the promised time since `since`.
async fn settle(client: &Client, slot: u64, users: std::ops::Range<u64>, since: Instant, what: &str) {
    let bookings = book(client, slot, users).await;
    let took = until_confirmed(client, &bookings, since).await;
    println!("{what}: final after {took:?}");
    assert!(took < PROMISED + SLACK, "{what}: final after {took:?}");
}

/// Each booking took its place once, and its user was notified once.
async fn assert_no_double_effects(client: &Client, slot: u64, bookings: u64) {
    let began = Instant::now();
    loop {
        let booked = get(client, &format!("/v1/slots/{slot}")).await["bookedPlayers"].as_u64().unwrap();
        let notified = get(client, "/v1/notifications?limit=500").await["items"].as_array().unwrap().len() as u64;
        assert!(booked <= bookings && notified <= bookings, "{booked} places, {notified} notifications of {bookings}");
        if (booked, notified) == (bookings, bookings) {
            return;
        }
        assert!(began.elapsed() < GIVE_UP_AFTER, "{booked} places, {notified} notifications of {bookings}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn signal(process: &Process, name: &str) {
    let sent = Command::new("kill").args([name, &process.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Ends a server in the middle of bookings.
fn end(mut process: Process, is_clean: bool) {
    if is_clean {
        let (status, took) = process.terminate();
        assert!(status.success(), "{status} after {took:?}");
    } else {
        process.kill_9();
    }
}

/// Restarts the only server; bookings from before, in flight at its end, and after are final within the promised time.
async fn restart_only_server(start: impl Fn() -> Process, is_clean: bool, what: &str) {
    let process = start();
    let slot = create_slot(&process.client()).await;
    let first = book(&process.client(), slot, 1..1 + BOOKINGS).await;
    until_confirmed(&process.client(), &first, Instant::now()).await;
    let in_flight = book(&process.client(), slot, 101..101 + BOOKINGS).await;
    end(process, is_clean);

    let process = start();
    let ready = Instant::now();
    settle(&process.client(), slot, 201..201 + BOOKINGS, ready, what).await;
    let took = until_confirmed(&process.client(), &in_flight, ready).await;
    assert!(took < PROMISED + SLACK, "{what}: bookings in flight are final after {took:?}");
    assert_no_double_effects(&process.client(), slot, 3 * BOOKINGS).await;
}

async fn restart_on(profile: Profile, is_clean: bool) {
    match profile {
        Profile::Embedded => {
            let directory = tempfile::tempdir().unwrap();
            let data: &Path = directory.path();
            restart_only_server(|| Process::start(data, &[]), is_clean, "embedded").await;
            assert_eq!(verify(data).0, 0);
        }
        Profile::Postgres => {
            let database = postgres().database();
            let start = || Process::start_with(&["--database-url", database.url()], &[]);
            restart_only_server(start, is_clean, "PostgreSQL").await;
            assert_eq!(run(&["verify", "--database-url", database.url()]).0, 0);
        }
        Profile::Cluster => {
            for with_nats in [false, true] {
                let cluster = Cluster::new(with_nats);
                let how = if is_clean { "SIGTERM" } else { "kill -9" };
                let what = format!("cluster, NATS {with_nats}, {how} of the only server");
                restart_only_server(|| cluster.server(), is_clean, &what).await;
                cluster.verify();
            }
        }
    }
}

profiles!(sigterm_of_only_server_stalls_no_booking);
async fn sigterm_of_only_server_stalls_no_booking(profile: Profile) {
    restart_on(profile, true).await;
}

profiles!(kill_of_only_server_stalls_no_booking);
async fn kill_of_only_server_stalls_no_booking(profile: Profile) {
    restart_on(profile, false).await;
}

/// Starts two more servers of a cluster after the first one has taken all leases.
async fn start_others(cluster: &Cluster, first: &Process) -> ([Process; 2], u64) {
    let slot = create_slot(&first.client()).await;
    let others = [cluster.server(), cluster.server()];
    let before = book(&others[0].client(), slot, 1..1 + BOOKINGS).await;
    until_confirmed(&others[0].client(), &before, Instant::now()).await;
    (others, slot)
}

async fn survivors_take_over(is_clean: bool) {
    for with_nats in [false, true] {
        let cluster = Cluster::new(with_nats);
        let first = cluster.server();
        let (others, slot) = start_others(&cluster, &first).await;
        let (client, ended) = (others[1].client(), Instant::now());
        end(first, is_clean);
        // The promise counts from the death; a clean stop itself may take a moment.
        let since = if is_clean { Instant::now() } else { ended };
        let how = if is_clean { "SIGTERM" } else { "kill -9" };
        let what = format!("cluster, NATS {with_nats}, {how} of one of three");
        settle(&client, slot, 201..201 + BOOKINGS, since, &what).await;
        assert_no_double_effects(&client, slot, 2 * BOOKINGS).await;
        drop(others);
        cluster.verify();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_of_one_of_three_stalls_no_booking() {
    survivors_take_over(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_of_one_of_three_stalls_no_booking() {
    survivors_take_over(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_server_stalls_no_booking() {
    for with_nats in [false, true] {
        let cluster = Cluster::new(with_nats);
        let first = cluster.server();
        let (others, slot) = start_others(&cluster, &first).await;
        let client = others[1].client();
        let in_flight = book(&first.client(), slot, 101..101 + BOOKINGS).await;
        signal(&first, "-STOP");
        let paused = Instant::now();
        let what = format!("cluster, NATS {with_nats}, SIGSTOP of one of three");
        settle(&client, slot, 201..201 + BOOKINGS, paused, &what).await;
        let took = until_confirmed(&client, &in_flight, paused).await;
        assert!(took < PROMISED + SLACK, "{what}: bookings in flight are final after {took:?}");
        signal(&first, "-CONT");
        // The paused server serves again, and repeats no message that the other servers handled meanwhile.
        settle(&first.client(), slot, 301..301 + BOOKINGS, Instant::now(), "after SIGCONT").await;
        assert_no_double_effects(&client, slot, 4 * BOOKINGS).await;
        drop((first, others));
        cluster.verify();
    }
}

/// One of three servers with a network of its own, which drops all packets from `cut` on.
async fn cut_off(what: &str, cut: impl Fn(&[Link; 3])) {
    let cluster = Cluster::new(true);
    let links = [Link::to(cluster.database.url()).await, Link::to(redis().url()).await, Link::to(nats().url()).await];
    let [database, redis, nats] = &links;
    let first = cluster.server_at(database.url(), redis.url(), nats.url());
    let (others, slot) = start_others(&cluster, &first).await;
    let client = others[1].client();
    let in_flight = book(&first.client(), slot, 101..101 + BOOKINGS).await;
    cut(&links);
    let cut_at = Instant::now();
    settle(&client, slot, 201..201 + BOOKINGS, cut_at, what).await;
    let took = until_confirmed(&client, &in_flight, cut_at).await;
    assert!(took < PROMISED + SLACK, "{what}: bookings in flight are final after {took:?}");
    links.iter().for_each(Link::restore);
    // The server serves again, and repeats no work that other servers did meanwhile.
    let after = book(&first.client(), slot, 301..301 + BOOKINGS).await;
    until_confirmed(&client, &after, Instant::now()).await;
    assert_no_double_effects(&client, slot, 4 * BOOKINGS).await;
    drop((first, others));
    cluster.verify();
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_off_server_stalls_no_booking() {
    cut_off("one of three is cut off from all stores", |links| links.iter().for_each(Link::cut)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_cut_off_from_nats_stalls_none() {
    cut_off("one of three is cut off from NATS", |[.., nats]| nats.cut()).await;
}
