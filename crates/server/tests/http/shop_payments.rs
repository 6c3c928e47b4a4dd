//! Payment of a reservation: everything in one commit, or nothing.

use futures_util::future::join_all;
use holdfast_client::{NewCoupon, OrderStatus, Payment, UserId};
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{Buyer, buyer, counts, option, send, set_active, set_price};
use crate::support::{TestApp, code, problem, refused, with_app};

/// Checks that balance, stock and reservation are unchanged.
async fn nothing_happened(app: &TestApp, user: &Buyer, balance: i64, option: u64, reserved: (u32, u32, u32)) {
    assert_eq!(user.balance().await, balance);
    assert_eq!(counts(app, option).await, reserved);
    assert_eq!(user.orders(&[]).await.unwrap().items, []);
    user.order_reservation().await.expect("it is still reserved");
}

profiles!(payment_changes_everything_at_once);
async fn payment_changes_everything_at_once(profile: Profile) {
    with_app(profile, async |app| {
        let (first, second) = (option(app, 21_000, 10).await, option(app, 15_000, 10).await);
        let user = buyer(app, 100_000).await;
        app.admin().create_coupon(&NewCoupon::percent("TEN", 10, 1)).await.unwrap();
        user.take_coupon("TEN").await.unwrap();
        user.put_cart_item(first, 2).await.unwrap();
        user.put_cart_item(second, 1).await.unwrap();
        let reserved = user.reserve_order().await.unwrap();
        let body = json!({"userId": user.id, "couponCode": "TEN"});
        let paid = send(app, "POST", "/api/order", &body).await;
        let item = |index: usize, quantity: u32, price: i64| {
            let option = [first, second][index];
            json!({"reservationId": reserved[index].reservation_id, "productOptionId": option,
                "productName": "에티오피아 예가체프 G1", "optionCode": "ETH-HD-200",
                "quantity": quantity, "unitPrice": price, "amount": price * i64::from(quantity)})
        };
        let expected = json!({"data": {"orderId": 1, "userId": user.id, "status": "PAID",
            "items": [item(0, 2, 21_000), item(1, 1, 15_000)],
            "totalAmount": 57_000, "discountAmount": 5_700, "paidAmount": 51_300, "couponCode": "TEN",
            "currency": "KRW", "balanceAfter": 48_700, "createdAt": "2027-03-01T03:00:00.000Z"}});
        assert_eq!((paid.status, &paid.json), (201, &expected));
        assert_eq!((user.balance().await, user.in_cart().await), (48_700, vec![]));
        assert_eq!((counts(app, first).await, counts(app, second).await), ((8, 0, 8), (9, 0, 9)));
        assert_eq!(code(user.order_reservation().await), refused(404, "RESERVATION_NOT_FOUND"));
    })
    .await;
}

profiles!(payment_takes_user_from_header);
async fn payment_takes_user_from_header(profile: Profile) {
    with_app(profile, async |app| {
        let (option, user) = (option(app, 1_000, 10).await, buyer(app, 10_000).await);
        user.reserve(option, 3).await;
        assert_eq!(app.send("POST", "/api/order", &[], "").await.json["field"], json!("userId"));
        let paid = app.send("POST", "/api/order", &[("x-user-id", &user.id.to_string())], "").await;
        assert_eq!((paid.status, &paid.json["data"]["paidAmount"]), (201, &json!(3_000)), "{}", paid.text);
    })
    .await;
}

profiles!(malformed_coupon_is_not_usable);
async fn malformed_coupon_is_not_usable(profile: Profile) {
    with_app(profile, async |app| {
        let (option, user) = (option(app, 1_000, 10).await, buyer(app, 10_000).await);
        let pay =
            async |code: &str| send(app, "POST", "/api/order", &json!({"userId": user.id, "couponCode": code})).await;
        assert_eq!(pay("").await.refusal(), (404, "RESERVATION_NOT_FOUND"), "said first");
        user.reserve(option, 1).await;
        for code in ["", "  ", "A B", "A\0B", &"x".repeat(65)] {
            assert_eq!(pay(code).await.refusal(), (409, "COUPON_NOT_USABLE"), "{code:?}");
        }
        nothing_happened(app, &user, 10_000, option, (10, 1, 9)).await;
    })
    .await;
}

profiles!(payment_uses_reserved_prices);
async fn payment_uses_reserved_prices(profile: Profile) {
    with_app(profile, async |app| {
        let (reserved, added) = (option(app, 1_000, 10).await, option(app, 1, 10).await);
        let user = buyer(app, 10_000).await;
        user.reserve(reserved, 3).await;
        set_price(app, reserved, 5_000).await;
        set_active(app, reserved, false).await;
        user.put_cart_item(reserved, 5).await.unwrap();
        user.put_cart_item(added, 7).await.unwrap();
        let order = user.pay_order(&Payment::default()).await.unwrap();
        assert_eq!((order.total_amount, order.items.len(), order.items[0].quantity), (3_000, 1, 3));
        assert_eq!(user.in_cart().await, [(reserved, 2), (added, 7)], "only what was bought leaves the cart");
        assert_eq!((counts(app, reserved).await, counts(app, added).await), ((7, 0, 7), (10, 0, 10)));
        user.put_cart_item(reserved, 0).await.unwrap();
        user.reserve_order().await.unwrap();
        user.put_cart_item(added, 0).await.unwrap();
        let order = user.pay_order(&Payment::default()).await.expect("an empty cart does not matter");
        assert_eq!((order.items[0].quantity, user.in_cart().await), (7, vec![]));
    })
    .await;
}

profiles!(payment_needs_live_reservation);
async fn payment_needs_live_reservation(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        let pay = async |user: &UserId| send(app, "POST", "/api/order", &json!({"userId": user})).await;
        assert_eq!(pay(&99.into()).await.refusal(), (404, "USER_NOT_FOUND"));
        assert_eq!(pay(&user.id).await.refusal(), (404, "RESERVATION_NOT_FOUND"));
        user.reserve(option, 1).await;
        assert_eq!(pay(&user.id).await.status, 201);
        let again = pay(&user.id).await;
        assert_eq!(again.refusal(), (404, "RESERVATION_NOT_FOUND"), "paying twice");
        assert_eq!((user.balance().await, user.orders(&[]).await.unwrap().items.len()), (9_000, 1));
    })
    .await;
}

profiles!(low_balance_rejects_payment);
async fn low_balance_rejects_payment(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 2_999).await;
        user.reserve(option, 3).await;
        let refusal = problem(user.pay_order(&Payment::default()).await);
        assert_eq!((refusal.status, refusal.code.as_str()), (409, "INSUFFICIENT_BALANCE"));
        assert_eq!((&refusal.extra["balance"], &refusal.extra["needed"]), (&json!(2_999), &json!(3_000)));
        nothing_happened(app, &user, 2_999, option, (10, 3, 7)).await;
        app.admin().add_balance(&user.id, 1).await.unwrap();
        let order = user.pay_order(&Payment::default()).await.unwrap();
        assert_eq!((order.balance_after, user.balance().await), (Some(0), 0));
    })
    .await;
}

profiles!(unexpected_amount_is_rejected);
async fn unexpected_amount_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        app.admin().create_coupon(&NewCoupon::amount("LESS", 500, 1)).await.unwrap();
        user.take_coupon("LESS").await.unwrap();
        user.reserve(option, 2).await;
        let expecting = |amount: i64, coupon: Option<&str>| Payment {
            expected_amount: Some(amount),
            coupon_code: coupon.map(str::to_owned),
            ..Payment::default()
        };
        let refusal = problem(user.pay_order(&expecting(1_999, None)).await);
        assert_eq!((refusal.status, refusal.code.as_str()), (409, "AMOUNT_CHANGED"));
        assert_eq!(refusal.extra["amount"], json!(2_000));
        assert_eq!(code(user.pay_order(&expecting(2_000, Some("LESS"))).await), refused(409, "AMOUNT_CHANGED"));
        nothing_happened(app, &user, 10_000, option, (10, 2, 8)).await;
        let order =
            user.pay_order(&expecting(1_500, Some("LESS"))).await.expect("the amount after the discount is expected");
        assert_eq!(order.paid_amount, 1_500);
    })
    .await;
}

profiles!(reservation_ids_must_match_exactly);
async fn reservation_ids_must_match_exactly(profile: Profile) {
    with_app(profile, async |app| {
        let (first, second) = (option(app, 1_000, 10).await, option(app, 1_000, 10).await);
        let user = buyer(app, 10_000).await;
        user.put_cart_item(first, 1).await.unwrap();
        user.put_cart_item(second, 1).await.unwrap();
        let ids: Vec<u64> = user.reserve_order().await.unwrap().iter().map(|line| line.reservation_id).collect();
        let naming = |ids: &[u64]| Payment { reservation_ids: Some(ids.to_vec()), ..Payment::default() };
        for wrong in [&[][..], &ids[..1], &[ids[0], ids[0]], &[ids[0], ids[1], ids[1] + 1], &[ids[0], ids[1] + 1]] {
            let refusal = code(user.pay_order(&naming(wrong)).await);
            assert_eq!(refusal, refused(404, "RESERVATION_NOT_FOUND"), "{wrong:?}");
        }
        nothing_happened(app, &user, 10_000, first, (10, 1, 9)).await;
        user.pay_order(&naming(&[ids[1], ids[0]])).await.unwrap();
    })
    .await;
}

profiles!(free_order_needs_no_balance);
async fn free_order_needs_no_balance(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 0, 10).await;
        let user = buyer(app, 0).await;
        let order = user.buy(option, 2).await;
        assert_eq!((order.total_amount, order.paid_amount, order.balance_after), (0, 0, Some(0)));
        let cancelled = user.cancel_order(order.order_id).await.unwrap();
        assert_eq!((cancelled.status, counts(app, option).await), (OrderStatus::Cancelled, (10, 0, 10)));
    })
    .await;
}

profiles!(payment_under_key_is_applied_once);
async fn payment_under_key_is_applied_once(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        user.reserve(option, 1).await;
        let body = json!({"userId": user.id}).to_string();
        let headers = [("idempotency-key", "pay-1")];
        let calls = (0..20).map(|_| app.send("POST", "/api/order", &headers, &body));
        let answers = join_all(calls).await;
        assert!(answers.iter().all(|answer| (answer.status, &answer.text) == (201, &answers[0].text)));
        let later = app.send("POST", "/api/order", &headers, &body).await;
        assert_eq!((later.status, later.header("idempotent-replayed")), (201, Some("true")));
        assert_eq!((user.balance().await, user.orders(&[]).await.unwrap().items.len()), (9_000, 1));
        let other = json!({"userId": user.id, "expectedAmount": 5}).to_string();
        let reused = app.send("POST", "/api/order", &headers, &other).await;
        assert_eq!(reused.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
    })
    .await;
}
