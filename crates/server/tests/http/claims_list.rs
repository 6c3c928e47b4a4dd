//! Reading claims: single ones, lists, dry runs.

use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::claims_support::{
    Catalog, NONE, PRICES, TOTAL, act, after, best_line, call, cart_claim, claim_path, confirmed_claim, delete,
    path_of, placed_claim, placed_from, seats_line, shown, stay_line, stock_line, time,
};
use crate::shop_support::{buyer, counts, option};
use crate::support::{TestApp, code, day, fresh_key, placed, refused, with_app};
use crate::tickets::seat;

/// Returns the ids of a page of claims, and the cursor of the next page.
async fn listed(app: &TestApp, user: u64, query: &str) -> (Vec<Value>, Value) {
    let page = shown(app, user, &format!("/v1/claims?{query}")).await;
    (ids(&page), page["nextCursor"].clone())
}

fn ids(page: &Value) -> Vec<Value> {
    page["items"].as_array().unwrap().iter().map(|claim| claim["claimId"].clone()).collect()
}

profiles!(holds_of_all_endpoints_are_claims);
/// "Every hold of a vertical is a claim too: `/v1/claims/{id}` with its `holdId` or `lockId` shows it, lists it."
async fn holds_of_all_endpoints_are_claims(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let user = buyer(app, 0).await;
        user.reserve(catalog.option, 2).await;
        let cart = cart_claim(app, &user.id).await;
        assert_eq!(shown(app, &user.id, &path_of(&cart)).await, cart);

        let stay = placed(app, 77, &catalog.room_type, day(1), day(3)).await;
        let seats = app.guest(77).hold_seats(catalog.event.id, &[seat(&catalog.event, 1)]).await.unwrap();
        let lock = app.locked(77, catalog.room, day(1), &["09:00", "10:00"]).await;
        let mut claims = vec![cart];
        for id in [stay.hold_id, seats.hold_id, lock.lock_id] {
            let claim = shown(app, 77, &claim_path(id)).await;
            assert_eq!((&claim["claimId"], &claim["userId"]), (&json!(id), &json!(77)));
            claims.push(claim);
        }
        for (claim, (origin, kind, price, seconds)) in claims.iter().zip([
            ("cart", "stock", 2_000, 1_800),
            ("stay", "stay", 200_000, 600),
            ("seats", "seat", 100_000, 300),
            ("lock", "slot", 20_000, 300),
        ]) {
            assert_eq!((&claim["origin"], &claim["status"]), (&json!(origin), &json!("HELD")));
            let line = &claim["lines"][0];
            assert_eq!((&line["type"], &line["price"], &line["index"]), (&json!(kind), &json!(price), &json!(0)));
            assert_eq!((&claim["totalPrice"], &claim["currency"]), (&json!(price), &json!("KRW")));
            assert_eq!(time(&claim["expiresAt"]), after(app, seconds), "{origin}");
        }
        let (listed, _) = listed(app, 77, "userId=77").await;
        assert_eq!(listed.len(), 3);
    })
    .await;
}

profiles!(endpoints_find_own_holds_only);
/// "a vertical's hold endpoints find only holds placed there, else that vertical's answer for unknown holds;
/// `/api/order/reserve` shows cart reservations only"
async fn endpoints_find_own_holds_only(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let user = buyer(app, 100_000).await;
        let claim = call(app, &user.id, "POST", "/v1/claims", &json!({"lines": catalog.lines()})).await.json;
        let id = claim["claimId"].as_str().unwrap().parse().unwrap();
        let unknown_stay = refused(404, "RESERVATION_HOLD_NOT_FOUND");
        assert_eq!(code(user.hold(id).await), unknown_stay);
        assert_eq!(code(user.confirm_hold(id).await), unknown_stay);
        assert_eq!(code(user.cancel_hold(id).await), unknown_stay);
        let unknown_seats = refused(404, "SEAT_HOLD_NOT_FOUND");
        assert_eq!(code(user.seat_hold(id).await), unknown_seats);
        assert_eq!(code(user.confirm_seat_hold(id).await), unknown_seats);
        assert_eq!(code(user.cancel_seat_hold(id).await), unknown_seats);
        assert_eq!(code(user.lock(id).await), refused(404, "LOCK_NOT_FOUND"));
        assert_eq!(code(user.confirm_lock(id).await), refused(409, "SLOT_NOT_LOCKED"));
        assert_eq!(code(user.release_lock(id).await), refused(409, "SLOT_NOT_LOCKED"));
        assert_eq!(code(user.order_reservation().await), refused(404, "RESERVATION_NOT_FOUND"));
        assert_eq!(code(user.release_order().await), refused(404, "RESERVATION_NOT_FOUND"));
        assert_eq!(shown(app, &user.id, &path_of(&claim)).await["status"], "HELD");
        user.reserve(catalog.option, 3).await;
        assert_eq!(counts(app, catalog.option).await, (10, 5, 5), "a claim is no cart reservation");
    })
    .await;
}

profiles!(claim_is_shown_to_its_owner);
/// "Unknown → 404 `CLAIM_NOT_FOUND`; another's → 403."
async fn claim_is_shown_to_its_owner(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let claim = placed_claim(app, 7, &json!([stock_line(option, 1)])).await;
        let get = async |user: u64, path: &str| call(app, user, "GET", path, &Value::Null).await;
        assert_eq!(get(8, &path_of(&claim)).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(get(7, &claim_path(fresh_key())).await.refusal(), (404, "CLAIM_NOT_FOUND"));
        assert_eq!(get(7, &claim_path("xyz")).await.refusal(), (400, "INVALID_INPUT"));
        assert_eq!(get(7, "/v1/claims?userId=8").await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
    })
    .await;
}

profiles!(claims_are_listed_newest_first);
/// "newest first; users see their own"; `limit`, `cursor` and `order` as in every list.
async fn claims_are_listed_newest_first(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 100).await;
        let mut placed = Vec::new();
        for number in 0..5_u64 {
            let user = if number == 2 { 8 } else { 7 };
            let claim = placed_claim(app, user, &json!([stock_line(option, 1)])).await;
            if user == 7 {
                placed.push(claim["claimId"].clone());
            }
            app.pass(Span::from_secs(1));
        }
        let oldest_first = placed.clone();
        placed.reverse();
        assert_eq!(listed(app, 7, "userId=7").await, (placed.clone(), Value::Null));
        assert_eq!(listed(app, 7, "userId=7&order=desc").await.0, placed);
        assert_eq!(listed(app, 7, "userId=7&order=asc").await.0, oldest_first);
        let (first, cursor) = listed(app, 7, "userId=7&limit=3").await;
        assert_eq!(first, placed[..3]);
        let next = format!("userId=7&limit=3&cursor={}", cursor.as_str().expect("there is another page"));
        assert_eq!(listed(app, 7, &next).await, (placed[3..].to_vec(), Value::Null));
        let page = shown(app, 7, "/v1/claims?userId=7&limit=1").await;
        let single = shown(app, 7, &claim_path(placed[0].as_str().unwrap())).await;
        assert_eq!(page["items"][0], single, "a list shows whole claims");
    })
    .await;
}

profiles!(claim_list_is_filtered);
/// `GET /v1/claims?userId&reference&status&type`
async fn claim_list_is_filtered(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, event, .. } = Catalog::create(app).await;
        let mut claims = Vec::new();
        for (user, lines, reference) in [
            (7, json!([stock_line(option, 1)]), "a"),
            (7, json!([stay_line(room_type.id, 1, 2), best_line(&event, 1)]), "b"),
            (7, json!([best_line(&event, 1), stock_line(option, 1)]), "a"),
            (8, json!([stock_line(option, 1)]), "a"),
            (7, json!([stock_line(option, 1)]), "c"),
        ] {
            claims.push(placed_from(app, user, &json!({"lines": lines, "reference": reference})).await);
            app.pass(Span::from_secs(1));
        }
        assert_eq!(act(app, 7, &claims[1], "confirm", &Value::Null).await.status, 201);
        assert_eq!(delete(app, 7, &claims[4]).await.status, 204);
        for (query, expected) in [
            ("", &[4, 2, 1, 0][..]),
            ("&status=HELD", &[2, 0]),
            ("&status=CONFIRMED", &[1]),
            ("&status=CANCELLED", &[4]),
            ("&status=EXPIRED", &[]),
            ("&type=stock", &[4, 2, 0]),
            ("&type=seat", &[2, 1]),
            ("&type=slot", &[]),
            ("&reference=a", &[2, 0]),
            ("&reference=A", &[]),
            ("&reference=a&type=seat", &[2]),
            ("&status=HELD&type=stock&limit=1", &[2]),
        ] {
            // Redis keeps no list of claims that were cancelled before they were confirmed.
            let is_listed = |index: &&usize| **index != 4 || profile != Profile::Cluster;
            let expected = expected.iter().filter(is_listed);
            let expected: Vec<_> = expected.map(|index: &usize| claims[*index]["claimId"].clone()).collect();
            assert_eq!(listed(app, 7, &format!("userId=7{query}")).await.0, expected, "{query}");
        }
        let all = app.send("GET", "/v1/claims?reference=a", &[], "").await;
        // In the Redis cluster live claims are listed by their user only.
        if profile != Profile::Cluster {
            let expected = [3, 2, 0].map(|index: usize| claims[index]["claimId"].clone());
            assert_eq!(ids(&all.json), expected, "an operator sees all users");
        }
        assert_eq!(listed(app, 8, "reference=a").await.0, [claims[3]["claimId"].clone()], "a user sees their own");
        app.pass(Span::from_secs(1_800));
        assert_eq!(listed(app, 7, "userId=7&status=HELD").await.0, [] as [Value; 0]);
        for (query, field) in [("status=LOST", "status"), ("type=room", "type"), ("limit=0", "limit")] {
            let answer = call(app, 7, "GET", &format!("/v1/claims?userId=7&{query}"), &Value::Null).await;
            assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!(field)));
        }
    })
    .await;
}

profiles!(unfiltered_list_shows_what_is_stored);
/// "In the Redis cluster, lists without `userId` or `reference` show confirmed claims only."
async fn unfiltered_list_shows_what_is_stored(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let held = placed_claim(app, 7, &json!([stock_line(option, 1)])).await;
        app.pass(Span::from_secs(1));
        let confirmed = confirmed_claim(app, 8, &json!([stock_line(option, 1)])).await;
        let all = app.send("GET", "/v1/claims", &[], "").await;
        assert_eq!(all.status, 200, "{}", all.text);
        let mut expected = vec![confirmed["claimId"].clone()];
        if !app.profile_is_split() {
            expected.push(held["claimId"].clone());
        }
        assert_eq!(ids(&all.json), expected);
        let confirmed_only = app.send("GET", "/v1/claims?status=CONFIRMED&type=stock", &[], "").await;
        assert_eq!(ids(&confirmed_only.json), [confirmed["claimId"].clone()]);
    })
    .await;
}

profiles!(ended_claim_stays_readable_for_a_day);
/// "Ended holds stay readable for 24 h."
async fn ended_claim_stays_readable_for_a_day(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let lines = json!([stock_line(catalog.option, 1)]);
        let (expired, cancelled) = (placed_claim(app, 7, &lines).await, placed_claim(app, 7, &lines).await);
        assert_eq!(delete(app, 7, &cancelled).await.status, 204);
        let old = placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        app.pass(Span::from_hours(23));
        app.purge().await;
        for (path, status) in
            [(path_of(&expired), "EXPIRED"), (path_of(&cancelled), "CANCELLED"), (claim_path(old.hold_id), "REPLACED")]
        {
            assert_eq!(shown(app, 7, &path).await["status"], status);
        }
    })
    .await;
}

profiles!(dry_run_holds_nothing);
/// "`POST /v1/availability` `{lines, userId?}`: a dry run of a hold; holds nothing"
async fn dry_run_holds_nothing(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        for body in [json!({"lines": catalog.lines()}), json!({"lines": catalog.lines(), "userId": 7})] {
            let answer = app.json("POST", "/v1/availability", &body).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!((&answer.json["available"], &answer.json["totalPrice"]), (&json!(true), &json!(TOTAL)));
            for (index, price) in PRICES.into_iter().enumerate() {
                let line = &answer.json["lines"][index];
                assert_eq!((&line["index"], &line["available"]), (&json!(index), &json!(true)));
                assert_eq!(line["price"], price);
            }
            assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        }
        assert_eq!(listed(app, 7, "userId=7").await.0, [] as [Value; 0]);
        placed_claim(app, 7, &catalog.lines()).await;
    })
    .await;
}

profiles!(dry_run_names_unavailable_lines);
/// "`lines: [{index, available: bool, code?, …}]`"; what is malformed or unknown is refused as when placing.
async fn dry_run_names_unavailable_lines(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, event, .. } = Catalog::create(app).await;
        placed_claim(app, 7, &json!([seats_line(&event, &[1]), stock_line(option, 6)])).await;
        let lines = json!([stock_line(option, 5), stay_line(room_type.id, 1, 2), seats_line(&event, &[2, 1])]);
        // The user's own claim counts as another's.
        let answer = app.json("POST", "/v1/availability", &json!({"lines": lines, "userId": 7})).await;
        assert_eq!((answer.status, &answer.json["available"]), (200, &json!(false)), "{}", answer.text);
        for (index, code) in
            [(0, json!("INSUFFICIENT_AVAILABLE_STOCK")), (1, Value::Null), (2, json!("SEAT_HELD_BY_ANOTHER"))]
        {
            let line = &answer.json["lines"][index];
            assert_eq!((&line["available"], &line["code"]), (&json!(code.is_null()), &code));
        }
        assert_eq!(answer.json["lines"][1]["price"], 100_000);
        for (line, refusal, field) in [
            (stock_line(option, 0), (400, "INVALID_INPUT"), "lines[1].quantity"),
            (stock_line(99, 1), (404, "PRODUCT_OPTION_NOT_FOUND"), "lines[1].productOptionId"),
        ] {
            let lines = json!([stock_line(option, 1), line]);
            let answer = app.json("POST", "/v1/availability", &json!({"lines": lines})).await;
            assert_eq!((answer.refusal(), &answer.json["field"]), (refusal, &json!(field)));
        }
        assert_eq!(counts(app, option).await, (10, 6, 4));
    })
    .await;
}
