//! Each vertical is declared once, in `holdfast_api::vertical`. This test finds the places that lack one.

use holdfast_api::vertical::{VERTICALS, durable_events, ephemeral_events};
use serde_json::{Value, json};

use crate::support::Process;

#[tokio::test(flavor = "multi_thread")]
async fn each_vertical_is_known_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let ttl = |name: &str| format!("HOLDFAST_{}", name.replace('.', "_").to_uppercase());
    let settings: Vec<String> = VERTICALS.iter().filter_map(|vertical| vertical.ttl_setting).map(ttl).collect();
    let environment: Vec<_> = settings.iter().map(|name| (&**name, "5s")).collect();
    let data = directory.path().to_str().unwrap();
    // An unknown setting would stop the start.
    let process = Process::start_with(&["--data", data], &environment);
    let (http, url) = (reqwest::Client::new(), &process.url);

    let document: Value = http.get(format!("{url}/openapi.json")).send().await.unwrap().json().await.unwrap();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let tags: Vec<&Value> = operations.flat_map(|operation| operation["tags"].as_array().unwrap()).collect();
    for vertical in &VERTICALS {
        assert!(tags.iter().any(|tag| **tag == vertical.tag), "no operation has the tag {}", vertical.tag);
        let page = http.get(format!("{url}/console/{}", vertical.section)).send().await.unwrap();
        assert_eq!(page.status(), 200, "no section {}", vertical.section);
    }
    for event_type in durable_events().into_iter().chain(ephemeral_events()) {
        let body = json!({"url": "http://127.0.0.1:9/", "types": [event_type]});
        let made = http.post(format!("{url}/v1/webhooks")).json(&body).send().await.unwrap();
        assert_eq!(made.status(), 201, "{event_type}");
        let id = made.json::<Value>().await.unwrap()["id"].clone();
        http.delete(format!("{url}/v1/webhooks/{id}")).send().await.unwrap();
    }
}
