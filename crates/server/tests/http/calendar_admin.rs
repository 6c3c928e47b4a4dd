//! Administration of rooms: hours, blocks, prices, holidays, statistics.

use holdfast_client::SlotStatus::{Available, Blocked, Locked, Maintenance, Reserved};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::calendar_support::{every_day, mornings};
use crate::support::{TODAY, code, day, refused, with_app, with_settings};

profiles!(new_hours_keep_slots_in_use);
async fn new_hours_keep_slots_in_use(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let lock = app.locked(1, room, day(1), &["09:00"]).await;
        let early = app.reserved(2, room, day(1), &["10:00"]).await;
        let body = json!({"date": day(2), "times": ["09:00"], "status": "BLOCKED"});
        app.json("POST", &format!("/v1/rooms/{room}/block"), &body).await;
        let inside = app.reserved(3, room, day(2), &["11:00"]).await;

        let affected = app.admin().set_operating_hours(room, &every_day("10:30", "13:30")).await.unwrap();
        assert_eq!(affected, [early], "reservation {inside} is still within the hours");
        assert_eq!(app.times_on(room, TODAY).await, ["09:00", "10:00", "11:00"], "today stays");
        assert_eq!(
            app.times_on(room, day(1)).await,
            ["09:00", "10:00", "11:30", "12:30"],
            "none overlaps one that stays"
        );
        assert_eq!(app.statuses_on(room, day(1)).await, [Locked, Reserved, Available, Available]);
        assert_eq!(app.statuses_on(room, day(2)).await, [Blocked, Reserved, Available]);
        assert_eq!(app.times_on(room, day(3)).await, ["10:30", "11:30", "12:30"]);

        // A kept slot outside the present hours disappears when it becomes free.
        app.guest(2).cancel_room_reservation(early).await.unwrap();
        app.guest(1).release_lock(lock.lock_id).await.unwrap();
        app.json("POST", &format!("/v1/rooms/{room}/unblock"), &json!({"date": day(2), "times": ["09:00"]})).await;
        assert_eq!(app.times_on(room, day(1)).await, ["11:30", "12:30"]);
        assert_eq!(app.times_on(room, day(2)).await, ["11:00", "12:30"]);
        let gone = app.guest(1).lock_slots(room, day(1), &["09:00"]).await;
        assert_eq!(code(gone), refused(409, "SLOT_NOT_AVAILABLE"));
    })
    .await;
}

profiles!(large_rebuild_is_split_and_reported_once);
async fn large_rebuild_is_split_and_reported_once(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room_with(&json!({"slotMinutes": 10}), &every_day("00:00", "24:00")).await;
        let last = app.reserved(1, room, day(60), &["23:00"]).await;
        let first = app.reserved(1, room, day(1), &["23:00"]).await;
        let affected = app.admin().set_operating_hours(room, &every_day("00:00", "12:00")).await.unwrap();
        assert_eq!(affected, [last, first]);
        assert_eq!(app.times_on(room, day(59)).await.len(), 72);
        assert_eq!(app.times_on(room, day(60)).await.len(), 73);
    })
    .await;
}

profiles!(slots_are_blocked_all_or_none);
async fn slots_are_blocked_all_or_none(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let block = async |times: &[&str], status: &str| {
            let body = json!({"date": day(1), "times": times, "status": status});
            app.json("POST", &format!("/v1/rooms/{room}/block"), &body).await
        };
        app.locked(1, room, day(1), &["10:00"]).await;
        let refusal = block(&["09:00", "10:00"], "BLOCKED").await;
        assert_eq!(refusal.refusal(), (409, "SLOT_NOT_AVAILABLE"));
        assert_eq!(refusal.json["time"], json!("10:00"));
        assert_eq!(app.statuses_on(room, day(1)).await, [Available, Locked, Available]);
        let blocked = block(&["09:00", "11:00"], "BLOCKED").await;
        assert_eq!((blocked.status, blocked.json.as_array().unwrap().len()), (200, 2));
        assert_eq!(block(&["11:00"], "MAINTENANCE").await.json[0]["status"], json!("MAINTENANCE"));
        assert_eq!(app.statuses_on(room, day(1)).await, [Blocked, Locked, Maintenance]);
        assert_eq!(block(&["09:30"], "BLOCKED").await.refusal(), (404, "SLOT_NOT_FOUND"));
        assert_eq!(block(&["09:00"], "RESERVED").await.refusal(), (400, "INVALID_INPUT"));
        for time in ["09:00", "11:00"] {
            let lost = app.guest(2).lock_slots(room, day(1), &[time]).await;
            assert_eq!(code(lost), refused(409, "SLOT_NOT_AVAILABLE"));
        }
        let unblock = json!({"date": day(1), "times": ["09:00", "11:00"]});
        let back = app.json("POST", &format!("/v1/rooms/{room}/unblock"), &unblock).await;
        assert_eq!(back.json[0]["status"], json!("AVAILABLE"));
        assert_eq!(app.statuses_on(room, day(1)).await, [Available, Locked, Available]);
        app.pass(Span::from_secs(300));
        app.reserved(3, room, day(1), &["10:00"]).await;
        assert_eq!(block(&["10:00"], "BLOCKED").await.refusal(), (409, "SLOT_NOT_AVAILABLE"));
    })
    .await;
}

profiles!(slot_prices_stay_until_repricing);
async fn slot_prices_stay_until_repricing(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        app.locked(1, room, day(1), &["09:00"]).await;
        app.reserved(2, room, day(1), &["10:00"]).await;
        let change = json!({"basePrice": 12_345, "holidayPercent": 10});
        let changed = app.json("PATCH", &format!("/v1/rooms/{room}"), &change).await;
        assert_eq!((changed.status, &changed.json["basePrice"]), (200, &json!(12_345)));
        let holidays = app.json("PUT", "/v1/holidays", &json!({"dates": [day(2), day(1), day(2)]})).await;
        assert_eq!(holidays.json, json!({"country": "KR", "dates": [day(1), day(2)]}));
        assert_eq!(app.send("GET", "/v1/holidays", &[], "").await.json, holidays.json);
        assert_eq!(app.send("GET", "/v1/holidays?country=DE", &[], "").await.json["dates"], json!([]));
        let prices =
            async |date| app.slots_on(room, date).await.iter().map(|slot| slot.final_price).collect::<Vec<_>>();
        assert_eq!(prices(day(1)).await, [10_000; 3]);
        let repriced =
            app.json("POST", &format!("/v1/rooms/{room}/reprice"), &json!({"from": day(1), "to": day(3)})).await;
        assert_eq!((repriced.status, &repriced.json["slotsRepriced"]), (200, &json!(7)));
        // 12,345 plus ten percent is 13,579.5: half is rounded up.
        assert_eq!(prices(day(1)).await, [10_000, 10_000, 13_580]);
        assert_eq!(prices(day(3)).await, [12_345; 3]);
        assert_eq!(prices(day(4)).await, [10_000; 3]);
    })
    .await;
}

profiles!(inactive_room_gets_no_slots);
async fn inactive_room_gets_no_slots(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room_with(&json!({"active": false}), &mornings()).await;
        assert_eq!(app.admin().slots(room, TODAY, day(60)).await.unwrap(), []);
        let generated = app.admin().generate_slots(Some(room), None).await.unwrap();
        assert_eq!(generated.slots_created, 0);
        app.json("PATCH", &format!("/v1/rooms/{room}"), &json!({"active": true})).await;
        app.admin().generate_slots(Some(room), None).await.unwrap();
        assert_eq!(app.admin().slots(room, TODAY, day(60)).await.unwrap().len(), 61 * 3);
        let fixed = app.json("PATCH", &format!("/v1/rooms/{room}"), &json!({"timeZone": "Europe/Berlin"})).await;
        assert_eq!((fixed.refusal(), &fixed.json["field"]), ((400, "INVALID_INPUT"), &json!("timeZone")));
    })
    .await;
}

profiles!(date_out_of_range_in_one_zone_skips_room_only);
async fn date_out_of_range_in_one_zone_skips_room_only(profile: Profile) {
    with_app(profile, async |app| {
        let behind = app.room_with(&json!({"timeZone": "Pacific/Pago_Pago"}), &mornings()).await;
        let seoul = app.room().await;
        let last = day(366);
        let generate = async |until: jiff::civil::Date| {
            app.json("POST", "/v1/calendar/generate", &json!({"until": until.to_string()})).await
        };
        assert_eq!(generate(last).await.status, 200, "the calendar of one zone starts a day later");
        assert_eq!((app.times_on(seoul, last).await.len(), app.times_on(behind, last).await.len()), (3, 0));
        for nowhere in [day(-2), day(367), day(368)] {
            assert_eq!(generate(nowhere).await.refusal(), (400, "INVALID_INPUT"), "{nowhere}");
        }
    })
    .await;
}

profiles!(slots_are_generated_until_given_date);
async fn slots_are_generated_until_given_date(profile: Profile) {
    with_settings(
        profile,
        |config| config.calendar.days_ahead = 3,
        async |app| {
            let room = app.room().await;
            assert_eq!(app.admin().slots(room, TODAY, day(60)).await.unwrap().len(), 4 * 3);
            let more = app.admin().generate_slots(None, Some(day(10))).await.unwrap();
            assert_eq!((more.slots_created, more.generated_until), (7 * 3, Some(day(10))));
            let wrong = async |body: Value| {
                let answer = app.json("POST", "/v1/calendar/generate", &body).await;
                (answer.status, answer.json["field"].as_str().unwrap_or_default().to_owned())
            };
            assert_eq!(wrong(json!({"roomId": room, "until": day(-1)})).await, (400, "until".into()));
            assert_eq!(wrong(json!({"roomId": room, "until": day(367)})).await, (400, "until".into()));
            assert_eq!(wrong(json!({"until": "soon"})).await, (400, "until".into()));
            assert_eq!(wrong(json!({"roomId": 0})).await, (400, "roomId".into()));
            let unknown = app.json("POST", "/v1/calendar/generate", &json!({"roomId": 99})).await;
            assert_eq!(unknown.refusal(), (404, "ROOM_NOT_FOUND"));
            assert_eq!(app.send("POST", "/v1/calendar/generate", &[], "").await.status, 200, "the body is optional");
        },
    )
    .await;
}

profiles!(statistics_count_sold_slots);
async fn statistics_count_sold_slots(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        app.reserved(1, room, day(1), &["09:00", "10:00"]).await;
        app.reserved(2, room, day(2), &["09:00"]).await;
        let cancelled = app.reserved(3, room, day(2), &["11:00"]).await;
        app.guest(3).cancel_room_reservation(cancelled).await.unwrap();
        let stats = app.send("GET", &format!("/v1/rooms/{room}/stats?from={}&to={}", day(1), day(2)), &[], "").await;
        let sold = |total: u32, reserved: u32, utilization: f64| {
            json!({"totalSlots": total, "reservedSlots": reserved, "utilization": utilization,
                "revenue": reserved * 10_000})
        };
        let part = |value: &Value| {
            let names = ["totalSlots", "reservedSlots", "utilization", "revenue"];
            Value::Object(names.into_iter().map(|name| (name.to_owned(), value[name].clone())).collect())
        };
        assert_eq!(part(&stats.json), sold(6, 3, 0.5));
        assert_eq!(stats.json["currency"], json!("KRW"));
        assert_eq!(stats.json["byDay"][0]["date"], json!(day(1)));
        assert_eq!(part(&stats.json["byDay"][1]), sold(3, 1, 1.0 / 3.0));
        assert_eq!(stats.json["byHour"].as_array().unwrap().len(), 24);
        assert_eq!(part(&stats.json["byHour"][9]), sold(2, 2, 1.0));
        assert_eq!(part(&stats.json["byHour"][11]), sold(2, 0, 0.0));
        let long = app.send("GET", &format!("/v1/rooms/{room}/stats?from={}&to={}", day(0), day(366)), &[], "").await;
        assert_eq!(long.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}
