//! Authentication: with auth off, and with tokens.

use std::time::Duration;

use holdfast_client::Client;
use holdfast_dial::jwt::{Algorithm, EncodingKey, Header, encode};
use holdfast_engine::{Clock as _, SystemClock};
use holdfast_server::config::Secret;
use serde_json::{Value, json};

use crate::support::{TestApp, code, day, new_hold, refused, with_app, with_settings};

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// Later than any test ends.
pub(crate) const LATER: i64 = 4_102_444_800;

/// Tokens expire by the machine's clock, not by the store's.
fn seconds_from_now(seconds: i64) -> i64 {
    SystemClock.now().as_millis() / 1_000 + seconds
}

pub(crate) fn token(claims: &Value) -> String {
    encode(&Header::default(), claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
}

pub(crate) fn caller(app: &TestApp, sub: &str, role: &str) -> Client {
    app.admin().with_token(token(&json!({"sub": sub, "role": role, "exp": LATER})))
}

pub(crate) async fn with_auth(test: impl AsyncFn(&TestApp)) {
    with_settings(|config| config.auth.jwt_secret = Some(Secret::new(SECRET)), test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_idempotency_keys_are_separate() {
    with_auth(async |app| {
        let body = r#"{"name": "객실", "totalQuantity": 1, "basePrice": 1}"#;
        let create = async |sub: &str, role: &str| {
            let request = caller(app, sub, role).request(reqwest::Method::POST, "/v1/room-types");
            let made = request.header("idempotency-key", "same").body(body).send().await.unwrap();
            made.json::<Value>().await.unwrap()["id"].as_u64().unwrap()
        };
        let mut made = Vec::new();
        for (sub, role) in [("a", "admin"), ("b", "admin"), ("a", "service"), ("1", "admin"), ("a", "admin")] {
            made.push(create(sub, role).await);
        }
        assert_eq!(made, [1, 2, 3, 4, 1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_auth_request_names_caller() {
    with_app(async |app| {
        let room_type = app.room_type(9).await;
        let body = |user: Option<u64>| {
            let mut wanted = new_hold(&room_type, day(1), day(2));
            wanted.user_id = user;
            serde_json::to_string(&wanted).unwrap()
        };
        let post = async |path: &str, headers: &[(&str, &str)], body: &str| app.send("POST", path, headers, body).await;
        assert_eq!(post("/v1/holds", &[("x-user-id", "1")], &body(None)).await.json["userId"], json!(1));
        assert_eq!(post("/v1/holds", &[], &body(Some(2))).await.json["userId"], json!(2));
        assert_eq!(post("/v1/holds?userId=3", &[], &body(None)).await.json["userId"], json!(3));
        assert_eq!(post("/v1/holds", &[("x-user-id", "4")], &body(Some(4))).await.json["userId"], json!(4));
        assert_eq!(post("/v1/holds", &[("x-user-id", "5")], &body(Some(6))).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(post("/v1/holds?userId=5", &[], &body(Some(6))).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(post("/v1/holds", &[], &body(None)).await.refusal(), (400, "INVALID_INPUT"));
        assert_eq!(post("/v1/holds", &[("x-user-id", "me")], &body(None)).await.refusal(), (400, "INVALID_INPUT"));

        let hold = post("/v1/holds", &[], &body(Some(7))).await.json["holdId"].as_str().unwrap().to_owned();
        let path = format!("/v1/holds/{hold}/confirm");
        assert_eq!(post(&path, &[], "").await.refusal(), (400, "INVALID_INPUT"), "no user is named");
        assert_eq!(post(&path, &[], r#"{"userId":8}"#).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(post(&path, &[], r#"{"userId":7}"#).await.status, 201);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_auth_proxies_and_pages_are_rejected() {
    with_app(async |app| {
        for header in [
            ("forwarded", "for=10.0.0.1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-proto", "https"),
            ("x-real-ip", "10.0.0.1"),
            ("via", "1.1 proxy"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("host", "holdfast.example"),
        ] {
            let answer = app.send("GET", "/v1/room-types", &[header], "").await;
            assert_eq!(answer.refusal(), (403, "FORBIDDEN"), "{header:?}");
        }
        assert_eq!(app.send("GET", "/v1/room-types", &[("origin", "http://localhost:3000")], "").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_with_its_token() {
    with_auth(async |app| {
        let claims = json!({"sub": "1", "role": "user", "exp": seconds_from_now(1)});
        let opened = app.admin().with_token(token(&claims)).request(reqwest::Method::GET, "/v1/stream").send().await;
        let opened = opened.unwrap();
        assert_eq!(opened.status(), 200);
        let reading = tokio::time::timeout(Duration::from_secs(30), opened.bytes());
        reading.await.expect("it ends").unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_need_valid_token() {
    with_auth(async |app| {
        let good = json!({"sub": "1", "role": "user", "exp": LATER});
        let changed = |name: &str, value: Value| {
            let mut claims = good.clone();
            claims[name] = value;
            token(&claims)
        };
        let without = |name: &str| {
            let mut claims = good.clone();
            claims.as_object_mut().unwrap().remove(name);
            token(&claims)
        };
        let other_key =
            encode(&Header::default(), &good, &EncodingKey::from_secret(b"another secret, just as long as ours"))
                .unwrap();
        let other_algorithm =
            encode(&Header::new(Algorithm::HS384), &good, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
        let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIiwiZXhwIjo0MTAyNDQ0ODAwfQ.";
        for bad in [
            other_key,
            other_algorithm,
            unsigned.to_owned(),
            "nonsense".to_owned(),
            String::new(),
            changed("exp", json!(1_000_000_000)),
            changed("exp", json!("never")),
            changed("exp", json!(seconds_from_now(-5))),
            without("sub"),
            changed("sub", json!("me")),
            changed("sub", json!("0")),
            changed("role", json!("king")),
            changed("nbf", json!(LATER)),
            changed("nbf", json!(seconds_from_now(10))),
        ] {
            let answer = app.send("GET", "/v1/room-types", &[("authorization", &format!("Bearer {bad}"))], "").await;
            assert_eq!(
                (answer.refusal(), answer.header("www-authenticate")),
                ((401, "UNAUTHENTICATED"), Some("Bearer")),
                "{bad}"
            );
        }
        assert_eq!(app.send("GET", "/v1/room-types", &[], "").await.refusal(), (401, "UNAUTHENTICATED"));
        assert_eq!(
            app.send("POST", "/v1/holds", &[("x-user-id", "1")], "{}").await.refusal(),
            (401, "UNAUTHENTICATED")
        );
        for token in [
            token(&good),
            changed("sub", json!(1)),
            without("role"),
            without("exp"),
            changed("exp", json!(seconds_from_now(10))),
        ] {
            let answer = app.send("GET", "/v1/room-types", &[("authorization", &format!("bearer {token}"))], "").await;
            assert_eq!(answer.status, 200);
        }
        assert_eq!(app.send("GET", "/v1/nothing", &[], "").await.refusal(), (401, "UNAUTHENTICATED"));
        assert_eq!(app.send("DELETE", "/v1/room-types", &[], "").await.refusal(), (401, "UNAUTHENTICATED"));
        let known = format!("Bearer {}", token(&good));
        let nothing = app.send("GET", "/v1/nothing", &[("authorization", &known)], "").await;
        assert_eq!(nothing.refusal(), (404, "NOT_FOUND"));
        for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"] {
            assert_eq!(app.send("GET", path, &[], "").await.status, 200, "{path}");
        }
        let forwarded = app.send("GET", "/healthz", &[("x-forwarded-for", "10.0.0.1")], "").await;
        assert_eq!(forwarded.status, 200, "forwarded requests are accepted with auth on");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_secret_verifies_tokens() {
    with_settings(
        |config| config.auth.jwt_secret = Some(Secret::new("short")),
        async |app| {
            let claims = json!({"sub": "1"});
            for (secret, status) in [("short", 200), ("other", 401)] {
                let signed = encode(&Header::default(), &claims, &EncodingKey::from_secret(secret.as_bytes())).unwrap();
                let header = format!("Bearer {signed}");
                assert_eq!(app.send("GET", "/v1/room-types", &[("authorization", &header)], "").await.status, status);
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_act_for_themselves_admins_for_all() {
    with_auth(async |app| {
        let (admin, service, user) =
            (caller(app, "100", "admin"), caller(app, "101", "service"), caller(app, "1", "user"));
        let new_room_type = holdfast_client::NewRoomType::new("x", 9, 1);
        assert_eq!(code(user.create_room_type(&new_room_type).await), refused(403, "FORBIDDEN"));
        let room_type = admin.create_room_type(&new_room_type).await.unwrap();
        service.close_nights(room_type.id, day(8), day(9)).await.unwrap();
        assert_eq!(code(user.close_nights(room_type.id, day(8), day(9)).await), refused(403, "FORBIDDEN"));

        let own = user.place_hold(&new_hold(&room_type, day(1), day(2))).await.unwrap();
        assert_eq!(own.user_id, 1);
        let mut for_another = new_hold(&room_type, day(1), day(2));
        for_another.user_id = Some(2);
        assert_eq!(code(user.place_hold(&for_another).await), refused(403, "FORBIDDEN"));
        let theirs = service.place_hold(&for_another).await.unwrap();
        assert_eq!(theirs.user_id, 2);
        assert_eq!(code(user.hold(theirs.hold_id).await), refused(403, "FORBIDDEN"));
        let reservation = admin.confirm_hold(own.hold_id).await.unwrap();
        assert_eq!(reservation.user_id, 1);
        admin.confirm_hold(theirs.hold_id).await.unwrap();
        assert_eq!(user.reservations(&[]).await.unwrap().items.len(), 1);
        assert_eq!(admin.reservations(&[]).await.unwrap().items.len(), 2);
        assert_eq!(service.cancel_reservation(reservation.reservation_id).await.unwrap().user_id, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_audience_and_issuer_must_match() {
    let settings = |config: &mut holdfast_server::Config| {
        config.auth.jwt_secret = Some(Secret::new(SECRET));
        config.auth.audience = Some("holdfast".into());
        config.auth.issuer = Some("https://id.example.com".into());
    };
    with_settings(settings, async |app| {
        let good = json!({"sub": "1", "exp": LATER, "aud": "holdfast", "iss": "https://id.example.com"});
        let status = async |claims: &Value| {
            app.send("GET", "/v1/room-types", &[("authorization", &format!("Bearer {}", token(claims)))], "")
                .await
                .status
        };
        assert_eq!(status(&good).await, 200);
        for (name, value) in
            [("aud", Some("other")), ("iss", Some("https://evil.example")), ("aud", None), ("iss", None)]
        {
            let mut claims = good.clone();
            match value {
                Some(value) => claims[name] = json!(value),
                None => drop(claims.as_object_mut().unwrap().remove(name)),
            }
            assert_eq!(status(&claims).await, 401, "{name} {value:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_key_file_verifies_tokens() {
    // Ed25519 key pair for this test only.
    let private = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKHIMJYGJpTitRL7UENhLjCXcxTydeXoWlphUiMcqyie\n-----END PRIVATE KEY-----\n";
    let key = EncodingKey::from_ed_pem(private.as_bytes()).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), ED25519_PUBLIC).unwrap();
    let path = file.path().to_owned();
    with_settings(
        |config| config.auth.jwt_public_key_file = Some(path.clone()),
        async |app| {
            let claims = json!({"sub": "1", "exp": LATER});
            let signed = encode(&Header::new(Algorithm::EdDSA), &claims, &key).unwrap();
            let with = async |token: &str| {
                app.send("GET", "/v1/room-types", &[("authorization", &format!("Bearer {token}"))], "").await.status
            };
            assert_eq!(with(&signed).await, 200);
            // Algorithm confusion: a token signed with the public key as a shared secret.
            let confused =
                encode(&Header::default(), &claims, &EncodingKey::from_secret(ED25519_PUBLIC.as_bytes())).unwrap();
            assert_eq!(with(&confused).await, 401);
        },
    )
    .await;
}

const ED25519_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEApRE6PduHaAoxGVv+9/kayktBZu+x+bVVYGyT03CkV4g=\n-----END PUBLIC KEY-----\n";
