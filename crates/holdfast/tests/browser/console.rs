//! Console: every page opens, bookings of other users appear at once, and actions are previewed before they are
//! confirmed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::api_calls::{book_something, call, tomorrow};
use super::driver::{Browser, Look, PHONE_WIDTH};
use super::{Demo, token};

/// Name, path, and a text in Korean and in English that only that page shows.
pub(crate) const PAGES: [(&str, &str, &str, &str); 10] = [
    ("now", "/", "진행 중인 가계약", "Live holds"),
    ("stays", "/console/stays", "디럭스 오션뷰", "Reservations"),
    ("shop", "/console/shop", "ETH-HD-200", "Stock"),
    ("tee", "/console/tee", "08:10", "Places"),
    ("tickets", "/console/tickets", "봄밤 콘서트", "Waiting room"),
    ("rooms", "/console/rooms", "강남 회의실 A", "Utilisation"),
    ("bookings", "/console/bookings", "BK-", "Tee-off"),
    ("outbox", "/console/outbox", "booking.confirmed", "Dead letters"),
    ("webhooks", "/console/webhooks", "웹훅 만들기", "Create webhook"),
    ("search", "/console/search?q=1", "티타임 예약", "Tee-time booking"),
];
/// Maximum compressed size of all assets of a page.
const PAGE_BYTES_MAX: u64 = 150 << 10;

#[tokio::test]
async fn pages_open_in_english_within_size_limit() {
    let demo = Demo::start(&[]);
    book_something(&demo).await;
    let browser = Browser::open(Look::ENGLISH).await;
    for (name, path, _, english) in PAGES {
        browser.go(&demo.url(path)).await;
        browser.until_shown(english).await;
        ready(&browser, name).await;
        browser.picture(&format!("console-{name}")).await;
        let bytes = browser
            .run(
                "return performance.getEntriesByType('resource').filter((it) => it.name.includes('/assets/'))\
                 .reduce((sum, it) => sum + it.encodedBodySize, 0)",
            )
            .await;
        let bytes = bytes.as_u64().unwrap();
        assert!((1..PAGE_BYTES_MAX).contains(&bytes), "{name} loads {bytes} bytes");
        browser.set_look(Look { dark: true, ..Look::ENGLISH }).await;
        browser.picture(&format!("console-{name}-dark")).await;
        browser.set_look(Look::ENGLISH).await;
    }
    browser.close().await;
}

#[tokio::test]
async fn pages_fit_phone_in_korean() {
    let demo = Demo::start(&[]);
    book_something(&demo).await;
    let look = Look { phone: true, ..Look::KOREAN };
    let browser = Browser::open(look).await;
    for (name, path, korean, _) in PAGES {
        browser.go(&demo.url(path)).await;
        browser.until_shown(korean).await;
        ready(&browser, name).await;
        assert_eq!(browser.run("return document.documentElement.lang").await, json!("ko"));
        let width = browser.run("return document.documentElement.scrollWidth").await;
        assert_eq!(width, json!(PHONE_WIDTH), "{name} is wider than a phone");
        browser.picture(&format!("console-{name}-phone")).await;
    }
    browser.close().await;
}

/// Selects the month of a day.
pub(crate) async fn choose_month(browser: &Browser, date: &str) {
    browser.until("document.getElementById('month')").await;
    browser.run(&format!("document.getElementById('month').value = '{}'", &date[..7])).await;
    browser.run("document.getElementById('month').dispatchEvent(new Event('change'))").await;
}

/// Waits until the parts drawn by scripts are there.
pub(crate) async fn ready(browser: &Browser, name: &str) {
    let drawn = match name {
        "now" => "Number(document.body.dataset.samples) > 2 && document.querySelector('.plot canvas')",
        "search" => "document.querySelectorAll('.story').length >= 2",
        _ => "document.querySelector('#page[aria-busy=false] .card')",
    };
    browser.until(drawn).await;
}

#[tokio::test]
async fn console_follows_bookings() {
    let demo = Demo::start(&[]);
    let browser = Browser::open(Look::ENGLISH).await;
    let (url, date) = (&demo.server.url, tomorrow(3));
    let seat = "document.querySelectorAll('.seat')[4].dataset.status";

    browser.go(&demo.url("/console/tickets")).await;
    browser.until(&format!("{seat} === 'AVAILABLE'")).await;
    let seats = call("GET", url, "/v1/events/1/seats", 7, Value::Null).await;
    let wanted = json!({ "seatIds": [seats[4]["id"]] });
    call("POST", url, "/v1/events/1/queue", 7, json!({})).await;
    call("POST", url, "/v1/events/1/queue/enter", 7, json!({})).await;
    browser.until("document.querySelector('#queue').innerText.includes('1')").await;
    let hold = call("POST", url, "/v1/events/1/seats/hold", 7, wanted).await;
    browser.until(&format!("{seat} === 'HELD'")).await;
    call("POST", url, &format!("/v1/seat-holds/{}/confirm", hold["holdId"].as_str().unwrap()), 7, json!({})).await;
    browser.until(&format!("{seat} === 'RESERVED'")).await;

    browser.go(&demo.url("/console/stays")).await;
    let night = format!("document.querySelector('[data-night=\"3:{date}\"] .left').innerText");
    choose_month(&browser, &date).await;
    browser.until(&format!("{night} === '1'")).await;
    let stay = json!({ "roomTypeId": 3, "checkIn": date, "checkOut": tomorrow(4),
        "clientHoldKey": "0f0e8f3c-35a4-4c39-8f0a-2f1f5a9d7e11" });
    call("POST", url, "/v1/holds", 8, stay).await;
    browser.until(&format!("{night} === '0'")).await;

    browser.go(&demo.url("/")).await;
    browser.until("document.querySelector('#tiles dd').innerText === '1'").await;
    call("POST", url, "/v1/rooms/1/locks", 9, json!({ "date": date, "times": ["10:00"] })).await;
    browser.until("document.querySelector('#tiles dd').innerText === '2'").await;
    browser.close().await;
}

#[tokio::test]
async fn actions_are_previewed_before_confirming() {
    let demo = Demo::start(&[]);
    let mut browser = Browser::open(Look::ENGLISH).await;
    let (url, date) = (&demo.server.url, tomorrow(1));

    // Closing a night takes effect only after the confirmation.
    browser.go(&demo.url("/console/stays")).await;
    choose_month(&browser, &date).await;
    let night = format!("[data-night=\"1:{date}\"]");
    browser.click(&night).await;
    browser.until_shown(&format!("No new holds for the nights from {date}")).await;
    browser.picture("console-act").await;
    browser.press("\u{E00C}").await;
    browser.until("!document.querySelector('dialog')").await;
    let availability = format!("/v1/room-types/1/availability?checkIn={date}&checkOut={}", tomorrow(2));
    assert_eq!(call("GET", url, &availability, 1, Value::Null).await["nights"][0]["closed"], json!(false));
    browser.click(&night).await;
    browser.click("dialog button.primary").await;
    browser.until(&format!("document.querySelector('{night}.closed')")).await;
    browser.until_shown("Done.").await;
    assert_eq!(call("GET", url, &availability, 1, Value::Null).await["nights"][0]["closed"], json!(true));

    // A rejection by the API is shown in the dialog.
    let stay = json!({ "roomTypeId": 3, "checkIn": date, "checkOut": tomorrow(2),
        "clientHoldKey": "0f0e8f3c-35a4-4c39-8f0a-2f1f5a9d7e11" });
    call("POST", url, "/v1/holds", 8, stay).await;
    browser.expect("409");
    browser.click(".maps .card:nth-child(3) header button").await;
    browser.fill("#act-totalQuantity", "0").await;
    browser.until_shown("will have 0 rooms").await;
    browser.click("dialog button.primary").await;
    browser.until("document.querySelector('dialog [role=alert]:not([hidden])')").await;
    browser.press("\u{E00C}").await;

    // Pausing the waiting room; creating an event.
    browser.go(&demo.url("/console/tickets")).await;
    browser.click("header button.danger").await;
    browser.until("document.querySelector('dialog[open]')").await;
    assert!(browser.text("dialog .will").await.starts_with("No more customers will be admitted."));
    browser.click("dialog button.primary").await;
    browser.until_shown("Paused").await;
    assert_eq!(call("GET", url, "/v1/events/1", 1, Value::Null).await["paused"], json!(true));
    browser.click("#tools button.primary").await;
    browser.fill("#act-name", "새 공연").await;
    browser.until_shown("goes on sale immediately: 60 seats").await;
    browser.click("dialog button.primary").await;
    browser.until("document.querySelectorAll('.seat').length === 60").await;

    // Cancelling a booking from the search results.
    let booking = json!({ "idempotencyKey": "b", "userId": 44, "gameTimeSlotId": 40, "playerCount": 2 });
    let made = call("POST", url, "/bookings", 44, booking).await;
    browser.go(&demo.url("/console/search")).await;
    browser.fill("#q", made["bookingNumber"].as_str().unwrap()).await;
    browser.until_shown("slot.reserved").await;
    browser.until("document.querySelector('.story .mark').innerText === 'Confirmed'").await;
    browser.click(".story button.danger").await;
    browser.until_shown("will be cancelled and refunded in full").await;
    browser.click("dialog button.primary").await;
    browser.until("document.querySelector('.story .mark').innerText === 'Cancelled'").await;
    browser.close().await;
}

#[tokio::test]
async fn dead_letter_is_published_again() {
    let mut demo = Demo::start(&[]);
    let booking = json!({ "idempotencyKey": "b", "userId": 44, "gameTimeSlotId": 40, "playerCount": 2 });
    let made = call("POST", &demo.server.url, "/bookings", 44, booking).await;
    demo.stop();
    // Marks the event as a dead letter, as the relay does.
    let store = rusqlite::Connection::open(demo.data.path().join("holdfast.db")).unwrap();
    let event: i64 =
        store.query_row("SELECT id FROM outbox WHERE event_type = 'booking.confirmed'", [], |row| row.get(0)).unwrap();
    let partition = made["id"].as_i64().unwrap() % 8;
    let trouble = "INSERT INTO outbox_trouble VALUES (?1, ?2, 5, 0, 1)";
    assert_eq!(store.execute(trouble, [event, partition]).unwrap(), 1);
    drop(store);
    demo.start_again(&[]);

    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/outbox")).await;
    browser.until_shown("Dead letters (1)").await;
    browser.click("#dead td button.slim").await;
    browser.until_shown("will be published again").await;
    browser.picture("console-dead-letter").await;
    browser.click("dialog button.primary").await;
    browser.until_shown("No dead letters.").await;
    browser.close().await;
}

#[tokio::test]
async fn failed_delivery_is_retried() {
    // Fails the first time only.
    let was_told = Arc::new(AtomicBool::new(false));
    let receiver = axum::Router::new().fallback(move || async move {
        if was_told.swap(true, Ordering::Relaxed) { StatusCode::NO_CONTENT } else { StatusCode::INTERNAL_SERVER_ERROR }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, receiver).await.unwrap() });
    let demo = Demo::start(&[("HOLDFAST_WEBHOOK_RETRY_AFTER", "none")]);

    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/webhooks")).await;
    browser.click("#tools button.primary").await;
    browser.fill("#act-url", &format!("http://{address}/told")).await;
    browser.fill("#act-types", "booking.confirmed").await;
    browser.until_shown("booking.confirmed will be sent to").await;
    browser.click("dialog button.primary").await;
    browser.until_shown("whsec_").await;
    let booking = json!({ "idempotencyKey": "b", "userId": 44, "gameTimeSlotId": 40, "playerCount": 2 });
    call("POST", &demo.server.url, "/bookings", 44, booking).await;
    browser.until("document.querySelector('td .mark').innerText === 'Failed'").await;
    browser.picture("console-webhook-failed").await;
    browser.click("td button.slim").await;
    browser.until_shown("booking.confirmed will be sent again now").await;
    browser.click("dialog button.primary").await;
    browser.until("document.querySelector('td .mark').innerText === 'Delivered'").await;
    browser.close().await;
}

#[tokio::test]
async fn operators_sign_in_and_out() {
    let demo = Demo::start(&[("HOLDFAST_AUTH_JWT_SECRET", super::SECRET)]);
    let mut browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/stays")).await;
    browser.until_shown("Sign in").await;
    browser.picture("console-sign-in").await;

    browser.expect("401");
    browser.expect("403");
    browser.fill("#token", "not a token").await;
    browser.click("form button").await;
    browser.until_shown("This token is invalid").await;
    browser.fill("#token", &token("7", "user")).await;
    browser.click("form button").await;
    browser.until_shown("The console is for operators").await;

    browser.fill("#token", &token("1", "admin")).await;
    browser.click("form button").await;
    browser.until("location.pathname === '/' && Number(document.body.dataset.samples) > 0").await;
    assert_eq!(browser.run("return document.cookie").await, json!(""), "no script can read the token");
    browser.go(&demo.url("/console/stays")).await;
    browser.until_shown("디럭스 오션뷰").await;

    browser.click(".side form button").await;
    browser.until("location.pathname === '/console/sign-in'").await;
    browser.go(&demo.url("/")).await;
    browser.until("location.pathname === '/console/sign-in'").await;
    browser.close().await;
}
