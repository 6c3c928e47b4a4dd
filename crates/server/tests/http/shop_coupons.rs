//! Coupons.

use futures_util::future::join_all;
use holdfast_client::{NewCoupon, Payment};
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{Buyer, buyer, buyer_of, option, send};
use crate::support::{code, refused, with_app};

fn with_coupon(code: &str) -> Payment {
    Payment { coupon_code: Some(code.into()), ..Payment::default() }
}

profiles!(coupon_is_issued_once_per_user);
async fn coupon_is_issued_once_per_user(profile: Profile) {
    with_app(profile, async |app| {
        let body = json!({"code": "WELCOME10", "discountType": "PERCENT", "value": 10, "maxUses": 2,
            "validUntil": "2027-03-02T00:00:00Z"});
        let made = send(app, "POST", "/api/coupons", &body).await;
        let shown = json!({"code": "WELCOME10", "discountType": "PERCENT", "value": 10, "maxUses": 2,
            "issuedCount": 0, "validUntil": "2027-03-02T00:00:00.000Z"});
        assert_eq!((made.status, &made.json), (201, &json!({"data": shown})));
        assert_eq!(send(app, "POST", "/api/coupons", &body).await.refusal(), (409, "COUPON_ALREADY_EXISTS"));

        let (first, second, third) = (buyer(app, 0).await, buyer(app, 0).await, buyer(app, 0).await);
        let issued = send(app, "POST", "/api/coupons/WELCOME10/issue", &json!({"userId": first.id})).await;
        assert_eq!((issued.status, &issued.json["data"]["issuedCount"]), (201, &json!(1)));
        assert_eq!(issued.json["data"]["userId"], json!(first.id));
        assert_eq!(code(first.take_coupon("WELCOME10").await), refused(409, "COUPON_ALREADY_ISSUED"));
        second.take_coupon("WELCOME10").await.unwrap();
        assert_eq!(code(third.take_coupon("WELCOME10").await), refused(409, "COUPON_SOLD_OUT"));
        assert_eq!(code(first.take_coupon("WELCOME10").await), refused(409, "COUPON_ALREADY_ISSUED"));
        assert_eq!(code(third.take_coupon("NOTHING").await), refused(404, "COUPON_NOT_FOUND"));
        assert_eq!(code(app.guest(99).take_coupon("WELCOME10").await), refused(404, "USER_NOT_FOUND"));
        app.pass(Span::from_hours(24));
        assert_eq!(code(third.take_coupon("WELCOME10").await), refused(409, "COUPON_NOT_USABLE"), "expired");
    })
    .await;
}

profiles!(concurrent_issues_respect_max_uses);
async fn concurrent_issues_respect_max_uses(profile: Profile) {
    with_app(profile, async |app| {
        let admin = app.admin();
        admin.create_coupon(&NewCoupon::amount("FIRST50", 1_000, 50)).await.unwrap();
        let users: Vec<Buyer> = join_all((0..300).map(|_| buyer_of(&admin, 0))).await;
        let taken = join_all(users.iter().map(|user| user.take_coupon("FIRST50"))).await;
        let (got, missed): (Vec<_>, Vec<_>) = taken.into_iter().partition(Result::is_ok);
        assert_eq!(got.len(), 50);
        assert!(missed.into_iter().all(|one| one.unwrap_err().code() == Some("COUPON_SOLD_OUT")));
        let mut counts: Vec<_> = got.into_iter().map(|one| one.unwrap().issued_count).collect();
        counts.sort_unstable();
        assert_eq!(counts, (1..=50).collect::<Vec<_>>(), "each issue has its own count");
    })
    .await;
}

profiles!(discount_rounds_down_and_is_capped);
async fn discount_rounds_down_and_is_capped(profile: Profile) {
    with_app(profile, async |app| {
        let admin = app.admin();
        admin.create_coupon(&NewCoupon::percent("P33", 33, 9)).await.unwrap();
        admin.create_coupon(&NewCoupon::percent("P100", 100, 9)).await.unwrap();
        admin.create_coupon(&NewCoupon::amount("A5000", 5_000, 9)).await.unwrap();
        let option = option(app, 1_999, 100).await;
        for (coupon, discount) in [("P33", 659), ("P100", 1_999), ("A5000", 1_999)] {
            let user = buyer(app, 2_000).await;
            user.take_coupon(coupon).await.unwrap();
            user.reserve(option, 1).await;
            let order = user.pay_order(&with_coupon(coupon)).await.unwrap();
            let amounts = (order.total_amount, order.discount_amount, order.paid_amount);
            assert_eq!(amounts, (1_999, discount, 1_999 - discount), "{coupon}");
            assert_eq!(order.coupon_code.as_deref(), Some(coupon));
            assert_eq!((order.balance_after, user.balance().await), (Some(2_000 - 1_999 + discount), 1 + discount));
        }
    })
    .await;
}

profiles!(unusable_coupon_rejects_payment);
async fn unusable_coupon_rejects_payment(profile: Profile) {
    with_app(profile, async |app| {
        let admin = app.admin();
        admin.create_coupon(&NewCoupon::percent("MINE", 10, 9)).await.unwrap();
        let soon = "2027-03-01T03:10:00Z".parse().unwrap();
        let short = NewCoupon { valid_until: Some(soon), ..NewCoupon::percent("SHORT", 10, 9) };
        admin.create_coupon(&short).await.unwrap();
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        user.take_coupon("SHORT").await.unwrap();
        user.reserve(option, 1).await;
        let pay = async |coupon: &str| user.pay_order(&with_coupon(coupon)).await;
        assert_eq!(code(pay("UNKNOWN").await), refused(409, "COUPON_NOT_USABLE"));
        assert_eq!(code(pay("MINE").await), refused(409, "COUPON_NOT_USABLE"), "not issued");
        app.pass(Span::from_secs(600));
        assert_eq!(code(pay("SHORT").await), refused(409, "COUPON_NOT_USABLE"), "expired");
        assert_eq!(user.balance().await, 10_000);
        user.take_coupon("MINE").await.unwrap();
        pay("MINE").await.expect("the reservation was left alone");
        user.reserve(option, 1).await;
        assert_eq!(code(pay("MINE").await), refused(409, "COUPON_NOT_USABLE"), "used");
        assert_eq!(code(user.take_coupon("MINE").await), refused(409, "COUPON_ALREADY_ISSUED"), "one per user");
    })
    .await;
}

profiles!(amount_coupon_discounts_only_its_currency);
/// `COUPON_NOT_USABLE`: "an `AMOUNT` in another currency". Without `currency` an `AMOUNT` is in KRW.
async fn amount_coupon_discounts_only_its_currency(profile: Profile) {
    with_app(profile, async |app| {
        let coupon = |code: &str| json!({"code": code, "discountType": "AMOUNT", "value": 500, "maxUses": 9});
        let bad = json!({"code": "BAD", "discountType": "AMOUNT", "value": 1, "maxUses": 9, "currency": "won"});
        let refused_currency = send(app, "POST", "/api/coupons", &bad).await;
        assert_eq!(
            (refused_currency.refusal(), &refused_currency.json["field"]),
            ((400, "INVALID_INPUT"), &json!("currency"))
        );
        let made = send(app, "POST", "/api/coupons", &coupon("WON")).await;
        assert_eq!(made.json["data"]["currency"], json!("KRW"));
        let mut dollars = coupon("DOLLARS");
        dollars["currency"] = json!("USD");
        let made = send(app, "POST", "/api/coupons", &dollars).await;
        assert_eq!((made.status, &made.json["data"]["currency"]), (201, &json!("USD")));

        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        for coupon in ["WON", "DOLLARS"] {
            user.take_coupon(coupon).await.unwrap();
        }
        user.reserve(option, 1).await;
        assert_eq!(code(user.pay_order(&with_coupon("DOLLARS")).await), refused(409, "COUPON_NOT_USABLE"));
        assert_eq!(user.balance().await, 10_000);
        assert_eq!(user.pay_order(&with_coupon("WON")).await.unwrap().discount_amount, 500);
    })
    .await;
}
