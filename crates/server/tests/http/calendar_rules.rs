//! Conventions of the API for the calendar: permissions, invalid input, idempotency, lists, events.

use holdfast_client::LockStatus;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::auth::{caller, with_auth};
use crate::calendar_support::mornings;
use crate::stream::Listening;
use crate::support::{TestApp, code, day, refused, with_app, with_settings};

profiles!(calendar_calls_check_role_and_owner);
async fn calendar_calls_check_role_and_owner(profile: Profile) {
    with_auth(profile, async |app| {
        let admin = caller(app, "1", "admin");
        let (user, other) = (caller(app, "7", "user"), caller(app, "8", "user"));
        let room = admin.create_room(&holdfast_client::NewRoom::new("A", 60, 10_000)).await.unwrap().id;
        admin.set_operating_hours(room, &mornings()).await.unwrap();
        let send = async |client: &holdfast_client::Client, method: &str, path: &str, body: &Value| {
            let request = client.request(method.parse().unwrap(), path).json(body);
            request.send().await.unwrap().status().as_u16()
        };
        let room_path = format!("/v1/rooms/{room}");
        for (method, path, body) in [
            ("POST", "/v1/rooms".to_owned(), json!({"name": "B", "slotMinutes": 60, "basePrice": 1})),
            ("PATCH", room_path.clone(), json!({})),
            ("PUT", format!("{room_path}/operating-hours"), mornings()),
            ("PUT", "/v1/holidays".to_owned(), json!({"dates": []})),
            ("POST", "/v1/calendar/generate".to_owned(), json!({})),
            ("POST", format!("{room_path}/block"), json!({"date": day(1), "times": ["11:00"], "status": "BLOCKED"})),
            ("POST", format!("{room_path}/unblock"), json!({"date": day(1), "times": ["11:00"]})),
            ("POST", format!("{room_path}/reprice"), json!({"from": day(1), "to": day(1)})),
            ("GET", format!("{room_path}/stats?from={}&to={}", day(1), day(1)), json!({})),
        ] {
            assert_eq!(send(&app.admin(), method, &path, &body).await, 401, "{method} {path}");
            assert_eq!(send(&user, method, &path, &body).await, 403, "{method} {path}");
            assert!(send(&admin, method, &path, &body).await < 300, "{method} {path}");
        }
        let lock = user.lock_slots(room, day(1), &["09:00"]).await.unwrap();
        assert_eq!(lock.user_id, 7.into());
        assert_eq!(code(other.lock(lock.lock_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(other.confirm_lock(lock.lock_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(other.release_lock(lock.lock_id).await), refused(403, "FORBIDDEN"));
        let reservation = user.confirm_lock(lock.lock_id).await.unwrap().reservation_id;
        assert_eq!(code(other.room_reservation(reservation).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(other.cancel_room_reservation(reservation).await), refused(403, "FORBIDDEN"));
        assert_eq!(other.room_reservations(&[]).await.unwrap().items.len(), 0);
        assert_eq!(user.room_reservations(&[]).await.unwrap().items.len(), 1);
        let theirs = [("userId", "7".to_owned())];
        assert_eq!(code(other.room_reservations(&theirs).await), refused(403, "FORBIDDEN"));
        assert_eq!(admin.room_reservations(&theirs).await.unwrap().items.len(), 1);
        admin.cancel_room_reservation(reservation).await.unwrap();
    })
    .await;
}

profiles!(invalid_calendar_input_names_field);
async fn invalid_calendar_input_names_field(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let new = |more: Value| {
            let mut room = json!({"name": "A", "slotMinutes": 60, "basePrice": 1});
            room.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            room
        };
        let peak = |days: Value, from: &str, to: &str, percent: Value| {
            new(json!({"peak": [{"days": days, "from": from, "to": to, "percent": percent}]}))
        };
        let weekly = |day: &str, from: &str, to: &str| json!({"weekly": {day: [{"from": from, "to": to}]}});
        let (rooms, hours) = ("/v1/rooms".to_owned(), format!("/v1/rooms/{room}/operating-hours"));
        let (locks, asks) = (format!("/v1/rooms/{room}/locks?userId=1"), format!("/v1/rooms/{room}/availability"));
        let many: Vec<String> = (0..101).map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60)).collect();
        for (method, path, body, field) in [
            ("POST", &rooms, json!({"slotMinutes": 60, "basePrice": 1}), "name"),
            ("POST", &rooms, new(json!({"name": " "})), "name"),
            ("POST", &rooms, new(json!({"slotMinutes": 4})), "slotMinutes"),
            ("POST", &rooms, new(json!({"slotMinutes": 1_441})), "slotMinutes"),
            ("POST", &rooms, new(json!({"slotMinutes": "60"})), "slotMinutes"),
            ("POST", &rooms, new(json!({"basePrice": -1})), "basePrice"),
            ("POST", &rooms, new(json!({"timeZone": "Mars/Base"})), "timeZone"),
            ("POST", &rooms, new(json!({"country": "kr"})), "country"),
            ("POST", &rooms, new(json!({"currency": "won"})), "currency"),
            ("POST", &rooms, new(json!({"holidayPercent": 1_001})), "holidayPercent"),
            ("POST", &rooms, peak(json!(["monday"]), "09:00", "10:00", json!(50)), "peak"),
            ("POST", &rooms, peak(json!([]), "09:00", "10:00", json!(50)), "peak"),
            ("POST", &rooms, peak(json!(["mon"]), "9:00", "10:00", json!(50)), "peak"),
            ("POST", &rooms, peak(json!(["mon"]), "09:00", "10:00", json!(1_001)), "peak"),
            ("PUT", &hours, weekly("monday", "09:00", "10:00"), "weekly"),
            ("PUT", &hours, weekly("mon", "24:00", "10:00"), "weekly"),
            ("PUT", &hours, weekly("mon", "10:00", "10:00"), "weekly"),
            ("PUT", &hours, weekly("mon", "10:00", "24:01"), "weekly"),
            ("PUT", &hours, json!({}), "weekly"),
            ("PUT", &hours, json!({"weekly": {}, "exceptions": [{"date": "2027-02-30", "hours": []}]}), "exceptions"),
            ("PUT", &"/v1/holidays".to_owned(), json!({"dates": ["2027-13-01"]}), "dates"),
            ("PUT", &"/v1/holidays".to_owned(), json!({"country": "Korea", "dates": []}), "country"),
            ("POST", &locks, json!({"times": ["09:00"]}), "date"),
            ("POST", &locks, json!({"date": day(1)}), "times"),
            ("POST", &locks, json!({"date": day(1), "times": []}), "times"),
            ("POST", &locks, json!({"date": day(1), "times": ["9"]}), "times"),
            ("POST", &locks, json!({"date": day(1), "times": ["24:00"]}), "times"),
            ("POST", &locks, json!({"date": day(1), "times": ["09:00", "09:00"]}), "times"),
            ("POST", &locks, json!({"date": day(1), "times": many}), "times"),
            ("POST", &locks, json!({"date": "1969-01-01", "times": ["09:00"]}), "date"),
            ("POST", &locks, json!({"date": day(1), "times": ["09:00"], "slots": []}), "slots"),
            ("POST", &asks, json!({"date": day(1)}), "times"),
            ("POST", &asks, json!({"slots": [{"date": "x", "time": "09:00"}]}), "slots"),
        ] {
            let answer = app.json(method, path, &body).await;
            assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!(field)), "{body}");
        }
        for (path, field) in [
            (format!("/v1/rooms/{room}/slots"), "date"),
            (format!("/v1/rooms/{room}/slots?from={}", day(1)), "to"),
            (format!("/v1/rooms/{room}/slots?from={}&to={}", day(0), day(92)), "to"),
            (format!("/v1/rooms/{room}/slots?from={}&to={}", day(1), day(0)), "to"),
            (format!("/v1/rooms/{room}/slots?date=today"), "date"),
            ("/v1/rooms/0/slots?date=2027-03-01".to_owned(), "id"),
            ("/v1/room-reservations?roomId=x".to_owned(), "roomId"),
            ("/v1/locks/7?userId=1".to_owned(), "lockId"),
        ] {
            let answer = app.send("GET", &path, &[], "").await;
            assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!(field)), "{path}");
        }
        for path in [
            "/v1/rooms/99",
            "/v1/rooms/99/slots?date=2027-03-01",
            "/v1/rooms/99/operating-hours",
            "/v1/rooms/99/generations",
            "/v1/rooms/99/stats?from=2027-03-01&to=2027-03-01",
        ] {
            assert_eq!(app.send("GET", path, &[], "").await.refusal(), (404, "ROOM_NOT_FOUND"), "{path}");
        }
        let unknown = app.send("GET", "/v1/room-reservations/99?userId=1", &[], "").await;
        assert_eq!(unknown.refusal(), (404, "RESERVATION_NOT_FOUND"));
        let unnamed =
            app.json("POST", &format!("/v1/rooms/{room}/locks"), &json!({"date": day(1), "times": ["09:00"]})).await;
        assert_eq!((unnamed.refusal(), &unnamed.json["field"]), ((400, "INVALID_INPUT"), &json!("userId")));
    })
    .await;
}

profiles!(calendar_retry_replays_response);
async fn calendar_retry_replays_response(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let again = async |method: &str, path: &str, body: &Value, status: u16| {
            let key = [("idempotency-key", format!("{method} {path}"))];
            let headers: Vec<(&str, &str)> = key.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let first = app.send(method, path, &headers, &body.to_string()).await;
            let second = app.send(method, path, &headers, &body.to_string()).await;
            assert_eq!((first.status, second.status), (status, status), "{}", first.text);
            assert_eq!(first.text, second.text);
            assert_eq!(
                (first.header("idempotent-replayed"), second.header("idempotent-replayed")),
                (None, Some("true"))
            );
            let other = app.send(method, path, &headers, "{\"other\":1}").await;
            assert_eq!(other.status, if other.json["code"] == "INVALID_INPUT" { 400 } else { 422 }, "{}", other.text);
            first.json
        };
        again("POST", "/v1/rooms", &json!({"name": "B", "slotMinutes": 60, "basePrice": 1}), 201).await;
        again(
            "PUT",
            &format!("/v1/rooms/{room}/operating-hours"),
            &crate::calendar_support::every_day("09:00", "13:00"),
            200,
        )
        .await;
        let made = again("POST", "/v1/calendar/generate", &json!({"roomId": room, "until": day(70)}), 200).await;
        assert_eq!(made["slotsCreated"], json!(41), "one more today, and ten days");
        let lock = json!({"userId": 5, "date": day(1), "times": ["09:00"]});
        let lock = again("POST", &format!("/v1/rooms/{room}/locks"), &lock, 201).await;
        let confirm = format!("/v1/locks/{}/confirm", lock["lockId"].as_str().unwrap());
        let reservation = again("POST", &confirm, &json!({"userId": 5}), 201).await;
        let cancel = format!("/v1/room-reservations/{}/cancel", reservation["reservationId"]);
        again("POST", &cancel, &json!({"userId": 5}), 200).await;
        let block = json!({"date": day(1), "times": ["09:00"], "status": "BLOCKED"});
        again("POST", &format!("/v1/rooms/{room}/block"), &block, 200).await;
        again("POST", &format!("/v1/rooms/{room}/reprice"), &json!({"from": day(1), "to": day(2)}), 200).await;
    })
    .await;
}

profiles!(calendar_lists_are_paged);
async fn calendar_lists_are_paged(profile: Profile) {
    with_app(profile, async |app| {
        for name in ["A", "B", "C"] {
            app.json("POST", "/v1/rooms", &json!({"name": name, "slotMinutes": 60, "basePrice": 1})).await;
        }
        let page = app.send("GET", "/v1/rooms?limit=2", &[], "").await.json;
        assert_eq!(page["items"].as_array().unwrap().len(), 2);
        let cursor = page["nextCursor"].as_str().unwrap();
        let rest = app.send("GET", &format!("/v1/rooms?limit=2&cursor={cursor}"), &[], "").await.json;
        assert_eq!((&rest["items"][0]["name"], &rest["nextCursor"]), (&json!("C"), &Value::Null));

        let (one, two) = (app.room().await, app.room().await);
        for (user, room, days) in [(1, one, 1), (2, one, 2), (1, two, 1), (1, one, 3)] {
            app.reserved(user, room, day(days), &["09:00"]).await;
        }
        let count = async |query: &[(&str, String)]| app.admin().room_reservations(query).await.unwrap().items.len();
        assert_eq!(count(&[]).await, 4);
        assert_eq!(count(&[("userId", "1".into())]).await, 3);
        assert_eq!(count(&[("roomId", one.to_string())]).await, 3);
        assert_eq!(count(&[("userId", "1".into()), ("roomId", one.to_string())]).await, 2);
        let first = app.admin().room_reservations(&[("roomId", one.to_string()), ("limit", "2".into())]).await.unwrap();
        let cursor = first.next_cursor.unwrap();
        let query = [("roomId", one.to_string()), ("limit", "2".into()), ("cursor", cursor)];
        let rest = app.admin().room_reservations(&query).await.unwrap();
        assert_eq!((rest.items.len(), rest.next_cursor), (1, None));
        app.admin().generate_slots(Some(one), Some(day(61))).await.unwrap();
        let log = app.send("GET", &format!("/v1/rooms/{one}/generations?limit=1"), &[], "").await.json;
        let cursor = log["nextCursor"].as_str().unwrap();
        let rest = app.send("GET", &format!("/v1/rooms/{one}/generations?limit=1&cursor={cursor}"), &[], "").await.json;
        assert_eq!((&rest["items"][0]["slotsCreated"], &rest["nextCursor"]), (&json!(3), &Value::Null));
    })
    .await;
}

profiles!(live_locks_per_user_are_limited);
async fn live_locks_per_user_are_limited(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.holds_per_user_max = 2,
        async |app: &TestApp| {
            let room = app.room().await;
            app.locked(1, room, day(1), &["09:00"]).await;
            let second = app.locked(1, room, day(1), &["10:00"]).await;
            let third = app.guest(1).lock_slots(room, day(1), &["11:00"]).await;
            assert_eq!(code(third), refused(429, "TOO_MANY_HOLDS"));
            app.locked(1, room, day(1), &["10:00", "11:00"]).await;
            assert_eq!(app.guest(1).lock(second.lock_id).await.unwrap().status, LockStatus::Replaced);
        },
    )
    .await;
}

profiles!(calendar_changes_are_published);
async fn calendar_changes_are_published(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let mut all = Listening::open(&app.admin(), "?types=room.slot.", None).await;
        let mut theirs = Listening::open(&app.guest(2), "?types=room.", None).await;
        let lock = app.locked(1, room, day(1), &["09:00"]).await;
        app.guest(1).release_lock(lock.lock_id).await.unwrap();
        let reservation = app.reserved(2, room, day(1), &["09:00"]).await;
        app.guest(2).cancel_room_reservation(reservation).await.unwrap();
        let body = json!({"date": day(1), "times": ["11:00"], "status": "MAINTENANCE"});
        app.json("POST", &format!("/v1/rooms/{room}/block"), &body).await;
        let (_, first) = all.next().await;
        assert_eq!((&first["type"], &first["data"]["lockId"]), (&json!("room.slot.locked"), &json!(lock.lock_id)));
        let rest = ["released", "locked", "reserved", "cancelled", "blocked"].map(|end| format!("room.slot.{end}"));
        for expected in &rest[..4] {
            assert_eq!(all.next().await.1["type"], json!(expected));
        }
        let (_, blocked) = all.next().await;
        assert_eq!(blocked["type"], json!(rest[4]));
        let data = json!({"roomId": room, "slots": [{"date": day(1), "time": "11:00"}], "status": "MAINTENANCE"});
        assert_eq!(blocked["data"], data);
        for expected in ["room.slot.locked", "room.slot.reserved", "room.slot.cancelled"] {
            assert_eq!(theirs.next().await.1["type"], json!(expected));
        }
    })
    .await;
}
