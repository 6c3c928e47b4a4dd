//! Authentication: with auth off, and with tokens.

use std::time::Duration;

use holdfast_client::Client;
use holdfast_connect::jwt::{Algorithm, EncodingKey, Header, encode};
use holdfast_engine::{Clock as _, SystemClock};
use holdfast_server::caller::Auth;
use holdfast_server::config::{AuthConfig, Secret};
use holdfast_testkit::{Profile, profiles};
use http::HeaderValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

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

pub(crate) async fn with_auth(profile: Profile, test: impl AsyncFn(&TestApp)) {
    with_settings(profile, |config| config.auth.jwt_secret = Some(Secret::new(SECRET)), test).await;
}

profiles!(operator_idempotency_keys_are_separate);
async fn operator_idempotency_keys_are_separate(profile: Profile) {
    with_auth(profile, async |app| {
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

profiles!(without_auth_request_names_caller);
async fn without_auth_request_names_caller(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        let body = |user: Option<u64>| {
            let mut wanted = new_hold(&room_type, day(1), day(2));
            wanted.user_id = user.map(Into::into);
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
        assert_eq!(post("/v1/holds", &[("x-user-id", "007")], &body(None)).await.refusal(), (400, "INVALID_INPUT"));

        let hold = post("/v1/holds", &[], &body(Some(7))).await.json["holdId"].as_str().unwrap().to_owned();
        let path = format!("/v1/holds/{hold}/confirm");
        assert_eq!(post(&path, &[], "").await.refusal(), (400, "INVALID_INPUT"), "no user is named");
        assert_eq!(post(&path, &[], r#"{"userId":8}"#).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(post(&path, &[], r#"{"userId":7}"#).await.status, 201);
    })
    .await;
}

profiles!(without_auth_proxies_and_pages_are_rejected);
async fn without_auth_proxies_and_pages_are_rejected(profile: Profile) {
    with_app(profile, async |app| {
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

profiles!(stream_ends_with_its_token);
async fn stream_ends_with_its_token(profile: Profile) {
    with_auth(profile, async |app| {
        let claims = json!({"sub": "1", "role": "user", "exp": seconds_from_now(1)});
        let opened = app.admin().with_token(token(&claims)).request(reqwest::Method::GET, "/v1/stream").send().await;
        let opened = opened.unwrap();
        assert_eq!(opened.status(), 200);
        let reading = tokio::time::timeout(Duration::from_secs(30), opened.bytes());
        reading.await.expect("it ends").unwrap();
    })
    .await;
}

profiles!(calls_need_valid_token);
async fn calls_need_valid_token(profile: Profile) {
    with_auth(profile, async |app| {
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
        let crit = Header { crit: Some(vec!["http://example.com/extension".into()]), ..Header::default() };
        let with_crit = encode(&crit, &good, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap();
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
            changed("sub", json!("사용자")),
            changed("sub", json!("0")),
            changed("sub", json!("+1")),
            changed("sub", json!("-1")),
            changed("sub", json!("1.5")),
            changed("sub", json!("007")),
            changed("sub", json!(" 1")),
            with_crit,
            changed("role", json!("king")),
            changed("nbf", json!(LATER)),
            changed("nbf", json!(seconds_from_now(10))),
        ] {
            let answer = app.send("GET", "/v1/room-types", &[("authorization", &format!("Bearer {bad}"))], "").await;
            let challenge = if bad.is_empty() { "Bearer" } else { r#"Bearer error="invalid_token""# };
            assert_eq!(
                (answer.refusal(), answer.header("www-authenticate")),
                ((401, "UNAUTHENTICATED"), Some(challenge)),
                "{bad}"
            );
        }
        let tokenless = app.send("GET", "/v1/room-types", &[], "").await;
        assert_eq!(tokenless.refusal(), (401, "UNAUTHENTICATED"));
        assert_eq!(tokenless.header("www-authenticate"), Some("Bearer"), "no token was given (RFC 6750)");
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

profiles!(short_secret_verifies_tokens);
async fn short_secret_verifies_tokens(profile: Profile) {
    with_settings(
        profile,
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

profiles!(users_act_for_themselves_admins_for_all);
async fn users_act_for_themselves_admins_for_all(profile: Profile) {
    with_auth(profile, async |app| {
        let (admin, service, user) =
            (caller(app, "100", "admin"), caller(app, "101", "service"), caller(app, "1", "user"));
        let new_room_type = holdfast_client::NewRoomType::new("x", 9, 1);
        assert_eq!(code(user.create_room_type(&new_room_type).await), refused(403, "FORBIDDEN"));
        let room_type = admin.create_room_type(&new_room_type).await.unwrap();
        service.close_nights(room_type.id, day(8), day(9)).await.unwrap();
        assert_eq!(code(user.close_nights(room_type.id, day(8), day(9)).await), refused(403, "FORBIDDEN"));

        let own = user.place_hold(&new_hold(&room_type, day(1), day(2))).await.unwrap();
        assert_eq!(own.user_id, 1.into());
        let mut for_another = new_hold(&room_type, day(1), day(2));
        for_another.user_id = Some(2.into());
        assert_eq!(code(user.place_hold(&for_another).await), refused(403, "FORBIDDEN"));
        let theirs = service.place_hold(&for_another).await.unwrap();
        assert_eq!(theirs.user_id, 2.into());
        assert_eq!(code(user.hold(theirs.hold_id).await), refused(403, "FORBIDDEN"));
        let reservation = admin.confirm_hold(own.hold_id).await.unwrap();
        assert_eq!(reservation.user_id, 1.into());
        admin.confirm_hold(theirs.hold_id).await.unwrap();
        assert_eq!(user.reservations(&[]).await.unwrap().items.len(), 1);
        assert_eq!(admin.reservations(&[]).await.unwrap().items.len(), 2);
        assert_eq!(service.cancel_reservation(reservation.reservation_id).await.unwrap().user_id, 1.into());
    })
    .await;
}

profiles!(configured_audience_and_issuer_must_match);
async fn configured_audience_and_issuer_must_match(profile: Profile) {
    let settings = |config: &mut holdfast_server::Config| {
        config.auth.jwt_secret = Some(Secret::new(SECRET));
        config.auth.audience = Some("holdfast".into());
        config.auth.issuer = Some("https://id.example.com".into());
    };
    with_settings(profile, settings, async |app| {
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

profiles!(public_key_file_verifies_tokens);
async fn public_key_file_verifies_tokens(profile: Profile) {
    let key = EncodingKey::from_ed_pem(ED25519_PRIVATE.as_bytes()).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), ED25519_PUBLIC).unwrap();
    let path = file.path().to_owned();
    with_settings(
        profile,
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

profiles!(user_id_has_one_spelling);
/// "Other text that reads as a decimal number (`-1`, `+1`, `1.5`, `007`) is no user: 400".
async fn user_id_has_one_spelling(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        let body = serde_json::to_string(&new_hold(&room_type, day(1), day(2))).unwrap();
        for text in ["+1", "-1", "1.5", "-1.5", "007", "01", "", "0"] {
            let in_header = app.send("POST", "/v1/holds", &[("x-user-id", text)], &body).await;
            assert_eq!(in_header.refusal(), (400, "INVALID_INPUT"), "{text:?}");
            let query = text.replace('+', "%2B");
            for path in [format!("/v1/holds?userId={query}"), format!("/v1/reservations?userId={query}")] {
                let method = if path.starts_with("/v1/holds") { "POST" } else { "GET" };
                let body = if method == "POST" { &*body } else { "" };
                assert_eq!(app.send(method, &path, &[], body).await.refusal(), (400, "INVALID_INPUT"), "{path}");
            }
        }
        for text in ["+1", "-1", "1.5", "007"] {
            let by_path = app.send("GET", &format!("/v1/room-types/{text}"), &[], "").await;
            assert_eq!(by_path.status, 400, "{text}");
        }
    })
    .await;
}

/// Sends a head as it is, and returns the status line of the answer.
async fn status_of(app: &TestApp, head: &str) -> String {
    let address = app.url.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    socket.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    let reading = async { BufReader::new(socket).read_line(&mut line).await.unwrap() };
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("an answer comes");
    line.split_once(' ').unwrap().1.trim_end().to_owned()
}

profiles!(silent_proxy_is_refused_without_auth);
/// A proxy on the same host that adds no header: nginx speaks HTTP/1.0 to it, other proxies pass the outside `Host` or none.
async fn silent_proxy_is_refused_without_auth(profile: Profile) {
    with_app(profile, async |app| {
        for path in ["/v1/room-types", "/healthz"] {
            for (head, status) in [
                (format!("GET {path} HTTP/1.1\r\nhost: localhost"), "200 OK"),
                (format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:8080"), "200 OK"),
                (format!("GET {path} HTTP/1.0\r\nhost: localhost"), "403 Forbidden"),
                (format!("GET {path} HTTP/1.0"), "403 Forbidden"),
                (format!("GET {path} HTTP/1.1"), "403 Forbidden"),
                (format!("GET {path} HTTP/1.1\r\nhost:"), "403 Forbidden"),
                (format!("GET {path} HTTP/1.1\r\nhost: holdfast.example"), "403 Forbidden"),
                (format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nhost: holdfast.example"), "403 Forbidden"),
                (format!("GET {path} HTTP/1.1\r\nhost: localhost:80@holdfast.example"), "403 Forbidden"),
                (format!("GET http://localhost{path} HTTP/1.1\r\nhost: holdfast.example"), "403 Forbidden"),
            ] {
                assert_eq!(status_of(app, &head).await, status, "{head:?}");
            }
        }
    })
    .await;
    with_auth(profile, async |app| {
        assert_eq!(status_of(app, "GET /healthz HTTP/1.0").await, "200 OK", "a proxy is fine with auth on");
    })
    .await;
}

profiles!(answers_are_neither_cached_nor_sniffed);
async fn answers_are_neither_cached_nor_sniffed(profile: Profile) {
    with_auth(profile, async |app| {
        let user = format!("Bearer {}", token(&json!({"sub": "1", "role": "user", "exp": LATER})));
        let admin = format!("Bearer {}", token(&json!({"sub": "2", "role": "admin", "exp": LATER})));
        let made = app
            .send(
                "POST",
                "/v1/room-types",
                &[("authorization", &admin)],
                r#"{"name": "x", "totalQuantity": 1, "basePrice": 1}"#,
            )
            .await;
        let listed = app.send("GET", "/v1/reservations", &[("authorization", &user)], "").await;
        let unknown = app.send("GET", "/v1/reservations/1", &[("authorization", &user)], "").await;
        let refused = app.send("GET", "/v1/reservations", &[], "").await;
        assert_eq!((made.status, listed.status, unknown.status, refused.status), (201, 200, 404, 401));
        for answer in [made, listed, unknown, refused] {
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        }
        let stream = app.admin().request(reqwest::Method::GET, "/v1/stream").header("authorization", &user);
        let stream = stream.send().await.unwrap();
        assert_eq!(
            (stream.status().as_u16(), &stream.headers()["cache-control"]),
            (200, &HeaderValue::from_static("no-store"))
        );
        let page = app.send("GET", "/console/sign-in", &[], "").await;
        let asset = page.text.split('"').find(|text| text.contains("/assets/")).expect("a page has assets");
        let asset = app.send("GET", asset, &[], "").await;
        assert_eq!((asset.status, asset.header("x-content-type-options")), (200, Some("nosniff")));
        assert!(asset.header("cache-control").is_some_and(|value| value.contains("max-age")), "{asset:?}");
    })
    .await;
}

fn error_of_key_file(pem: &str) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    let config = AuthConfig { jwt_public_key_file: Some(file.path().to_owned()), ..AuthConfig::default() };
    let error = Auth::from_config(&config).expect_err("no key to verify tokens with");
    let (named, error) = error.split_once(' ').unwrap();
    assert_eq!(named, "auth.jwt_public_key_file:");
    error.strip_prefix(file.path().to_str().unwrap()).expect("the file is named").trim().to_owned()
}

#[test]
fn unusable_public_key_file_is_explained() {
    let expected = "expected is a public key in PEM form: RSA of 2048 to 8192 bits, P-256 or Ed25519";
    for (pem, error) in [
        (ED25519_PRIVATE, "is a private key, which only the signer of tokens may have".to_owned()),
        (P384_PUBLIC, format!("is a key of an unsupported kind, elliptic curve P-384; {expected}")),
        (SECP256K1_PUBLIC, format!("is a key of an unsupported kind, elliptic curve secp256k1; {expected}")),
        (ED448_PUBLIC, format!("is a key of an unsupported kind, Ed448; {expected}")),
        (RSA_1024_PUBLIC, format!("is an RSA key of 1024 bits; {expected}")),
        ("not a key", format!("is not a public key; {expected}")),
    ] {
        let said = error_of_key_file(pem);
        assert!(said.starts_with(&error), "{said}");
    }
    let both = format!("{ED25519_PUBLIC}{ED25519_PRIVATE}");
    assert!(error_of_key_file(&both).starts_with("is a private key"), "also beside the public one");
}

#[test]
fn supported_public_keys_are_accepted() {
    for pem in [ED25519_PUBLIC, P256_PUBLIC] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pem).unwrap();
        let config = AuthConfig { jwt_public_key_file: Some(file.path().to_owned()), ..AuthConfig::default() };
        assert!(!Auth::from_config(&config).unwrap().is_off());
    }
}

// Keys made for these tests alone.
const ED25519_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKHIMJYGJpTitRL7UENhLjCXcxTydeXoWlphUiMcqyie\n-----END PRIVATE KEY-----\n";
const P256_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEdKhNryhKvGNCUNfx38GH47zOOKdL
AxFfziqo71KWMIsiBUGd5O3DWO4/eZJefuBImZAtaAbQ4K831y4//lZXHw==
-----END PUBLIC KEY-----
";
const P384_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEHn2Txfr0s5hOYfoC3VLY0RyvFdYbzK/X
WMYnRnijRwhIK+SrqJVS6tSR8E059PaAYWfPlrq3HXne5YKz6/44muBFiWOqFsAe
SSi25vlce6dPVfFKlvJmIodrVCJZiPO5
-----END PUBLIC KEY-----
";
const SECP256K1_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEz6BiPO2W/3fq+SttNOpaCHX5hfZvXIkd
XDEpLTVxxuYxxUTG4vCnKHf/hA2jrlYeqZRzkbW/gDOMBAN/YLj4oQ==
-----END PUBLIC KEY-----
";
const ED448_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MEMwBQYDK2VxAzoAsuBm7sbJQseKhSzWD6HXXb6Sd0gUiT5qQpIwD78glzTvn8ag
Bm8AM8zooRGlbRa5cyZbZJdojLMA
-----END PUBLIC KEY-----
";
const RSA_1024_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCbNRc1LEe5jOXGlI2Aydlmcygv
5FL4XZHm6kBK8+pYnoNgM/CxW8KzTmOcGCyZIG5TTJSVb/wEN1DRGzTgXAtFAOm2
z537w6r6lsyM5Um/fBtatNaupKjwzHtguiHb3U1iFglJ+hIFgZDZYTwATp3kh6ec
WyMhp8lskkiVVAnUrQIDAQAB
-----END PUBLIC KEY-----
";
