//! Calendar job, and constraints of the database.

use std::time::Duration;

use holdfast_client::RoomReservationStatus;
use holdfast_core::time::Span;
use holdfast_testkit::{Place, Profile, profiles};
use serde_json::json;

use crate::calendar_support::mornings;
use crate::support::{TODAY, TestApp, day, with_app, with_settings};

/// Waits for a condition; the job reads the clock every second.
async fn soon(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..100 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never happened: {what}");
}

async fn generated_until(app: &TestApp, room: u64) -> jiff::civil::Date {
    app.admin().room(room).await.unwrap().generated_until.unwrap()
}

profiles!(midnight_job_generates_missing_days);
async fn midnight_job_generates_missing_days(profile: Profile) {
    with_app(profile, async |app| {
        let seoul = app.room().await;
        let new_york = app.room_with(&json!({"timeZone": "America/New_York"}), &mornings()).await;
        // It is 22:00 of the day before in New York, and noon in Seoul.
        assert_eq!(generated_until(app, new_york).await, day(59));
        app.pass(Span::from_hours(2));
        soon("midnight in New York", async || generated_until(app, new_york).await == day(60)).await;
        assert_eq!(generated_until(app, seoul).await, day(60), "it is afternoon in Seoul");
        app.pass(Span::from_hours(10));
        soon("midnight in Seoul", async || generated_until(app, seoul).await == day(61)).await;
        assert_eq!(app.times_on(seoul, day(61)).await.len(), 3);
        // The server was down for five days.
        app.pass(Span::from_hours(5 * 24));
        soon("five days later", async || generated_until(app, seoul).await == day(66)).await;
        assert_eq!(app.admin().slots(seoul, TODAY, day(66)).await.unwrap().len(), 67 * 3, "no hole");
    })
    .await;
}

profiles!(first_hours_get_slots_within_a_minute);
async fn first_hours_get_slots_within_a_minute(profile: Profile) {
    with_app(profile, async |app| {
        let made = app.json("POST", "/v1/rooms", &json!({"name": "회의실", "slotMinutes": 60, "basePrice": 1})).await;
        let room = made.json["id"].as_u64().unwrap();
        app.admin().set_operating_hours(room, &mornings()).await.unwrap();
        let unmade = app.admin().room(room).await.unwrap();
        assert_eq!(
            (unmade.generated_until, app.times_on(room, day(1)).await.len()),
            (None, 0),
            "hours alone generate none"
        );
        app.pass(Span::from_secs(20));
        // Time for the job to run.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        app.pass(Span::from_secs(20));
        soon("it has slots", async || app.times_on(room, TODAY).await == ["09:00", "10:00", "11:00"]).await;
        assert_eq!(app.admin().slots(room, TODAY, day(60)).await.unwrap().len(), 61 * 3);
    })
    .await;
}

/// Returns the number of slots created according to the room's log.
async fn logged(app: &TestApp, room: u64) -> u64 {
    let log = app.send("GET", &format!("/v1/rooms/{room}/generations"), &[], "").await;
    log.json["items"].as_array().unwrap().iter().map(|entry| entry["slotsCreated"].as_u64().unwrap()).sum()
}

profiles!(large_generation_runs_in_background);
async fn large_generation_runs_in_background(profile: Profile) {
    let at_once = |config: &mut holdfast_server::Config| config.calendar.generate_wait = Duration::ZERO;
    with_settings(profile, at_once, async |app| {
        let mut rooms = Vec::new();
        for _ in 0..3 {
            let room = json!({"name": "회의실", "slotMinutes": 10, "basePrice": 1});
            let room = app.json("POST", "/v1/rooms", &room).await.json["id"].as_u64().unwrap();
            app.admin().set_operating_hours(room, &mornings()).await.unwrap();
            rooms.push(room);
        }
        let until = day(100).to_string();
        let key = [("Idempotency-Key", "make them")];
        let body = json!({ "until": until }).to_string();
        let accepted = app.send("POST", "/v1/calendar/generate", &key, &body).await;
        assert_eq!(accepted.status, 202, "{}", accepted.text);
        // The progress so far: none, or a part.
        assert!(accepted.json["slotsCreated"].as_u64().unwrap() < 3 * 101 * 18, "{}", accepted.text);
        let replayed = app.send("POST", "/v1/calendar/generate", &key, &body).await;
        assert_eq!((replayed.status, replayed.header("idempotent-replayed")), (202, Some("true")));
        for room in &rooms {
            soon("its slots are made", async || {
                app.admin().room(*room).await.unwrap().generated_until == Some(day(100))
            })
            .await;
            assert_eq!(app.admin().slots(*room, day(10), day(101)).await.unwrap().len(), 91 * 18, "none is missing");
            assert_eq!(logged(app, *room).await, 101 * 18, "none was created twice");
        }
        // Invalid requests are rejected at once, not in the background, where the error would be lost.
        let unknown = app.json("POST", "/v1/calendar/generate", &json!({"roomId": 999})).await;
        assert_eq!(unknown.refusal(), (404, "ROOM_NOT_FOUND"));
        for until in [day(-1), day(367)] {
            let body = json!({"roomId": rooms[0], "until": until});
            let impossible = app.json("POST", "/v1/calendar/generate", &body).await;
            assert_eq!((impossible.refusal(), &impossible.json["field"]), ((400, "INVALID_INPUT"), &json!("until")));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_generate_slots_of_day_once() {
    with_app(Profile::Cluster, async |app: &TestApp| {
        let room = app.room().await;
        let others = [app.start_another().await, app.start_another().await];
        for days in 1..=3 {
            app.pass(Span::from_hours(24));
            soon("midnight", async || generated_until(app, room).await == day(60 + days)).await;
        }
        // Time for the jobs of all servers to run.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        let log = app.send("GET", &format!("/v1/rooms/{room}/generations"), &[], "").await;
        let made: Vec<_> = log.json["items"].as_array().unwrap().iter().map(|entry| &entry["slotsCreated"]).collect();
        assert_eq!(made, [&json!(183), &json!(3), &json!(3), &json!(3)]);
        assert_eq!(app.admin().slots(room, TODAY, day(63)).await.unwrap().len(), 64 * 3);
        for (other, engine) in others {
            other.stop();
            drop(other);
            tokio::task::spawn_blocking(move || engine.join().unwrap()).await.unwrap();
        }
    })
    .await;
}

profiles!(old_slots_are_purged_reservations_stay);
async fn old_slots_are_purged_reservations_stay(profile: Profile) {
    with_settings(
        profile,
        |config| config.calendar.keep_days = 2,
        async |app| {
            let room = app.room().await;
            let reservation = app.reserved(1, room, day(1), &["09:00"]).await;
            app.pass(Span::from_hours(6 * 24));
            soon("the first four days are cleared", async || {
                app.admin().slots(room, TODAY, day(3)).await.unwrap().is_empty()
            })
            .await;
            assert_eq!(app.times_on(room, day(4)).await.len(), 3, "two days are kept");
            let kept = app.guest(1).room_reservation(reservation).await.unwrap();
            assert_eq!((kept.status, kept.total_price), (RoomReservationStatus::Reserved, 10_000));
            let stats =
                app.send("GET", &format!("/v1/rooms/{room}/stats?from={}&to={}", day(0), day(3)), &[], "").await;
            assert_eq!((&stats.json["totalSlots"], &stats.json["revenue"]), (&json!(0), &json!(10_000)));
            app.guest(1).cancel_room_reservation(reservation).await.unwrap();
        },
    )
    .await;
}

profiles!(slot_rebuild_resumes_when_lock_ends);
async fn slot_rebuild_resumes_when_lock_ends(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        app.locked(1, room, day(1), &["10:00"]).await;
        app.admin().set_operating_hours(room, &crate::calendar_support::every_day("09:30", "12:30")).await.unwrap();
        assert_eq!(app.times_on(room, day(1)).await, ["10:00", "11:30"]);
        app.pass(Span::from_secs(330));
        soon("the slots are those of the new hours", async || {
            app.times_on(room, day(1)).await == ["09:30", "10:30", "11:30"]
        })
        .await;
    })
    .await;
}

/// Statements that no rule would ever issue.
const FORBIDDEN: [&str; 4] = [
    "UPDATE time_slots SET status = 'AVAILABLE', reservation_id = NULL WHERE reservation_id IS NOT NULL",
    "UPDATE time_slots SET reservation_id = reservation_id + 1 WHERE reservation_id IS NOT NULL",
    "UPDATE time_slots SET final_price = 0 WHERE reservation_id IS NOT NULL",
    "DELETE FROM time_slots WHERE reservation_id IS NOT NULL",
];

#[tokio::test(flavor = "multi_thread")]
async fn database_protects_reserved_slots() {
    with_app(Profile::Embedded, async |app: &TestApp| {
        let room = app.room().await;
        let reservation = app.reserved(1, room, day(1), &["09:00"]).await;
        let file = rusqlite::Connection::open(app.file()).unwrap();
        file.busy_timeout(Duration::from_secs(5)).unwrap();
        for sql in FORBIDDEN {
            let refusal = file.execute_batch(sql).unwrap_err().to_string();
            assert!(refusal.contains("a reserved slot changes only by cancellation"), "{sql}: {refusal}");
        }
        drop(file);
        app.guest(1).cancel_room_reservation(reservation).await.unwrap();
    })
    .await;
    with_app(Profile::Postgres, async |app: &TestApp| {
        let room = app.room().await;
        let reservation = app.reserved(1, room, day(1), &["09:00"]).await;
        let Place::Postgres(database) = app.place() else { unreachable!("it is PostgreSQL") };
        let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for sql in FORBIDDEN {
            let refusal = client.batch_execute(sql).await.unwrap_err();
            let said = refusal.as_db_error().unwrap().message().to_owned();
            assert_eq!(said, "a reserved slot changes only by cancellation", "{sql}");
        }
        let parts = months(&client).await;
        assert_eq!(parts, ["time_slots_2027_03", "time_slots_2027_04"], "one part for each month");
        app.guest(1).cancel_room_reservation(reservation).await.unwrap();
    })
    .await;
}

/// Returns the partitions of the table, one per month.
async fn months(client: &tokio_postgres::Client) -> Vec<String> {
    let parts = "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = 'time_slots'::regclass ORDER BY 1";
    client.query(parts, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

profiles!(empty_month_partitions_are_dropped: postgres redis_cluster);
async fn empty_month_partitions_are_dropped(profile: Profile) {
    with_settings(
        profile,
        |config| config.calendar.keep_days = 2,
        async |app: &TestApp| {
            let room = app.room().await;
            let url = match app.place() {
                Place::Postgres(database) | Place::Cluster { database, .. } => database.url(),
                Place::Embedded(_) => unreachable!("it is PostgreSQL"),
            };
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            let reservation = app.reserved(1, room, day(30), &["09:00"]).await;
            // On the third of April, all of March is past.
            app.pass(Span::from_hours(33 * 24));
            soon("March is purged", async || app.admin().slots(room, TODAY, day(30)).await.unwrap().is_empty()).await;
            app.purge().await;
            assert_eq!(months(&client).await, ["time_slots_2027_04", "time_slots_2027_05", "time_slots_2027_06"]);
            assert_eq!(app.times_on(room, day(33)).await.len(), 3);
            assert_eq!(app.guest(1).room_reservation(reservation).await.unwrap().total_price, 10_000);
        },
    )
    .await;
}
