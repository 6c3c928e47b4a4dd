//! Rooms, hours, slots and availability.

use holdfast_client::SlotAvailabilityResult::{Available, PartiallyAvailable, TemporarilyUnavailable, Unavailable};
use holdfast_client::SlotStatus;
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::calendar_support::{every_day, mornings};
use crate::support::{TODAY, day, with_app, with_restart};

profiles!(slot_generation_is_idempotent);
async fn slot_generation_is_idempotent(profile: Profile) {
    with_app(profile, async |app| {
        let made = app.json("POST", "/v1/rooms", &json!({"name": "A", "slotMinutes": 60, "basePrice": 1_000})).await;
        assert_eq!(made.status, 201);
        assert_eq!(
            made.json,
            json!({"id": 1, "name": "A", "timeZone": "Asia/Seoul", "country": "KR", "currency": "KRW",
                "slotMinutes": 60, "basePrice": 1_000, "peak": [], "holidayPercent": 0, "active": true,
                "generatedUntil": null})
        );
        let set = app.json("PUT", "/v1/rooms/1/operating-hours", &mornings()).await;
        assert_eq!((set.status, &set.json["affectedReservations"]), (200, &json!([])));
        assert_eq!(app.admin().slots(1, TODAY, day(60)).await.unwrap(), [], "hours alone generate no slots");
        let generated = app.json("POST", "/v1/calendar/generate", &json!({"roomId": 1})).await;
        assert_eq!((generated.status, &generated.json["slotsCreated"]), (200, &json!(183)));
        assert_eq!(generated.json["generatedUntil"], json!(day(60)));
        let again = app.json("POST", "/v1/calendar/generate", &json!({})).await;
        assert_eq!(again.json, json!({"slotsCreated": 0, "generatedUntil": day(60)}));
        for days in [0, 1, 60] {
            assert_eq!(app.times_on(1, day(days)).await, ["09:00", "10:00", "11:00"], "{days}");
        }
        assert_eq!(app.times_on(1, day(61)).await, [""; 0]);
        let log = app.send("GET", "/v1/rooms/1/generations", &[], "").await;
        let entries: Vec<_> = log.json["items"].as_array().unwrap().iter().map(|it| &it["slotsCreated"]).collect();
        assert_eq!(entries, [&json!(183)]);
        assert_eq!(log.json["items"][0]["generationDate"], json!(TODAY));
        assert_eq!(log.json["items"][0]["generatedUntil"], json!(day(60)));
    })
    .await;
}

profiles!(slot_list_has_price_and_status);
async fn slot_list_has_price_and_status(profile: Profile) {
    with_app(profile, async |app| {
        let peak = json!([{"days": ["mon", "tue"], "from": "10:00", "to": "11:00", "percent": 50}]);
        app.json("PUT", "/v1/holidays", &json!({"dates": [day(1)]})).await;
        let room = app.room_with(&json!({"peak": peak, "holidayPercent": 25}), &mornings()).await;
        let shown = app.send("GET", &format!("/v1/rooms/{room}/slots?date={}", day(1)), &[], "").await;
        let slot = |time: &str, price: i64, peak: bool| {
            json!({"date": day(1), "time": time, "minutes": 60, "status": "AVAILABLE", "basePrice": 10_000,
                "finalPrice": price, "currency": "KRW", "isPeakTime": peak, "isHoliday": true})
        };
        assert_eq!(
            shown.json,
            json!([slot("09:00", 12_500, false), slot("10:00", 17_500, true), slot("11:00", 12_500, false)])
        );

        app.locked(1, room, day(1), &["09:00"]).await;
        let reservation = app.reserved(2, room, day(1), &["10:00"]).await;
        let body = json!({"date": day(1), "times": ["11:00"], "status": "MAINTENANCE"});
        assert_eq!(app.json("POST", &format!("/v1/rooms/{room}/block"), &body).await.status, 200);
        let slots = app.slots_on(room, day(1)).await;
        let states: Vec<_> = slots.iter().map(|slot| (slot.status, slot.reservation_id)).collect();
        let expected =
            [(SlotStatus::Locked, None), (SlotStatus::Reserved, Some(reservation)), (SlotStatus::Maintenance, None)];
        assert_eq!(states, expected);
        assert_eq!(app.admin().slots(room, TODAY, day(60)).await.unwrap().len(), 61 * 3);
        assert_eq!(app.admin().slots(room, TODAY, day(91)).await.unwrap().len(), 61 * 3);
    })
    .await;
}

profiles!(hours_past_midnight_yield_whole_slots);
async fn hours_past_midnight_yield_whole_slots(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room_with(&json!({}), &every_day("09:00", "17:30")).await;
        assert_eq!(app.times_on(room, day(1)).await.last().unwrap(), "16:00");
        let late = app.room_with(&json!({}), &every_day("22:00", "02:00")).await;
        assert_eq!(app.times_on(late, day(3)).await, ["00:00", "01:00", "22:00", "23:00"]);
        let all_day = app.room_with(&json!({"slotMinutes": 720}), &every_day("00:00", "24:00")).await;
        assert_eq!(app.times_on(all_day, day(3)).await, ["00:00", "12:00"]);
        let closed = json!({"weekly": {"tue": [{"from": "09:00", "to": "11:00"}]},
            "exceptions": [{"date": day(1), "hours": []}, {"date": day(2), "hours": [{"from": "13:00", "to": "14:00"}]}]});
        let odd = app.room_with(&json!({}), &closed).await;
        assert_eq!(app.times_on(odd, day(1)).await, [""; 0], "an exception");
        assert_eq!(app.times_on(odd, day(2)).await, ["13:00"], "an exception");
        assert_eq!(app.times_on(odd, day(3)).await, [""; 0], "no hours");
        assert_eq!(app.times_on(odd, day(8)).await, ["09:00", "10:00"], "the next Tuesday");
        let shown = app.send("GET", &format!("/v1/rooms/{odd}/operating-hours"), &[], "").await;
        assert_eq!(shown.json["weekly"]["tue"], json!([{"from": "09:00", "to": "11:00"}]));
        assert_eq!(shown.json["weekly"]["mon"], json!([]));
        assert_eq!(shown.json["exceptions"][0], json!({"date": day(1), "hours": []}));
    })
    .await;
}

profiles!(clock_change_yields_each_valid_slot_once);
async fn clock_change_yields_each_valid_slot_once(profile: Profile) {
    with_app(profile, async |app| {
        // Europe: 28 March 2027, 02:00 becomes 03:00. New York: 14 March.
        for (zone, date) in [("Europe/Berlin", day(27)), ("America/New_York", day(13))] {
            let room = app.room_with(&json!({"timeZone": zone}), &every_day("00:00", "05:00")).await;
            assert_eq!(app.times_on(room, date).await, ["00:00", "01:00", "03:00", "04:00"], "{zone}");
        }
    })
    .await;
}

profiles!(availability_excludes_locks_of_others);
async fn availability_excludes_locks_of_others(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let ask = async |user: u64, times: &[&str]| {
            let shown = app.guest(user).slot_availability(room, day(1), times).await.unwrap();
            (shown.result, shown.total_price)
        };
        assert_eq!(ask(1, &["09:00", "10:00"]).await, (Available, 20_000));
        app.locked(1, room, day(1), &["09:00"]).await;
        assert_eq!(ask(1, &["09:00", "10:00"]).await, (Available, 20_000), "the caller's own lock");
        assert_eq!(ask(2, &["09:00", "10:00"]).await, (PartiallyAvailable, 10_000));
        assert_eq!(ask(2, &["09:00"]).await, (TemporarilyUnavailable, 0));
        let unnamed = app.admin().slot_availability(room, day(1), &["09:00"]).await.unwrap();
        assert_eq!(unnamed.result, TemporarilyUnavailable, "the caller has no user id");
        app.pass(Span::from_secs(300));
        assert_eq!(
            ask(2, &["09:00", "10:00"]).await,
            (Available, 20_000),
            "the slots of an expired lock are free at once"
        );
        app.reserved(3, room, day(1), &["10:00"]).await;
        assert_eq!(ask(2, &["09:00", "10:00"]).await.0, Unavailable, "reserved");
        assert_eq!(ask(2, &["09:30"]).await, (Unavailable, 0), "not existing");
        let past = app.guest(1).slot_availability(room, TODAY, &["09:00"]).await.unwrap();
        assert_eq!(past.result, Unavailable, "it is noon");
        let body = json!({"slots": [{"date": day(2), "time": "09:00"}, {"date": day(3), "time": "09:00"}]});
        let both = app.json("POST", &format!("/v1/rooms/{room}/availability"), &body).await;
        assert_eq!((&both.json["result"], &both.json["totalPrice"]), (&json!("AVAILABLE"), &json!(20_000)));
        assert_eq!(
            both.json["slots"][1],
            json!({"date": day(3), "time": "09:00", "status": "AVAILABLE", "price": 10_000})
        );
    })
    .await;
}

profiles!(stored_slot_length_survives_room_change);
async fn stored_slot_length_survives_room_change(profile: Profile) {
    let halves = ["09:00", "09:30", "10:00", "10:30", "11:00", "11:30"];
    with_restart(
        profile,
        async |app| {
            let room = app.room().await;
            let changed = app.json("PATCH", &format!("/v1/rooms/{room}"), &json!({"slotMinutes": 30})).await;
            assert_eq!(changed.status, 200);
            app.admin().set_operating_hours(room, &mornings()).await.unwrap();
            assert_eq!(app.times_on(room, day(2)).await, halves);
        },
        async |app| {
            let slots = app.slots_on(1, day(2)).await;
            let stored: Vec<_> = slots.iter().map(|slot| (&*slot.time, slot.minutes)).collect();
            assert_eq!(stored, halves.map(|time| (time, 30)));
        },
    )
    .await;
}
