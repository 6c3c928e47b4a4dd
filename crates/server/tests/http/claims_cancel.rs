//! Cancelling claims: held ones, confirmed ones with their refund, and some of their lines.

use futures_util::future::join_all;
use holdfast_client::{HoldStatus, LockStatus, ReservationStatus, SeatReservationStatus};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::claims_support::{
    CLAIMED, Catalog, NONE, PRICES, TOTAL, act, call, call_with_key, cart_claim, claim_path, confirmed_claim, delete,
    line_statuses, path_of, placed_claim, placed_from, record, shown, stay_line, stock_line, with_ttl,
};
use crate::shop_support::{buyer, counts, option};
use crate::support::{code, day, fresh_key, placed, refused, with_app};
use crate::tickets::seat;

/// Returns index, percent and amount of each refunded line.
fn refunds(answer: &Value) -> Vec<(u64, u64, i64)> {
    let lines = answer["refund"]["lines"].as_array().expect("a refund has lines").iter();
    let number = |line: &Value, name: &str| line[name].as_u64().unwrap();
    lines.map(|line| (number(line, "index"), number(line, "percent"), line["amount"].as_i64().unwrap())).collect()
}

profiles!(delete_frees_all_units);
/// "`DELETE`: 204, a held claim"
async fn delete_frees_all_units(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let deleted = delete(app, 7, &claim).await;
        assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "CANCELLED");
        assert_eq!(delete(app, 7, &claim).await.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        placed_claim(app, 8, &catalog.lines()).await;
    })
    .await;
}

profiles!(held_claim_is_cancelled_once);
/// "`cancel` of a held claim: 204"
async fn held_claim_is_cancelled_once(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let cancelled = act(app, 7, &claim, "cancel", &json!({"reason": "늦음"})).await;
        assert_eq!((cancelled.status, cancelled.text.as_str()), (204, ""));
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "CANCELLED");
        for body in [Value::Null, json!({"lines": [0]})] {
            let again = act(app, 7, &claim, "cancel", &body).await;
            assert_eq!(again.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        }
    })
    .await;
}

profiles!(cancelled_lines_of_held_claim_are_free);
/// "with `lines` 200 and these are `RELEASED`"
async fn cancelled_lines_of_held_claim_are_free(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let answer = act(app, 7, &claim, "cancel", &json!({"lines": [0, 3]})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!((&answer.json["status"], &answer.json["totalPrice"]), (&json!("HELD"), &json!(202_000)));
        assert_eq!(line_statuses(&answer.json), ["RELEASED", "HELD", "HELD", "RELEASED"]);
        assert_eq!(answer.json["expiresAt"], claim["expiresAt"]);
        assert_eq!(catalog.quantities(app).await, ([0, 2, 2, 0], NONE));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, answer.json);
        let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await;
        assert_eq!(line_statuses(&confirmed.json), ["RELEASED", "CONFIRMED", "CONFIRMED", "RELEASED"]);
        assert_eq!(catalog.quantities(app).await, (NONE, [0, 2, 2, 0]));
    })
    .await;
}

profiles!(confirmed_claim_is_refunded_whole);
/// "of a confirmed one: 200 `{…, refund: {amount, lines: [{index, percent, amount, rule}]}}`"; by default all of it.
async fn confirmed_claim_is_refunded_whole(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let confirmed = confirmed_claim(app, 7, &catalog.lines()).await;
        let answer = act(app, 7, &confirmed, "cancel", &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let cancelled = &answer.json;
        assert_eq!((&cancelled["claimId"], &cancelled["status"]), (&confirmed["claimId"], &json!("CANCELLED")));
        assert_eq!((&cancelled["totalPrice"], line_statuses(cancelled)), (&json!(0), vec!["CANCELLED"; 4]));
        assert_eq!(cancelled["refund"]["amount"], TOTAL);
        let expected: Vec<(u64, u64, i64)> = (0..).zip(PRICES).map(|(index, price)| (index, 100, price)).collect();
        assert_eq!(refunds(cancelled), expected);
        assert!(!cancelled["refund"]["lines"][0]["rule"].is_null(), "{cancelled}");
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));

        let guest = app.guest(7);
        assert_eq!(guest.reservation(record(&confirmed, 0)).await.unwrap().status, ReservationStatus::Cancelled);
        let sale = shown(app, 7, &format!("/v1/stock-sales/{}", record(&confirmed, 1))).await;
        assert_eq!(sale["status"], "CANCELLED");
        let seats = guest.seat_reservation(record(&confirmed, 2)).await.unwrap();
        assert_eq!(seats.status, SeatReservationStatus::Cancelled);
        assert!(guest.room_reservation(record(&confirmed, 3)).await.unwrap().cancelled_at.is_some());
        let again = act(app, 7, &confirmed, "cancel", &Value::Null).await;
        assert_eq!(again.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        placed_claim(app, 8, &catalog.lines()).await;
    })
    .await;
}

profiles!(confirmed_lines_are_refunded);
/// "or some of its lines": the claim stays confirmed with the others, and is cancelled once all are.
async fn confirmed_lines_are_refunded(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = confirmed_claim(app, 7, &catalog.lines()).await;
        let first = act(app, 7, &claim, "cancel", &json!({"lines": [2, 1]})).await;
        assert_eq!(first.status, 200, "{}", first.text);
        assert_eq!((&first.json["status"], &first.json["totalPrice"]), (&json!("CONFIRMED"), &json!(220_000)));
        assert_eq!(line_statuses(&first.json), ["CONFIRMED", "CANCELLED", "CANCELLED", "CONFIRMED"]);
        assert_eq!(first.json["refund"]["amount"], 202_000);
        let mut lines = refunds(&first.json);
        lines.sort_unstable();
        assert_eq!(lines, [(1, 100, 2_000), (2, 100, 200_000)]);
        assert_eq!(catalog.quantities(app).await, (NONE, [1, 0, 0, 2]));
        let rest = act(app, 7, &claim, "cancel", &Value::Null).await;
        assert_eq!((rest.status, &rest.json["status"]), (200, &json!("CANCELLED")), "{}", rest.text);
        assert_eq!(refunds(&rest.json), [(0, 100, 200_000), (3, 100, 20_000)], "what is cancelled is refunded once");
        assert_eq!(rest.json["refund"]["amount"], 220_000);
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(unconfirmed_lines_are_not_refunded);
/// A line that was released when the claim was confirmed has no record and no refund.
async fn unconfirmed_lines_are_not_refunded(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let confirmed = act(app, 7, &claim, "confirm", &json!({"lines": [1, 3]})).await;
        assert_eq!(confirmed.status, 201, "{}", confirmed.text);
        let cancelled = act(app, 7, &claim, "cancel", &Value::Null).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text);
        assert_eq!(refunds(&cancelled.json), [(1, 100, 2_000), (3, 100, 20_000)]);
        assert_eq!(line_statuses(&cancelled.json), ["RELEASED", "CANCELLED", "RELEASED", "CANCELLED"]);
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(record_cancel_shows_at_its_claim);
/// "A record that is cancelled at its own endpoint shows as a `CANCELLED` line of its claim, and the claim is
/// `CANCELLED` once all are."
async fn record_cancel_shows_at_its_claim(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = confirmed_claim(app, 7, &catalog.lines()).await;
        let (guest, path) = (app.guest(7), path_of(&claim));
        guest.cancel_reservation(record(&claim, 0)).await.unwrap();
        let read = shown(app, 7, &path).await;
        assert_eq!(line_statuses(&read), ["CANCELLED", "CONFIRMED", "CONFIRMED", "CONFIRMED"]);
        assert_eq!((&read["status"], &read["totalPrice"]), (&json!("CONFIRMED"), &json!(222_000)));
        assert!(read["version"].as_u64() > claim["version"].as_u64(), "{read}");
        guest.cancel_seat_reservation(record(&claim, 2)).await.unwrap();
        guest.cancel_room_reservation(record(&claim, 3)).await.unwrap();
        let read = shown(app, 7, &path).await;
        assert_eq!(line_statuses(&read), ["CANCELLED", "CONFIRMED", "CANCELLED", "CANCELLED"]);
        assert_eq!(read["status"], "CONFIRMED");
        let last = act(app, 7, &claim, "cancel", &json!({"lines": [1]})).await;
        assert_eq!((last.status, &last.json["status"]), (200, &json!("CANCELLED")), "{}", last.text);
        assert_eq!(refunds(&last.json), [(1, 100, 2_000)]);
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));

        let hold = placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        let reservation = guest.confirm_hold(hold.hold_id).await.unwrap().reservation_id;
        guest.cancel_reservation(reservation).await.unwrap();
        assert_eq!(shown(app, 7, &claim_path(hold.hold_id)).await["status"], "CANCELLED", "its only line");
    })
    .await;
}

profiles!(claim_cancel_shows_at_its_records);
/// The other way round: a record that was cancelled through its claim cannot be cancelled again.
async fn claim_cancel_shows_at_its_records(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = confirmed_claim(app, 7, &catalog.lines()).await;
        assert_eq!(act(app, 7, &claim, "cancel", &Value::Null).await.status, 200);
        let (guest, again) = (app.guest(7), refused(409, "RESERVATION_ALREADY_CANCELLED"));
        assert_eq!(code(guest.cancel_reservation(record(&claim, 0)).await), again);
        assert_eq!(code(guest.cancel_seat_reservation(record(&claim, 2)).await), again);
        assert_eq!(code(guest.cancel_room_reservation(record(&claim, 3)).await), again);
        let hold = placed(app, 7, &catalog.room_type, day(1), day(3)).await;
        let reservation = guest.confirm_hold(hold.hold_id).await.unwrap().reservation_id;
        let path = format!("{}/cancel", claim_path(hold.hold_id));
        let cancelled = call(app, 7, "POST", &path, &Value::Null).await;
        assert_eq!((cancelled.status, refunds(&cancelled.json)), (200, vec![(0, 100, 200_000)]), "{}", cancelled.text);
        assert_eq!(guest.reservation(reservation).await.unwrap().status, ReservationStatus::Cancelled);
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(delete_of_confirmed_claim_is_rejected);
/// "`DELETE`: a confirmed one → 409 `CLAIM_ALREADY_PROCESSED`"
async fn delete_of_confirmed_claim_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = confirmed_claim(app, 7, &catalog.lines()).await;
        assert_eq!(delete(app, 7, &claim).await.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim);
        assert_eq!(catalog.quantities(app).await, (NONE, CLAIMED));
    })
    .await;
}

profiles!(holds_of_endpoints_are_released_whole);
/// "Every hold of a vertical can also be released here"; "with `lines` only `origin: "claim"`, else 409
/// `CLAIM_NOT_CHANGEABLE`"
async fn holds_of_endpoints_are_released_whole(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let guest = app.guest(7);
        for is_deleted in [true, false] {
            let stay = placed(app, 7, &catalog.room_type, day(1), day(3)).await.hold_id;
            let seats = guest.hold_seats(catalog.event.id, &[seat(&catalog.event, 1)]).await.unwrap().hold_id;
            let lock = app.locked(7, catalog.room, day(1), &["09:00"]).await.lock_id;
            for id in [stay, seats, lock] {
                let claim = shown(app, 7, &claim_path(id)).await;
                let part = act(app, 7, &claim, "cancel", &json!({"lines": [0]})).await;
                assert_eq!(part.refusal(), (409, "CLAIM_NOT_CHANGEABLE"), "{claim}");
                let released = if is_deleted {
                    delete(app, 7, &claim).await
                } else {
                    act(app, 7, &claim, "cancel", &Value::Null).await
                };
                assert_eq!(released.status, 204, "{}", released.text);
            }
            assert_eq!(guest.hold(stay).await.unwrap().status, HoldStatus::Cancelled);
            assert_eq!(guest.seat_hold(seats).await.unwrap().status, HoldStatus::Cancelled);
            assert_eq!(guest.lock(lock).await.unwrap().status, LockStatus::Released);
            assert_eq!(catalog.quantities(app).await, (NONE, NONE));
        }
    })
    .await;
}

profiles!(cart_claim_is_released_whole);
/// "a cart's reservation is … nor changed in parts (409 `CLAIM_NOT_CHANGEABLE`)"
async fn cart_claim_is_released_whole(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        for is_deleted in [true, false] {
            user.reserve(option, 2).await;
            let cart = cart_claim(app, &user.id).await;
            let part = act(app, &user.id, &cart, "cancel", &json!({"lines": [0]})).await;
            assert_eq!(part.refusal(), (409, "CLAIM_NOT_CHANGEABLE"));
            assert_eq!(counts(app, option).await, (10, 2, 8));
            let released = if is_deleted {
                delete(app, &user.id, &cart).await
            } else {
                act(app, &user.id, &cart, "cancel", &Value::Null).await
            };
            assert_eq!(released.status, 204, "{}", released.text);
            assert_eq!(counts(app, option).await, (10, 0, 10));
            assert_eq!(code(user.order_reservation().await), refused(404, "RESERVATION_NOT_FOUND"));
        }
    })
    .await;
}

profiles!(ended_claim_cannot_be_cancelled);
/// "Expired or replaced → 409 `CLAIM_EXPIRED`"
async fn ended_claim_cannot_be_cancelled(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let expired = placed_from(app, 7, &with_ttl(&catalog.lines(), 60)).await;
        let old = placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        let replaced = shown(app, 7, &claim_path(old.hold_id)).await;
        app.pass(Span::from_secs(60));
        for claim in [&expired, &replaced] {
            assert_eq!(delete(app, 7, claim).await.refusal(), (409, "CLAIM_EXPIRED"), "{claim}");
            assert_eq!(act(app, 7, claim, "cancel", &Value::Null).await.refusal(), (409, "CLAIM_EXPIRED"));
        }
        let part = act(app, 7, &expired, "cancel", &json!({"lines": [0]})).await;
        assert_eq!(part.refusal(), (409, "CLAIM_EXPIRED"));
    })
    .await;
}

profiles!(cancel_of_other_user_is_forbidden);
async fn cancel_of_other_user_is_forbidden(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let held = placed_claim(app, 7, &json!([stock_line(catalog.option, 1)])).await;
        let confirmed = confirmed_claim(app, 7, &json!([stay_line(catalog.room_type.id, 1, 2)])).await;
        for claim in [&held, &confirmed] {
            assert_eq!(delete(app, 8, claim).await.refusal(), (403, "FORBIDDEN"));
            for body in [Value::Null, json!({"lines": [0]})] {
                assert_eq!(act(app, 8, claim, "cancel", &body).await.refusal(), (403, "FORBIDDEN"));
            }
            assert_eq!(shown(app, 7, &path_of(claim)).await, *claim);
        }
        let unknown = claim_path(fresh_key());
        assert_eq!(call(app, 7, "DELETE", &unknown, &Value::Null).await.refusal(), (404, "CLAIM_NOT_FOUND"));
        let cancel = format!("{unknown}/cancel");
        assert_eq!(call(app, 7, "POST", &cancel, &Value::Null).await.refusal(), (404, "CLAIM_NOT_FOUND"));
    })
    .await;
}

profiles!(begun_stay_cannot_be_cancelled);
/// "Cancelling what is confirmed: the owner until its first unit begins (stays: the check-in day), else 409 with the
/// vertical's code."
async fn begun_stay_cannot_be_cancelled(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, .. } = Catalog::create(app).await;
        let lines = json!([stay_line(room_type.id, 1, 3), stock_line(option, 2), stay_line(room_type.id, 5, 6)]);
        let claim = confirmed_claim(app, 7, &lines).await;
        // Midnight of the check-in day in Seoul.
        app.pass(Span::from_hours(12));
        for body in [Value::Null, json!({"lines": [0]}), json!({"lines": [2, 0]})] {
            let late = act(app, 7, &claim, "cancel", &body).await;
            assert_eq!(late.refusal(), (409, "RESERVATION_NOT_CANCELLABLE"), "{body}");
        }
        assert_eq!(shown(app, 7, &path_of(&claim)).await, claim, "nothing changed");
        let others = act(app, 7, &claim, "cancel", &json!({"lines": [1, 2]})).await;
        assert_eq!(others.status, 200, "{}", others.text);
        assert_eq!(counts(app, option).await, (10, 0, 10));
    })
    .await;
}

profiles!(unknown_lines_cannot_be_cancelled);
async fn unknown_lines_cannot_be_cancelled(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let held = placed_claim(app, 7, &json!([stock_line(catalog.option, 1)])).await;
        let confirmed = confirmed_claim(app, 7, &json!([stay_line(catalog.room_type.id, 1, 2)])).await;
        for claim in [&held, &confirmed] {
            for lines in [json!([1]), json!([0, 9]), json!([-1]), json!(["0"]), json!(0)] {
                let answer = act(app, 7, claim, "cancel", &json!({"lines": lines})).await;
                assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{lines}");
                assert!(answer.json["field"].as_str().unwrap().starts_with("lines"), "{}", answer.text);
            }
            assert_eq!(shown(app, 7, &path_of(claim)).await, *claim);
        }
    })
    .await;
}

profiles!(concurrent_cancels_refund_once);
async fn concurrent_cancels_refund_once(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = &confirmed_claim(app, 7, &catalog.lines()).await;
        let cancels = (0..30).map(|_| async move { act(app, 7, claim, "cancel", &Value::Null).await });
        let tries = join_all(cancels).await;
        assert_eq!(tries.iter().filter(|answer| answer.status == 200).count(), 1);
        for lost in tries.iter().filter(|answer| answer.status != 200) {
            assert_eq!(lost.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        }
        assert_eq!(catalog.quantities(app).await, (NONE, NONE));
    })
    .await;
}

profiles!(retried_cancel_is_replayed);
/// "same key and same request → the first success again"
async fn retried_cancel_is_replayed(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = confirmed_claim(app, 7, &catalog.lines()).await;
        let path = format!("{}/cancel", path_of(&claim));
        let first = call_with_key(app, 7, "k", &path, &json!({"lines": [1]})).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{}", first.text);
        let again = call_with_key(app, 7, "k", &path, &json!({"lines": [1]})).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
        assert_eq!(again.text, first.text);
        assert_eq!(counts(app, catalog.option).await, (10, 0, 10));
    })
    .await;
}
