//! `/openapi.json` and `/docs`.

use std::collections::BTreeSet;

use holdfast_testkit::{Profile, profiles};
use serde_json::Value;

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
        let mut names = BTreeSet::new();
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

/// Visits every `$ref` of a document.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

profiles!(openapi_references_resolve);
async fn openapi_references_resolve(profile: Profile) {
    with_app(profile, async |app| {
        let openapi = app.send("GET", "/openapi.json", &[], "").await.json;
        let mut found = BTreeSet::new();
        references(&openapi, &mut found);
        for reference in &found {
            assert!(openapi.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
        for id in ["RoomTypeId", "HoldId", "UserId", "ReservationId", "OrderId", "RoomId", "EventId", "BookingId"] {
            assert!(found.contains(format!("#/components/schemas/{id}").as_str()), "{id} is used");
        }
    })
    .await;
}

profiles!(id_parameters_refer_to_named_schemas);
/// Ids in paths and users in any place are named schemas.
async fn id_parameters_refer_to_named_schemas(profile: Profile) {
    with_app(profile, async |app| {
        let openapi = app.send("GET", "/openapi.json", &[], "").await.json;
        for (path, operations) in openapi["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    let name = parameter["name"].as_str().unwrap();
                    if name.ends_with("Id") || name == "id" || name == "X-User-Id" {
                        let schema = parameter["schema"]["$ref"].as_str().unwrap_or_default();
                        assert!(schema.ends_with("Id"), "{method} {path} {name}: {}", parameter["schema"]);
                    }
                }
            }
        }
    })
    .await;
}
