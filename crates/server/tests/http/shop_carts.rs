//! Carts.

use holdfast_client::{NewProduct, NewProductOption};
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{buyer, option, send, set_active};
use crate::support::{code, problem, refused, with_app};

profiles!(cart_has_one_line_per_option);
async fn cart_has_one_line_per_option(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let (first, second) = (option(app, 21_000, 10).await, option(app, 15_000, 10).await);
        let put = async |option: u64, quantity: u32| {
            let body = json!({"userId": user.id, "productOptionId": option, "quantity": quantity});
            send(app, "PUT", "/api/cart/items", &body).await
        };
        put(second, 1).await;
        let line = |option: u64, quantity: u32, price: i64| {
            json!({"productOptionId": option, "productName": "에티오피아 예가체프 G1", "optionCode": "ETH-HD-200",
                "quantity": quantity, "price": price, "isActive": true})
        };
        let both = json!({"data": {"userId": user.id, "items": [line(first, 2, 21_000), line(second, 1, 15_000)]}});
        let answer = put(first, 2).await;
        assert_eq!((answer.status, &answer.json), (200, &both));
        let shown = send(app, "GET", &format!("/api/cart?userId={}", user.id), &json!(null)).await;
        assert_eq!((shown.status, &shown.json), (200, &both));
        put(first, 7).await;
        assert_eq!(user.in_cart().await, [(first, 7), (second, 1)], "the quantity is set, not added");
        assert_eq!(put(first, 0).await.json["data"]["items"], json!([line(second, 1, 15_000)]));
        assert_eq!(put(first, 0).await.status, 200, "removing an absent line succeeds");
        put(second, 0).await;
        assert_eq!(user.in_cart().await, []);
    })
    .await;
}

profiles!(cart_needs_known_user_and_options);
async fn cart_needs_known_user_and_options(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let option = option(app, 1, 0).await;
        assert_eq!(code(app.guest(99).cart().await), refused(404, "USER_NOT_FOUND"));
        assert_eq!(code(app.guest(99).put_cart_item(option, 1).await), refused(404, "USER_NOT_FOUND"));
        assert_eq!(code(user.put_cart_item(99, 1).await), refused(404, "PRODUCT_OPTION_NOT_FOUND"));
        set_active(app, option, false).await;
        let cart = user.put_cart_item(option, 3).await.expect("a cart claims nothing");
        assert!(!cart.items[0].is_active, "the cart shows that the option is inactive");
    })
    .await;
}

profiles!(cart_lines_and_quantities_are_limited);
async fn cart_lines_and_quantities_are_limited(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let options = (0..100).map(|number| NewProductOption::new(format!("O-{number}"), 1, 100));
        let made = app.admin().create_product(&NewProduct::new("원두", options.collect())).await.unwrap();
        for option in &made.options {
            user.put_cart_item(option.id, 1).await.unwrap();
        }
        let more = option(app, 1, 1).await;
        let refusal = problem(user.put_cart_item(more, 1).await);
        assert_eq!((refusal.status, refusal.code.as_str()), (400, "INVALID_INPUT"));
        user.put_cart_item(made.options[0].id, 1_000_000).await.expect("an existing line may be changed");
        let refusal = problem(user.put_cart_item(made.options[0].id, 1_000_001).await);
        assert_eq!((refusal.code.as_str(), &refusal.extra["field"]), ("INVALID_INPUT", &json!("quantity")));
        user.put_cart_item(made.options[0].id, 0).await.unwrap();
        user.put_cart_item(more, 1).await.expect("a removed line makes room");
        assert_eq!(user.in_cart().await.len(), 100);
        let reserved = user.reserve_order().await.unwrap();
        let order: Vec<_> = reserved.iter().map(|line| line.product_option_id).collect();
        assert!(order.len() == 100 && order.is_sorted(), "a full cart is reserved, ascending by option");
    })
    .await;
}

profiles!(cart_total_cannot_overflow);
async fn cart_total_cannot_overflow(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let dear = option(app, 1_000_000_000_000, 100_000).await;
        user.put_cart_item(dear, 10_000).await.unwrap();
        let refusal = problem(user.reserve_order().await);
        assert_eq!((refusal.code.as_str(), &refusal.extra["field"]), ("INVALID_INPUT", &json!("totalAmount")));
        user.put_cart_item(dear, 1_000).await.unwrap();
        user.reserve_order().await.unwrap();
        assert_eq!(user.order_reservation().await.unwrap().total_amount, 1_000_000_000_000_000);
    })
    .await;
}

profiles!(cart_has_one_currency);
async fn cart_has_one_currency(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let mut new = NewProduct::new("Beans", vec![NewProductOption::new("USD-1", 1_299, 5)]);
        new.currency = Some("USD".into());
        let dollars = app.admin().create_product(&new).await.unwrap();
        assert_eq!(dollars.currency, "USD");
        let refusal = problem(user.put_cart_item(dollars.options[0].id, 1).await);
        assert_eq!((refusal.code.as_str(), &refusal.extra["field"]), ("INVALID_INPUT", &json!("productOptionId")));
    })
    .await;
}
