//! `/openapi.json` and `/docs`.

use holdfast_testkit::{Profile, profiles};

use crate::support::with_app;

profiles!(openapi_document_equals_snapshot);
/// Reviewed on every change: clients are generated from it.
async fn openapi_document_equals_snapshot(profile: Profile) {
    with_app(profile, async |app| {
        let answer = app.send("GET", "/openapi.json", &[], "").await;
        assert_eq!(answer.json["openapi"], "3.1.0");
        insta::assert_json_snapshot!("openapi", answer.json);
    })
    .await;
}

profiles!(docs_page_is_self_contained_and_complete);
async fn docs_page_is_self_contained_and_complete(profile: Profile) {
    with_app(profile, async |app| {
        let page = app.send("GET", "/docs", &[], "").await;
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        for elsewhere in ["http://", "https://", "<script", "url("] {
            assert!(!page.text.contains(elsewhere), "{elsewhere}");
        }
        let openapi = app.send("GET", "/openapi.json", &[], "").await.json;
        for path in openapi["paths"].as_object().unwrap().keys() {
            assert!(page.text.contains(path.as_str()), "{path}");
        }
        for code in ["ROOM_NOT_AVAILABLE", "INVALID_INPUT", "STORE_UNAVAILABLE", "NOT_FOUND"] {
            assert!(page.text.contains(&format!("id='{code}'")), "{code}");
        }
    })
    .await;
}

profiles!(operations_and_responses_are_named);
async fn operations_and_responses_are_named(profile: Profile) {
    with_app(profile, async |app| {
        let openapi = app.send("GET", "/openapi.json", &[], "").await.json;
        let mut names = std::collections::BTreeSet::new();
        for (path, operations) in openapi["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let name = operation["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{method} {path}: {name}");
                for (status, answer) in operation["responses"].as_object().unwrap() {
                    assert!(answer["description"].is_string(), "{method} {path}: {status}");
                }
            }
        }
    })
    .await;
}
