//! Extension of claims.

use futures_util::future::join_all;
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::claims_support::{
    CLAIMED, Catalog, NONE, act, after, call, call_at, call_with_key, cart_claim, claim_path, confirmed_claim, delete,
    path_of, place, placed_claim, placed_from, shown, stock_line, time, with_ttl,
};
use crate::shop_support::{buyer, option};
use crate::support::{TestApp, day, fresh_key, new_hold, placed, with_app, with_settings};
use crate::tickets::seat;

/// Places a claim on one piece, for ten minutes.
async fn piece(app: &TestApp) -> Value {
    let lines = json!([stock_line(option(app, 1_000, 10).await, 1)]);
    placed_from(app, 7, &with_ttl(&lines, 600)).await
}

/// Extends a claim, which must succeed.
async fn extended(app: &TestApp, claim: &Value, body: &Value) -> Value {
    let extended = act(app, 7, claim, "extend", body).await;
    assert_eq!(extended.status, 200, "{}", extended.text);
    extended.json
}

profiles!(extended_units_stay_held);
/// The units of all lines follow the end of their claim.
async fn extended_units_stay_held(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        app.pass(Span::from_secs(299));
        let end = after(app, 901);
        let answer = extended(app, &claim, &json!({"seconds": 900})).await;
        assert_eq!((time(&answer["expiresAt"]), &answer["status"]), (end, &json!("HELD")));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, answer);
        app.pass(Span::from_millis(900_999));
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
        assert_eq!(place(app, 8, &catalog.lines()).await.refusal(), (409, "NOT_AVAILABLE"));
        app.pass(Span::from_millis(1));
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "EXPIRED");
        placed_claim(app, 8, &catalog.lines()).await;
    })
    .await;
}

profiles!(extension_counts_from_present_end);
/// "`extend {seconds}` counts from the present end"
async fn extension_counts_from_present_end(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        let placed_at = app.now();
        app.pass(Span::from_secs(100));
        for seconds in [660, 720] {
            let answer = extended(app, &claim, &json!({"seconds": 60})).await;
            let end = placed_at + jiff::SignedDuration::from_secs(seconds);
            assert_eq!(time(&answer["expiresAt"]), end);
        }
    })
    .await;
}

profiles!(claim_is_extended_until_a_time);
/// "`until` not after it → 400"; holds end on a full second.
async fn claim_is_extended_until_a_time(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        let until = after(app, 1_000);
        let answer = extended(app, &claim, &json!({"until": until.to_string()})).await;
        assert_eq!(time(&answer["expiresAt"]), until);
        let between = until + jiff::SignedDuration::from_millis(500);
        let answer = extended(app, &claim, &json!({"until": between.to_string()})).await;
        assert_eq!(time(&answer["expiresAt"]), after(app, 1_001), "rounded up");
        for early in [after(app, 1_001), after(app, 999), app.now()] {
            let refused = act(app, 7, &claim, "extend", &json!({"until": early.to_string()})).await;
            assert_eq!((refused.refusal(), &refused.json["field"]), ((400, "INVALID_INPUT"), &json!("until")));
        }
        assert_eq!(shown(app, 7, &path_of(&claim)).await, answer);
    })
    .await;
}

profiles!(extensions_of_claim_are_limited);
/// "at most `claim.extensions_max` (5) times: else 409 `EXTENSION_LIMIT` with `maxUntil`"
async fn extensions_of_claim_are_limited(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        let mut last = claim.clone();
        for _ in 0..5 {
            last = extended(app, &claim, &json!({"seconds": 1})).await;
        }
        assert_eq!(time(&last["expiresAt"]), after(app, 605));
        let refused = act(app, 7, &claim, "extend", &json!({"seconds": 1})).await;
        assert_eq!(refused.refusal(), (409, "EXTENSION_LIMIT"), "{}", refused.text);
        assert_eq!(time(&refused.json["maxUntil"]), after(app, 7_200));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, last);
    })
    .await;
    with_settings(
        profile,
        |config| config.claim.extensions_max = 1,
        async |app| {
            let claim = piece(app).await;
            extended(app, &claim, &json!({"seconds": 1})).await;
            let refused = act(app, 7, &claim, "extend", &json!({"seconds": 1})).await;
            assert_eq!(refused.refusal(), (409, "EXTENSION_LIMIT"));
        },
    )
    .await;
}

profiles!(extended_lifetime_is_limited);
/// "at most `claim.lifetime_max` (2h) after `createdAt`: else 409 `EXTENSION_LIMIT` with `maxUntil`"; it "limits
/// extensions only".
async fn extended_lifetime_is_limited(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        let (created_at, max_until) = (app.now(), after(app, 7_200));
        app.pass(Span::from_secs(300));
        for body in [json!({"seconds": 6_601}), json!({"until": "2027-03-01T05:00:01Z"}), json!({"seconds": 1_000_000})]
        {
            let refused = act(app, 7, &claim, "extend", &body).await;
            assert_eq!(refused.refusal(), (409, "EXTENSION_LIMIT"), "{body}");
            assert_eq!(time(&refused.json["maxUntil"]), max_until);
        }
        let end = time(&extended(app, &claim, &json!({"seconds": 6_600})).await["expiresAt"]);
        assert_eq!((end, time(&claim["createdAt"])), (max_until, created_at), "counted from the placement");
        let lines = json!([stock_line(option(app, 1, 9).await, 1)]);
        let long = placed_from(app, 7, &with_ttl(&lines, 86_400)).await;
        let refused = act(app, 7, &long, "extend", &json!({"seconds": 1})).await;
        assert_eq!(refused.refusal(), (409, "EXTENSION_LIMIT"));
        assert_eq!(shown(app, 7, &path_of(&long)).await, long);
    })
    .await;
}

profiles!(malformed_extension_is_rejected);
/// `{seconds}` or `{until}`
async fn malformed_extension_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        for (body, field) in [
            (json!({"seconds": 0}), "seconds"),
            (json!({"seconds": -60}), "seconds"),
            (json!({"seconds": "60"}), "seconds"),
            (json!({"seconds": 1.5}), "seconds"),
            (json!({"until": 5}), "until"),
            (json!({"until": "tomorrow"}), "until"),
            (json!({"until": "2027-03-01"}), "until"),
            (json!({"seconds": 60, "until": "2027-03-01T03:20:00Z"}), ""),
            (json!({}), ""),
            (Value::Null, ""),
        ] {
            let answer = act(app, 7, &claim, "extend", &body).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{body}");
            let named = answer.json["field"].as_str().unwrap();
            assert!(field.is_empty() || named == field, "{body}: {named}");
        }
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
    })
    .await;
}

profiles!(holds_of_all_endpoints_are_extended);
/// "`/v1/claims/{id}` with its `holdId`, `lockId` or the `claimId` of a cart's reservation extends it."
async fn holds_of_all_endpoints_are_extended(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let user = buyer(app, 0).await;
        user.reserve(catalog.option, 2).await;
        let cart = cart_claim(app, &user.id).await;
        let stay = user.place_hold(&new_hold(&catalog.room_type, day(1), day(3))).await.unwrap();
        let seats = user.hold_seats(catalog.event.id, &[seat(&catalog.event, 1)]).await.unwrap();
        let lock = user.lock_slots(catalog.room, day(1), &["09:00"]).await.unwrap();
        let (stay, seats, lock) = (stay.hold_id, seats.hold_id, lock.lock_id);
        for path in [path_of(&cart), claim_path(stay), claim_path(seats), claim_path(lock)] {
            let until = json!({"until": after(app, 3_600).to_string()});
            let answer = call(app, &user.id, "POST", &format!("{path}/extend"), &until).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
        let end = after(app, 3_600);
        app.pass(Span::from_millis(3_599_999));
        assert_eq!(user.hold(stay).await.unwrap().expired_at, end);
        assert_eq!(user.seat_hold(seats).await.unwrap().expires_at, end);
        assert_eq!(user.lock(lock).await.unwrap().expires_at, end);
        assert_eq!(user.order_reservation().await.unwrap().expires_at, end);
        assert_eq!(catalog.quantities(app).await, ([1, 2, 1, 1], NONE));
        user.confirm_hold(stay).await.expect("a live hold can always be confirmed");
        user.confirm_seat_hold(seats).await.expect("a live hold can always be confirmed");
        app.pass(Span::from_millis(1));
        assert_eq!(catalog.quantities(app).await, (NONE, [1, 0, 1, 0]));
    })
    .await;
}

profiles!(ended_claim_cannot_be_extended);
/// "expired or replaced → 409 `CLAIM_EXPIRED`, confirmed or cancelled → 409 `CLAIM_ALREADY_PROCESSED`"
async fn ended_claim_cannot_be_extended(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let lines = json!([stock_line(catalog.option, 1)]);
        let expired = placed_from(app, 7, &with_ttl(&lines, 60)).await;
        let confirmed = confirmed_claim(app, 7, &lines).await;
        let cancelled = placed_claim(app, 7, &lines).await;
        assert_eq!(delete(app, 7, &cancelled).await.status, 204);
        let old = placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        let replaced = shown(app, 7, &claim_path(old.hold_id)).await;
        app.pass(Span::from_secs(60));
        for (claim, code) in [
            (expired, "CLAIM_EXPIRED"),
            (replaced, "CLAIM_EXPIRED"),
            (confirmed, "CLAIM_ALREADY_PROCESSED"),
            (cancelled, "CLAIM_ALREADY_PROCESSED"),
        ] {
            for body in [json!({"seconds": 60}), json!({"until": after(app, 3_600).to_string()})] {
                assert_eq!(act(app, 7, &claim, "extend", &body).await.refusal(), (409, code), "{claim}");
            }
        }
    })
    .await;
}

profiles!(extend_of_other_user_is_forbidden);
async fn extend_of_other_user_is_forbidden(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        let body = json!({"seconds": 60});
        assert_eq!(act(app, 8, &claim, "extend", &body).await.refusal(), (403, "FORBIDDEN"));
        let unknown = call(app, 7, "POST", &format!("{}/extend", claim_path(fresh_key())), &body).await;
        assert_eq!(unknown.refusal(), (404, "CLAIM_NOT_FOUND"));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
    })
    .await;
}

profiles!(retried_extension_counts_once);
/// "same key and same request → the first success again"
async fn retried_extension_counts_once(profile: Profile) {
    with_app(profile, async |app| {
        let claim = piece(app).await;
        let path = format!("{}/extend", path_of(&claim));
        for replayed in [None, Some("true"), Some("true")] {
            let answer = call_with_key(app, 7, "k", &path, &json!({"seconds": 60})).await;
            assert_eq!((answer.status, answer.header("idempotent-replayed")), (200, replayed), "{}", answer.text);
            assert_eq!(time(&answer.json["expiresAt"]), after(app, 660));
        }
        assert_eq!(time(&shown(app, 7, &path_of(&claim)).await["expiresAt"]), after(app, 660));
    })
    .await;
}

profiles!(concurrent_extensions_are_all_counted);
/// Of ten concurrent extensions five are applied; at one version, one.
async fn concurrent_extensions_are_all_counted(profile: Profile) {
    with_app(profile, async |app| {
        let (body, claim) = (&json!({"seconds": 60}), &piece(app).await);
        let tries = join_all((0..10).map(|_| act(app, 7, claim, "extend", body))).await;
        assert_eq!(tries.iter().filter(|answer| answer.status == 200).count(), 5);
        for lost in tries.iter().filter(|answer| answer.status != 200) {
            assert_eq!(lost.refusal(), (409, "EXTENSION_LIMIT"));
        }
        assert_eq!(time(&shown(app, 7, &path_of(claim)).await["expiresAt"]), after(app, 900));

        let (claim, path) = (&piece(app).await, "extend");
        let path = &format!("{}/{path}", path_of(claim));
        let tries = join_all((0..10).map(|_| call_at(app, 7, &claim["version"], "POST", path, body))).await;
        assert_eq!(tries.iter().filter(|answer| answer.status == 200).count(), 1);
        assert_eq!(time(&shown(app, 7, &path_of(claim)).await["expiresAt"]), after(app, 660));
    })
    .await;
}
