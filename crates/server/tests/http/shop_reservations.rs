//! Reservation of a cart, as in seed 001.

use holdfast_client::{NewProduct, NewProductOption, Payment, UserId};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::shop_support::{buyer, counts, option, send, set_active, set_price};
use crate::support::{TestApp, code, problem, refused, with_app, with_settings};

const LIFE: Span = Span::from_secs(30 * 60);

async fn reserve(app: &TestApp, user: &UserId) -> crate::support::RawResponse {
    send(app, "POST", "/api/order/reserve", &json!({"userId": user})).await
}

profiles!(reserve_response_equals_contract);
async fn reserve_response_equals_contract(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let first = NewProductOption::new("ETH-HD-200", 21_000, 10);
        let first = app.admin().create_product(&NewProduct::new("에티오피아 예가체프 G1", vec![first])).await.unwrap();
        let second = NewProductOption::new("COL-WB-500", 15_000, 16);
        let second = app.admin().create_product(&NewProduct::new("콜롬비아 수프리모", vec![second])).await.unwrap();
        let (first, second) = (first.options[0].id, second.options[0].id);
        // Lines are processed in ascending option id, regardless of their order in the cart.
        user.put_cart_item(second, 1).await.unwrap();
        user.put_cart_item(first, 2).await.unwrap();
        let answer = reserve(app, &user.id).await;
        let line = |number: u64, option: u64, name: &str, code: &str, quantity: u32, left: u32| {
            json!({"reservationId": number, "productOptionId": option, "productName": name, "optionCode": code,
                "quantity": quantity, "status": "RESERVED", "availableStock": left,
                "reservedAt": "2027-03-01T03:00:00.000Z", "expiresAt": "2027-03-01T03:30:00.000Z"})
        };
        let expected = json!({"data": {"reservations": [
            line(1, first, "에티오피아 예가체프 G1", "ETH-HD-200", 2, 8),
            line(2, second, "콜롬비아 수프리모", "COL-WB-500", 1, 15)]}});
        assert_eq!((answer.status, &answer.json), (200, &expected));
        assert_eq!(counts(app, first).await, (10, 2, 8), "the real stock is not touched");
    })
    .await;
}

profiles!(reserve_rejections_equal_contract);
async fn reserve_rejections_equal_contract(profile: Profile) {
    with_app(profile, async |app| {
        let check = async |user: &UserId, status: u16, code: &str, sentence: &str| -> Value {
            let answer = reserve(app, user).await;
            assert_eq!((answer.refusal(), answer.json["detail"].as_str()), ((status, code), Some(sentence)));
            answer.json
        };
        check(&99.into(), 404, "USER_NOT_FOUND", "사용자를 찾을 수 없습니다.").await;
        let user = buyer(app, 0).await;
        let (active, other) = (option(app, 1, 1).await, option(app, 1, 1).await);
        user.reserve(active, 1).await;
        user.put_cart_item(active, 0).await.unwrap();
        check(&user.id, 400, "CART_EMPTY", "장바구니가 비어 있습니다.").await;
        // Several errors at once: inactive, reserved already, too many. They are reported in a fixed order.
        user.put_cart_item(active, 5).await.unwrap();
        user.put_cart_item(other, 5).await.unwrap();
        set_active(app, other, false).await;
        let sentence = "비활성화된 상품 옵션이 포함되어 있습니다.";
        let inactive = check(&user.id, 400, "PRODUCT_OPTION_INACTIVE", sentence).await;
        assert_eq!(inactive["productOptionId"], json!(other));
        set_active(app, other, true).await;
        check(&user.id, 409, "DUPLICATE_RESERVATION", "이미 진행 중인 주문 예약이 있습니다.").await;
        user.release_order().await.unwrap();
        let sentence = format!("가용 재고가 부족합니다. (상품 옵션 ID: {active})");
        let short = check(&user.id, 409, "INSUFFICIENT_AVAILABLE_STOCK", &sentence).await;
        assert_eq!((&short["productOptionId"], &short["available"]), (&json!(active), &json!(1)));
        let answer = send(app, "POST", "/api/order/reserve", &json!({"userId": 0})).await;
        assert_eq!((answer.refusal(), &answer.json["field"]), ((400, "INVALID_INPUT"), &json!("userId")));
        assert_eq!(answer.json["detail"], json!("입력값이 올바르지 않습니다."));
        assert!(answer.json["data"].is_null(), "errors are never wrapped");
    })
    .await;
}

profiles!(cart_is_reserved_all_or_none);
async fn cart_is_reserved_all_or_none(profile: Profile) {
    with_app(profile, async |app| {
        let (plenty, scarce) = (option(app, 1, 100).await, option(app, 1, 2).await);
        let user = buyer(app, 0).await;
        user.put_cart_item(plenty, 5).await.unwrap();
        user.put_cart_item(scarce, 3).await.unwrap();
        let refusal = problem(user.reserve_order().await);
        assert_eq!((refusal.status, refusal.code.as_str()), (409, "INSUFFICIENT_AVAILABLE_STOCK"));
        assert_eq!(refusal.extra["productOptionId"], json!(scarce));
        assert_eq!((counts(app, plenty).await, counts(app, scarce).await), ((100, 0, 100), (2, 0, 2)));
        assert_eq!(code(user.order_reservation().await), refused(404, "RESERVATION_NOT_FOUND"));
    })
    .await;
}

profiles!(reservation_reduces_available_stock);
async fn reservation_reduces_available_stock(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1, 5).await;
        let (first, second) = (buyer(app, 0).await, buyer(app, 0).await);
        first.reserve(option, 3).await;
        second.put_cart_item(option, 3).await.unwrap();
        let refusal = problem(second.reserve_order().await);
        assert_eq!((refusal.code.as_str(), &refusal.extra["available"]), ("INSUFFICIENT_AVAILABLE_STOCK", &json!(2)));
        second.put_cart_item(option, 2).await.unwrap();
        assert_eq!(second.reserve_order().await.unwrap()[0].available_stock, 0);
        first.release_order().await.unwrap();
        assert_eq!(counts(app, option).await, (5, 2, 3));
    })
    .await;
}

profiles!(live_reservation_is_shown_and_released);
async fn live_reservation_is_shown_and_released(profile: Profile) {
    with_app(profile, async |app| {
        let (first, second) = (option(app, 1_000, 10).await, option(app, 250, 10).await);
        let user = buyer(app, 0).await;
        user.put_cart_item(first, 2).await.unwrap();
        user.reserve(second, 3).await;
        set_price(app, first, 9_999).await;
        let path = format!("/api/order/reserve?userId={}", user.id);
        let shown = send(app, "GET", &path, &json!(null)).await;
        let data = &shown.json["data"];
        assert_eq!((shown.status, &data["totalAmount"], &data["currency"]), (200, &json!(2_750), &json!("KRW")));
        let lines = data["reservations"].as_array().unwrap();
        let prices: Vec<_> = lines.iter().map(|line| (&line["unitPrice"], &line["quantity"])).collect();
        assert_eq!(prices, [(&json!(1_000), &json!(2)), (&json!(250), &json!(3))]);
        assert_eq!(lines[0]["status"], json!("RESERVED"));
        let given_back = send(app, "DELETE", &path, &json!(null)).await;
        assert_eq!((given_back.status, given_back.text.as_str()), (204, ""));
        for method in ["GET", "DELETE"] {
            assert_eq!(send(app, method, &path, &json!(null)).await.refusal(), (404, "RESERVATION_NOT_FOUND"));
            let unknown = send(app, method, "/api/order/reserve?userId=99", &json!(null)).await;
            assert_eq!(unknown.refusal(), (404, "USER_NOT_FOUND"));
        }
        assert_eq!(counts(app, first).await, (10, 0, 10));
        assert_eq!(code(user.pay_order(&Payment::default()).await), refused(404, "RESERVATION_NOT_FOUND"));
        user.reserve_order().await.expect("the cart is still there");
    })
    .await;
}

profiles!(replace_swaps_live_reservation);
async fn replace_swaps_live_reservation(profile: Profile) {
    with_app(profile, async |app| {
        let (first, second) = (option(app, 1_000, 5).await, option(app, 500, 5).await);
        let user = buyer(app, 100_000).await;
        user.reserve(first, 5).await;
        let old = user.order_reservation().await.unwrap().reservations[0].reservation.reservation_id;
        user.put_cart_item(first, 4).await.unwrap();
        user.put_cart_item(second, 1).await.unwrap();
        assert_eq!(code(user.reserve_order().await), refused(409, "DUPLICATE_RESERVATION"));
        app.pass(Span::from_secs(600));
        let new = user.replace_order_reservation().await.expect("its own pieces are available to it");
        let lines: Vec<_> = new.iter().map(|line| (line.product_option_id, line.available_stock)).collect();
        assert_eq!(lines, [(first, 1), (second, 4)]);
        assert_eq!(new[0].expires_at.duration_since(new[0].reserved_at).as_secs(), 1_800, "a new expiry");
        assert!(new.iter().all(|line| line.reservation_id > old), "ids are not reused");
        assert_eq!((counts(app, first).await, counts(app, second).await), ((5, 4, 1), (5, 1, 4)));
        let of_the_old = Payment { reservation_ids: Some(vec![old]), ..Payment::default() };
        assert_eq!(code(user.pay_order(&of_the_old).await), refused(404, "RESERVATION_NOT_FOUND"));

        user.put_cart_item(second, 6).await.unwrap();
        assert_eq!(code(user.replace_order_reservation().await), refused(409, "INSUFFICIENT_AVAILABLE_STOCK"));
        assert_eq!(
            user.order_reservation().await.unwrap().total_amount,
            4_500,
            "a rejected replacement changes nothing"
        );
        user.pay_order(&Payment::default()).await.unwrap();
        let other = buyer(app, 0).await;
        other.put_cart_item(first, 1).await.unwrap();
        other.replace_order_reservation().await.expect("without a live one it is an ordinary reservation");
        let senseless = send(app, "POST", "/api/order/reserve?replace=maybe", &json!({"userId": user.id})).await;
        assert_eq!((senseless.refusal(), &senseless.json["field"]), ((400, "INVALID_INPUT"), &json!("replace")));
    })
    .await;
}

profiles!(reservation_expires_after_thirty_minutes);
async fn reservation_expires_after_thirty_minutes(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 1).await;
        let (first, second) = (buyer(app, 10_000).await, buyer(app, 10_000).await);
        first.reserve(option, 1).await;
        second.put_cart_item(option, 1).await.unwrap();
        app.pass(Span::from_millis(30 * 60_000 - 1));
        assert_eq!(code(second.reserve_order().await), refused(409, "INSUFFICIENT_AVAILABLE_STOCK"));
        assert_eq!(first.order_reservation().await.unwrap().total_amount, 1_000);
        app.pass(Span::from_secs(1));
        assert_eq!(counts(app, option).await, (1, 0, 1), "expiry needs no job");
        second.reserve_order().await.unwrap();
        assert_eq!(code(first.pay_order(&Payment::default()).await), refused(400, "RESERVATION_EXPIRED"));
        assert_eq!(code(first.order_reservation().await), refused(404, "RESERVATION_NOT_FOUND"));
        assert_eq!(code(first.release_order().await), refused(404, "RESERVATION_NOT_FOUND"));
        second.pay_order(&Payment::default()).await.expect("a live reservation can always be paid");
        assert_eq!(first.balance().await, 10_000);
    })
    .await;
}

profiles!(expiry_is_reported_for_a_day);
async fn expiry_is_reported_for_a_day(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 2).await;
        let (first, second) = (buyer(app, 10_000).await, buyer(app, 10_000).await);
        first.reserve(option, 1).await;
        second.reserve(option, 1).await;
        app.pass(LIFE + Span::from_secs(1));
        first.reserve_order().await.expect("after expiry the next is allowed at once");
        first.release_order().await.unwrap();
        assert_eq!(code(first.pay_order(&Payment::default()).await), refused(404, "RESERVATION_NOT_FOUND"));
        app.pass(Span::from_hours(23));
        assert_eq!(code(second.pay_order(&Payment::default()).await), refused(400, "RESERVATION_EXPIRED"));
        app.pass(Span::from_hours(1));
        assert_eq!(code(second.pay_order(&Payment::default()).await), refused(404, "RESERVATION_NOT_FOUND"));
    })
    .await;
}

profiles!(reservation_ttl_is_a_setting);
async fn reservation_ttl_is_a_setting(profile: Profile) {
    with_settings(
        profile,
        |config| config.shop.hold_ttl = std::time::Duration::from_secs(5),
        async |app| {
            let option = option(app, 1, 1).await;
            let user = buyer(app, 0).await;
            user.reserve(option, 1).await;
            app.pass(Span::from_secs(6));
            assert_eq!(counts(app, option).await, (1, 0, 1));
        },
    )
    .await;
}

profiles!(paid_units_are_counted_once);
/// Units must not be subtracted twice: paying has reduced the stock already.
async fn paid_units_are_counted_once(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let (first, second) = (buyer(app, 100_000).await, buyer(app, 100_000).await);
        first.buy(option, 6).await;
        assert_eq!(counts(app, option).await, (4, 0, 4));
        second.buy(option, 4).await;
        assert_eq!(counts(app, option).await, (0, 0, 0));
    })
    .await;
}

profiles!(expired_reservation_blocks_no_buyer);
/// An expired reservation must not count until a job deletes it.
async fn expired_reservation_blocks_no_buyer(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 3).await;
        for _ in 0..4 {
            buyer(app, 0).await.reserve(option, 3).await;
            app.pass(LIFE + Span::from_secs(1));
        }
        buyer(app, 3_000).await.buy(option, 3).await;
    })
    .await;
}

profiles!(paid_customer_can_reserve_at_once);
/// A paid reservation must not count as live until its TTL of thirty minutes is over.
async fn paid_customer_can_reserve_at_once(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        for _ in 0..3 {
            user.buy(option, 1).await;
        }
        assert_eq!((user.balance().await, counts(app, option).await), (7_000, (7, 0, 7)));
    })
    .await;
}

profiles!(reservation_outlives_ten_minutes);
/// The TTL is thirty minutes, not the ten of a hold.
async fn reservation_outlives_ten_minutes(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 1).await;
        let user = buyer(app, 1_000).await;
        user.reserve(option, 1).await;
        app.pass(Span::from_secs(29 * 60 + 59));
        user.pay_order(&Payment::default()).await.unwrap();
    })
    .await;
}

profiles!(reserve_under_key_is_replayed);
async fn reserve_under_key_is_replayed(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1, 10).await;
        let user = buyer(app, 0).await;
        user.put_cart_item(option, 2).await.unwrap();
        let body = json!({"userId": user.id}).to_string();
        let headers = [("idempotency-key", "r-1")];
        let first = app.send("POST", "/api/order/reserve", &headers, &body).await;
        let again = app.send("POST", "/api/order/reserve", &headers, &body).await;
        assert_eq!((first.status, &first.text), (200, &again.text));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        let other = app.send("POST", "/api/order/reserve?replace=true", &headers, &body).await;
        assert_eq!(other.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        let given_back = [("idempotency-key", "r-2")];
        for replayed in [None, Some("true")] {
            let answer = app.send("DELETE", "/api/order/reserve", &given_back, &body).await;
            assert_eq!((answer.status, answer.header("idempotent-replayed")), (204, replayed));
        }
        assert_eq!(counts(app, option).await, (10, 0, 10));
    })
    .await;
}
