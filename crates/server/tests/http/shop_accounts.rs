//! Accounts and their balance.

use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{buyer, send};
use crate::support::{code, problem, refused, with_app};

profiles!(new_account_has_zero_balance);
async fn new_account_has_zero_balance(profile: Profile) {
    with_app(profile, async |app| {
        let made = send(app, "POST", "/api/users", &json!({"name": "손님 하나"})).await;
        let id = made.json["data"]["id"].as_u64().unwrap();
        let shown = json!({"data": {"id": id, "name": "손님 하나", "balance": 0, "currency": "KRW"}});
        assert_eq!((made.status, &made.json), (201, &shown));
        let found = send(app, "GET", &format!("/api/users/{id}"), &json!(null)).await;
        assert_eq!((found.status, &found.json), (200, &shown));
        assert_eq!(code(app.admin().account(99).await), refused(404, "USER_NOT_FOUND"));
    })
    .await;
}

profiles!(amount_is_added_to_balance);
async fn amount_is_added_to_balance(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        assert_eq!(app.admin().add_balance(&user.id, 30_000).await.unwrap().balance, 30_000);
        let path = format!("/api/users/{}/balance", user.id);
        let more = send(app, "POST", &path, &json!({"amount": 12_000})).await;
        assert_eq!((more.status, &more.json["data"]["balance"]), (200, &json!(42_000)));
        assert_eq!(user.balance().await, 42_000);
        assert_eq!(code(app.admin().add_balance(99, 1).await), refused(404, "USER_NOT_FOUND"));
    })
    .await;
}

profiles!(balance_is_limited);
async fn balance_is_limited(profile: Profile) {
    with_app(profile, async |app| {
        const MOST: i64 = 1_000_000_000_000_000;
        let user = buyer(app, MOST).await;
        let refusal = problem(app.admin().add_balance(&user.id, 1).await);
        assert_eq!((refusal.code.as_str(), &refusal.extra["field"]), ("INVALID_INPUT", &json!("amount")));
        assert_eq!(user.balance().await, MOST);
    })
    .await;
}

profiles!(deposit_under_key_is_applied_once);
async fn deposit_under_key_is_applied_once(profile: Profile) {
    with_app(profile, async |app| {
        let user = buyer(app, 0).await;
        let admin = app.admin().with_idempotency_key("charge-1");
        for _ in 0..3 {
            assert_eq!(admin.add_balance(&user.id, 500).await.unwrap().balance, 500);
        }
        assert_eq!(code(admin.add_balance(&user.id, 501).await), refused(422, "IDEMPOTENCY_KEY_REUSED"));
        assert_eq!(user.balance().await, 500);
    })
    .await;
}
