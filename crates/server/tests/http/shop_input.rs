//! Invalid input of every kind is answered with 400 `INVALID_INPUT` that names the field, and changes nothing.

use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::bad_input::{check, with_member};
use crate::shop_support::{buyer, counts, option};
use crate::support::with_app;

/// Values that are no valid id.
const NO_ID: [&str; 7] = ["null", "\"1\"", "1.5", "0", "-1", "9007199254740992", "[1]"];

profiles!(invalid_account_input_is_rejected);
async fn invalid_account_input_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let long = format!("{:?}", "x".repeat(201));
        for value in ["", "null", "5", r#""""#, r#""  ""#, &long, r#""a\u0000b""#] {
            check(app, "POST", "/api/users", &with_member(&[], "name", value), "name").await;
        }
        let named = [("name", "\"x\"".to_owned())];
        for value in [r#""krw""#, r#""KRWX""#, "5"] {
            check(app, "POST", "/api/users", &with_member(&named, "currency", value), "currency").await;
        }
        let path = format!("/api/users/{}/balance", user.id);
        for value in ["", "null", "0", "-5", "1.5", "\"5\"", "1000000000000001", "1e400", "99999999999999999999"] {
            let field = if value == "1e400" { "" } else { "amount" };
            check(app, "POST", &path, &with_member(&[], "amount", value), field).await;
        }
        assert_eq!(user.balance().await, 0);
    })
    .await;
}

profiles!(invalid_product_input_is_rejected);
async fn invalid_product_input_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let of = |member: &str, value: &str| {
            let members =
                [("optionCode", "\"A\"".to_owned()), ("price", "1".to_owned()), ("stockQuantity", "1".to_owned())];
            format!(r#"{{"name":"x","options":[{}]}}"#, with_member(&members, member, value))
        };
        for (member, values) in [
            ("optionCode", &["", "null", "5", r#""""#, r#"" ""#][..]),
            ("price", &["", "null", "-1", "1.5", "\"1\"", "1000000000001"]),
            ("stockQuantity", &["", "null", "-1", "1.5", "\"1\"", "1000000001", "4294967296"]),
            ("isActive", &["1", "\"true\""]),
        ] {
            for value in values {
                check(app, "POST", "/api/products", &of(member, value), "").await;
            }
        }
        for body in [r#"{"name":"x"}"#, r#"{"name":"x","options":[]}"#, r#"{"name":"x","options":{}}"#] {
            check(app, "POST", "/api/products", body, "options").await;
        }
        assert_eq!(app.admin().products(&[]).await.unwrap().items, [], "nothing was created");
        let option = option(app, 1, 1).await;
        let path = format!("/api/product-options/{option}");
        for (member, value) in [
            ("price", "-1"),
            ("price", "\"1\""),
            ("isActive", "5"),
            ("stockQuantity", "-1"),
            ("stockQuantity", "1000000001"),
            ("stockDelta", "1000000001"),
            ("stockDelta", "1.5"),
            ("stockDelta", "1000000000"),
        ] {
            check(app, "PATCH", &path, &with_member(&[], member, value), member).await;
        }
        assert_eq!(counts(app, option).await, (1, 0, 1));
    })
    .await;
}

profiles!(invalid_cart_and_coupon_input_is_rejected);
async fn invalid_cart_and_coupon_input_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let option = option(app, 1, 1).await;
        let line =
            [("userId", user.id.to_string()), ("productOptionId", option.to_string()), ("quantity", "1".to_owned())];
        for value in [&NO_ID[..], &[""]].concat() {
            check(app, "PUT", "/api/cart/items", &with_member(&line, "productOptionId", value), "productOptionId")
                .await;
        }
        for value in NO_ID {
            check(app, "PUT", "/api/cart/items", &with_member(&line, "userId", value), "userId").await;
        }
        for value in ["", "null", "-1", "1.5", "1000001", "4294967296", "\"1\""] {
            check(app, "PUT", "/api/cart/items", &with_member(&line, "quantity", value), "quantity").await;
        }
        assert_eq!(user.in_cart().await, []);

        let coupon = [
            ("code", "\"C\"".to_owned()),
            ("discountType", "\"PERCENT\"".to_owned()),
            ("value", "10".to_owned()),
            ("maxUses", "5".to_owned()),
        ];
        let long = format!("{:?}", "x".repeat(65));
        for (member, values) in [
            ("code", &["", "null", "5", r#""""#, r#""A B""#, r#""A\n""#, &long][..]),
            ("discountType", &["", "null", "5", r#""percent""#, r#""HALF""#]),
            ("value", &["", "null", "0", "-1", "101", "1.5", "\"10\"", "99999999999"]),
            ("maxUses", &["", "null", "0", "-1", "1.5", "1000000001"]),
            ("validUntil", &["5", r#""tomorrow""#, r#""2027-02-30T00:00:00Z""#, r#""2027-03-01""#]),
        ] {
            for value in values {
                check(app, "POST", "/api/coupons", &with_member(&coupon, member, value), member).await;
            }
        }
        let amount = with_member(
            &[coupon[0].clone(), coupon[3].clone(), ("discountType", "\"AMOUNT\"".to_owned())],
            "value",
            "0",
        );
        check(app, "POST", "/api/coupons", &amount, "value").await;
    })
    .await;
}

profiles!(invalid_payment_input_is_rejected);
async fn invalid_payment_input_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 10_000).await;
        let option = option(app, 1_000, 10).await;
        user.reserve(option, 1).await;
        for value in &NO_ID[1..] {
            check(app, "POST", "/api/order/reserve", &with_member(&[], "userId", value), "userId").await;
            check(app, "POST", "/api/order", &with_member(&[], "userId", value), "userId").await;
        }
        let named = [("userId", user.id.to_string())];
        let many = format!("[{}1]", "1,".repeat(100));
        for (member, values) in [
            ("couponCode", &["5"][..]),
            ("expectedAmount", &["-1", "1.5", "\"1000\"", "1000000000000001"]),
            ("reservationIds", &["5", "{}", &many]),
        ] {
            for value in values {
                check(app, "POST", "/api/order", &with_member(&named, member, value), member).await;
            }
        }
        for value in ["[0]", "[\"1\"]", "[-1]", "[9007199254740992]"] {
            check(app, "POST", "/api/order", &with_member(&named, "reservationIds", value), "").await;
        }
        assert_eq!((user.balance().await, counts(app, option).await), (10_000, (10, 1, 9)), "nothing was paid");
    })
    .await;
}

profiles!(invalid_shop_paths_and_bodies_are_rejected);
async fn invalid_shop_paths_and_bodies_are_rejected(profile: Profile) {
    with_app(profile, async |app| {
        for body in ["", "{", "[]", "5", "null", "{\"a\":1}x"] {
            for (method, path) in [
                ("POST", "/api/users"),
                ("POST", "/api/products"),
                ("PUT", "/api/cart/items"),
                ("POST", "/api/coupons"),
                ("POST", "/api/order"),
            ] {
                check(app, method, path, body, "").await;
            }
        }
        for (method, path, field) in [
            ("GET", "/api/users/0", "id"),
            ("GET", "/api/users/007", "id"),
            ("GET", "/api/products/-1", "id"),
            ("GET", "/api/products?limit=0", "limit"),
            ("GET", "/api/products?cursor=%21", "cursor"),
            ("GET", "/api/product-options/9007199254740992", "id"),
            ("GET", "/api/cart?userId=0", "userId"),
            ("GET", "/api/order/reserve?userId=x", "userId"),
            ("DELETE", "/api/order/reserve?userId=-1", "userId"),
            ("GET", "/api/orders/x?userId=1", "id"),
            ("GET", "/api/orders?limit=x", "limit"),
            ("GET", "/api/orders?userId=0", "userId"),
            ("POST", "/api/orders/0/cancel?userId=1", "id"),
        ] {
            check(app, method, path, "", field).await;
        }
        let unknown = r#"{"name":"x","colour":"red","nested":{"a":[1]}}"#;
        assert_eq!(app.send("POST", "/api/users", &[], unknown).await.status, 201, "unknown fields are ignored");
        let wrong_method = app.send("DELETE", "/api/products", &[], "").await;
        assert_eq!(wrong_method.refusal(), (405, "METHOD_NOT_ALLOWED"));
        assert_eq!(app.send("GET", "/api/nothing", &[], "").await.json["code"], json!("NOT_FOUND"));
    })
    .await;
}
