//! SIGKILL during a sale of seats behind a waiting room, on every profile. Fans queue, enter, and want overlapping sets
//! of seats in opposite order. Unanswered requests are retried under the same key, so every outcome is known in the
//! end: no reservation is lost, no seat is sold twice, no set is split, and the limit inside holds.
//!
//! `FAULT_ROUNDS=200 cargo test -p holdfast --test process seats` runs it for longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use holdfast_client::{Client, NewEvent, QueueStatus, SeatReservation, SeatReservationStatus, SeatStatus};
use holdfast_testkit::{PostgresOptions, PostgresServer};

use crate::cluster::Cluster;
use crate::retrying_client::{Clients, RetryingClient};
use crate::support::{Process, run, verify};

const FANS: usize = 20;
const SEATS: u64 = 60;
const INSIDE: u32 = 8;
/// Short life of a hold, so that leftovers can be told from live holds.
const HOLD_TTL: (&str, &str) = ("HOLDFAST_TICKET_HOLD_TTL", "4s");
const QUIET: (&str, &str) = ("HOLDFAST_LOG_LEVEL", "off");

fn rounds(usual: u32) -> u32 {
    std::env::var("FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_sale_survives_kills_embedded() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let start = || Process::start_with(&["--data", data.to_str().unwrap()], &[HOLD_TTL, QUIET]);
    run_with_kills(start, || verify(data), rounds(6)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_sale_survives_kills_postgres() {
    let postgres = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
    let database = postgres.postgres().database();
    let start = || Process::start_with(&["--database-url", database.url()], &[HOLD_TTL, QUIET]);
    run_with_kills(start, || run(&["verify", "--database-url", database.url()]), rounds(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_sale_survives_faults_cluster() {
    let mut cluster = Cluster::start();
    let sale = Sale::open(cluster.clients.clone()).await;
    for round in 0..rounds(9) {
        tokio::time::sleep(Duration::from_millis(300 + u64::from(round * 37 % 200))).await;
        tokio::task::block_in_place(|| cluster.inject_fault(round));
        sale.check_inside().await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    sale.close_and_compare().await;
    let (code, findings) = cluster.verify();
    assert_eq!(code, 0, "{findings}");
}

/// Runs a sale on one server that is killed repeatedly.
async fn run_with_kills(start: impl Fn() -> Process, check: impl Fn() -> (i32, String), rounds: u32) {
    let mut process = start();
    let servers = Clients::default();
    servers.write().unwrap().push(process.client());
    let sale = Sale::open(servers.clone()).await;
    for round in 0..rounds {
        tokio::time::sleep(Duration::from_millis(300 + u64::from(round * 61 % 250))).await;
        process = tokio::task::block_in_place(|| {
            process.kill_9();
            let (code, findings) = check();
            assert_eq!(code, 0, "after round {round}: {findings}");
            start()
        });
        servers.write().unwrap()[0] = process.client();
        sale.check_inside().await;
    }
    sale.close_and_compare().await;
    process.kill_9();
    let (code, findings) = check();
    assert_eq!(code, 0, "{findings}");
}

/// Sale with concurrent fans, all on the same seats.
struct Sale {
    servers: Clients,
    event: u64,
    stop: Arc<AtomicBool>,
    fans: Vec<tokio::task::JoinHandle<Told>>,
}

/// Reservations that were answered to fans, by id.
type Told = BTreeMap<u64, SeatReservation>;

impl Sale {
    async fn open(servers: Clients) -> Self {
        let admin = servers.read().unwrap()[0].clone();
        let new = NewEvent::with_row("콘서트", u32::try_from(SEATS).unwrap(), 1_000);
        let event = admin.create_event(&NewEvent { max_concurrent: Some(INSIDE), ..new }).await.unwrap().id;
        let (stop, people) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
        let fan = |number| {
            let fan = Fan { servers: servers.clone(), number, event, people: people.clone(), told: Told::new() };
            tokio::spawn(fan.until_told_to_stop(stop.clone()))
        };
        let fans = (0..FANS).map(fan).collect();
        Self { servers, event, stop, fans }
    }

    fn admin(&self) -> Client {
        self.servers.read().unwrap()[0].clone()
    }

    /// Checks that the limit of users inside holds at any time.
    async fn check_inside(&self) {
        if let Ok(queue) = self.admin().queue_stats(self.event).await {
            assert!(queue.entered + queue.ready <= u64::from(INSIDE), "{queue:?}");
        }
    }

    /// Checks that the server's state equals what was answered to the fans.
    async fn close_and_compare(self) {
        self.stop.store(true, Ordering::Relaxed);
        let admin = self.admin();
        let mut told = Told::new();
        for fan in self.fans {
            told.extend(fan.await.unwrap());
        }
        let found = all_reservations(&admin).await;
        assert_eq!(found, told, "the reservations are those that were acknowledged");
        let is_reserved = |it: &&SeatReservation| it.status == SeatReservationStatus::Reserved;
        let sold: Vec<u64> = told.values().filter(is_reserved).flat_map(|it| &it.seats).map(|seat| seat.id).collect();
        let cancelled = told.len() - told.values().filter(is_reserved).count();
        println!("{} reservations were acknowledged, {cancelled} of them cancelled", told.len());
        assert!(told.len() > 10 && cancelled > 3, "there was a sale: {}, {cancelled} cancelled", told.len());
        assert_eq!(sold.iter().collect::<BTreeSet<_>>().len(), sold.len(), "no seat is sold twice");
        let began = Instant::now();
        // Holds expire, and unfinished attempts are resolved.
        loop {
            let seats = admin.seats(self.event).await.unwrap();
            let of = |status| -> BTreeSet<u64> {
                seats.iter().filter(|seat| seat.status == status).map(|seat| seat.id).collect()
            };
            assert_eq!(
                of(SeatStatus::Reserved),
                sold.iter().copied().collect(),
                "reserved seats are those that were sold"
            );
            let (held, left) = (of(SeatStatus::Held), admin.event(self.event).await.unwrap().remaining_seats);
            // The count of an event may lag behind its seats by a second.
            if held.is_empty() && u64::from(left) == SEATS - sold.len() as u64 {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "held without a hold: {held:?}; {left} are left");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let queue = admin.queue_stats(self.event).await.unwrap();
        assert_eq!((queue.waiting, queue.ready, queue.entered), (0, 0, 0), "all users have left");
    }
}

async fn all_reservations(admin: &Client) -> Told {
    let (mut found, mut cursor) = (Told::new(), None);
    loop {
        let mut query = vec![("limit", "500".to_owned())];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page = admin.seat_reservations(&query).await.unwrap();
        found.extend(page.items.into_iter().map(|it| (it.reservation_id, it)));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return found;
        }
    }
}

/// Fan that visits repeatedly, each time as another user.
struct Fan {
    servers: Clients,
    number: usize,
    event: u64,
    people: Arc<AtomicU64>,
    told: Told,
}

impl Fan {
    async fn until_told_to_stop(mut self, stop: Arc<AtomicBool>) -> Told {
        while !stop.load(Ordering::Relaxed) {
            let user = self.people.fetch_add(1, Ordering::Relaxed);
            let mut client = RetryingClient::new(self.servers.clone(), user, self.number);
            self.visit(&mut client, user).await;
        }
        self.told
    }

    async fn visit(&mut self, client: &mut RetryingClient, user: u64) {
        let event = self.event;
        let joined = client.answer(move |server| async move { server.join_queue(event).await }).await;
        let mut status = joined.expect("any user may join").status;
        while status == QueueStatus::Waiting {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let place = client.answer(move |server| async move { server.poll_queue(event).await }).await;
            status = place.expect("polling keeps the place").status;
        }
        let entered = client.answer(move |server| async move { server.enter_queue(event).await }).await;
        entered.expect("a ready user may enter");
        let mut seats: Vec<u64> = (0..3).map(|step| event * 1_000_000 + 1 + (user * 7 + step) % SEATS).collect();
        if user.is_multiple_of(2) {
            seats.reverse();
        }
        if let Some(reservation) = self.take(client, user, &seats).await {
            let number = reservation.reservation_id;
            assert_eq!(reservation.seats.len(), 3, "all or none");
            assert_eq!(self.told.insert(number, reservation), None, "ids are not reused");
            // Keeps the sale from ending at once.
            if !user.is_multiple_of(16) {
                let cancelled =
                    client.answer(move |server| async move { server.cancel_seat_reservation(number).await }).await;
                self.told.insert(number, cancelled.expect("a reservation can be cancelled"));
            }
        }
        let left = client.answer(move |server| async move { server.leave_queue(event).await }).await;
        left.expect("any user may leave");
    }

    /// Reserves in one step or in two, or gives up.
    async fn take(&self, client: &mut RetryingClient, user: u64, seats: &[u64]) -> Option<SeatReservation> {
        let event = self.event;
        if user.is_multiple_of(3) {
            let reserved = client.answer(|server| async move { server.reserve_seats(event, seats).await }).await;
            return reserved.map_err(|code| only_taken(&code)).ok();
        }
        let placed = client.answer(|server| async move { server.hold_seats(event, seats).await }).await;
        let hold = placed.map_err(|code| only_taken(&code)).ok()?.hold_id;
        if user % 3 == 1 {
            let confirmed = client.answer(move |server| async move { server.confirm_seat_hold(hold).await }).await;
            // The hold may have expired during an outage.
            return confirmed
                .map_err(|code| assert_eq!(code, "SEAT_HOLD_EXPIRED", "a live hold can be confirmed"))
                .ok();
        }
        client.answer(move |server| async move { server.cancel_seat_hold(hold).await }).await.ok();
        None
    }
}

/// Checks that the only reason for failure is that other users have the seats.
fn only_taken(code: &str) {
    let expected = ["SEAT_HELD_BY_ANOTHER", "SEAT_ALREADY_RESERVED", "SOLD_OUT"];
    assert!(expected.contains(&code), "{code}");
}
