//! `holdfast calendar generate`: making slots without a server.

use holdfast_client::NewRoom;
use jiff::ToSpan as _;
use serde_json::json;

use crate::support::{Process, run, verify};

#[tokio::test(flavor = "multi_thread")]
async fn slots_are_made_in_a_stopped_store_and_none_twice() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let (code, text) = run(&["calendar", "generate", "--data", data]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("there is no store in"), "{text}");

    let mut process = Process::start(directory.path(), &[]);
    for _ in 0..3 {
        let room = process.client().create_room(&NewRoom::new("room", 60, 1_000)).await.unwrap().id;
        let hours = json!([{"from": "09:00", "to": "12:00"}]);
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let weekly: serde_json::Map<_, _> = days.into_iter().map(|day| (day.to_owned(), hours.clone())).collect();
        process.client().set_operating_hours(room, &json!({ "weekly": weekly })).await.unwrap();
        process.client().generate_slots(Some(room), None).await.unwrap();
    }
    let last = process.client().room(1).await.unwrap().generated_until.unwrap();
    let until = last.saturating_add(10.days());
    let (code, text) = run(&["calendar", "generate", "--data", data]);
    assert_eq!(code, 2, "a server is using it: {text}");
    process.terminate();

    let args = ["calendar", "generate", "--data", data, "--until", &until.to_string()];
    let (code, text) = run(&args);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("90 slots made for 3 rooms"), "{text}");
    let (code, text) = run(&args);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("0 slots made for 3 rooms"), "{text}");
    let (code, text) = run(&["calendar", "generate", "--data", data, "--until", "soon"]);
    assert_eq!(code, 2, "{text}");

    let process = Process::start(directory.path(), &[]);
    assert_eq!(process.client().slots(2, until, until).await.unwrap().len(), 3);
    drop(process);
    let (code, text) = verify(directory.path());
    assert_eq!(code, 0, "{text}");
}
