//! Conventions of the API, as far as they hold for every call.

use std::time::Duration;

use holdfast_client::NewHold;
use holdfast_server::Config;
use holdfast_server::problem::Language;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::{TestApp, day, fresh_key, placed, with_app, with_settings};

profiles!(errors_are_problem_details);
async fn errors_are_problem_details(profile: Profile) {
    with_app(profile, async |app| {
        let answer = app.send("GET", "/v1/room-types/7", &[("x-request-id", "trace-1")], "").await;
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.header("x-request-id"), Some("trace-1"));
        assert_eq!((&answer.json["requestId"], &answer.json["status"]), (&json!("trace-1"), &json!(404)));
        assert_eq!(
            (&answer.json["code"], &answer.json["type"]),
            (&json!("ROOM_TYPE_NOT_FOUND"), &json!("/docs#ROOM_TYPE_NOT_FOUND"))
        );
        assert_eq!(answer.json["title"], json!("Room type not found"));
        let made_up = app.send("GET", "/v1/room-types/7", &[("x-request-id", "with space")], "").await;
        assert_eq!(made_up.header("x-request-id").map(str::len), Some(16), "an invalid id is replaced");
    })
    .await;
}

profiles!(detail_language_follows_request);
async fn detail_language_follows_request(profile: Profile) {
    with_app(profile, async |app| {
        for (accepted, expected) in [
            (None, "ko"),
            (Some("ko"), "ko"),
            (Some("ko-KR,ko;q=0.9,en;q=0.8"), "ko"),
            (Some("en"), "en"),
            (Some("en-GB, ko; q=0.5"), "en"),
            (Some("fr, ko; q=0.5"), "ko"),
            (Some("fr"), "en"),
            (Some(""), "en"),
        ] {
            let headers: Vec<_> = accepted.map(|language| ("accept-language", language)).into_iter().collect();
            let answer = app.send("GET", "/v1/room-types/7", &headers, "").await;
            assert_eq!(answer.header("content-language"), Some(expected), "{accepted:?}");
            let detail = answer.json["detail"].as_str().unwrap();
            assert_eq!(detail.is_ascii(), expected == "en", "{detail}");
        }
    })
    .await;
}

profiles!(default_language_follows_setting);
/// `server.language` applies without `Accept-Language` only, to errors of the router, of handlers and of parts of a batch.
async fn default_language_follows_setting(profile: Profile) {
    for (default, expected) in [(Language::Korean, "ko"), (Language::English, "en")] {
        let change = |config: &mut Config| config.server.language = default;
        with_settings(profile, change, async |app| {
            for (path, headers, expected) in [
                ("/v1/room-types/7", &[][..], expected),
                ("/nowhere", &[], expected),
                ("/v1/room-types/7", &[("accept-language", "ko")], "ko"),
                ("/v1/room-types/7", &[("accept-language", "en")], "en"),
                ("/v1/room-types/7", &[("accept-language", "fr")], "en"),
            ] {
                let answer = app.send("GET", path, headers, "").await;
                assert_eq!(answer.header("content-language"), Some(expected), "{path} {headers:?}");
                let detail = answer.json["detail"].as_str().unwrap();
                assert_eq!(detail.is_ascii(), expected == "en", "{detail}");
            }
            let batch = app.send("POST", "/v1/holds:batch", &[], r#"{"holds": [{}]}"#).await;
            let detail = batch.json["results"][0]["detail"].as_str();
            let detail = detail.unwrap_or_else(|| panic!("no detail in {}", batch.json));
            assert_eq!(detail.is_ascii(), expected == "en", "{detail}");
        })
        .await;
    }
}

profiles!(invalid_input_has_field_and_reason);
async fn invalid_input_has_field_and_reason(profile: Profile) {
    with_app(profile, async |app| {
        for (language, detail, reason) in [
            ("ko", "입력값이 올바르지 않습니다.", "limit: 1 이상 500 이하여야 합니다."),
            ("en", "The input is not valid.", "limit must be from 1 to 500."),
        ] {
            let answer = app.send("GET", "/v1/room-types?limit=0", &[("accept-language", language)], "").await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"));
            let said = ["detail", "field", "reason"].map(|member| answer.json[member].as_str().unwrap().to_owned());
            assert_eq!(said, [detail, "limit", reason]);
        }
        let refused = app.admin().room_types(Some("?".into())).await.unwrap_err().to_string();
        assert!(refused.ends_with("입력값이 올바르지 않습니다. cursor: 형식이 올바르지 않습니다."), "{refused}");
        let other = app.send("GET", "/v1/room-types/7", &[], "").await;
        assert!(other.json["reason"].is_null());
    })
    .await;
}

profiles!(unknown_path_and_method_are_rejected);
async fn unknown_path_and_method_are_rejected(profile: Profile) {
    with_app(profile, async |app| {
        assert_eq!(app.send("GET", "/v1/nothing", &[], "").await.refusal(), (404, "NOT_FOUND"));
        let wrong = app.send("DELETE", "/v1/room-types", &[], "").await;
        assert_eq!((wrong.refusal(), wrong.header("allow")), ((405, "METHOD_NOT_ALLOWED"), Some("POST,GET,HEAD")));
        assert_eq!(app.send("GET", "/v1/holds/%ff", &[("x-user-id", "1")], "").await.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}

profiles!(unknown_json_fields_are_ignored);
async fn unknown_json_fields_are_ignored(profile: Profile) {
    with_app(profile, async |app| {
        let body = r#"{"name":"x","totalQuantity":1,"basePrice":1,"stars":5,"nested":{"a":[1]}}"#;
        assert_eq!(app.send("POST", "/v1/room-types", &[], body).await.status, 201);
    })
    .await;
}

profiles!(oversized_body_is_rejected);
async fn oversized_body_is_rejected(profile: Profile) {
    with_app(profile, async |app| {
        let body = format!("{{\"name\":\"{}\"}}", "x".repeat(8 << 20));
        assert_eq!(app.send("POST", "/v1/room-types", &[], &body).await.refusal(), (413, "PAYLOAD_TOO_LARGE"));
        let chunks = futures_util::stream::iter((0..20).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20])));
        let request =
            app.admin().request(reqwest::Method::POST, "/v1/room-types").body(reqwest::Body::wrap_stream(chunks));
        assert_eq!(request.send().await.unwrap().status().as_u16(), 413);
    })
    .await;
}

/// Sends a raw request byte by byte, and returns the first part of the response.
async fn answer_to(app: &TestApp, request: &str) -> String {
    let address = app.url.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut line = String::new();
    let reading = async { BufReader::new(socket).read_line(&mut line).await.unwrap() };
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("a response arrives");
    line.trim_end().to_owned()
}

profiles!(bytes_after_request_do_not_delay_response);
async fn bytes_after_request_do_not_delay_response(profile: Profile) {
    with_app(profile, async |app| {
        let body = r#"{"name": "객실", "totalQuantity": 1, "basePrice": 1}"#;
        let head = "POST /v1/room-types HTTP/1.1\r\nhost: localhost\r\ncontent-length";
        for after in ["", "\r\n", "G", "}", "GET /healthz HT"] {
            let said = answer_to(app, &format!("{head}: {}\r\n\r\n{body}{after}", body.len())).await;
            assert_eq!(said, "HTTP/1.1 201 Created", "{after:?}");
        }
    })
    .await;
}

profiles!(malformed_head_is_answered);
async fn malformed_head_is_answered(profile: Profile) {
    with_app(profile, async |app| {
        let many = "x: 1\r\n".repeat(200);
        for (request, status) in [
            ("GARBAGE\r\n\r\n".to_owned(), "400"),
            ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400"),
            (format!("GET /healthz HTTP/1.1\r\n{many}\r\n"), "431"),
        ] {
            let said = answer_to(app, &request).await;
            assert_eq!(said.split(' ').nth(1), Some(status), "{said:?}");
        }
    })
    .await;
}

profiles!(declared_oversize_is_rejected_at_once);
async fn declared_oversize_is_rejected_at_once(profile: Profile) {
    with_app(profile, async |app| {
        let head = "POST /v1/room-types HTTP/1.1\r\nhost: localhost\r\ncontent-length";
        assert_eq!(answer_to(app, &format!("{head}: 9000000\r\n\r\n{{")).await, "HTTP/1.1 413 Payload Too Large");
    })
    .await;
}

profiles!(list_limit_has_default_and_maximum);
async fn list_limit_has_default_and_maximum(profile: Profile) {
    with_app(profile, async |app| {
        for _ in 0..60 {
            app.room_type(1).await;
        }
        let count = async |path: &str| app.send("GET", path, &[], "").await.json["items"].as_array().unwrap().len();
        assert_eq!(count("/v1/room-types").await, 50);
        assert_eq!(count("/v1/room-types?limit=7").await, 7);
        assert_eq!(count("/v1/room-types?limit=100000000000000000000000").await, 60, "more than 500 counts as 500");
        let first = app.admin().room_types(None).await.unwrap();
        let rest = app.admin().room_types(first.next_cursor).await.unwrap();
        assert_eq!((rest.items.len(), rest.next_cursor), (10, None));
    })
    .await;
}

profiles!(retry_with_same_key_replays_response);
async fn retry_with_same_key_replays_response(profile: Profile) {
    with_app(profile, async |app| {
        let headers = [("idempotency-key", "k1"), ("x-user-id", "1")];
        let body = r#"{"name":"x","totalQuantity":1,"basePrice":1}"#;
        let first = app.send("POST", "/v1/room-types", &headers, body).await;
        let again = app.send("POST", "/v1/room-types", &headers, body).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None));
        assert_eq!((again.status, again.header("idempotent-replayed")), (201, Some("true")));
        assert_eq!(first.text, again.text);
        assert_eq!(app.admin().room_types(None).await.unwrap().items.len(), 1);

        let other_body = app.send("POST", "/v1/room-types", &headers, &body.replace('x', "y")).await;
        assert_eq!(other_body.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        let other_path = app.send("PATCH", "/v1/room-types/1", &headers, body).await;
        assert_eq!(other_path.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        let other_caller = app.send("POST", "/v1/room-types", &[headers[0], ("x-user-id", "2")], body).await;
        assert_eq!((other_caller.status, other_caller.header("idempotent-replayed")), (201, None));
        app.pass(holdfast_core::time::Span::from_hours(25));
        let next_day = app.send("POST", "/v1/room-types", &headers, body).await;
        assert_eq!((next_day.status, next_day.header("idempotent-replayed")), (201, None), "kept for a day");
    })
    .await;
}

profiles!(idempotency_keys_are_per_caller);
async fn idempotency_keys_are_per_caller(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(9).await;
        for user in [1, 2] {
            let body = json!({"roomTypeId": room_type.id, "checkIn": day(1).to_string(), "checkOut": day(2).to_string(),
                "userId": user, "clientHoldKey": fresh_key()});
            let answer = app.send("POST", "/v1/holds", &[("idempotency-key", "mine")], &body.to_string()).await;
            assert_eq!((answer.status, &answer.json["userId"]), (201, &json!(user)));
        }
    })
    .await;
}

profiles!(rejections_are_not_stored_under_key);
async fn rejections_are_not_stored_under_key(profile: Profile) {
    with_app(profile, async |app| {
        let headers = [("idempotency-key", "k"), ("x-user-id", "1")];
        let room_type = app.room_type(1).await;
        let other = placed(app, 2, &room_type, day(1), day(2)).await;
        let wanted = NewHold::new(room_type.id, day(1), day(2), fresh_key());
        let body = serde_json::to_string(&wanted).unwrap();
        assert_eq!(app.send("POST", "/v1/holds", &headers, &body).await.refusal(), (409, "ROOM_NOT_AVAILABLE"));
        app.guest(2).cancel_hold(other.hold_id).await.unwrap();
        assert_eq!(app.send("POST", "/v1/holds", &headers, &body).await.status, 201);
        let path = format!(
            "/v1/holds/{}",
            app.send("POST", "/v1/holds", &headers, &body).await.json["holdId"].as_str().unwrap()
        );
        let delete = [("idempotency-key", "d"), ("x-user-id", "1")];
        assert_eq!(app.send("DELETE", &path, &delete, "").await.status, 204);
        let again = app.send("DELETE", &path, &delete, "").await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (204, Some("true")));
        for bad in ["", &"k".repeat(256)] {
            let answer = app.send("POST", "/v1/holds", &[("idempotency-key", bad), ("x-user-id", "1")], &body).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"));
        }
    })
    .await;
}

profiles!(concurrent_requests_share_one_response);
async fn concurrent_requests_share_one_response(profile: Profile) {
    with_app(profile, async |app| {
        let body = r#"{"name":"x","totalQuantity":1,"basePrice":1}"#;
        let calls = (0..20).map(|_| app.send("POST", "/v1/room-types", &[("idempotency-key", "once")], body));
        let answers = futures_util::future::join_all(calls).await;
        assert!(answers.iter().all(|answer| answer.text == answers[0].text && answer.status == 201));
        assert_eq!(app.admin().room_types(None).await.unwrap().items.len(), 1);
    })
    .await;
}

profiles!(full_queue_is_overloaded_with_retry_after);
async fn full_queue_is_overloaded_with_retry_after(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.queue_max = 1,
        async |app| {
            let room_type = app.room_type(1_000).await;
            let calls = (1..=100).map(|user| {
                let body = serde_json::to_string(&NewHold::new(room_type.id, day(1), day(2), fresh_key())).unwrap();
                async move { app.send("POST", "/v1/holds", &[("x-user-id", &*user.to_string())], &body).await }
            });
            let answers = futures_util::future::join_all(calls).await;
            let placed = answers.iter().filter(|answer| answer.status == 201).count();
            let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 201).collect();
            assert!(placed > 0 && !refused.is_empty(), "{placed} of 100 were placed");
            for answer in refused {
                assert_eq!((answer.refusal(), answer.header("retry-after")), ((429, "OVERLOADED"), Some("1")));
            }
            let held = app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0].hold_count;
            assert_eq!(held as usize, placed, "rejected requests hold nothing");
        },
    )
    .await;
}

profiles!(health_and_metrics_are_served);
async fn health_and_metrics_are_served(profile: Profile) {
    with_app(profile, async |app| {
        assert_eq!(app.send("GET", "/healthz", &[], "").await.json, json!({"status": "ok"}));
        assert_eq!(app.send("GET", "/readyz", &[], "").await.json, json!({"status": "ready"}));
        app.room_type(1).await;
        app.send("GET", "/v1/room-types/7", &[], "").await;
        let metrics = app.send("GET", "/metrics", &[], "").await.text;
        for name in [
            "holdfast_batch_commands_count",
            "holdfast_command_wait_seconds_count",
            "holdfast_batch_decide_seconds_count",
            "holdfast_batch_commit_seconds_count",
            "holdfast_http_request_seconds_bucket",
            "holdfast_http_errors_total{code=\"ROOM_TYPE_NOT_FOUND\"}",
        ] {
            assert!(metrics.contains(name), "{name} is missing in:\n{metrics}");
        }
    })
    .await;
}
