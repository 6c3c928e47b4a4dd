//! Permissions of the shop: owners of carts, reservations and orders; changes of the catalog.

use holdfast_client::{NewCoupon, NewProduct, NewProductOption, Payment, ProductOptionChange};
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::auth::{caller, with_auth};
use crate::shop_support::{buyer, option, send};
use crate::support::{code, refused, with_app};

profiles!(without_auth_named_user_owns_objects);
async fn without_auth_named_user_owns_objects(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let (owner, other) = (buyer(app, 10_000).await, buyer(app, 10_000).await);
        let order = owner.buy(option, 1).await.order_id;
        owner.reserve(option, 1).await;
        let name = other.id.to_string();
        let of_owner = json!({"userId": owner.id, "productOptionId": option, "quantity": 1}).to_string();
        for (method, path) in [
            ("GET", format!("/api/users/{}", owner.id)),
            ("GET", format!("/api/cart?userId={}", owner.id)),
            ("PUT", "/api/cart/items".to_owned()),
            ("POST", "/api/order/reserve".to_owned()),
            ("GET", format!("/api/order/reserve?userId={}", owner.id)),
            ("DELETE", format!("/api/order/reserve?userId={}", owner.id)),
            ("POST", "/api/order".to_owned()),
            ("GET", format!("/api/orders/{order}")),
            ("GET", format!("/api/orders?userId={}", owner.id)),
            ("POST", format!("/api/orders/{order}/cancel")),
            ("POST", "/api/coupons/X/issue".to_owned()),
        ] {
            let body = if method == "GET" { "" } else { &of_owner };
            let answer = app.send(method, &path, &[("x-user-id", &name)], body).await;
            assert_eq!(answer.refusal(), (403, "FORBIDDEN"), "{method} {path}");
        }
        assert_eq!(owner.order_reservation().await.unwrap().total_amount, 1_000, "nothing changed");
    })
    .await;
}

profiles!(without_auth_user_must_be_named);
async fn without_auth_user_must_be_named(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        for (method, path, body) in [
            ("GET", "/api/cart", json!(null)),
            ("PUT", "/api/cart/items", json!({"productOptionId": option, "quantity": 1})),
            ("POST", "/api/order/reserve", json!({})),
            ("POST", "/api/order/reserve", json!(null)),
            ("GET", "/api/order/reserve", json!(null)),
            ("DELETE", "/api/order/reserve", json!(null)),
            ("POST", "/api/order", json!({})),
            ("GET", "/api/orders/1", json!(null)),
            ("POST", "/api/orders/1/cancel", json!(null)),
            ("POST", "/api/coupons/X/issue", json!({})),
        ] {
            let answer = send(app, method, path, &body).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{method} {path}");
            assert_eq!(answer.json["field"], json!("userId"), "{method} {path}");
        }
        let user = buyer(app, 0).await;
        let in_header = user.put_cart_item(option, 1).await.expect("a header makes the body's userId optional");
        assert_eq!(in_header.user_id, user.id);
    })
    .await;
}

profiles!(users_buy_for_themselves_only);
async fn users_buy_for_themselves_only(profile: Profile) {
    with_auth(profile, async |app| {
        let admin = caller(app, "1000", "admin");
        let service = caller(app, "svc", "service");
        let user_id = admin.create_account("손님 하나").await.unwrap().id;
        let other_id = service.create_account("손님 둘").await.unwrap().id;
        let (user, other) = (caller(app, &user_id.to_string(), "user"), caller(app, &other_id.to_string(), "user"));
        let product = NewProduct::new("원두", vec![NewProductOption::new("O", 1_000, 10)]);
        let option = admin.create_product(&product).await.unwrap().options[0].id;
        let coupon = NewCoupon::percent("C", 10, 5);

        assert_eq!(code(user.create_account("나").await), refused(403, "FORBIDDEN"));
        assert_eq!(code(user.add_balance(&user_id, 1).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(user.create_product(&product).await), refused(403, "FORBIDDEN"));
        let change = ProductOptionChange::default();
        assert_eq!(code(user.change_product_option(option, &change).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(user.create_coupon(&coupon).await), refused(403, "FORBIDDEN"));
        admin.add_balance(&user_id, 10_000).await.unwrap();
        service.create_coupon(&coupon).await.unwrap();
        service.change_product_option(option, &change).await.unwrap();

        assert_eq!(user.products(&[]).await.unwrap().items.len(), 1, "any user may read products");
        assert_eq!(user.account(&user_id).await.unwrap().balance, 10_000);
        assert_eq!(code(other.account(&user_id).await), refused(403, "FORBIDDEN"));
        user.take_coupon("C").await.unwrap();
        user.put_cart_item(option, 1).await.unwrap();
        user.reserve_order().await.unwrap();
        let for_user = Payment { user_id: Some(user_id.clone()), ..Payment::default() };
        assert_eq!(code(other.pay_order(&for_user).await), refused(403, "FORBIDDEN"));
        let order = service.pay_order(&for_user).await.expect("a service may act for any user").order_id;
        assert_eq!(code(other.order(order).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(other.cancel_order(order).await), refused(403, "FORBIDDEN"));
        assert_eq!(other.orders(&[]).await.unwrap().items, []);
        assert_eq!(user.orders(&[]).await.unwrap().items.len(), 1);
        assert_eq!(admin.orders(&[]).await.unwrap().items.len(), 1);
        assert_eq!(admin.order(order).await.unwrap().user_id, user_id);
        admin.cancel_order(order).await.unwrap();
        assert_eq!(code(app.admin().products(&[]).await), refused(401, "UNAUTHENTICATED"));
    })
    .await;
}
