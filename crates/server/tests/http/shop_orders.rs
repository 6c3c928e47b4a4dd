//! Orders: lists and cancellation.

use holdfast_client::{NewCoupon, OrderStatus, Payment};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{buyer, counts, option, send};
use crate::support::{code, refused, with_app};

profiles!(order_is_shown_as_paid);
async fn order_is_shown_as_paid(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        let paid = user.buy(option, 2).await;
        let found = user.order(paid.order_id).await.unwrap();
        assert_eq!(found, holdfast_client::Order { balance_after: None, ..paid });
        assert_eq!(code(user.order(99).await), refused(404, "ORDER_NOT_FOUND"));
    })
    .await;
}

profiles!(order_cancel_returns_everything_once);
async fn order_cancel_returns_everything_once(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        app.admin().create_coupon(&NewCoupon::percent("HALF", 50, 1)).await.unwrap();
        user.take_coupon("HALF").await.unwrap();
        let with_coupon = Payment { coupon_code: Some("HALF".into()), ..Payment::default() };
        user.reserve(option, 4).await;
        let order = user.pay_order(&with_coupon).await.unwrap();
        assert_eq!((user.balance().await, counts(app, option).await), (8_000, (6, 0, 6)));
        app.pass(Span::from_hours(48));
        let cancel = format!("/api/orders/{}/cancel", order.order_id);
        let cancelled = send(app, "POST", &cancel, &json!({"userId": user.id})).await;
        let data = &cancelled.json["data"];
        assert_eq!((cancelled.status, &data["status"]), (200, &json!("CANCELLED")));
        assert_eq!(data["cancelledAt"], json!("2027-03-03T03:00:00.000Z"));
        assert_eq!((user.balance().await, counts(app, option).await), (10_000, (10, 0, 10)));
        assert_eq!(user.in_cart().await, [], "the cart stays as it is");
        for _ in 0..2 {
            let again = send(app, "POST", &cancel, &json!({"userId": user.id})).await;
            assert_eq!(again.refusal(), (409, "ORDER_ALREADY_CANCELLED"));
        }
        assert_eq!((user.balance().await, counts(app, option).await), (10_000, (10, 0, 10)), "once");
        assert_eq!(user.order(order.order_id).await.unwrap().status, OrderStatus::Cancelled);
        user.reserve(option, 1).await;
        let again = user.pay_order(&with_coupon).await.expect("the coupon is usable again");
        assert_eq!(again.discount_amount, 500);
        let unknown = send(app, "POST", "/api/orders/99/cancel", &json!({"userId": user.id})).await;
        assert_eq!(unknown.refusal(), (404, "ORDER_NOT_FOUND"));
    })
    .await;
}

profiles!(cancelled_stock_is_available_at_once);
async fn cancelled_stock_is_available_at_once(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 1).await;
        let (first, second) = (buyer(app, 1_000).await, buyer(app, 1_000).await);
        let order = first.buy(option, 1).await;
        second.put_cart_item(option, 1).await.unwrap();
        assert_eq!(code(second.reserve_order().await), refused(409, "INSUFFICIENT_AVAILABLE_STOCK"));
        first.cancel_order(order.order_id).await.unwrap();
        second.reserve_order().await.unwrap();
        second.pay_order(&Payment::default()).await.unwrap();
    })
    .await;
}

profiles!(order_cancel_under_key_is_replayed);
async fn order_cancel_under_key_is_replayed(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 1).await;
        let user = buyer(app, 1_000).await;
        let order = user.buy(option, 1).await;
        let client = user.with_idempotency_key("cancel-1");
        let first = client.cancel_order(order.order_id).await.unwrap();
        assert_eq!(client.cancel_order(order.order_id).await.unwrap(), first);
        assert_eq!(user.balance().await, 1_000);
    })
    .await;
}

profiles!(orders_are_filtered_and_paged);
async fn orders_are_filtered_and_paged(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1, 100).await;
        let (first, second) = (buyer(app, 100).await, buyer(app, 100).await);
        let mut own = Vec::new();
        for _ in 0..5 {
            own.push(first.buy(option, 1).await.order_id);
            second.buy(option, 1).await;
        }
        let answer = send(app, "GET", &format!("/api/orders?userId={}&limit=2", first.id), &json!(null)).await;
        assert_eq!(answer.json["data"]["items"].as_array().unwrap().len(), 2);
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let mut query = vec![("limit", "2".to_owned())];
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page = first.orders(&query).await.unwrap();
            assert!(page.items.iter().all(|order| order.user_id == first.id));
            seen.extend(page.items.iter().map(|order| order.order_id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, own);
        let all = app.admin().orders(&[]).await.unwrap();
        assert_eq!((all.items.len(), all.next_cursor), (10, None), "an unnamed caller sees all while auth is off");
        assert_eq!(app.guest(77).orders(&[]).await.unwrap().items, []);
    })
    .await;
}
