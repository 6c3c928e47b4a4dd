//! Slot generation without a server; kills while many slots are generated or blocked; several servers on the same
//! slots.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use holdfast_client::SlotAvailabilityResult::{Available, TemporarilyUnavailable, Unavailable};
use holdfast_client::{Client, NewRoom, SlotStatus};
use holdfast_testkit::{postgres, redis};
use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::support::{Process, run, verify};

/// Opening hours that are equal on every day.
fn every_day(from: &str, to: &str) -> Value {
    let hours = json!([{"from": from, "to": to}]);
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let weekly: serde_json::Map<_, _> = days.into_iter().map(|day| (day.to_owned(), hours.clone())).collect();
    json!({ "weekly": weekly })
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_are_generated_once_in_stopped_store() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let (code, text) = run(&["calendar", "generate", "--data", data]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("there is no store in"), "{text}");

    let mut process = Process::start(directory.path(), &[]);
    for _ in 0..3 {
        let room = process.client().create_room(&NewRoom::new("room", 60, 1_000)).await.unwrap().id;
        process.client().set_operating_hours(room, &every_day("09:00", "12:00")).await.unwrap();
        process.client().generate_slots(Some(room), None).await.unwrap();
    }
    let last = process.client().room(1).await.unwrap().generated_until.unwrap();
    let until = last.saturating_add(10.days());
    let (code, text) = run(&["calendar", "generate", "--data", data]);
    assert_eq!(code, 2, "a server is using it: {text}");
    process.terminate();

    let args = ["calendar", "generate", "--data", data, "--until", &until.to_string()];
    let (code, text) = run(&args);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("90 slots made for 3 rooms"), "{text}");
    let (code, text) = run(&args);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("0 slots made for 3 rooms"), "{text}");
    let (code, text) = run(&["calendar", "generate", "--data", data, "--until", "soon"]);
    assert_eq!(code, 2, "{text}");

    let process = Process::start(directory.path(), &[]);
    assert_eq!(process.client().slots(2, until, until).await.unwrap().len(), 3);
    drop(process);
    let (code, text) = verify(directory.path());
    assert_eq!(code, 0, "{text}");
}

/// Slots of five minutes around the clock.
const SLOTS_PER_DAY: usize = 288;
const ROOMS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn slot_changes_survive_kill_embedded() {
    let directory = tempfile::tempdir().unwrap();
    killed_while_many_slots_change(&["--data", directory.path().to_str().unwrap()], &[]).await;
    let (code, findings) = verify(directory.path());
    assert_eq!(code, 0, "{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_changes_survive_kill_postgres() {
    let database = postgres().database();
    killed_while_many_slots_change(&["--database-url", database.url()], &[]).await;
    let (code, findings) = run(&["verify", "--database-url", database.url()]);
    assert_eq!(code, 0, "{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_changes_survive_kill_cluster() {
    let (database, prefix) = (postgres().database(), redis().prefix());
    let args = ["--database-url", database.url(), "--redis-url", redis().url()];
    let environment = [("HOLDFAST_REDIS_PREFIX", prefix.as_str())];
    killed_while_many_slots_change(&args, &environment).await;
}

async fn killed_while_many_slots_change(args: &[&str], environment: &[(&str, &str)]) {
    let start = || Process::start_with(args, environment);
    let process = start();
    let server = process.client();
    let mut rooms = Vec::new();
    for _ in 0..ROOMS {
        let room = server.create_room(&NewRoom::new("room", 5, 1_000)).await.unwrap().id;
        server.set_operating_hours(room, &every_day("00:00", "24:00")).await.unwrap();
        rooms.push(room);
    }
    // Each has two days already: the job extends rooms with slots at once, rooms without slots later.
    let today = today(&server).await;
    let tomorrow = today.tomorrow().unwrap();
    server.generate_slots(None, Some(tomorrow)).await.unwrap();
    let last = today.saturating_add(60.days());

    let (making, first) = (server.clone(), rooms[0]);
    let making = tokio::spawn(async move { making.generate_slots(None, None).await });
    until("slots are being generated", async || server.room(first).await.unwrap().generated_until > Some(tomorrow))
        .await;
    process.kill_9();
    let told = making.await.unwrap();
    println!("killed during slot generation: {told:?}");

    let process = start();
    let server = process.client();
    for room in &rooms {
        let last = server.room(*room).await.unwrap().generated_until.unwrap();
        nothing_is_half_made(&server, *room, today, last).await;
    }
    for room in &rooms {
        until("the job has caught up", async || server.room(*room).await.unwrap().generated_until >= Some(last)).await;
        let last = server.room(*room).await.unwrap().generated_until.unwrap();
        nothing_is_half_made(&server, *room, today, last).await;
        let made = server.slots(*room, today, last).await.unwrap().len();
        assert_eq!(logged(&server, *room).await, made as u64, "the log has each slot once");
    }
    process.kill_9();
    killed_while_slots_are_taken_off_sale(start, rooms[0], tomorrow).await;
}

/// Returns today's date in Seoul, where all rooms are, from generated slots, because a test has no clock.
async fn today(server: &Client) -> Date {
    let room = server.create_room(&NewRoom::new("small room", 60, 1_000)).await.unwrap().id;
    server.set_operating_hours(room, &every_day("09:00", "12:00")).await.unwrap();
    let made = server.generate_slots(Some(room), None).await.unwrap();
    made.generated_until.unwrap().saturating_sub(60.days())
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_mins(1), "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Checks that every day in the range has all its slots, each once.
async fn nothing_is_half_made(server: &Client, room: u64, first: Date, last: Date) {
    let slots = server.slots(room, first, last).await.unwrap();
    let days = usize::try_from(first.until(last).unwrap().get_days()).unwrap() + 1;
    assert_eq!(slots.len(), days * SLOTS_PER_DAY, "room {room}, {days} days");
    let names: BTreeSet<_> = slots.iter().map(|slot| (slot.date, slot.time.clone())).collect();
    assert_eq!(names.len(), slots.len(), "slots are unique");
}

/// Returns the number of slots created according to the room's log.
async fn logged(server: &Client, room: u64) -> u64 {
    let path = format!("/v1/rooms/{room}/generations?limit=500");
    let log: Value = server.request("GET".parse().unwrap(), &path).send().await.unwrap().json().await.unwrap();
    log["items"].as_array().unwrap().iter().map(|entry| entry["slotsCreated"].as_u64().unwrap()).sum()
}

async fn killed_while_slots_are_taken_off_sale(start: impl Fn() -> Process, room: u64, date: Date) {
    let mut process = start();
    let times: Vec<String> =
        process.client().slots(room, date, date).await.unwrap().into_iter().map(|it| it.time).collect();
    let body = json!({"date": date, "times": times, "status": "MAINTENANCE"}).to_string();
    let (mut done, mut undone) = (0, 0);
    // Kills before the command starts, during it, and after it is done.
    for wait_ms in [0, 4, 8, 16, 40, 160] {
        let server = process.client();
        let blocking = server.request("POST".parse().unwrap(), &format!("/v1/rooms/{room}/block")).body(body.clone());
        let blocking = tokio::spawn(blocking.send());
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        process.kill_9();
        let told = blocking.await.unwrap().is_ok_and(|answer| answer.status().is_success());

        process = start();
        let server = process.client();
        let mut statuses = BTreeSet::new();
        // The next server resolves an unfinished attempt.
        until("no slot is locked by an abandoned attempt", async || {
            let slots = server.slots(room, date, date).await.unwrap();
            statuses = slots.iter().map(|slot| format!("{:?}", slot.status)).collect();
            slots.iter().all(|slot| slot.status != SlotStatus::Locked)
        })
        .await;
        let statuses: Vec<&str> = statuses.iter().map(String::as_str).collect();
        match (&*statuses, told) {
            (["Maintenance"], _) => done += 1,
            (["Available"], false) => undone += 1,
            other => panic!("all or none, and answered only if committed: {other:?}"),
        }
        // Killed between recording and finishing, the attempt is in doubt until the next server resolves it; until
        // then: "try again".
        until("they are back on sale", async || {
            let unblock = server.request("POST".parse().unwrap(), &format!("/v1/rooms/{room}/unblock"));
            let answer = unblock.body(body.clone()).send().await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap());
            assert!(status.is_success() || text.contains("LOCK_TIMEOUT"), "{text}");
            status.is_success()
        })
        .await;
    }
    println!("killed during slot blocking: committed {done} times, without effect {undone} times");
    let lock = process.client().as_user(1).lock_slots(room, date, &["12:00"]).await.unwrap();
    process.client().as_user(1).confirm_lock(lock.lock_id).await.unwrap();
    process.kill_9();
}

/// Changes through one server are visible through the other at once: no stale cache exists.
#[tokio::test(flavor = "multi_thread")]
async fn change_is_visible_through_other_server() {
    let (database, prefix) = (postgres().database(), redis().prefix());
    let args = ["--database-url", database.url(), "--redis-url", redis().url()];
    let environment = [("HOLDFAST_REDIS_PREFIX", prefix.as_str())];
    let (first, second) = (Process::start_with(&args, &environment), Process::start_with(&args, &environment));
    let tomorrow = today(&first.client()).await.tomorrow().unwrap();
    let (room, times) = (1, ["09:00", "10:00"]);
    for round in 0..20 {
        let (one, other) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        let (one, other) = (one.client().as_user(1), other.client().as_user(2));
        let seen = async || other.slot_availability(room, tomorrow, &times).await.unwrap().result;
        let shown = async || other.slots(room, tomorrow, tomorrow).await.unwrap()[0].status;
        assert_eq!((seen().await, shown().await), (Available, SlotStatus::Available));
        let lock = one.lock_slots(room, tomorrow, &times).await.unwrap().lock_id;
        assert_eq!((seen().await, shown().await), (TemporarilyUnavailable, SlotStatus::Locked));
        one.release_lock(lock).await.unwrap();
        assert_eq!((seen().await, shown().await), (Available, SlotStatus::Available));
        let lock = one.lock_slots(room, tomorrow, &times).await.unwrap().lock_id;
        let reservation = one.confirm_lock(lock).await.unwrap().reservation_id;
        assert_eq!((seen().await, shown().await), (Unavailable, SlotStatus::Reserved));
        one.cancel_room_reservation(reservation).await.unwrap();
        assert_eq!((seen().await, shown().await), (Available, SlotStatus::Available));
        let body = json!({"date": tomorrow, "times": times, "status": "BLOCKED"}).to_string();
        for (call, status) in [("block", SlotStatus::Blocked), ("unblock", SlotStatus::Available)] {
            let path = format!("/v1/rooms/{room}/{call}");
            let admin = Client::new(if round % 2 == 0 { &first.url } else { &second.url });
            let answer = admin.request("POST".parse().unwrap(), &path).body(body.clone()).send().await.unwrap();
            assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
            assert_eq!(shown().await, status);
        }
    }
}
