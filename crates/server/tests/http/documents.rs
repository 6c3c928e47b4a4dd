//! `/openapi.json` and `/docs`.

use crate::support::with_app;

/// Reviewed when it changes: this is what clients are generated from.
#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_is_as_reviewed() {
    with_app(async |app| {
        let answer = app.send("GET", "/openapi.json", &[], "").await;
        assert_eq!(answer.json["openapi"], "3.1.0");
        insta::assert_json_snapshot!("openapi", answer.json);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_docs_page_needs_nothing_from_elsewhere_and_knows_every_path_and_code() {
    with_app(async |app| {
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

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_has_a_name_of_its_own_and_every_answer_a_word() {
    with_app(async |app| {
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
