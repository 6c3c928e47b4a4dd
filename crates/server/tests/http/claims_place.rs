//! Placing claims: lines of all types, refusals, expiry, concurrent clients.

use futures_util::future::join_all;
use holdfast_client::{NewEvent, NewSeat, SlotStatus};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::claims_support::{
    CLAIMED, Catalog, NONE, PRICES, TOTAL, act, after, best_line, call, call_with_key, change, delete, path_of, place,
    placed_claim, placed_from, refused_lines, rooms_line, seats_line, shown, slots_line, stay_line, stock_line, time,
    with_ttl,
};
use crate::shop_support::{counts, option};
use crate::support::{code, day, new_hold, refused, with_app, with_settings};
use crate::tickets::{map, open_event, seat};

profiles!(claim_holds_units_of_all_types);
/// "A claim is a hold with one or more lines. What a claim changes of one vertical is seen there at once."
async fn claim_holds_units_of_all_types(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let body = json!({"userId": 7, "lines": catalog.lines()});
        let placed = app.json("POST", "/v1/claims", &body).await;
        assert_eq!(placed.status, 201, "{}", placed.text);
        let claim = &placed.json;
        for (name, expected) in [
            ("userId", json!(7)),
            ("origin", json!("claim")),
            ("status", json!("HELD")),
            ("totalPrice", json!(TOTAL)),
            ("currency", json!("KRW")),
        ] {
            assert_eq!(claim[name], expected, "{name}");
        }
        for (index, kind) in ["stay", "stock", "seat", "slot"].into_iter().enumerate() {
            let line = &claim["lines"][index];
            assert_eq!((&line["index"], &line["type"]), (&json!(index), &json!(kind)));
            assert_eq!((&line["status"], &line["price"]), (&json!("HELD"), &json!(PRICES[index])), "{kind}");
        }
        for (index, name, expected) in [
            (0, "roomTypeId", json!(catalog.room_type.id)),
            (0, "checkIn", json!(day(1))),
            (0, "checkOut", json!(day(3))),
            (0, "quantity", json!(1)),
            (1, "productOptionId", json!(catalog.option)),
            (1, "quantity", json!(2)),
            (2, "eventId", json!(catalog.event.id)),
            (3, "roomId", json!(catalog.room)),
        ] {
            assert_eq!(claim["lines"][index][name], expected, "{name}");
        }
        assert!(claim["version"].is_u64(), "{claim}");
        assert_eq!(time(&claim["createdAt"]), app.now());
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
        assert_eq!(shown(app, 7, &path_of(claim)).await, *claim);
    })
    .await;
}

profiles!(default_ttl_is_shortest_of_the_lines);
/// "`ttlSeconds`: default: the shortest of the lines' own defaults."
async fn default_ttl_is_shortest_of_the_lines(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let (stay, stock) = (stay_line(catalog.room_type.id, 1, 2), stock_line(catalog.option, 1));
        for (lines, seconds) in [
            (json!([stay]), 600),
            (json!([stock]), 1_800),
            (json!([seats_line(&catalog.event, &[1])]), 300),
            (json!([slots_line(catalog.room, 1, &["09:00"])]), 300),
            (json!([stock, stay]), 600),
            (json!([stock, stay, seats_line(&catalog.event, &[2])]), 300),
        ] {
            let claim = placed_claim(app, 7, &lines).await;
            assert_eq!(time(&claim["expiresAt"]), after(app, seconds), "{lines}");
        }
        let other_night = stay_line(catalog.room_type.id, 2, 3);
        let claim = placed_from(app, 7, &with_ttl(&json!([other_night]), 45)).await;
        assert_eq!(time(&claim["expiresAt"]), after(app, 45));
    })
    .await;
}

profiles!(refused_claim_names_every_failing_line);
/// "409 `NOT_AVAILABLE` with `lines: [{index, code, …}]`, every failing line with its own code and what it tells"
async fn refused_claim_names_every_failing_line(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, event, room } = Catalog::create(app).await;
        let taken = json!([
            rooms_line(room_type.id, 2, 3, 3),
            stock_line(option, 9),
            seats_line(&event, &[1]),
            slots_line(room, 1, &["10:00"]),
        ]);
        placed_claim(app, 1, &taken).await;
        app.guest(2).reserve_seats(event.id, &[seat(&event, 2)]).await.unwrap();
        let lines = json!([
            stay_line(room_type.id, 1, 4),
            stock_line(option, 2),
            seats_line(&event, &[3, 1]),
            slots_line(room, 1, &["09:00"]),
            seats_line(&event, &[2]),
            slots_line(room, 1, &["11:00", "10:00"]),
        ]);
        let refused = place(app, 7, &lines).await;
        assert_eq!(refused.refusal(), (409, "NOT_AVAILABLE"), "{}", refused.text);
        let failing = &refused.json["lines"];
        let expected = [
            (0, "ROOM_NOT_AVAILABLE"),
            (1, "INSUFFICIENT_AVAILABLE_STOCK"),
            (2, "SEAT_HELD_BY_ANOTHER"),
            (4, "SEAT_ALREADY_RESERVED"),
            (5, "SLOT_NOT_AVAILABLE"),
        ];
        assert_eq!(refused_lines(failing), expected);
        for (position, name, expected) in [
            (0, "date", json!(day(2))),
            (0, "available", json!(0)),
            (1, "productOptionId", json!(option)),
            (1, "available", json!(1)),
            (2, "seatId", json!(seat(&event, 1))),
            (3, "seatId", json!(seat(&event, 2))),
            (4, "date", json!(day(1))),
            (4, "time", json!("10:00")),
        ] {
            assert_eq!(failing[position][name], expected, "{position} {name}");
        }
    })
    .await;
}

profiles!(refused_claim_holds_nothing);
/// "A claim on many units succeeds on all of them or on none", wherever the failing line stands.
async fn refused_claim_holds_nothing(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let scarce = option(app, 1, 1).await;
        for position in 0..=4 {
            let mut lines = catalog.lines().as_array().unwrap().clone();
            lines.insert(position, stock_line(scarce, 2));
            let refused = place(app, 7, &json!(lines)).await;
            assert_eq!(refused.refusal(), (409, "NOT_AVAILABLE"), "{}", refused.text);
            let expected = [(position as u64, "INSUFFICIENT_AVAILABLE_STOCK")];
            assert_eq!(refused_lines(&refused.json["lines"]), expected);
            assert_eq!(catalog.quantities(app).await, (NONE, NONE), "{position}");
        }
        placed_claim(app, 8, &catalog.lines()).await;
    })
    .await;
}

profiles!(mode_each_holds_what_is_available);
/// "`mode: "each"` holds what can be held: 201 if at least one line is, with `refused`; indexes are those of the
/// request."
async fn mode_each_holds_what_is_available(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, event, room } = Catalog::create(app).await;
        placed_claim(app, 1, &json!([seats_line(&event, &[2])])).await;
        let lines = json!([
            stock_line(option, 11),
            stay_line(room_type.id, 1, 3),
            seats_line(&event, &[1, 2]),
            slots_line(room, 1, &["09:00"]),
        ]);
        for mode in ["all", "each"] {
            let answer = call(app, 7, "POST", "/v1/claims", &json!({"lines": lines, "mode": mode})).await;
            let failing = [(0, "INSUFFICIENT_AVAILABLE_STOCK"), (2, "SEAT_HELD_BY_ANOTHER")];
            if mode == "all" {
                assert_eq!(answer.refusal(), (409, "NOT_AVAILABLE"), "{}", answer.text);
                assert_eq!(refused_lines(&answer.json["lines"]), failing);
                continue;
            }
            assert_eq!(answer.status, 201, "{}", answer.text);
            assert_eq!(refused_lines(&answer.json["refused"]), failing);
            assert_eq!(answer.json["refused"][0]["available"], 10);
            let held = answer.json["lines"].as_array().unwrap();
            assert_eq!(held.iter().map(|line| &line["index"]).collect::<Vec<_>>(), [&json!(1), &json!(3)]);
            assert_eq!(answer.json["totalPrice"], 210_000);
        }
        assert_eq!(map(app, &event).await, ".h..", "a line is held whole or not at all");
        assert_eq!(counts(app, option).await, (10, 0, 10));
        let body = json!({"mode": "each", "lines": [stock_line(option, 11), seats_line(&event, &[2])]});
        let none = call(app, 7, "POST", "/v1/claims", &body).await;
        assert_eq!(none.refusal(), (409, "NOT_AVAILABLE"), "no line can be held");
        assert_eq!(refused_lines(&none.json["lines"]).len(), 2);
        let unknown = call(app, 7, "POST", "/v1/claims", &json!({"lines": lines, "mode": "some"})).await;
        assert_eq!((unknown.refusal(), &unknown.json["field"]), ((400, "INVALID_INPUT"), &json!("mode")));
    })
    .await;
}

profiles!(lines_on_same_unit_add_up);
/// "Lines that name the same unit twice add up."
async fn lines_on_same_unit_add_up(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, .. } = Catalog::create(app).await;
        let overlapping = json!([rooms_line(room_type.id, 1, 3, 2), rooms_line(room_type.id, 2, 4, 2)]);
        let refused = place(app, 7, &overlapping).await;
        assert_eq!(refused.refusal(), (409, "NOT_AVAILABLE"), "{}", refused.text);
        assert_eq!(refused_lines(&refused.json["lines"]), [(1, "ROOM_NOT_AVAILABLE")]);
        assert_eq!(refused.json["lines"][0]["date"], json!(day(2)));
        let refused = place(app, 7, &json!([stock_line(option, 6), stock_line(option, 5)])).await;
        assert_eq!(refused_lines(&refused.json["lines"]), [(1, "INSUFFICIENT_AVAILABLE_STOCK")]);
        let lines = json!([
            rooms_line(room_type.id, 1, 3, 2),
            stock_line(option, 6),
            rooms_line(room_type.id, 2, 4, 1),
            stock_line(option, 4),
        ]);
        let claim = placed_claim(app, 7, &lines).await;
        assert_eq!(claim["totalPrice"], 400_000 + 6_000 + 200_000 + 4_000);
        let nights = app.admin().availability(room_type.id, day(1), day(4)).await.unwrap().nights;
        assert_eq!(nights.iter().map(|night| night.hold_count).collect::<Vec<_>>(), [2, 3, 1]);
        assert_eq!(counts(app, option).await, (10, 10, 0));
        assert_eq!(delete(app, 7, &claim).await.status, 204);
        let nights = app.admin().availability(room_type.id, day(1), day(4)).await.unwrap().nights;
        assert!(nights.iter().all(|night| night.hold_count == 0), "{nights:?}");
        assert_eq!(counts(app, option).await, (10, 0, 10));
    })
    .await;
}

profiles!(best_takes_seats_of_seats_best);
/// "`best` takes the seats that `POST /v1/events/{id}/seats/best` would hold, too few → `NOT_ENOUGH_SEATS` with
/// `available`"
async fn best_takes_seats_of_seats_best(profile: Profile) {
    with_app(profile, async |app| {
        let mut new = NewEvent::with_row("콘서트", 7, 100_000).without_queue();
        let vip = |number: u32| NewSeat { label: format!("B{number}"), section: Some("VIP".into()), price: 200_000 };
        new.seats.extend((1..=3).map(vip));
        let (held, claimed) =
            (app.admin().create_event(&new).await.unwrap(), app.admin().create_event(&new).await.unwrap());
        let mut lines = Vec::new();
        for (count, section) in [(2, Some("VIP")), (4, None), (2, None)] {
            app.guest(1).hold_best(held.id, count, section).await.unwrap();
            let mut line = best_line(&claimed, count);
            if let Some(section) = section {
                line["section"] = json!(section);
            }
            lines.push(line);
        }
        let claim = placed_claim(app, 7, &json!(lines)).await;
        let shown = map(app, &claimed).await;
        assert_eq!(shown, map(app, &held).await);
        assert_eq!(shown.chars().filter(|letter| *letter == 'h').count(), 8, "two lines never take the same seat");
        assert_eq!(claim["lines"][0]["price"], 400_000);
        let refused = place(app, 8, &json!([best_line(&claimed, 3)])).await;
        assert_eq!(refused.refusal(), (409, "NOT_AVAILABLE"), "{}", refused.text);
        assert_eq!(refused_lines(&refused.json["lines"]), [(0, "NOT_ENOUGH_SEATS")]);
        assert_eq!(refused.json["lines"][0]["available"], 2);
    })
    .await;
}

profiles!(seat_limit_spans_lines_of_claim);
/// Seats per user are limited over all lines of a claim, and over all holds of the user.
async fn seat_limit_spans_lines_of_claim(profile: Profile) {
    with_app(profile, async |app| {
        let new = NewEvent::with_row("콘서트", 9, 1).without_queue();
        let event = app.admin().create_event(&NewEvent { max_seats_per_user: Some(3), ..new }).await.unwrap();
        let split = place(app, 7, &json!([seats_line(&event, &[1, 2]), seats_line(&event, &[3, 4])])).await;
        assert_eq!(split.refusal(), (409, "NOT_AVAILABLE"), "{}", split.text);
        assert_eq!(refused_lines(&split.json["lines"]), [(1, "SEAT_LIMIT_REACHED")]);
        placed_claim(app, 7, &json!([seats_line(&event, &[1]), best_line(&event, 2)])).await;
        let further = place(app, 7, &json!([best_line(&event, 1)])).await;
        assert_eq!(refused_lines(&further.json["lines"]), [(0, "SEAT_LIMIT_REACHED")]);
        let held = app.guest(7).hold_seats(event.id, &[seat(&event, 9)]).await;
        let limited = refused(409, "SEAT_LIMIT_REACHED");
        assert_eq!(code(held), limited, "a claim's seats count at the other endpoints");
        placed_claim(app, 8, &json!([best_line(&event, 1)])).await;
    })
    .await;
}

profiles!(queue_entries_are_checked_first);
/// "Entries to waiting rooms are checked for every event in the lines before anything else: one is missing → 403
/// `QUEUE_TOKEN_REQUIRED`."
async fn queue_entries_are_checked_first(profile: Profile) {
    with_app(profile, async |app| {
        let new = NewEvent::with_row("콘서트", 4, 1);
        let first = app.admin().create_event(&new).await.unwrap();
        let second = app.admin().create_event(&new).await.unwrap();
        let option = option(app, 1, 1).await;
        let both = json!([seats_line(&first, &[1]), best_line(&second, 1)]);
        let enter = async |event: u64| {
            app.guest(7).join_queue(event).await.unwrap();
            app.guest(7).enter_queue(event).await.unwrap();
        };
        for lines in [
            json!([seats_line(&first, &[1])]),
            json!([stock_line(option, 2), best_line(&first, 1)]),
            json!([stay_line(99, 1, 2), seats_line(&first, &[99])]),
            both.clone(),
        ] {
            for mode in ["all", "each"] {
                let answer = call(app, 7, "POST", "/v1/claims", &json!({"lines": lines, "mode": mode})).await;
                assert_eq!(answer.refusal(), (403, "QUEUE_TOKEN_REQUIRED"), "{lines}");
            }
        }
        enter(first.id).await;
        assert_eq!(place(app, 7, &both).await.refusal(), (403, "QUEUE_TOKEN_REQUIRED"), "one is missing");
        assert_eq!(map(app, &first).await, "....");
        enter(second.id).await;
        placed_claim(app, 7, &both).await;
        assert_eq!((map(app, &first).await, map(app, &second).await), ("h...".into(), "h...".into()));
    })
    .await;
}

profiles!(slots_of_several_days_are_claimed);
/// `{roomId, slots: [{date, time}]}` names slots of any days; a slot that has begun or does not exist is not available.
async fn slots_of_several_days_are_claimed(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let slot = |days: i32, time: &str| json!({"date": day(days), "time": time});
        let line = |slots: &[Value]| json!([{"roomId": room, "slots": slots}]);
        let claim = placed_claim(app, 7, &line(&[slot(2, "11:00"), slot(1, "09:00")])).await;
        assert_eq!(claim["totalPrice"], 20_000);
        for (days, expected) in [(1, [true, false, false]), (2, [false, false, true])] {
            let statuses = app.statuses_on(room, day(days)).await;
            let locked: Vec<_> = statuses.iter().map(|it| *it == SlotStatus::Locked).collect();
            assert_eq!(locked, expected, "{days}");
        }
        for unavailable in [slot(0, "09:00"), slot(1, "09:30"), slot(1, "09:00")] {
            let refused = place(app, 7, &line(&[slot(3, "09:00"), unavailable.clone()])).await;
            assert_eq!(refused.refusal(), (409, "NOT_AVAILABLE"), "{unavailable}");
            assert_eq!(refused_lines(&refused.json["lines"]), [(0, "SLOT_NOT_AVAILABLE")]);
            assert_eq!(refused.json["lines"][0]["time"], unavailable["time"]);
        }
    })
    .await;
}

profiles!(claim_expires_in_all_verticals_at_once);
/// "At that instant its units, its owner's counters, remaining seats and its own status change together, in every
/// answer."
async fn claim_expires_in_all_verticals_at_once(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_from(app, 7, &with_ttl(&catalog.lines(), 30)).await;
        app.pass(Span::from_millis(29_999));
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "HELD");
        assert_eq!(place(app, 8, &catalog.lines()).await.refusal(), (409, "NOT_AVAILABLE"));
        app.pass(Span::from_millis(1));
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        assert_eq!(app.admin().event(catalog.event.id).await.unwrap().remaining_seats, 4);
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "EXPIRED");
        placed_claim(app, 8, &catalog.lines()).await;
        let expired = (409, "CLAIM_EXPIRED");
        for (action, body) in [("confirm", Value::Null), ("cancel", Value::Null), ("extend", json!({"seconds": 60}))] {
            assert_eq!(act(app, 7, &claim, action, &body).await.refusal(), expired, "{action}");
        }
        assert_eq!(delete(app, 7, &claim).await.refusal(), expired);
        assert_eq!(change(app, 7, &claim, &json!({"reference": "x"})).await.refusal(), expired);
    })
    .await;
}

profiles!(claim_counts_once_per_type);
/// "One user has at most `engine.holds_per_user_max` live holds of one line type. A claim counts once in each type it
/// contains."
async fn claim_counts_once_per_type(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.holds_per_user_max = 1,
        async |app| {
            let Catalog { room_type, option, event, .. } = Catalog::create(app).await;
            let stock = json!([stock_line(option, 1)]);
            let lines = json!([stay_line(room_type.id, 1, 2), stay_line(room_type.id, 3, 4), stock_line(option, 1)]);
            let claim = placed_claim(app, 7, &lines).await;
            let too_many = (429, "TOO_MANY_HOLDS");
            assert_eq!(place(app, 7, &stock).await.refusal(), too_many);
            assert_eq!(place(app, 7, &json!([stay_line(room_type.id, 5, 6)])).await.refusal(), too_many);
            let both = json!([best_line(&event, 1), stock_line(option, 1)]);
            assert_eq!(place(app, 7, &both).await.refusal(), too_many);
            let held = app.guest(7).place_hold(&new_hold(&room_type, day(7), day(8))).await;
            assert_eq!(code(held), refused(429, "TOO_MANY_HOLDS"), "a claim counts at the other endpoints");
            placed_claim(app, 7, &json!([best_line(&event, 1)])).await;
            placed_claim(app, 8, &stock).await;
            assert_eq!(delete(app, 7, &claim).await.status, 204);
            placed_claim(app, 7, &stock).await;
        },
    )
    .await;
}

profiles!(nothing_of_an_owner_is_replaced);
/// "Two claims of one owner are two claims: nothing is replaced." "A vertical's endpoint replaces only holds placed at
/// that endpoint; a claim counts as another's hold."
async fn nothing_of_an_owner_is_replaced(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let (event, room) = (open_event(app, 2).await, app.room().await);
        let lines = json!([stay_line(room_type.id, 1, 2), seats_line(&event, &[1]), slots_line(room, 1, &["09:00"]),]);
        let claim = placed_claim(app, 7, &lines).await;
        let again = place(app, 7, &lines).await;
        let expected = [(0, "ROOM_NOT_AVAILABLE"), (1, "SEAT_HELD_BY_ANOTHER"), (2, "SLOT_NOT_AVAILABLE")];
        assert_eq!((again.status, refused_lines(&again.json["lines"])), (409, expected.to_vec()));
        let guest = app.guest(7);
        let stay = guest.place_hold(&new_hold(&room_type, day(1), day(2))).await;
        assert_eq!(code(stay), refused(409, "ROOM_NOT_AVAILABLE"));
        let seats = guest.hold_seats(event.id, &[seat(&event, 1)]).await;
        assert_eq!(code(seats), refused(409, "SEAT_HELD_BY_ANOTHER"));
        let slots = guest.lock_slots(room, day(1), &["09:00", "10:00"]).await;
        assert_eq!(code(slots), refused(409, "SLOT_NOT_AVAILABLE"));
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "HELD");

        guest.place_hold(&new_hold(&room_type, day(3), day(4))).await.unwrap();
        let held = guest.hold_seats(event.id, &[seat(&event, 2)]).await.unwrap();
        let lock = guest.lock_slots(room, day(1), &["11:00"]).await.unwrap();
        for line in [stay_line(room_type.id, 3, 4), seats_line(&event, &[2]), slots_line(room, 1, &["10:00", "11:00"])]
        {
            assert_eq!(place(app, 7, &json!([line])).await.refusal(), (409, "NOT_AVAILABLE"), "{line}");
        }
        guest.confirm_seat_hold(held.hold_id).await.expect("the user's own hold is live");
        guest.confirm_lock(lock.lock_id).await.expect("the user's own lock is live");
    })
    .await;
}

profiles!(retried_claim_is_placed_once);
/// "same key and same request → the first success again, with `Idempotent-Replayed: true`"
async fn retried_claim_is_placed_once(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let body = json!({"lines": catalog.lines()});
        let first = call_with_key(app, 7, "k", "/v1/claims", &body).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.text);
        let again = call_with_key(app, 7, "k", "/v1/claims", &body).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
        assert_eq!(again.text, first.text);
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
        let other = json!({"lines": [stock_line(catalog.option, 1)]});
        let reused = call_with_key(app, 7, "k", "/v1/claims", &other).await;
        assert_eq!(reused.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
    })
    .await;
}

profiles!(claims_of_batch_fail_independently);
/// "`POST /v1/claims:batch` → 200 `{"results": […]}` in order"
async fn claims_of_batch_fail_independently(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, .. } = Catalog::create(app).await;
        let claims = json!([
            {"userId": 1, "lines": [stock_line(option, 6)], "reference": "first"},
            {"userId": 2, "lines": [stay_line(room_type.id, 1, 2), stock_line(option, 6)]},
            {"userId": 3, "lines": [stock_line(option, 0)]},
            {"userId": 4, "lines": [stay_line(99, 1, 2)]},
            {"lines": [stock_line(option, 1)]},
            5,
            {"userId": 5, "lines": [stock_line(option, 4), rooms_line(room_type.id, 1, 2, 3)]},
        ]);
        let answer = app.json("POST", "/v1/claims:batch", &json!({"claims": claims})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let results = answer.json["results"].as_array().unwrap();
        let codes: Vec<_> = results.iter().map(|it| it["code"].as_str().unwrap_or("(a claim)")).collect();
        let expected = [
            "(a claim)",
            "NOT_AVAILABLE",
            "INVALID_INPUT",
            "ROOM_TYPE_NOT_FOUND",
            "INVALID_INPUT",
            "INVALID_INPUT",
            "(a claim)",
        ];
        assert_eq!(codes, expected, "{}", answer.text);
        assert_eq!(refused_lines(&results[1]["lines"]), [(1, "INSUFFICIENT_AVAILABLE_STOCK")]);
        assert_eq!(results[2]["field"], "lines[0].quantity");
        assert_eq!((&results[0]["userId"], &results[0]["reference"]), (&json!(1), &json!("first")));
        assert_eq!((&results[6]["status"], &results[6]["totalPrice"]), (&json!("HELD"), &json!(304_000)));
        assert_eq!(counts(app, option).await, (10, 10, 0));
        assert_eq!(act(app, 5, &results[6], "confirm", &Value::Null).await.status, 201);
        let empty = app.json("POST", "/v1/claims:batch", &json!({"claims": []})).await;
        assert_eq!((empty.status, empty.json), (200, json!({"results": []})));
    })
    .await;
}

profiles!(opposite_claims_never_deadlock_or_oversell);
/// A hundred clients claim two resources, half of them in the opposite order: exactly the capacity is sold.
async fn opposite_claims_never_deadlock_or_oversell(profile: Profile) {
    with_app(profile, async |app| {
        const PIECES: u32 = 30;
        let room_type = app.room_type(PIECES).await.id;
        let option = option(app, 100, PIECES).await;
        let answers = join_all((1..=100_u64).map(|user| async move {
            let mut lines = [stay_line(room_type, 1, 3), stock_line(option, 1)];
            if user % 2 == 0 {
                lines.reverse();
            }
            (user, place(app, user, &json!(lines)).await)
        }))
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, answer)| answer.status == 201);
        for (user, answer) in &lost {
            assert_eq!(answer.refusal(), (409, "NOT_AVAILABLE"), "{user}: {}", answer.text);
        }
        assert_eq!(won.len(), PIECES as usize);
        assert_eq!(counts(app, option).await, (PIECES, PIECES, 0));
        let confirming =
            won.iter().map(|(user, claim)| async move { act(app, user, &claim.json, "confirm", &Value::Null).await });
        for answer in join_all(confirming).await {
            assert_eq!(answer.status, 201, "a live claim can always be confirmed: {}", answer.text);
        }
        assert_eq!(counts(app, option).await, (0, 0, 0));
        let nights = app.admin().availability(room_type, day(1), day(3)).await.unwrap().nights;
        assert!(nights.iter().all(|night| (night.reserved_count, night.hold_count) == (PIECES, 0)), "{nights:?}");
    })
    .await;
}
