//! Changes of held claims: lines, metadata, reference, owner, and their versions.

use futures_util::future::join_all;
use holdfast_client::{NewProduct, NewProductOption, NewRoomType, SeatStatus};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::auth::{caller, with_auth};
use crate::claims_support::{
    CLAIMED, Catalog, NONE, TOTAL, act, call, call_as, call_at, cart_claim, change, claim_path, delete, line_statuses,
    path_of, placed_claim, placed_from, record, refused_lines, rooms_line, seats_line, shown, slots_line, stay_line,
    stock_line, with_ttl,
};
use crate::shop_support::{buyer, counts, option, set_price};
use crate::support::{TestApp, day, fresh_key, new_hold, placed, with_app};
use crate::tickets::{map, seat};

/// Changes a claim, which must succeed.
async fn changed(app: &TestApp, claim: &Value, body: &Value) -> Value {
    let changed = change(app, 7, claim, body).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    changed.json
}

profiles!(added_lines_join_claim);
/// `PATCH` `{add: [lines]}`: "Held: `expiresAt` stays."
async fn added_lines_join_claim(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let lines = catalog.lines();
        let claim = placed_claim(app, 7, &json!([lines[0]])).await;
        app.pass(Span::from_secs(100));
        let changed = changed(app, &claim, &json!({"add": [lines[1], lines[2], lines[3]]})).await;
        assert_eq!((&changed["status"], &changed["totalPrice"]), (&json!("HELD"), &json!(TOTAL)));
        assert_eq!((&changed["claimId"], &changed["expiresAt"]), (&claim["claimId"], &claim["expiresAt"]));
        let line = |index: usize| (changed["lines"][index]["index"].clone(), changed["lines"][index]["type"].clone());
        for (index, kind) in ["stay", "stock", "seat", "slot"].into_iter().enumerate() {
            assert_eq!(line(index), (json!(index), json!(kind)));
        }
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, changed);
        app.pass(Span::from_secs(499));
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE), "added lines end with their claim");
        app.pass(Span::from_secs(1));
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(removed_lines_are_released);
/// `PATCH` `{remove: [index]}`: "a line keeps its index"; "`totalPrice` is the sum of its lines that are neither
/// released nor cancelled"
async fn removed_lines_are_released(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let removed = changed(app, &claim, &json!({"remove": [0, 2]})).await;
        assert_eq!(line_statuses(&removed), ["RELEASED", "HELD", "RELEASED", "HELD"]);
        assert_eq!(removed["totalPrice"], 22_000);
        assert_eq!(catalog.quantities(app).await, ([0, 2, 0, 2], NONE));
        let added = changed(app, &claim, &json!({"add": [seats_line(&catalog.event, &[2])]})).await;
        assert_eq!(line_statuses(&added), ["RELEASED", "HELD", "RELEASED", "HELD", "HELD"]);
        assert_eq!((&added["lines"][4]["index"], &added["totalPrice"]), (&json!(4), &json!(122_000)));
        let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await;
        assert_eq!(confirmed.status, 201, "{}", confirmed.text);
        assert_eq!(catalog.quantities(app).await, (NONE, [0, 2, 1, 2]));
    })
    .await;
}

profiles!(removed_units_are_free_for_added_lines);
/// "what is removed counts as free for what is added"
async fn removed_units_are_free_for_added_lines(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let Catalog { room_type, option, event, room } = &catalog;
        let lines = json!([
            rooms_line(room_type.id, 1, 3, 3),
            stock_line(*option, 10),
            seats_line(event, &[1, 2]),
            slots_line(*room, 1, &["09:00", "10:00"]),
        ]);
        let claim = placed_claim(app, 7, &lines).await;
        let add = json!([
            rooms_line(room_type.id, 2, 4, 3),
            stock_line(*option, 9),
            seats_line(event, &[2, 3]),
            slots_line(*room, 1, &["10:00", "11:00"]),
        ]);
        let short = change(app, 7, &claim, &json!({"add": [add[0], add[1]]})).await;
        assert_eq!(short.refusal(), (409, "NOT_AVAILABLE"), "its own lines count");
        let changed = changed(app, &claim, &json!({"add": add, "remove": [0, 1, 2, 3]})).await;
        let statuses = ["RELEASED", "RELEASED", "RELEASED", "RELEASED", "HELD", "HELD", "HELD", "HELD"];
        assert_eq!(line_statuses(&changed), statuses);
        assert_eq!(catalog.quantities(app).await, ([0, 9, 2, 2], NONE));
        let nights = app.admin().availability(room_type.id, day(1), day(4)).await.unwrap().nights;
        assert_eq!(nights.iter().map(|night| night.hold_count).collect::<Vec<_>>(), [0, 3, 3]);
        assert_eq!(map(app, event).await, ".hh.");
    })
    .await;
}

profiles!(refused_change_changes_nothing);
/// "one step, all or nothing: if a new line is not available, nothing changes (409 as for placing)"
async fn refused_change_changes_nothing(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        placed_claim(app, 8, &json!([seats_line(&catalog.event, &[4])])).await;
        let body = json!({
            "add": [stay_line(catalog.room_type.id, 5, 6), seats_line(&catalog.event, &[3, 4])],
            "remove": [1],
            "reference": "new",
        });
        let refused = change(app, 7, &claim, &body).await;
        assert_eq!(refused.refusal(), (409, "NOT_AVAILABLE"), "{}", refused.text);
        let codes: Vec<_> = refused_lines(&refused.json["lines"]).into_iter().map(|(_, code)| code).collect();
        assert_eq!(codes, ["SEAT_HELD_BY_ANOTHER"]);
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
        assert_eq!(map(app, &catalog.event).await, "hh.h");
        let nights = app.admin().availability(catalog.room_type.id, day(5), day(6)).await.unwrap().nights;
        assert_eq!((nights[0].hold_count, counts(app, catalog.option).await), (0, (10, 2, 8)));
    })
    .await;
}

profiles!(metadata_is_replaced_whole);
/// "`metadata` replaces"
async fn metadata_is_replaced_whole(profile: Profile) {
    with_app(profile, async |app| {
        let lines = json!([stock_line(option(app, 1_000, 10).await, 1)]);
        let request = json!({"lines": lines, "reference": "a", "metadata": {"channel": "app", "note": "x"}});
        let claim = placed_from(app, 7, &request).await;
        let first = changed(app, &claim, &json!({"metadata": {"note": "y"}})).await;
        assert_eq!((&first["reference"], &first["metadata"]), (&json!("a"), &json!({"note": "y"})));
        let second = changed(app, &claim, &json!({"reference": "b"})).await;
        assert_eq!((&second["reference"], &second["metadata"]), (&json!("b"), &json!({"note": "y"})));
        assert_eq!((&second["lines"], &second["expiresAt"]), (&claim["lines"], &claim["expiresAt"]));
        let list = async |reference: &str| {
            let listed = shown(app, 7, &format!("/v1/claims?userId=7&reference={reference}")).await;
            listed["items"].as_array().unwrap().len()
        };
        assert_eq!((list("a").await, list("b").await), (0, 1), "the list follows");
    })
    .await;
}

profiles!(prices_of_kept_lines_stay_frozen);
/// An added line has its present price; the others keep theirs.
async fn prices_of_kept_lines_stay_frozen(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let claim = placed_claim(app, 7, &json!([stock_line(option, 2)])).await;
        set_price(app, option, 5_000).await;
        let changed = changed(app, &claim, &json!({"add": [stock_line(option, 1)]})).await;
        let prices: Vec<_> = changed["lines"].as_array().unwrap().iter().map(|line| &line["price"]).collect();
        assert_eq!(prices, [&json!(2_000), &json!(5_000)]);
        assert_eq!(changed["totalPrice"], 7_000);
    })
    .await;
}

profiles!(stale_version_is_rejected);
/// "`version` rises with every committed change; `If-Match: "version"` is optional on PATCH, extend, confirm and
/// cancel: stale → 412 `VERSION_MISMATCH`."
async fn stale_version_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let (path, old) = (path_of(&claim), &claim["version"]);
        let first = call_at(app, 7, old, "PATCH", &path, &json!({"reference": "a"})).await;
        assert_eq!(first.status, 200, "{}", first.text);
        let mut version = first.json["version"].clone();
        assert!(version.as_u64() > old.as_u64(), "{version}");
        let calls = [
            ("PATCH", path.clone(), json!({"remove": [3]})),
            ("POST", format!("{path}/extend"), json!({"seconds": 60})),
            ("POST", format!("{path}/cancel"), json!({"lines": [1]})),
            ("POST", format!("{path}/confirm"), json!({"lines": [0]})),
            ("POST", format!("{path}/cancel"), Value::Null),
        ];
        for (method, path, body) in &calls {
            let stale = call_at(app, 7, old, method, path, body).await;
            assert_eq!(stale.refusal(), (412, "VERSION_MISMATCH"), "{path}");
        }
        assert_eq!(shown(app, 7, &path).await, first.json, "nothing changed");
        for (method, path, body) in &calls {
            let current = call_at(app, 7, &version, method, path, body).await;
            assert!(current.status == 200 || current.status == 201, "{path}: {}", current.text);
            let next = &current.json["version"];
            assert!(next.as_u64() > version.as_u64(), "{path}: {next} follows {version}");
            version = next.clone();
        }
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(concurrent_changes_have_one_winner);
/// Of changes at the same version one is applied.
async fn concurrent_changes_have_one_winner(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 100).await;
        let claim = &placed_claim(app, 7, &json!([stock_line(option, 1)])).await;
        let tries = join_all((0..20).map(|_| async move {
            let body = json!({"add": [stock_line(option, 1)]});
            call_at(app, 7, &claim["version"], "PATCH", &path_of(claim), &body).await
        }))
        .await;
        assert_eq!(tries.iter().filter(|answer| answer.status == 200).count(), 1);
        for lost in tries.iter().filter(|answer| answer.status != 200) {
            assert_eq!(lost.refusal(), (412, "VERSION_MISMATCH"));
        }
        assert_eq!(counts(app, option).await, (100, 2, 98));
    })
    .await;
}

profiles!(holds_of_endpoints_keep_their_lines);
/// "`add` and `remove` on a held claim need `origin: "claim"`, else 409 `CLAIM_NOT_CHANGEABLE`." Reference and metadata
/// may change.
async fn holds_of_endpoints_keep_their_lines(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let user = buyer(app, 0).await;
        user.reserve(catalog.option, 2).await;
        let cart = cart_claim(app, &user.id).await;
        let stay = user.place_hold(&new_hold(&catalog.room_type, day(1), day(3))).await.unwrap();
        let seats = user.hold_seats(catalog.event.id, &[seat(&catalog.event, 1)]).await.unwrap();
        let lock = user.lock_slots(catalog.room, day(1), &["09:00"]).await.unwrap();
        let mut claims = vec![cart];
        for id in [stay.hold_id, seats.hold_id, lock.lock_id] {
            claims.push(shown(app, &user.id, &claim_path(id)).await);
        }
        for claim in &claims {
            for body in [json!({"add": [stock_line(catalog.option, 1)]}), json!({"remove": [0]})] {
                let refused = change(app, &user.id, claim, &body).await;
                assert_eq!(refused.refusal(), (409, "CLAIM_NOT_CHANGEABLE"), "{}", claim["origin"]);
            }
            let body = json!({"reference": "r", "metadata": {"k": "v"}});
            let changed = change(app, &user.id, claim, &body).await;
            assert_eq!(changed.status, 200, "{}", changed.text);
            assert_eq!((&changed.json["reference"], &changed.json["metadata"]["k"]), (&json!("r"), &json!("v")));
            assert_eq!(changed.json["lines"], claim["lines"]);
        }
        assert_eq!(user.confirm_hold(stay.hold_id).await.unwrap().price, 200_000);
    })
    .await;
}

profiles!(operator_transfers_claim);
/// "admin and service also `{userId}` (transfer; a confirmed claim → 409 `CLAIM_ALREADY_PROCESSED`)"
async fn operator_transfers_claim(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let transfer = json!({"userId": 8});
        assert_eq!(change(app, 7, &claim, &transfer).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(change(app, 8, &claim, &transfer).await.refusal(), (403, "FORBIDDEN"));
        let moved = app.json("PATCH", &path_of(&claim), &transfer).await;
        assert_eq!((moved.status, &moved.json["userId"]), (200, &json!(8)), "{}", moved.text);
        assert_eq!(call(app, 7, "GET", &path_of(&claim), &Value::Null).await.refusal(), (403, "FORBIDDEN"));
        for (user, count) in [(7, 0), (8, 1)] {
            let listed = shown(app, user, &format!("/v1/claims?userId={user}")).await;
            assert_eq!(listed["items"].as_array().unwrap().len(), count, "{user}");
        }
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
        let confirmed = act(app, 8, &claim, "confirm", &Value::Null).await;
        assert_eq!(confirmed.status, 201, "{}", confirmed.text);
        assert_eq!(app.guest(8).reservation(record(&confirmed.json, 0)).await.unwrap().user_id, 8.into());
        assert_eq!(app.guest(8).seat_reservation(record(&confirmed.json, 2)).await.unwrap().user_id, 8.into());
        let late = app.json("PATCH", &path_of(&claim), &json!({"userId": 9})).await;
        assert_eq!(late.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
    })
    .await;
}

profiles!(only_operators_transfer_claims);
async fn only_operators_transfer_claims(profile: Profile) {
    with_auth(profile, async |app| {
        let new = NewRoomType::new("객실", 9, 1);
        let room_type = caller(app, "900", "admin").create_room_type(&new).await.unwrap().id;
        let request = json!({"lines": [stay_line(room_type, 1, 2)]});
        let path = path_of(&call_as(app, "7", "user", "POST", "/v1/claims", &request).await.json);
        for (sub, role, user, status) in
            [("7", "user", 8, 403), ("901", "service", 8, 200), ("900", "admin", 9, 200), ("7", "user", 7, 403)]
        {
            let answer = call_as(app, sub, role, "PATCH", &path, &json!({"userId": user})).await;
            assert_eq!(answer.status, status, "{role}: {}", answer.text);
        }
        let confirm = format!("{path}/confirm");
        assert_eq!(call_as(app, "7", "user", "POST", &confirm, &Value::Null).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(call_as(app, "9", "user", "POST", &confirm, &Value::Null).await.status, 201);
    })
    .await;
}

profiles!(ended_claim_cannot_be_changed);
/// "Expired or replaced → 409 `CLAIM_EXPIRED`, cancelled → 409 `CLAIM_ALREADY_PROCESSED`; the same for confirm, PATCH"
async fn ended_claim_cannot_be_changed(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let lines = json!([stock_line(catalog.option, 1)]);
        let expired = placed_from(app, 7, &with_ttl(&lines, 1)).await;
        let cancelled = placed_claim(app, 7, &lines).await;
        assert_eq!(delete(app, 7, &cancelled).await.status, 204);
        let old = placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        let replaced = shown(app, 7, &claim_path(old.hold_id)).await;
        app.pass(Span::from_secs(1));
        for body in [json!({"reference": "x"}), json!({"metadata": {}})] {
            assert_eq!(change(app, 7, &expired, &body).await.refusal(), (409, "CLAIM_EXPIRED"));
            assert_eq!(change(app, 7, &replaced, &body).await.refusal(), (409, "CLAIM_EXPIRED"));
            assert_eq!(change(app, 7, &cancelled, &body).await.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        }
        let add = json!({"add": lines});
        assert_eq!(change(app, 7, &expired, &add).await.refusal(), (409, "CLAIM_EXPIRED"));
        assert_eq!(change(app, 7, &cancelled, &add).await.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        assert_eq!(counts(app, catalog.option).await, (10, 0, 10));
    })
    .await;
}

profiles!(change_of_other_user_is_forbidden);
async fn change_of_other_user_is_forbidden(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let claim = placed_claim(app, 7, &json!([stock_line(option, 1)])).await;
        for body in [json!({"reference": "x"}), json!({"remove": [0]}), json!({"add": [stock_line(option, 1)]})] {
            assert_eq!(change(app, 8, &claim, &body).await.refusal(), (403, "FORBIDDEN"));
            let unknown = call(app, 7, "PATCH", &claim_path(fresh_key()), &body).await;
            assert_eq!(unknown.refusal(), (404, "CLAIM_NOT_FOUND"));
        }
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
    })
    .await;
}

profiles!(malformed_change_is_rejected);
async fn malformed_change_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let mut new = NewProduct::new("Beans", vec![NewProductOption::new("USD-1", 1_299, 5)]);
        new.currency = Some("USD".into());
        let beans = app.admin().create_product(&new).await.unwrap().options[0].id;
        for (body, refusal, field) in [
            (json!({"add": [stock_line(catalog.option, 0)]}), (400, "INVALID_INPUT"), "add[0]"),
            (json!({"add": [stock_line(catalog.option, 1), {}]}), (400, "INVALID_INPUT"), "add[1]"),
            (json!({"add": [stock_line(99, 1)]}), (404, "PRODUCT_OPTION_NOT_FOUND"), "add[0]"),
            (json!({"add": [stock_line(beans, 1)]}), (400, "INVALID_INPUT"), "add"),
            (json!({"add": vec![stock_line(catalog.option, 1); 97]}), (400, "INVALID_INPUT"), "add"),
            (json!({"add": 5}), (400, "INVALID_INPUT"), "add"),
            (json!({"remove": [4]}), (400, "INVALID_INPUT"), "remove"),
            (json!({"remove": [-1]}), (400, "INVALID_INPUT"), "remove"),
            (json!({"remove": "all"}), (400, "INVALID_INPUT"), "remove"),
            (json!({"reference": "x".repeat(201)}), (400, "INVALID_INPUT"), "reference"),
            (json!({"metadata": {"k": 5}}), (400, "INVALID_INPUT"), "metadata"),
        ] {
            let answer = change(app, 7, &claim, &body).await;
            assert_eq!(answer.refusal(), refusal, "{body}");
            let named = answer.json["field"].as_str().unwrap();
            assert!(named.starts_with(field), "{body}: {named}");
        }
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
        let seats = app.admin().seats(catalog.event.id).await.unwrap();
        assert_eq!(seats.iter().filter(|seat| seat.status == SeatStatus::Held).count(), 2);
    })
    .await;
}
