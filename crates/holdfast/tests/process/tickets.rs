//! SIGKILL during a sale: no acknowledged place, entry or seat is lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use holdfast_client::{Client, Event, NewEvent, QueueStatus, SeatReservationStatus, SeatStatus};
use holdfast_testkit::postgres;

use crate::support::{Process, verify};

const ROUNDS: u64 = 5;
const INSIDE: u32 = 4;
const BUYERS: u64 = 12;
const WAITERS: u64 = 10;

#[tokio::test(flavor = "multi_thread")]
async fn ticket_sale_survives_kills_embedded() {
    let directory = tempfile::tempdir().unwrap();
    killed_in_a_sale(&["--data", directory.path().to_str().unwrap()]).await;
    let (code, findings) = verify(directory.path());
    assert_eq!(code, 0, "{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ticket_sale_survives_kills_postgres() {
    let database = postgres().database();
    killed_in_a_sale(&["--database-url", database.url()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_tokens_need_a_known_secret() {
    const FIRST: &str = "the first secret of 32 bytes or more";
    const SECOND: &str = "the second secret of 32 bytes or more";
    let directory = tempfile::tempdir().unwrap();
    let data = ["--data", directory.path().to_str().unwrap()];
    let start = |current: &str, old: &str| {
        let secrets = [("HOLDFAST_QUEUE_TOKEN_SECRET", current), ("HOLDFAST_QUEUE_TOKEN_SECRETS_OLD", old)];
        let set: Vec<_> = secrets.into_iter().filter(|(_, secret)| !secret.is_empty()).collect();
        Process::start_with(&data, &set)
    };
    let process = start("", "");
    let event = process.client().create_event(&NewEvent::with_row("콘서트", 50, 1)).await.unwrap().id;
    process.client().as_user(1).join_queue(event).await.unwrap();
    let token = async |process: &Process| process.client().as_user(1).enter_queue(event).await.unwrap().token;
    // Returns whether a seat can be held with the token; the entry itself is live all the time.
    let is_good = async |process: &Process, token: &str| {
        let body = serde_json::json!({"userId": 1, "count": 1, "token": token}).to_string();
        let path = format!("/v1/events/{event}/seats/best");
        let answer = process.client().request("POST".parse().unwrap(), &path).body(body).send().await.unwrap();
        let status = answer.status().as_u16();
        if status != 201 {
            let problem: serde_json::Value = answer.json().await.unwrap();
            assert_eq!((status, &problem["code"]), (403, &"QUEUE_TOKEN_REQUIRED".into()));
        }
        status == 201
    };
    let unset = token(&process).await;
    assert!(is_good(&process, &unset).await);
    process.kill_9();

    let process = start(FIRST, "");
    assert!(is_good(&process, &unset).await, "the first configured secret keeps older tokens valid");
    let first = token(&process).await;
    assert_ne!(first, unset, "the same entry, signed again");
    assert!(is_good(&process, &first).await);
    process.kill_9();

    let process = start(SECOND, FIRST);
    assert!(is_good(&process, &first).await, "valid after rotation");
    let second = token(&process).await;
    assert!(is_good(&process, &second).await);
    process.kill_9();

    let process = start(SECOND, "");
    assert!(is_good(&process, &second).await);
    assert!(!is_good(&process, &first).await, "its secret was removed");
    assert!(process.client().as_user(1).hold_best(event, 1, None).await.is_ok(), "the entry belongs to the user");
    let leave = process.client().as_user(1).leave_queue(event).await;
    leave.unwrap();
    assert!(!is_good(&process, &second).await, "a token alone is no entry");
}

/// Acknowledged reservations: user and id.
type Told = Arc<Mutex<Vec<(u64, u64)>>>;

async fn killed_in_a_sale(args: &[&str]) {
    let told = Told::default();
    let process = Process::start_with(args, &[]);
    let new = NewEvent { max_concurrent: Some(INSIDE), ..NewEvent::with_row("콘서트", 200, 1) };
    let event = process.client().create_event(&new).await.unwrap();
    // Users of this event only wait.
    let quiet = process.client().create_event(&NewEvent { max_concurrent: Some(1), ..new }).await.unwrap();
    for user in 1..=WAITERS {
        process.client().as_user(user).join_queue(quiet.id).await.unwrap();
    }
    let entry = process.client().as_user(1).enter_queue(quiet.id).await.unwrap();
    process.kill_9();
    for round in 0..ROUNDS {
        let process = Process::start_with(args, &[]);
        let server = process.client();
        assert_eq!(server.as_user(1).enter_queue(quiet.id).await.unwrap(), entry, "the same entry, the same token");
        for user in 2..=WAITERS {
            let place = server.as_user(user).poll_queue(quiet.id).await.unwrap();
            assert_eq!((place.status, place.rank), (QueueStatus::Waiting, user - 2));
        }
        check_told(&server, &event, &told).await;
        let buyers = (1..=BUYERS).map(|buyer| {
            let user = 1_000 * (round + 1) + buyer;
            tokio::spawn(buy_until_the_server_is_gone(server.as_user(user), event.id, user, round, told.clone()))
        });
        let buyers: Vec<_> = buyers.collect();
        tokio::time::sleep(Duration::from_millis(200 + 30 * round)).await;
        process.kill_9();
        join_all(buyers).await.into_iter().for_each(Result::unwrap);
    }
    let process = Process::start_with(args, &[]);
    check_told(&process.client(), &event, &told).await;
    let sold = told.lock().unwrap().len();
    println!("{ROUNDS} kills: {sold} reservations were acknowledged");
    assert!(sold > 0, "there was a sale");
}

/// Queues, enters, and reserves the next seat that may be free.
async fn buy_until_the_server_is_gone(server: Client, event: u64, user: u64, round: u64, told: Told) {
    for turn in 0.. {
        let Ok(place) = server.join_queue(event).await else { return };
        if place.status == QueueStatus::Waiting {
            tokio::time::sleep(Duration::from_millis(2)).await;
            continue;
        }
        if server.enter_queue(event).await.is_err() {
            return;
        }
        let seat = event * 1_000_000 + 1 + (user * 13 + turn * 7 + round) % 200;
        match server.reserve_seats(event, &[seat]).await {
            Ok(reservation) => told.lock().unwrap().push((user, reservation.reservation_id)),
            Err(error) if error.code().is_some() => drop(server.leave_queue(event).await),
            Err(_) => return,
        }
    }
}

async fn check_told(server: &Client, event: &Event, told: &Told) {
    let told = told.lock().unwrap().clone();
    for (user, number) in &told {
        let found = server.as_user(*user).seat_reservation(*number).await.unwrap();
        assert_eq!(found.status, SeatReservationStatus::Reserved);
    }
    let seats = server.seats(event.id).await.unwrap();
    let reserved = seats.iter().filter(|seat| seat.status == SeatStatus::Reserved).count();
    assert!(reserved >= told.len(), "{reserved} reserved, {} acknowledged", told.len());
    let queue = server.queue_stats(event.id).await.unwrap();
    assert!(queue.entered + queue.ready <= u64::from(INSIDE), "{queue:?}");
}
