//! Products, options and stock.

use holdfast_client::{NewProduct, NewProductOption, Payment, ProductOptionChange};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{buyer, counts, option, send};
use crate::support::{code, problem, refused, with_app};

profiles!(product_has_options_with_price_and_stock);
async fn product_has_options_with_price_and_stock(profile: Profile) {
    with_app(profile, async |app| {
        let body = json!({"name": "에티오피아 예가체프 G1", "options": [
            {"optionCode": "ETH-HD-200", "price": 21_000, "stockQuantity": 10},
            {"optionCode": "ETH-WB-500", "price": 0, "stockQuantity": 0, "isActive": false}]});
        let made = send(app, "POST", "/api/products", &body).await;
        let data = &made.json["data"];
        let (id, first) = (data["id"].as_u64().unwrap(), data["options"][0]["id"].as_u64().unwrap());
        let shown = json!({"data": {"id": id, "name": "에티오피아 예가체프 G1", "currency": "KRW", "options": [
            {"id": first, "productId": id, "productName": "에티오피아 예가체프 G1", "optionCode": "ETH-HD-200",
                "price": 21_000, "currency": "KRW", "isActive": true,
                "stockQuantity": 10, "reservedQuantity": 0, "availableStock": 10, "soldQuantity": 0},
            {"id": first + 1, "productId": id, "productName": "에티오피아 예가체프 G1", "optionCode": "ETH-WB-500",
                "price": 0, "currency": "KRW", "isActive": false,
                "stockQuantity": 0, "reservedQuantity": 0, "availableStock": 0, "soldQuantity": 0}]}});
        assert_eq!((made.status, &made.json), (201, &shown));
        let found = send(app, "GET", &format!("/api/products/{id}"), &json!(null)).await;
        assert_eq!((found.status, &found.json), (200, &shown));
        let one = send(app, "GET", &format!("/api/product-options/{first}"), &json!(null)).await;
        assert_eq!(one.json["data"], shown["data"]["options"][0]);
        assert_eq!(code(app.admin().product(99).await), refused(404, "PRODUCT_NOT_FOUND"));
        assert_eq!(code(app.admin().product_option(99).await), refused(404, "PRODUCT_OPTION_NOT_FOUND"));
    })
    .await;
}

profiles!(products_are_paged);
async fn products_are_paged(profile: Profile) {
    with_app(profile, async |app| {
        for _ in 0..7 {
            option(app, 1, 1).await;
        }
        let answer = send(app, "GET", "/api/products?limit=3", &json!(null)).await;
        assert_eq!(answer.json["data"]["items"].as_array().unwrap().len(), 3);
        assert!(answer.json["data"]["nextCursor"].is_string() && answer.json["items"].is_null());
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let mut query = vec![("limit", "3".to_owned())];
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page = app.admin().products(&query).await.unwrap();
            seen.extend(page.items.iter().map(|product| product.id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
    })
    .await;
}

profiles!(option_changes_only_given_fields);
async fn option_changes_only_given_fields(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 5).await;
        let admin = app.admin();
        let change = async |change: ProductOptionChange| admin.change_product_option(option, &change).await.unwrap();
        let none = ProductOptionChange::default();
        let dearer = change(ProductOptionChange { price: Some(1_500), ..none.clone() }).await;
        assert_eq!((dearer.price, dearer.stock_quantity, dearer.is_active), (1_500, 5, true));
        let gone = change(ProductOptionChange { is_active: Some(false), ..none.clone() }).await;
        assert_eq!((gone.price, gone.stock_quantity, gone.is_active), (1_500, 5, false));
        assert_eq!(change(ProductOptionChange { stock_quantity: Some(9), ..none.clone() }).await.available_stock, 9);
        assert_eq!(change(ProductOptionChange { stock_delta: Some(-4), ..none.clone() }).await.available_stock, 5);
        assert_eq!(change(ProductOptionChange { stock_delta: Some(10), ..none.clone() }).await.available_stock, 15);
        assert_eq!(change(none).await.available_stock, 15, "an empty change changes nothing");
        let unknown = admin.change_product_option(99, &ProductOptionChange::default()).await;
        assert_eq!(code(unknown), refused(404, "PRODUCT_OPTION_NOT_FOUND"));
        let both = ProductOptionChange { stock_quantity: Some(1), stock_delta: Some(1), ..Default::default() };
        let refusal = problem(admin.change_product_option(option, &both).await);
        assert_eq!((refusal.code.as_str(), &refusal.extra["field"]), ("INVALID_INPUT", &json!("stockDelta")));
    })
    .await;
}

profiles!(option_shows_stock_reserved_and_available);
async fn option_shows_stock_reserved_and_available(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 100_000).await;
        user.reserve(option, 3).await;
        assert_eq!(counts(app, option).await, (10, 3, 7), "a reservation leaves the stock unchanged");
        user.pay_order(&Payment::default()).await.unwrap();
        assert_eq!(counts(app, option).await, (7, 0, 7));
    })
    .await;
}

profiles!(stock_below_reserved_is_rejected);
async fn stock_below_reserved_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 100_000).await;
        user.buy(option, 2).await;
        user.reserve(option, 5).await;
        let set = async |stock| {
            let change = ProductOptionChange { stock_quantity: Some(stock), ..Default::default() };
            app.admin().change_product_option(option, &change).await
        };
        let refusal = problem(set(4).await);
        assert_eq!((refusal.status, refusal.code.as_str()), (409, "CAPACITY_IN_USE"));
        let less = ProductOptionChange { stock_delta: Some(-4), ..Default::default() };
        assert_eq!(code(app.admin().change_product_option(option, &less).await), refused(409, "CAPACITY_IN_USE"));
        let nothing = ProductOptionChange { stock_delta: Some(-9), ..Default::default() };
        assert_eq!(code(app.admin().change_product_option(option, &nothing).await), refused(409, "CAPACITY_IN_USE"));
        assert_eq!(counts(app, option).await, (8, 5, 3), "nothing changed");
        assert_eq!(set(5).await.unwrap().available_stock, 0);
        app.pass(Span::from_secs(30 * 60 + 1));
        assert_eq!(set(0).await.unwrap().stock_quantity, 0, "an expired reservation holds nothing");
    })
    .await;
}

profiles!(product_has_at_most_100_options);
async fn product_has_at_most_100_options(profile: Profile) {
    with_app(profile, async |app| {
        let of = |count: usize| {
            let options = (0..count).map(|number| NewProductOption::new(format!("O-{number}"), 1, 1));
            NewProduct::new("많은 옵션", options.collect())
        };
        assert_eq!(app.admin().create_product(&of(100)).await.unwrap().options.len(), 100);
        for count in [0, 101] {
            let refusal = problem(app.admin().create_product(&of(count)).await);
            assert_eq!((refusal.code.as_str(), &refusal.extra["field"]), ("INVALID_INPUT", &json!("options")));
        }
    })
    .await;
}
