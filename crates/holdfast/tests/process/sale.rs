//! `holdfast demo sale`: the report agrees with the server's data.

use std::process::Stdio;

use holdfast_client::SeatStatus;
use serde_json::Value;

use crate::support::{Process, holdfast, run, verify};

/// Returns the number in the report's element with this id.
fn number_in(report: &str, id: &str) -> u64 {
    let (_, rest) = report.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in the report"));
    let digits: String = rest.split_once('>').unwrap().1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sale_report_agrees_with_server() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &["--demo"]);
    let (report, json) = (directory.path().join("sale.html"), directory.path().join("sale.json"));
    let sale = |people: &str| {
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let args = ["demo", "sale", "--url", &process.url, "--people", people, "--think", "10ms", "--lang", "en"];
        tokio::task::block_in_place(|| run(&[&args[..], &files[..]].concat()))
    };
    let (code, printed) = sale("150");
    assert_eq!(code, 0, "{printed}");
    let page = std::fs::read_to_string(&report).unwrap();

    let seats = process.client().seats(1).await.unwrap();
    let sold = seats.iter().filter(|seat| seat.status == SeatStatus::Reserved).count() as u64;
    assert_eq!((sold, number_in(&page, "seats-sold")), (104, 104), "all were sold: {printed}");
    let outcome: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let day = |name: &str| outcome["room"][name].as_str().unwrap().parse().unwrap();
    let room = outcome["room"]["roomTypeId"].as_u64().unwrap();
    let nights = process.client().availability(room, day("from"), day("to")).await.unwrap().nights;
    let booked: u64 = nights.iter().map(|night| u64::from(night.reserved_count)).sum();
    assert_eq!((nights.len(), booked, number_in(&page, "nights-sold")), (7, 7, 7), "{printed}");
    for id in ["oversold", "lost", "out-of-order", "failures"] {
        assert_eq!(number_in(&page, id), 0, "{id}: {printed}");
    }
    let inside = number_in(&page, "inside-max");
    assert!((1..=20).contains(&inside), "{inside} were inside at once");
    let queue = process.client().queue_stats(1).await.unwrap();
    assert_eq!((queue.waiting, queue.ready, queue.entered), (0, 0, 0), "all customers have left");
    assert!(!page.contains("<script") && !page.contains("http"), "the page is self-contained");

    let (code, printed) = sale("20");
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("앙코르"), "a sold-out event is followed by another: {printed}");
    drop(process);
    assert_eq!(verify(directory.path()).0, 0);
}

#[test]
fn interrupted_sale_still_writes_report() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("sale.html");
    let args =
        ["demo", "sale", "--people", "40", "--think", "20s", "--lang", "ko", "--report", report.to_str().unwrap()];
    let mut child = holdfast().args(args).stderr(Stdio::inherit()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("http://127.0.0.1:"), "{line}");
    // Gathering takes minutes, so the sale is not over yet.
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    assert!(rest.contains("ended before its time"), "{rest}");
    assert!(std::fs::read_to_string(&report).unwrap().contains("판매가 도중에 끝났습니다"));
}

#[test]
fn sale_needs_demo_server() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &[]);
    let (code, text) = run(&["demo", "sale", "--url", &process.url, "--people", "5"]);
    assert!(code == 2 && text.contains("--demo"), "{text}");
    let (code, text) = run(&["demo", "sale", "--people", "0"]);
    assert!(code == 2 && text.contains("--people"), "{text}");
}
