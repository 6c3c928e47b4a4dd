//! Input of claims: malformed and unknown lines, bounds, reference and metadata.

use holdfast_client::{NewProduct, NewProductOption, NewRoomType};
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::auth::{caller, with_auth};
use crate::claims_support::{
    Catalog, NONE, act, after, best_line, call, call_as, path_of, place, placed_claim, placed_from, rooms_line,
    seats_line, shown, slots_line, stay_line, stock_line, time, with_ttl,
};
use crate::shop_support::option;
use crate::support::{day, with_app};
use crate::tickets::seat;

profiles!(ttl_is_bounded_by_role);
/// "role `user`: 1 to that default; `service` and `admin` (and auth off): 1 to `claim.ttl_max`; more → 400"
async fn ttl_is_bounded_by_role(profile: Profile) {
    with_auth(profile, async |app| {
        let room_type = caller(app, "900", "admin").create_room_type(&NewRoomType::new("객실", 9, 1)).await.unwrap();
        let lines = json!([stay_line(room_type.id, 1, 2)]);
        for (role, ttl, is_valid) in [
            ("user", json!(1), true),
            ("user", json!(600), true),
            ("user", json!(601), false),
            ("user", json!(0), false),
            ("service", json!(86_400), true),
            ("service", json!(86_401), false),
            ("admin", json!(86_400), true),
            ("admin", json!(0), false),
            ("admin", json!(-5), false),
            ("admin", json!("60"), false),
        ] {
            let body = json!({"userId": 7, "lines": lines, "ttlSeconds": ttl});
            let answer = call_as(app, "7", role, "POST", "/v1/claims", &body).await;
            if is_valid {
                assert_eq!(answer.status, 201, "{role} {ttl}: {}", answer.text);
                assert_eq!(time(&answer.json["expiresAt"]), after(app, ttl.as_i64().unwrap()));
            } else {
                assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{role} {ttl}");
                assert_eq!(answer.json["field"], "ttlSeconds");
            }
        }
    })
    .await;
    with_app(profile, async |app| {
        let lines = json!([stay_line(app.room_type(9).await.id, 1, 2)]);
        placed_from(app, 7, &with_ttl(&lines, 86_400)).await;
        let longer = call(app, 7, "POST", "/v1/claims", &with_ttl(&lines, 86_401)).await;
        assert_eq!((longer.refusal(), &longer.json["field"]), ((400, "INVALID_INPUT"), &json!("ttlSeconds")));
    })
    .await;
}

profiles!(same_seat_or_slot_twice_is_rejected);
/// "the same seat or slot twice → 400"
async fn same_seat_or_slot_twice_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let (event, room) = (&catalog.event, catalog.room);
        for (lines, named) in [
            (json!([seats_line(event, &[1, 1])]), "lines[0]"),
            (json!([seats_line(event, &[1]), seats_line(event, &[2, 1])]), "lines[1]"),
            (json!([slots_line(room, 1, &["09:00", "09:00"])]), "lines[0]"),
            (json!([slots_line(room, 1, &["09:00"]), slots_line(room, 1, &["10:00", "09:00"])]), "lines[1]"),
        ] {
            let answer = place(app, 7, &lines).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{lines}");
            assert!(answer.json["field"].as_str().unwrap().starts_with(named), "{}", answer.text);
        }
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        let lines = json!([seats_line(event, &[1]), seats_line(event, &[2]), slots_line(room, 1, &["09:00"])]);
        placed_claim(app, 7, &lines).await;
    })
    .await;
}

profiles!(malformed_lines_are_named);
/// "What is malformed is the answer of the whole request (400, with `field: "lines[1].quantity"`)."
async fn malformed_lines_are_named(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let Catalog { room_type, option, event, room } = &catalog;
        let stay = |name: &str, value: Value| {
            let mut line = stay_line(room_type.id, 1, 2);
            line[name] = value;
            line
        };
        for (line, field) in [
            (stay("quantity", json!(0)), "lines[1].quantity"),
            (stay("quantity", json!(101)), "lines[1].quantity"),
            (stay("quantity", json!("1")), "lines[1].quantity"),
            (stay("checkIn", json!(day(2))), "lines[1].checkOut"),
            (stay("checkIn", json!(day(-1))), "lines[1].checkIn"),
            (stay("checkIn", json!("2027-02-30")), "lines[1].checkIn"),
            (stay("roomTypeId", json!(0)), "lines[1].roomTypeId"),
            (json!({"roomTypeId": room_type.id, "checkOut": day(2)}), "lines[1].checkIn"),
            (stock_line(*option, 0), "lines[1].quantity"),
            (json!({"productOptionId": option}), "lines[1].quantity"),
            (json!({"productOptionId": option, "quantity": 1.5}), "lines[1].quantity"),
            (json!({"productOptionId": "1", "quantity": 1}), "lines[1].productOptionId"),
            (seats_line(event, &[]), "lines[1].seatIds"),
            (best_line(event, 0), "lines[1].best"),
            (json!({"eventId": event.id, "best": 1, "section": "nowhere"}), "lines[1].section"),
            (slots_line(*room, 1, &[]), "lines[1].times"),
        ] {
            for mode in ["all", "each"] {
                let body = json!({"lines": [stock_line(*option, 1), line], "mode": mode});
                let answer = call(app, 7, "POST", "/v1/claims", &body).await;
                assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{line}");
                assert_eq!(answer.json["field"], field, "{line}");
            }
        }
        for line in [
            json!({}),
            json!(5),
            json!([]),
            json!({"quantity": 1}),
            json!({"checkIn": day(1), "checkOut": day(2)}),
            json!({"roomTypeId": room_type.id, "productOptionId": option, "quantity": 1}),
            json!({"eventId": event.id, "best": 1, "seatIds": [seat(event, 1)]}),
        ] {
            let answer = place(app, 7, &json!([stock_line(*option, 1), line])).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{line}");
            assert!(answer.json["field"].as_str().unwrap().starts_with("lines[1]"), "{}", answer.text);
        }
        for lines in [json!(null), json!([]), json!({}), json!(5)] {
            let answer = call(app, 7, "POST", "/v1/claims", &json!({"lines": lines})).await;
            assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!("lines")), "{lines}");
        }
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(unknown_lines_are_not_found);
/// "What is unknown is the answer of the whole request (404, with `field`)."
async fn unknown_lines_are_not_found(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        for (line, code, field) in [
            (stay_line(99, 1, 2), "ROOM_TYPE_NOT_FOUND", "lines[1].roomTypeId"),
            (stock_line(99, 1), "PRODUCT_OPTION_NOT_FOUND", "lines[1].productOptionId"),
            (json!({"eventId": 99, "best": 1}), "EVENT_NOT_FOUND", "lines[1].eventId"),
            (seats_line(&catalog.event, &[1, 5]), "SEAT_NOT_FOUND", "lines[1].seatIds"),
            (slots_line(99, 1, &["09:00"]), "ROOM_NOT_FOUND", "lines[1].roomId"),
        ] {
            for mode in ["all", "each"] {
                // The first line is not available, which matters less.
                let body = json!({"lines": [stock_line(catalog.option, 11), line], "mode": mode});
                let answer = call(app, 7, "POST", "/v1/claims", &body).await;
                assert_eq!((answer.refusal(), &answer.json["field"]), ((404, code), &json!(field)), "{line}");
            }
        }
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(lines_of_two_currencies_are_rejected);
/// "Lines of different currencies → 400 `INVALID_INPUT`."
async fn lines_of_two_currencies_are_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let mut new = NewProduct::new("Beans", vec![NewProductOption::new("USD-1", 1_299, 5)]);
        new.currency = Some("USD".into());
        let beans = app.admin().create_product(&new).await.unwrap().options[0].id;
        for mode in ["all", "each"] {
            let lines = json!([stay_line(catalog.room_type.id, 1, 2), stock_line(beans, 1)]);
            let answer = call(app, 7, "POST", "/v1/claims", &json!({"lines": lines, "mode": mode})).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{}", answer.text);
            assert!(answer.json["field"].as_str().unwrap().starts_with("lines"), "{}", answer.text);
        }
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        let claim = placed_claim(app, 7, &json!([stock_line(beans, 2)])).await;
        assert_eq!((&claim["currency"], &claim["totalPrice"]), (&json!("USD"), &json!(2_598)));
    })
    .await;
}

profiles!(lines_and_units_of_claim_are_limited);
/// "at most 100 lines and 1,000 different units; quantity does not multiply"
async fn lines_and_units_of_claim_are_limited(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(100).await.id;
        let option = option(app, 1, 1_000_000).await;
        let claim = placed_claim(app, 7, &json!(vec![stock_line(option, 1_001); 100])).await;
        assert_eq!(claim["lines"].as_array().unwrap().len(), 100);
        let longer = place(app, 7, &json!(vec![stock_line(option, 1); 101])).await;
        assert_eq!((longer.refusal(), &longer.json["field"]), ((400, "INVALID_INPUT"), &json!("lines")));
        // Eleven stays of 90 nights, and one of ten or eleven.
        let stays = |last: i32| {
            let long = (0..11).map(|number| rooms_line(room_type, 90 * number, 90 * (number + 1), 2));
            long.chain([stay_line(room_type, 990, 990 + last)]).collect::<Vec<_>>()
        };
        let larger = place(app, 7, &json!(stays(11))).await;
        assert_eq!(larger.refusal(), (400, "INVALID_INPUT"));
        assert!(larger.json["field"].as_str().unwrap().starts_with("lines"), "{}", larger.text);
        placed_claim(app, 7, &json!(stays(10))).await;
        let nights = app.admin().availability(room_type, day(989), day(991)).await.unwrap().nights;
        assert_eq!((nights[0].hold_count, nights[1].hold_count), (2, 1));
        // The same ninety nights twelve times are ninety units.
        placed_claim(app, 8, &json!(vec![stay_line(room_type, 0, 90); 12])).await;
        let nights = app.admin().availability(room_type, day(0), day(1)).await.unwrap().nights;
        assert_eq!(nights[0].hold_count, 14);
    })
    .await;
}

profiles!(reference_and_metadata_are_shown);
/// "`reference`: at most 200 characters, not unique. `metadata`: at most 20 string pairs, keys of 40 and values of 500
/// characters; shown in every answer of the claim, never interpreted."
async fn reference_and_metadata_are_shown(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let request = |reference: &Value, metadata: &Value| {
            json!({"lines": [stock_line(option, 1)], "reference": reference, "metadata": metadata})
        };
        let pairs = |count: usize| Value::Object((0..count).map(|it| (format!("k{it}"), json!("v"))).collect());
        let metadata = json!({"channel": "app", "note": "창가 자리"});
        let claim = placed_from(app, 7, &request(&json!("order-17"), &metadata)).await;
        let again = placed_from(app, 7, &request(&json!("order-17"), &metadata)).await;
        assert_ne!(claim["claimId"], again["claimId"], "a reference is not unique");
        let read = shown(app, 7, &path_of(&claim)).await;
        let extended = act(app, 7, &claim, "extend", &json!({"seconds": 60})).await.json;
        let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await.json;
        for answer in [claim, read, extended, confirmed] {
            assert_eq!((&answer["reference"], &answer["metadata"]), (&json!("order-17"), &metadata), "{answer}");
        }
        let longest = json!({("k".repeat(40)): "값".repeat(500)});
        placed_from(app, 7, &request(&json!("참".repeat(200)), &longest)).await;
        placed_from(app, 7, &request(&Value::Null, &pairs(20))).await;
        for (reference, metadata, field) in [
            (json!("x".repeat(201)), json!({}), "reference"),
            (json!(17), json!({}), "reference"),
            (json!("x"), pairs(21), "metadata"),
            (json!("x"), json!({("k".repeat(41)): "v"}), "metadata"),
            (json!("x"), json!({"k": "v".repeat(501)}), "metadata"),
            (json!("x"), json!({"k": 5}), "metadata"),
            (json!("x"), json!(["k"]), "metadata"),
        ] {
            let answer = call(app, 7, "POST", "/v1/claims", &request(&reference, &metadata)).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{}", answer.text);
            assert!(answer.json["field"].as_str().unwrap().starts_with(field), "{}", answer.text);
        }
    })
    .await;
}

profiles!(claim_needs_its_user);
/// "A header or token makes the body's `userId` optional; one that is not the caller's → 403. No user given → 400."
async fn claim_needs_its_user(profile: Profile) {
    with_app(profile, async |app| {
        let lines = json!([stock_line(option(app, 1, 9).await, 1)]);
        let unnamed = app.json("POST", "/v1/claims", &json!({"lines": lines})).await;
        assert_eq!((unnamed.refusal(), &unnamed.json["field"]), ((400, "INVALID_INPUT"), &json!("userId")));
        let other = call(app, 7, "POST", "/v1/claims", &json!({"lines": lines, "userId": 8})).await;
        assert_eq!(other.refusal(), (403, "FORBIDDEN"));
        let own = placed_from(app, 7, &json!({"lines": lines, "userId": 7})).await;
        assert_eq!(own["userId"], 7);
        let named = app.json("POST", "/v1/claims", &json!({"lines": lines, "userId": "auth0|5f"})).await;
        assert_eq!((named.status, &named.json["userId"]), (201, &json!("auth0|5f")));
    })
    .await;
}

profiles!(batch_of_claims_is_limited);
/// "at most 8,192 claims and 50,000 units (role `user`: `engine.holds_per_user_max` claims, else 400)"
async fn batch_of_claims_is_limited(profile: Profile) {
    with_auth(profile, async |app| {
        let new = NewRoomType::new("객실", 100, 1);
        let room_type = caller(app, "900", "admin").create_room_type(&new).await.unwrap().id;
        let claim = json!({"userId": 7, "lines": [stay_line(room_type, 1, 2)]});
        let batch = |count: usize| json!({"claims": vec![claim.clone(); count]});
        for (role, count, is_valid) in [("user", 51, false), ("user", 50, true), ("service", 51, true)] {
            let answer = call_as(app, "7", role, "POST", "/v1/claims:batch", &batch(count)).await;
            if is_valid {
                assert_eq!(answer.status, 200, "{role} {count}: {}", answer.text);
                assert_eq!(answer.json["results"].as_array().unwrap().len(), count);
            } else {
                let refusal = (answer.refusal(), &answer.json["field"]);
                assert_eq!(refusal, ((400, "INVALID_INPUT"), &json!("claims")), "{role} {count}");
            }
        }
        let many = call_as(app, "9", "service", "POST", "/v1/claims:batch", &batch(8_193)).await;
        assert_eq!(many.refusal(), (400, "INVALID_INPUT"));
        // 556 claims of 90 nights are 50,040 units.
        let long = json!({"userId": 7, "lines": [stay_line(room_type, 1, 91)]});
        let long = json!({"claims": vec![long; 556]});
        let large = call_as(app, "9", "service", "POST", "/v1/claims:batch", &long).await;
        assert_eq!(large.refusal(), (400, "INVALID_INPUT"), "units are limited, too");
    })
    .await;
}
