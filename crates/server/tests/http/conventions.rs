//! The Conventions section of the contract, as far as it holds for every call.

use holdfast_client::NewHold;
use serde_json::json;

use crate::support::{day, fresh_key, placed, with_app, with_settings};

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_problem_details_with_a_stable_code_and_the_requests_id() {
    with_app(async |app| {
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
        assert_eq!(made_up.header("x-request-id").map(str::len), Some(16), "a senseless id is replaced");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn detail_is_korean_unless_another_language_is_asked_for() {
    with_app(async |app| {
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

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_is_not_found_and_a_wrong_method_is_not_allowed() {
    with_app(async |app| {
        assert_eq!(app.send("GET", "/v1/nothing", &[], "").await.refusal(), (404, "NOT_FOUND"));
        let wrong = app.send("DELETE", "/v1/room-types", &[], "").await;
        assert_eq!((wrong.refusal(), wrong.header("allow")), ((405, "METHOD_NOT_ALLOWED"), Some("POST,GET,HEAD")));
        assert_eq!(app.send("GET", "/v1/holds/%ff", &[("x-user-id", "1")], "").await.refusal(), (400, "INVALID_INPUT"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_of_every_kind_is_named_and_changes_nothing() {
    with_app(async |app| {
        let room_type = app.room_type(5).await;
        let key = fresh_key();
        let hold = |member: &str, value: &str| {
            let mut members = vec![
                ("roomTypeId", room_type.id.to_string()),
                ("checkIn", format!("{:?}", day(1).to_string())),
                ("checkOut", format!("{:?}", day(2).to_string())),
                ("userId", "1".to_owned()),
                ("clientHoldKey", format!("{:?}", key.to_string())),
            ];
            members.retain(|(name, _)| *name != member);
            if !value.is_empty() {
                members.push((member, value.to_owned()));
            }
            let members: Vec<_> = members.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let room = |member: &str, value: &str| {
            let mut members = vec![("name", "\"x\""), ("totalQuantity", "1"), ("basePrice", "1")];
            members.retain(|(name, _)| *name != member);
            members.push((member, value));
            let members: Vec<_> = members.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let long = format!("{:?}", "x".repeat(201));
        let cases: Vec<(&str, String, String, &str)> = [
            ("roomTypeId", vec!["", "null", "\"1\"", "1.5", "0", "-1", "9007199254740992", "[1]", "true"]),
            (
                "checkIn",
                vec![
                    "",
                    "null",
                    "5",
                    "\"\"",
                    "\"2027-3-2\"",
                    "\"2027-02-30\"",
                    "\"2027-13-01\"",
                    "\"20270302\"",
                    "\"2027-03-02T00:00\"",
                    "\"+002027-03-02\"",
                    "\"２０２７-03-02\"",
                ],
            ),
            ("checkOut", vec!["", "\"2027-03-02 \"", "\"0000-00-00\"", "{}"]),
            ("userId", vec!["0", "-5", "\"1\"", "9007199254740992", "1.0", "{}"]),
            ("clientHoldKey", vec!["", "null", "7", "\"\"", "\"not-a-key\""]),
        ]
        .into_iter()
        .flat_map(|(field, values)| values.into_iter().map(move |value| (field, value)))
        .map(|(field, value)| ("POST", "/v1/holds".to_owned(), hold(field, value), field))
        .chain(
            [
                ("name", "\"\""),
                ("name", "\"  \""),
                ("name", long.as_str()),
                ("name", "\"a\\u0000b\""),
                ("name", "5"),
                ("totalQuantity", "-1"),
                ("totalQuantity", "1000001"),
                ("totalQuantity", "1.5"),
                ("totalQuantity", "null"),
                ("basePrice", "-1"),
                ("basePrice", "1000000000001"),
                ("basePrice", "\"5\""),
                ("currency", "\"krw\""),
                ("currency", "\"KRWX\""),
                ("currency", "\"원\""),
                ("timeZone", "\"Seoul\""),
                ("timeZone", "\"\""),
                ("timeZone", "\"../../etc/passwd\""),
                ("description", "5"),
            ]
            .into_iter()
            .map(|(field, value)| ("POST", "/v1/room-types".to_owned(), room(field, value), field)),
        )
        .chain(
            ["", "{", "[]", "5", "null", "{\"a\":1}x", "\u{feff}{}", "{\"name\":\"x\",\"totalQuantity\":1e400,\"basePrice\":1}", "{\"name\":\"\\ud800\"}"]
                .into_iter()
                .map(|body| ("POST", "/v1/room-types".to_owned(), body.to_owned(), "")),
        )
        .chain(
            [
                ("GET", "/v1/room-types/0", "id"),
                ("GET", "/v1/room-types/-1", "id"),
                ("GET", "/v1/room-types/abc", "id"),
                ("GET", "/v1/room-types/9007199254740992", "id"),
                ("GET", "/v1/room-types/99999999999999999999", "id"),
                ("GET", "/v1/room-types?limit=0", "limit"),
                ("GET", "/v1/room-types?limit=-1", "limit"),
                ("GET", "/v1/room-types?limit=x", "limit"),
                ("GET", "/v1/room-types?cursor=%21", "cursor"),
                ("GET", "/v1/room-types?cursor=AAAA", "cursor"),
                ("GET", "/v1/room-types/1/availability", "checkIn"),
                ("GET", "/v1/room-types/1/availability?checkIn=2027-03-01", "checkOut"),
                ("GET", "/v1/room-types/1/availability?checkIn=2027-03-02&checkOut=2027-03-02", "checkOut"),
                ("GET", "/v1/room-types/1/availability?checkIn=%ff&checkOut=2027-03-02", "query"),
                ("GET", "/v1/reservations?status=LOST", "status"),
                ("GET", "/v1/reservations?userId=0", "userId"),
                ("GET", "/v1/reservations?roomTypeId=x", "roomTypeId"),
                ("GET", "/v1/holds/xyz?userId=1", "holdId"),
                ("DELETE", "/v1/holds/xyz?userId=1", "holdId"),
                ("POST", "/v1/holds/xyz/confirm?userId=1", "holdId"),
                ("POST", "/v1/reservations/0/cancel?userId=1", "id"),
            ]
            .into_iter()
            .map(|(method, path, field)| (method, path.to_owned(), String::new(), field)),
        )
        .collect();
        for (method, path, body, field) in cases {
            let answer = app.send(method, &path, &[("content-type", "application/json")], &body).await;
            assert_eq!(answer.refusal(), (400, "INVALID_INPUT"), "{method} {path} {body}");
            let named = answer.json["field"].as_str().unwrap();
            assert!(field.is_empty() || named == field, "{method} {path} {body}: {named} is named, not {field}");
        }
        assert_eq!(app.admin().room_types(None).await.unwrap().items, [room_type.clone()], "nothing was created");
        assert_eq!(
            app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().available,
            5,
            "nothing is held"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_json_fields_are_ignored() {
    with_app(async |app| {
        let body = r#"{"name":"x","totalQuantity":1,"basePrice":1,"stars":5,"nested":{"a":[1]}}"#;
        assert_eq!(app.send("POST", "/v1/room-types", &[], body).await.status, 201);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_eight_mebibytes_is_too_large() {
    with_app(async |app| {
        let body = format!("{{\"name\":\"{}\"}}", "x".repeat(8 << 20));
        assert_eq!(app.send("POST", "/v1/room-types", &[], &body).await.refusal(), (413, "PAYLOAD_TOO_LARGE"));
        let chunks = futures_util::stream::iter((0..20).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20])));
        let request =
            app.admin().request(reqwest::Method::POST, "/v1/room-types").body(reqwest::Body::wrap_stream(chunks));
        assert_eq!(request.send().await.unwrap().status().as_u16(), 413);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_a_default_and_a_largest_limit() {
    with_app(async |app| {
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

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_and_request_give_the_first_success_again() {
    with_app(async |app| {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_the_caller_also_when_the_body_names_them() {
    with_app(async |app| {
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

#[tokio::test(flavor = "multi_thread")]
async fn only_successes_are_kept_under_a_key() {
    with_app(async |app| {
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

#[tokio::test(flavor = "multi_thread")]
async fn at_the_same_time_both_get_the_one_answer() {
    with_app(async |app| {
        let body = r#"{"name":"x","totalQuantity":1,"basePrice":1}"#;
        let calls = (0..20).map(|_| app.send("POST", "/v1/room-types", &[("idempotency-key", "once")], body));
        let answers = futures_util::future::join_all(calls).await;
        assert!(answers.iter().all(|answer| answer.text == answers[0].text && answer.status == 201));
        assert_eq!(app.admin().room_types(None).await.unwrap().items.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_overloaded_and_says_when_to_come_back() {
    with_settings(
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
            assert_eq!(held as usize, placed, "who was refused holds nothing");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_whether_it_is_alive_and_ready_and_what_it_does() {
    with_app(async |app| {
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
            "holdfast_problems_total{code=\"ROOM_TYPE_NOT_FOUND\"}",
        ] {
            assert!(metrics.contains(name), "{name} is missing in:\n{metrics}");
        }
    })
    .await;
}
