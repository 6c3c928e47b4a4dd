//! Cost of viewers: a thousand open consoles share one computation; none runs while no data changes or the page is
//! hidden.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Demo;
use super::api_calls::{call, tomorrow};
use super::console::choose_month;
use super::driver::{Browser, Look};

/// Number of viewers per page.
const VIEWERS: [(&str, usize); 4] = [("stays", 400), ("tickets", 300), ("shop", 200), ("rooms", 100)];
const TIMEOUT: Duration = Duration::from_secs(30);

/// Opens a page's stream and counts its events.
async fn view(address: String, page: &'static str, event_counts: Arc<AtomicUsize>) {
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!("GET /console/live/{page} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::spawn(async move {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            let events = buffer[..read].windows(12).filter(|bytes| *bytes == b"event: parts").count();
            event_counts.fetch_add(events, Ordering::Relaxed);
        }
    });
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < TIMEOUT, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Number of page computations so far.
async fn computed(demo: &Demo) -> u64 {
    let metrics = reqwest::get(demo.url("/metrics")).await.unwrap().text().await.unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix("holdfast_console_views_computed_total "));
    line.map_or(0, |count| count.parse().unwrap())
}

/// CPU time of the server so far.
fn worked(demo: &Demo) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", demo.server.child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

#[tokio::test(flavor = "multi_thread")]
async fn thousand_viewers_share_one_computation() {
    let demo = Demo::start(&[]);
    let address = demo.server.url.strip_prefix("http://").unwrap().to_owned();
    let mut event_counts = Vec::new();
    for (page, count) in VIEWERS {
        let events = Arc::new(AtomicUsize::new(0));
        for _ in 0..count {
            view(address.clone(), page, events.clone()).await;
        }
        event_counts.push((page, count, events));
    }
    for (page, count, events) in &event_counts {
        until(page, async || events.load(Ordering::Relaxed) >= *count).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;

    let (before, began) = (computed(&demo).await, worked(&demo));
    let events_before: usize = event_counts.iter().map(|(.., events)| events.load(Ordering::Relaxed)).sum();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let idle = worked(&demo).checked_sub(began).unwrap();
    assert_eq!(computed(&demo).await, before, "nothing is computed without changes");
    assert_eq!(event_counts.iter().map(|(.., events)| events.load(Ordering::Relaxed)).sum::<usize>(), events_before);
    println!("a thousand consoles while nothing happens: {idle:?} of work in 3 s, in a debug build");

    // One change is computed once for all its viewers, and not for other pages.
    let stay = json!({ "roomTypeId": 1, "checkIn": tomorrow(1), "checkOut": tomorrow(2),
        "clientHoldKey": "0f0e8f3c-35a4-4c39-8f0a-2f1f5a9d7e11" });
    let hold = call("POST", &demo.server.url, "/v1/holds", 8, stay).await;
    call("DELETE", &demo.server.url, &format!("/v1/holds/{}", hold["holdId"].as_str().unwrap()), 8, json!({})).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = computed(&demo).await - before;
    assert!((1..=3).contains(&after), "computed {after} times for one change");
}

#[tokio::test]
async fn hidden_page_closes_its_stream() {
    let demo = Demo::start(&[]);
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/stays")).await;
    choose_month(&browser, &tomorrow(1)).await;
    browser.until(&format!("document.querySelector('[data-night=\"3:{}\"]')", tomorrow(1))).await;
    browser.hide(true).await;
    browser.until("document.visibilityState === 'hidden'").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = computed(&demo).await;
    let stay = json!({ "roomTypeId": 3, "checkIn": tomorrow(1), "checkOut": tomorrow(2),
        "clientHoldKey": "0f0e8f3c-35a4-4c39-8f0a-2f1f5a9d7e11" });
    call("POST", &demo.server.url, "/v1/holds", 8, stay).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(computed(&demo).await, before, "the page is hidden");
    browser.hide(false).await;
    browser
        .until(&format!("document.querySelector('[data-night=\"3:{}\"] .left').innerText === '0'", tomorrow(1)))
        .await;
    browser.close().await;
}
