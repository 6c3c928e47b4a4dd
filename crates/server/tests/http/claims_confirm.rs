//! Confirming claims, whole and in part, and what confirming records.

use futures_util::future::join_all;
use holdfast_client::{HoldStatus, LockStatus, NewEvent, Payment, RoomTypeChange};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::claims_support::{
    CLAIMED, Catalog, NONE, PRICES, TOTAL, act, call, call_with_key, cart_claim, claim_path, confirmed_claim, delete,
    line_statuses, path_of, placed_claim, placed_from, record, rooms_line, seats_line, shown, slots_line, stay_line,
    stock_line, with_ttl,
};
use crate::shop_support::{buyer, counts, option, set_active, set_price};
use crate::support::{day, fresh_key, placed, with_app};
use crate::tickets::{map, seat};

profiles!(confirm_makes_record_of_each_line);
/// "201 the claim with `status: "CONFIRMED"` and per line `record: {type, id}`"
async fn confirm_makes_record_of_each_line(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await;
        assert_eq!(confirmed.status, 201, "{}", confirmed.text);
        let confirmed = confirmed.json;
        assert_eq!((&confirmed["claimId"], &confirmed["status"]), (&claim["claimId"], &json!("CONFIRMED")));
        assert_eq!((&confirmed["totalPrice"], line_statuses(&confirmed)), (&json!(TOTAL), vec!["CONFIRMED"; 4]));
        let types = ["stay.reservation", "stock.sale", "seat.reservation", "room.reservation"];
        for (index, kind) in types.into_iter().enumerate() {
            assert_eq!(confirmed["lines"][index]["record"]["type"], kind);
            assert_eq!(confirmed["lines"][index]["price"], PRICES[index]);
        }
        assert_eq!(catalog.quantities(app).await, (NONE, CLAIMED));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, confirmed);

        let guest = app.guest(7);
        let stay = guest.reservation(record(&confirmed, 0)).await.unwrap();
        assert_eq!((stay.user_id.clone(), stay.price, stay.check_out), (7.into(), 200_000, day(3)));
        assert_eq!(guest.reservations(&[]).await.unwrap().items, [stay]);
        let seats = guest.seat_reservation(record(&confirmed, 2)).await.unwrap();
        assert_eq!((seats.seats.len(), seats.total_price, seats.user_id), (2, 200_000, 7.into()));
        let slots = guest.room_reservation(record(&confirmed, 3)).await.unwrap();
        assert_eq!((slots.slots.len(), slots.total_price, slots.user_id), (2, 20_000, 7.into()));
        assert_eq!(app.slots_on(catalog.room, day(1)).await[0].reservation_id, Some(record(&confirmed, 3)));
    })
    .await;
}

profiles!(stock_sale_is_shown_to_its_owner);
/// "`GET /v1/stock-sales/{id}` `{saleId, claimId, userId, productOptionId, quantity, price, currency, status}`; unknown
/// → 404 `STOCK_SALE_NOT_FOUND`"
async fn stock_sale_is_shown_to_its_owner(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let claim = confirmed_claim(app, 7, &json!([stock_line(option, 3)])).await;
        let path = format!("/v1/stock-sales/{}", record(&claim, 0));
        let sale = shown(app, 7, &path).await;
        for (name, expected) in [
            ("saleId", &claim["lines"][0]["record"]["id"]),
            ("claimId", &claim["claimId"]),
            ("userId", &json!(7)),
            ("productOptionId", &json!(option)),
            ("quantity", &json!(3)),
            ("price", &json!(3_000)),
            ("currency", &json!("KRW")),
        ] {
            assert_eq!(&sale[name], expected, "{name}");
        }
        assert!(sale["status"].is_string(), "{sale}");
        assert_eq!(counts(app, option).await, (7, 0, 7), "stock goes down as an order's does");
        let get = async |user: u64, path: &str| call(app, user, "GET", path, &Value::Null).await;
        assert_eq!(get(8, &path).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(get(7, "/v1/stock-sales/77777").await.refusal(), (404, "STOCK_SALE_NOT_FOUND"));
        assert_eq!(get(7, "/v1/stock-sales/0").await.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}

profiles!(unnamed_lines_are_released);
/// "lines not named are released"
async fn unnamed_lines_are_released(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let confirmed = act(app, 7, &claim, "confirm", &json!({"lines": [3, 1]})).await;
        assert_eq!(confirmed.status, 201, "{}", confirmed.text);
        let confirmed = confirmed.json;
        assert_eq!((&confirmed["status"], &confirmed["totalPrice"]), (&json!("CONFIRMED"), &json!(22_000)));
        assert_eq!(line_statuses(&confirmed), ["RELEASED", "CONFIRMED", "RELEASED", "CONFIRMED"]);
        for index in [0, 2] {
            assert!(confirmed["lines"][index]["record"].is_null(), "{confirmed}");
        }
        assert_eq!(catalog.quantities(app).await, (NONE, [0, 2, 0, 2]));
        assert_eq!(shown(app, 7, &path_of(&claim)).await, confirmed);
        let again = act(app, 7, &claim, "confirm", &json!({"lines": [0]})).await;
        assert_eq!(again.refusal(), (409, "CLAIM_ALREADY_PROCESSED"), "a released line is gone");
        placed_claim(app, 8, &json!([catalog.lines()[0], catalog.lines()[2]])).await;
    })
    .await;
}

profiles!(unknown_lines_cannot_be_confirmed);
async fn unknown_lines_cannot_be_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        for lines in [json!([4]), json!([0, 9]), json!([-1]), json!(["0"]), json!(0), json!({})] {
            let answer = act(app, 7, &claim, "confirm", &json!({"lines": lines})).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{lines}");
            assert!(answer.json["field"].as_str().unwrap().starts_with("lines"), "{}", answer.text);
        }
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
    })
    .await;
}

profiles!(repeated_confirm_returns_records);
/// "repeated → 409 `CLAIM_ALREADY_PROCESSED` with `records`"
async fn repeated_confirm_returns_records(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let confirmed = confirmed_claim(app, 7, &catalog.lines()).await;
        let again = act(app, 7, &confirmed, "confirm", &Value::Null).await;
        assert_eq!(again.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
        let records = again.json["records"].as_array().expect("the records are listed");
        assert_eq!(records.len(), 4, "{}", again.text);
        for (index, shown) in records.iter().enumerate() {
            let made = &confirmed["lines"][index]["record"];
            assert_eq!((&shown["type"], &shown["id"]), (&made["type"], &made["id"]));
        }
        assert_eq!(catalog.quantities(app).await, (NONE, CLAIMED));
    })
    .await;
}

profiles!(concurrent_confirms_record_once);
async fn concurrent_confirms_record_once(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = &placed_claim(app, 7, &catalog.lines()).await;
        let confirms = (0..30).map(|_| async move { act(app, 7, claim, "confirm", &Value::Null).await });
        let tries = join_all(confirms).await;
        let won: Vec<_> = tries.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(won.len(), 1);
        for lost in tries.iter().filter(|answer| answer.status != 201) {
            assert_eq!(lost.refusal(), (409, "CLAIM_ALREADY_PROCESSED"));
            assert_eq!(lost.json["records"][1]["id"], record(&won[0].json, 1));
        }
        assert_eq!(catalog.quantities(app).await, (NONE, CLAIMED));
    })
    .await;
}

profiles!(holds_of_endpoints_are_confirmed);
/// "Every hold of a vertical can also be confirmed here, with the same effect as at its own endpoint."
async fn holds_of_endpoints_are_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let guest = app.guest(7);
        let stay = placed(app, 7, &catalog.room_type, day(1), day(3)).await.hold_id;
        let seats = guest.hold_seats(catalog.event.id, &[seat(&catalog.event, 1)]).await.unwrap().hold_id;
        let lock = app.locked(7, catalog.room, day(1), &["09:00"]).await.lock_id;
        let mut records = Vec::new();
        for (id, kind) in [(stay, "stay.reservation"), (seats, "seat.reservation"), (lock, "room.reservation")] {
            let claim = shown(app, 7, &claim_path(id)).await;
            let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await;
            assert_eq!(confirmed.status, 201, "{}", confirmed.text);
            assert_eq!((&confirmed.json["status"], &confirmed.json["origin"]), (&json!("CONFIRMED"), &claim["origin"]));
            assert_eq!(confirmed.json["lines"][0]["record"]["type"], kind);
            records.push(record(&confirmed.json, 0));
        }
        let stay = guest.hold(stay).await.unwrap();
        assert_eq!((stay.status, stay.reservation_id), (HoldStatus::Confirmed, Some(records[0])));
        let seats = guest.seat_hold(seats).await.unwrap();
        assert_eq!((seats.status, seats.reservation_id), (HoldStatus::Confirmed, Some(records[1])));
        let lock = guest.lock(lock).await.unwrap();
        assert_eq!((lock.status, lock.reservation_id), (LockStatus::Confirmed, Some(records[2])));
        assert_eq!(guest.reservation(records[0]).await.unwrap().hold_id, stay.hold_id);
        assert_eq!(catalog.quantities(app).await, (NONE, [1, 0, 1, 1]));

        let other = placed(app, 8, &catalog.room_type, day(1), day(2)).await;
        let reservation = app.guest(8).confirm_hold(other.hold_id).await.unwrap().reservation_id;
        let claim = shown(app, 8, &claim_path(other.hold_id)).await;
        assert_eq!((&claim["status"], record(&claim, 0)), (&json!("CONFIRMED"), reservation), "the other way round");
    })
    .await;
}

profiles!(cart_is_paid_not_confirmed);
/// "a cart's reservation is paid for, and not confirmed here (409 `PAYMENT_REQUIRED`; its lines' record is
/// `{type: "shop.order", id}`)"
async fn cart_is_paid_not_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        user.reserve(option, 2).await;
        let cart = cart_claim(app, &user.id).await;
        for body in [Value::Null, json!({"lines": [0]})] {
            assert_eq!(act(app, &user.id, &cart, "confirm", &body).await.refusal(), (409, "PAYMENT_REQUIRED"));
        }
        assert_eq!(counts(app, option).await, (10, 2, 8));
        let order = user.pay_order(&Payment::default()).await.expect("it can still be paid");
        let paid = shown(app, &user.id, &path_of(&cart)).await;
        assert_eq!((&paid["status"], line_statuses(&paid)), (&json!("CONFIRMED"), vec!["CONFIRMED"]));
        assert_eq!(paid["lines"][0]["record"], json!({"type": "shop.order", "id": order.order_id}));
    })
    .await;
}

profiles!(confirm_keeps_claimed_prices);
/// A price is frozen when the claim is placed; a live claim can always be confirmed.
async fn confirm_keeps_claimed_prices(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        set_price(app, catalog.option, 9_999).await;
        set_active(app, catalog.option, false).await;
        let dearer = RoomTypeChange { base_price: Some(999_999), ..RoomTypeChange::default() };
        app.admin().change_room_type(catalog.room_type.id, &dearer).await.unwrap();
        app.admin().close_nights(catalog.room_type.id, day(1), day(3)).await.unwrap();
        let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await;
        assert_eq!((confirmed.status, &confirmed.json["totalPrice"]), (201, &json!(TOTAL)), "{}", confirmed.text);
        assert_eq!(app.guest(7).reservation(record(&confirmed.json, 0)).await.unwrap().price, 200_000);
        let sale = shown(app, 7, &format!("/v1/stock-sales/{}", record(&confirmed.json, 1))).await;
        assert_eq!(sale["price"], 2_000);
    })
    .await;
}

profiles!(lines_of_one_type_have_own_records);
/// Each line becomes a record of its own, also beside a line of the same type; a stay is for `quantity` rooms.
async fn lines_of_one_type_have_own_records(profile: Profile) {
    with_app(profile, async |app| {
        let Catalog { room_type, option, event, room } = Catalog::create(app).await;
        let lines = json!([
            rooms_line(room_type.id, 1, 3, 2),
            stay_line(room_type.id, 2, 4),
            stock_line(option, 1),
            stock_line(option, 2),
            seats_line(&event, &[1]),
            seats_line(&event, &[3, 2]),
            slots_line(room, 1, &["09:00"]),
            slots_line(room, 1, &["10:00"]),
        ]);
        let confirmed = confirmed_claim(app, 7, &lines).await;
        for index in [0, 2, 4, 6] {
            assert_ne!(record(&confirmed, index), record(&confirmed, index + 1));
        }
        let guest = app.guest(7);
        assert_eq!(guest.reservation(record(&confirmed, 0)).await.unwrap().price, 400_000);
        assert_eq!(guest.reservation(record(&confirmed, 1)).await.unwrap().price, 200_000);
        let nights = app.admin().availability(room_type.id, day(1), day(4)).await.unwrap().nights;
        assert_eq!(nights.iter().map(|night| night.reserved_count).collect::<Vec<_>>(), [2, 3, 1]);
        assert_eq!(counts(app, option).await, (7, 0, 7));
        assert_eq!(guest.seat_reservation(record(&confirmed, 4)).await.unwrap().seats.len(), 1);
        assert_eq!(guest.seat_reservation(record(&confirmed, 5)).await.unwrap().seats.len(), 2);
        assert_eq!(guest.room_reservation(record(&confirmed, 7)).await.unwrap().slots[0].time, "10:00");
        assert_eq!(guest.reservations(&[]).await.unwrap().items.len(), 2);
        assert_eq!(guest.seat_reservations(&[]).await.unwrap().items.len(), 2);
        assert_eq!(guest.room_reservations(&[]).await.unwrap().items.len(), 2);
    })
    .await;
}

profiles!(claim_is_confirmable_until_its_end);
/// A claim that is live for one more millisecond can be confirmed; afterwards its end no longer matters.
async fn claim_is_confirmable_until_its_end(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        app.pass(Span::from_millis(299_999));
        assert_eq!(act(app, 7, &claim, "confirm", &Value::Null).await.status, 201);
        app.pass(Span::from_secs(3_600));
        assert_eq!(shown(app, 7, &path_of(&claim)).await["status"], "CONFIRMED");
        assert_eq!(catalog.quantities(app).await, (NONE, CLAIMED));
    })
    .await;
}

profiles!(ended_claim_cannot_be_confirmed);
/// "Expired or replaced → 409 `CLAIM_EXPIRED`, cancelled → 409 `CLAIM_ALREADY_PROCESSED`; the same for confirm"
async fn ended_claim_cannot_be_confirmed(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let lines = json!([stock_line(catalog.option, 1)]);
        let expired = placed_from(app, 7, &with_ttl(&lines, 60)).await;
        let cancelled = placed_claim(app, 7, &lines).await;
        assert_eq!(delete(app, 7, &cancelled).await.status, 204);
        let old = placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        placed(app, 7, &catalog.room_type, day(1), day(2)).await;
        let replaced = shown(app, 7, &claim_path(old.hold_id)).await;
        app.pass(Span::from_secs(60));
        for (claim, code) in
            [(expired, "CLAIM_EXPIRED"), (replaced, "CLAIM_EXPIRED"), (cancelled, "CLAIM_ALREADY_PROCESSED")]
        {
            for body in [Value::Null, json!({"lines": [0]})] {
                assert_eq!(act(app, 7, &claim, "confirm", &body).await.refusal(), (409, code), "{claim}");
            }
        }
        assert_eq!(counts(app, catalog.option).await, (10, 0, 10));
    })
    .await;
}

profiles!(confirm_of_other_user_is_forbidden);
async fn confirm_of_other_user_is_forbidden(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        assert_eq!(act(app, 8, &claim, "confirm", &Value::Null).await.refusal(), (403, "FORBIDDEN"));
        let unnamed = app.send("POST", &format!("{}/confirm", path_of(&claim)), &[], "").await;
        assert_eq!((unnamed.refusal(), &unnamed.json["field"]), ((400, "INVALID_INPUT"), &json!("userId")));
        let unknown = format!("{}/confirm", claim_path(fresh_key()));
        assert_eq!(call(app, 7, "POST", &unknown, &Value::Null).await.refusal(), (404, "CLAIM_NOT_FOUND"));
        assert_eq!(catalog.quantities(app).await, (CLAIMED, NONE));
    })
    .await;
}

profiles!(confirm_of_seats_returns_entry);
/// "with the same effect as at its own endpoint (seats give the entry back)"; also those of a claim, and without an
/// entry.
async fn confirm_of_seats_returns_entry(profile: Profile) {
    with_app(profile, async |app| {
        let event = app.admin().create_event(&NewEvent::with_row("콘서트", 4, 1)).await.unwrap();
        let guest = app.guest(7);
        let entered = async || app.admin().queue_stats(event.id).await.unwrap().entered;
        for is_claim in [false, true] {
            guest.join_queue(event.id).await.unwrap();
            guest.enter_queue(event.id).await.unwrap();
            let claim = if is_claim {
                placed_claim(app, 7, &json!([seats_line(&event, &[2])])).await
            } else {
                let hold = guest.hold_seats(event.id, &[seat(&event, 1)]).await.unwrap();
                shown(app, 7, &claim_path(hold.hold_id)).await
            };
            assert_eq!(entered().await, 1, "holding keeps the entry");
            assert_eq!(act(app, 7, &claim, "confirm", &Value::Null).await.status, 201);
            assert_eq!(entered().await, 0);
        }
        guest.join_queue(event.id).await.unwrap();
        guest.enter_queue(event.id).await.unwrap();
        let claim = placed_claim(app, 7, &json!([seats_line(&event, &[3])])).await;
        guest.leave_queue(event.id).await.unwrap();
        assert_eq!(act(app, 7, &claim, "confirm", &Value::Null).await.status, 201, "confirming needs no entry");
        assert_eq!(map(app, &event).await, "RRR.");
    })
    .await;
}

profiles!(confirmed_claim_outlives_purge);
/// "Ended holds stay readable for 24 h, confirmed ones as long as their records."
async fn confirmed_claim_outlives_purge(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let request = json!({"lines": catalog.lines(), "reference": "order-17", "metadata": {"k": "v"}});
        let claim = placed_from(app, 7, &request).await;
        let confirmed = act(app, 7, &claim, "confirm", &Value::Null).await;
        assert_eq!(confirmed.status, 201, "{}", confirmed.text);
        app.pass(Span::from_hours(72));
        app.purge().await;
        assert_eq!(shown(app, 7, &path_of(&claim)).await, confirmed.json);
        let listed = shown(app, 7, "/v1/claims?userId=7&reference=order-17").await;
        assert_eq!(listed["items"], json!([confirmed.json]));
    })
    .await;
}

profiles!(retried_confirm_is_replayed);
/// "same key and same request → the first success again"
async fn retried_confirm_is_replayed(profile: Profile) {
    with_app(profile, async |app| {
        let catalog = Catalog::create(app).await;
        let claim = placed_claim(app, 7, &catalog.lines()).await;
        let path = format!("{}/confirm", path_of(&claim));
        let first = call_with_key(app, 7, "k", &path, &Value::Null).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.text);
        let again = call_with_key(app, 7, "k", &path, &Value::Null).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
        assert_eq!(again.text, first.text);
        assert_eq!(catalog.quantities(app).await, (NONE, CLAIMED));
    })
    .await;
}
