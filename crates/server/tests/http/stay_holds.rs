//! Holds on rooms, single and in batches.

use holdfast_client::{BatchLine, HoldStatus, NewHold, NewRoomType, ReservationStatus, RoomTypeChange};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use jiff::civil::date;
use serde_json::json;

use crate::support::{code, day, fresh_key, new_hold, placed, problem, refused, with_app, with_settings};

profiles!(hold_lasts_ten_minutes_at_fixed_price);
async fn hold_lasts_ten_minutes_at_fixed_price(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let wanted = new_hold(&room_type, day(1), day(4));
        let hold = app.guest(42).place_hold(&wanted).await.unwrap();
        assert_eq!((hold.status, hold.user_id.clone(), hold.room_type_id), (HoldStatus::Held, 42.into(), room_type.id));
        assert_eq!(
            (hold.check_in, hold.check_out, hold.price, hold.currency.as_str()),
            (day(1), day(4), 300_000, "KRW")
        );
        assert_eq!(hold.client_hold_key, wanted.client_hold_key);
        assert_eq!(hold.expired_at.duration_since(hold.created_at).as_secs(), 600);
        let dearer = RoomTypeChange { base_price: Some(999_999), ..RoomTypeChange::default() };
        app.admin().change_room_type(room_type.id, &dearer).await.unwrap();
        assert_eq!(app.guest(42).hold(hold.hold_id).await.unwrap(), hold);
        assert_eq!(app.guest(42).confirm_hold(hold.hold_id).await.unwrap().price, 300_000);
    })
    .await;
}

profiles!(client_hold_key_is_uuid_or_ulid);
async fn client_hold_key_is_uuid_or_ulid(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        let with_key = |key: &str| NewHold { client_hold_key: key.into(), ..new_hold(&room_type, day(1), day(2)) };
        let guest = app.guest(1);
        for key in
            ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "C0FFEE00-0000-4000-8000-000000000000", "c0ffee00000040008000000000000001"]
        {
            guest.place_hold(&with_key(key)).await.unwrap();
        }
        for key in [
            "",
            "abc",
            "81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01ARZ3NDEKTSV4RRFFQ69G5FAU",
            "{c0ffee00-0000-4000-8000-00000000000}",
        ] {
            let problem = problem(guest.place_hold(&with_key(key)).await);
            assert_eq!(
                (problem.code.as_str(), &problem.extra["field"]),
                ("INVALID_INPUT", &json!("clientHoldKey")),
                "{key}"
            );
        }
        let body =
            format!(r#"{{"roomTypeId":{},"checkIn":"{}","checkOut":"{}","userId":1}}"#, room_type.id, day(1), day(2));
        let missing = app.send("POST", "/v1/holds", &[], &body).await;
        assert_eq!((missing.refusal(), &missing.json["field"]), ((400, "INVALID_INPUT"), &json!("clientHoldKey")));
    })
    .await;
}

profiles!(stay_length_and_start_are_bounded);
async fn stay_length_and_start_are_bounded(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let place =
            async |check_in, check_out| app.guest(1).place_hold(&new_hold(&room_type, check_in, check_out)).await;
        for (check_in, check_out, field) in [
            (day(3), day(3), "checkOut"),
            (day(3), day(2), "checkOut"),
            (day(1), day(92), "checkOut"),
            (day(-1), day(1), "checkIn"),
            (date(2999, 1, 1), date(2999, 1, 2), "checkIn"),
        ] {
            let problem = problem(place(check_in, check_out).await);
            assert_eq!(
                (problem.code.as_str(), &problem.extra["field"]),
                ("INVALID_INPUT", &json!(field)),
                "{check_in}"
            );
        }
        place(day(0), day(1)).await.expect("tonight is accepted");
        place(day(1), day(91)).await.expect("ninety nights are accepted");
        assert_eq!(
            code(app.guest(1).place_hold(&NewHold { room_type_id: 99, ..new_hold(&room_type, day(1), day(2)) }).await),
            refused(404, "ROOM_TYPE_NOT_FOUND")
        );
    })
    .await;
}

profiles!(today_follows_room_type_time_zone);
async fn today_follows_room_type_time_zone(profile: Profile) {
    with_app(profile, async |app| {
        let mut draft = NewRoomType::new("Honolulu", 1, 1);
        draft.time_zone = Some("Pacific/Honolulu".into());
        let honolulu = app.admin().create_room_type(&draft).await.unwrap();
        placed(app, 1, &honolulu, day(-1), day(0)).await;
        let seoul = app.room_type(1).await;
        assert_eq!(
            code(app.guest(1).place_hold(&new_hold(&seoul, day(-1), day(0))).await),
            refused(400, "INVALID_INPUT")
        );
    })
    .await;
}

profiles!(full_night_rejects_whole_stay);
async fn full_night_rejects_whole_stay(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        placed(app, 1, &room_type, day(3), day(4)).await;
        let problem = problem(app.guest(2).place_hold(&new_hold(&room_type, day(1), day(6))).await);
        assert_eq!((problem.status, problem.code.as_str()), (409, "ROOM_NOT_AVAILABLE"));
        assert_eq!((&problem.extra["date"], &problem.extra["available"]), (&json!(day(3).to_string()), &json!(0)));
        let shown = app.admin().availability(room_type.id, day(1), day(6)).await.unwrap();
        assert_eq!(shown.nights.iter().map(|it| it.hold_count).collect::<Vec<_>>(), [0, 0, 1, 0, 0], "all or nothing");
        let empty = app.room_type(0).await;
        assert_eq!(
            code(app.guest(2).place_hold(&new_hold(&empty, day(1), day(2))).await),
            refused(409, "ROOM_NOT_AVAILABLE")
        );
    })
    .await;
}

profiles!(same_dates_replace_own_hold);
async fn same_dates_replace_own_hold(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let old = placed(app, 1, &room_type, day(1), day(3)).await;
        let new = placed(app, 1, &room_type, day(1), day(3)).await;
        assert_ne!(old.hold_id, new.hold_id);
        assert_eq!(app.guest(1).hold(old.hold_id).await.unwrap().status, HoldStatus::Replaced);
        assert_eq!(code(app.guest(1).confirm_hold(old.hold_id).await), refused(400, "RESERVATION_HOLD_EXPIRED"));
        assert_eq!(code(app.guest(1).cancel_hold(old.hold_id).await), refused(400, "RESERVATION_HOLD_EXPIRED"));
        assert_eq!(app.admin().availability(room_type.id, day(1), day(3)).await.unwrap().nights[0].hold_count, 1);
        app.guest(1).confirm_hold(new.hold_id).await.unwrap();
    })
    .await;
}

profiles!(rejected_replacement_keeps_old_hold);
async fn rejected_replacement_keeps_old_hold(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let old = placed(app, 1, &room_type, day(1), day(3)).await;
        app.admin().close_nights(room_type.id, day(2), day(3)).await.unwrap();
        let again = app.guest(1).place_hold(&new_hold(&room_type, day(1), day(3))).await;
        assert_eq!(code(again), refused(409, "ROOM_NOT_AVAILABLE"));
        assert_eq!(app.guest(1).hold(old.hold_id).await.unwrap().status, HoldStatus::Held);
        app.guest(1).confirm_hold(old.hold_id).await.unwrap();
    })
    .await;
}

profiles!(client_hold_key_of_other_user_is_a_conflict);
async fn client_hold_key_of_other_user_is_a_conflict(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let wanted = new_hold(&room_type, day(1), day(3));
        let hold = app.guest(1).place_hold(&wanted).await.unwrap();
        assert_eq!(code(app.guest(2).place_hold(&wanted).await), refused(409, "RESERVATION_HOLD_KEY_CONFLICT"));
        let other_dates = NewHold { check_in: day(5), check_out: day(6), ..wanted.clone() };
        app.guest(2).place_hold(&other_dates).await.expect("the key is per room type and dates");
        let again = app.guest(1).place_hold(&wanted).await.expect("the user's own hold is replaced");
        assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Replaced);
        app.guest(1).cancel_hold(again.hold_id).await.unwrap();
        app.guest(2).place_hold(&wanted).await.expect("a key is free again when its hold has ended");
        app.pass(Span::from_secs(601));
        app.guest(3).place_hold(&wanted).await.expect("also when it expired");
    })
    .await;
}

profiles!(confirm_twice_returns_reservation);
async fn confirm_twice_returns_reservation(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let hold = placed(app, 7, &room_type, day(1), day(3)).await;
        let reservation = app.guest(7).confirm_hold(hold.hold_id).await.unwrap();
        assert_eq!(
            (reservation.hold_id, reservation.user_id.clone(), reservation.price),
            (hold.hold_id, 7.into(), 200_000)
        );
        assert_eq!(
            (reservation.status, reservation.check_in, reservation.check_out),
            (ReservationStatus::Confirmed, day(1), day(3))
        );
        let again = problem(app.guest(7).confirm_hold(hold.hold_id).await);
        assert_eq!((again.status, again.code.as_str()), (409, "RESERVATION_HOLD_ALREADY_PROCESSED"));
        assert_eq!(again.extra["reservationId"], json!(reservation.reservation_id));
        assert_eq!(
            code(app.guest(7).cancel_hold(hold.hold_id).await),
            refused(409, "RESERVATION_HOLD_ALREADY_PROCESSED")
        );
        let shown = app.guest(7).hold(hold.hold_id).await.unwrap();
        assert_eq!((shown.status, shown.reservation_id), (HoldStatus::Confirmed, Some(reservation.reservation_id)));
        assert_eq!(app.guest(7).reservation(reservation.reservation_id).await.unwrap(), reservation);
        app.pass(Span::from_secs(3_600));
        assert_eq!(
            app.guest(7).hold(hold.hold_id).await.unwrap().status,
            HoldStatus::Confirmed,
            "the expiry no longer matters"
        );
    })
    .await;
}

profiles!(hold_is_cancelled_once);
async fn hold_is_cancelled_once(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let hold = placed(app, 1, &room_type, day(1), day(3)).await;
        app.guest(1).cancel_hold(hold.hold_id).await.unwrap();
        assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Cancelled);
        assert_eq!(
            code(app.guest(1).cancel_hold(hold.hold_id).await),
            refused(409, "RESERVATION_HOLD_ALREADY_PROCESSED")
        );
        assert_eq!(
            code(app.guest(1).confirm_hold(hold.hold_id).await),
            refused(409, "RESERVATION_HOLD_ALREADY_PROCESSED")
        );
        placed(app, 2, &room_type, day(1), day(3)).await;
    })
    .await;
}

profiles!(hold_of_other_user_is_forbidden);
async fn hold_of_other_user_is_forbidden(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let hold = placed(app, 1, &room_type, day(1), day(3)).await;
        let (stranger, unknown) = (app.guest(2), fresh_key());
        assert_eq!(code(stranger.hold(hold.hold_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(stranger.confirm_hold(hold.hold_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(stranger.cancel_hold(hold.hold_id).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(stranger.hold(unknown).await), refused(404, "RESERVATION_HOLD_NOT_FOUND"));
        assert_eq!(code(stranger.confirm_hold(unknown).await), refused(404, "RESERVATION_HOLD_NOT_FOUND"));
        assert_eq!(code(stranger.cancel_hold(unknown).await), refused(404, "RESERVATION_HOLD_NOT_FOUND"));
        assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Held);
    })
    .await;
}

profiles!(hold_expires_on_time);
async fn hold_expires_on_time(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        app.pass(Span::from_millis(250));
        let hold = placed(app, 1, &room_type, day(1), day(3)).await;
        app.pass(Span::from_millis(hold.expired_at.as_millisecond() - hold.created_at.as_millisecond() - 1));
        assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Held);
        let taken = app.guest(2).place_hold(&new_hold(&room_type, day(1), day(3))).await;
        assert_eq!(code(taken), refused(409, "ROOM_NOT_AVAILABLE"));
        app.pass(Span::from_millis(1));
        assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Expired);
        assert_eq!(code(app.guest(1).confirm_hold(hold.hold_id).await), refused(400, "RESERVATION_HOLD_EXPIRED"));
        assert_eq!(code(app.guest(1).cancel_hold(hold.hold_id).await), refused(400, "RESERVATION_HOLD_EXPIRED"));
        placed(app, 2, &room_type, day(1), day(3)).await;
        app.pass(Span::from_hours(23));
        assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Expired, "readable for a day");
    })
    .await;
}

profiles!(nights_free_on_time_under_constant_load);
async fn nights_free_on_time_under_constant_load(profile: Profile) {
    with_settings(
        profile,
        |config| config.stay.hold_ttl = std::time::Duration::from_secs(10),
        async |app| {
            let room_type = app.room_type(10).await;
            for user in 1..=40 {
                placed(app, user, &room_type, day(1), day(2)).await;
                let held = app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0].hold_count;
                assert_eq!(held, u32::try_from(user.min(10)).unwrap(), "each second one hold arrives and one ends");
                app.pass(Span::from_secs(1));
            }
        },
    )
    .await;
}

profiles!(live_holds_per_user_are_limited);
async fn live_holds_per_user_are_limited(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(100).await;
        let mut last = None;
        for days in 0..50 {
            last = Some(placed(app, 1, &room_type, day(days), day(days + 1)).await);
        }
        let one_more = new_hold(&room_type, day(60), day(61));
        let problem = problem(app.guest(1).place_hold(&one_more).await);
        assert_eq!((problem.status, problem.code.as_str()), (429, "TOO_MANY_HOLDS"));
        placed(app, 1, &room_type, day(49), day(50)).await;
        placed(app, 2, &room_type, day(60), day(61)).await;
        let replaced = last.unwrap().hold_id;
        assert_eq!(
            app.guest(1).hold(replaced).await.unwrap().status,
            HoldStatus::Replaced,
            "a replacement does not count as a further hold"
        );
        app.pass(Span::from_secs(601));
        app.guest(1).place_hold(&one_more).await.unwrap();
    })
    .await;
}

profiles!(batch_lines_fail_independently_in_order);
async fn batch_lines_fail_independently_in_order(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(2).await;
        let line =
            |user: u64, days| NewHold { user_id: Some(user.into()), ..new_hold(&room_type, day(days), day(days + 1)) };
        let lines =
            [line(1, 1), line(2, 1), line(3, 1), NewHold { client_hold_key: "?".into(), ..line(4, 2) }, line(5, 2)];
        let results = app.admin().place_holds(&lines).await.unwrap();
        let shown: Vec<_> = results
            .iter()
            .map(|result| match result {
                BatchLine::Hold(hold) => (hold.user_id.clone(), "HELD".to_owned()),
                BatchLine::Problem(problem) => (0.into(), problem.code.clone()),
            })
            .collect();
        let shown: Vec<_> = shown.iter().map(|(user, code)| (user.to_string(), code.as_str())).collect();
        let expected =
            [("1", "HELD"), ("2", "HELD"), ("0", "ROOM_NOT_AVAILABLE"), ("0", "INVALID_INPUT"), ("5", "HELD")];
        assert_eq!(shown, expected.map(|(user, code)| (user.to_owned(), code)));
        let BatchLine::Hold(first) = &results[0] else { panic!("a hold") };
        app.guest(1).confirm_hold(first.hold_id).await.unwrap();

        let odd = r#"{"holds":[5,null,{"roomTypeId":"1"},{"userId":7}]}"#;
        let odd = app.send("POST", "/v1/holds:batch", &[], odd).await;
        let codes: Vec<_> =
            odd.json["results"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect();
        assert_eq!((odd.status, codes), (200, vec!["INVALID_INPUT"; 4]));
        let empty = app.send("POST", "/v1/holds:batch", &[], r#"{"holds":[]}"#).await;
        assert_eq!((empty.status, empty.json), (200, json!({"results": []})));
    })
    .await;
}

profiles!(batch_has_at_most_8192_lines);
async fn batch_has_at_most_8192_lines(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(10_000).await;
        let lines: Vec<_> = (0..8_193_u64)
            .map(|number| NewHold { user_id: Some((1 + number).into()), ..new_hold(&room_type, day(1), day(2)) })
            .collect();
        assert_eq!(code(app.admin().place_holds(&lines).await), refused(400, "INVALID_INPUT"));
        let results = app.admin().place_holds(&lines[1..]).await.unwrap();
        assert_eq!(results.iter().filter(|line| matches!(line, BatchLine::Hold(_))).count(), 8_192);
        let night = &app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0];
        assert_eq!((night.hold_count, night.available), (8_192, 10_000 - 8_192));
    })
    .await;
}

profiles!(batch_lines_see_earlier_lines);
async fn batch_lines_see_earlier_lines(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let wanted = NewHold { user_id: Some(1.into()), ..new_hold(&room_type, day(1), day(2)) };
        let other = NewHold { user_id: Some(2.into()), ..wanted.clone() };
        let results = app.admin().place_holds(&[wanted.clone(), other, wanted]).await.unwrap();
        let [BatchLine::Hold(first), BatchLine::Problem(conflict), BatchLine::Hold(second)] = &results[..] else {
            panic!("{results:?}");
        };
        assert_eq!(conflict.code, "RESERVATION_HOLD_KEY_CONFLICT");
        assert_eq!(app.guest(1).hold(first.hold_id).await.unwrap().status, HoldStatus::Replaced);
        assert_eq!(app.guest(1).hold(second.hold_id).await.unwrap().status, HoldStatus::Held);
    })
    .await;
}

profiles!(hold_ends_on_a_full_second);
/// "A hold ends at its `expiredAt`, which is the first full second at or after placement + TTL. At that instant its units, its
/// owner's counters and its own status change together, in every answer."
async fn hold_ends_on_a_full_second(profile: Profile) {
    with_settings(
        profile,
        |config| {
            config.stay.hold_ttl = std::time::Duration::from_secs(1);
            config.engine.holds_per_user_max = 1;
        },
        async |app| {
            let room_type = app.room_type(1).await;
            app.pass(Span::from_millis(300));
            let hold = placed(app, 1, &room_type, day(1), day(2)).await;
            let placed_at = hold.created_at;
            let ends_at = hold.expired_at;
            assert_eq!(ends_at.subsec_nanosecond(), 0);
            let left = ends_at.as_millisecond() - placed_at.as_millisecond();
            assert!((1_000..2_000).contains(&left), "{left}");
            app.pass(Span::from_millis(left - 1));
            assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Held);
            let hold_count =
                async || app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0].hold_count;
            assert_eq!(hold_count().await, 1);
            app.pass(Span::from_millis(1));
            assert_eq!(app.guest(1).hold(hold.hold_id).await.unwrap().status, HoldStatus::Expired);
            assert_eq!(hold_count().await, 0);
            // Neither the owner's limit nor the room is in use any more.
            placed(app, 1, &room_type, day(1), day(2)).await;
        },
    )
    .await;
}
