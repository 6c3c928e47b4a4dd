//! Console actions: each form of the admin API is filled in, previewed, confirmed, and takes effect.

use serde_json::{Value, json};

use super::Demo;
use super::api_calls::{book_something, call, tomorrow};
use super::driver::{Browser, Look};

/// Presses the button with this label.
async fn open(browser: &Browser, label: &str) {
    let found = format!(
        "[...document.querySelectorAll('#tools button, #page button')].find((it) => it.innerText === {})",
        Value::from(label)
    );
    browser.until(&found).await;
    browser.run(&format!("{found}.click()")).await;
    browser.until("document.querySelector('dialog[open]')").await;
}

/// Checks the preview, and confirms it.
async fn confirm(browser: &Browser, will: &str) {
    browser.until_shown(will).await;
    browser.click("dialog button.primary").await;
    browser.until("!document.querySelector('dialog')").await;
}

async fn set(browser: &Browser, selector: &str, value: &str) {
    let script = format!(
        "const it = document.querySelector({}); it.value = {}; it.dispatchEvent(new Event('input', {{ bubbles: true }}))",
        Value::from(selector),
        Value::from(value)
    );
    browser.until(&format!("document.querySelector({})", Value::from(selector))).await;
    browser.run(&script).await;
}

#[tokio::test]
async fn operator_manages_room() {
    let demo = Demo::start(&[]);
    let url = &demo.server.url;
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/rooms")).await;

    open(&browser, "Create room").await;
    browser.fill("#act-name", "녹음실").await;
    set(&browser, "#act-holidayPercent", "20").await;
    browser.click("#act-peak-add").await;
    set(&browser, "#act-peak-0-percent", "30").await;
    confirm(&browser, "18:00–22:00: ₩26,000. On holidays ₩24,000.").await;
    browser.until_shown("녹음실").await;
    let rooms = call("GET", url, "/v1/rooms", 1, Value::Null).await;
    let room = rooms["items"].as_array().unwrap().iter().find(|it| it["name"] == "녹음실").unwrap().clone();
    assert_eq!(room["holidayPercent"], json!(20));
    let days = json!(["mon", "tue", "wed", "thu", "fri"]);
    assert_eq!(room["peak"], json!([{ "days": days, "from": "18:00", "to": "22:00", "percent": 30 }]));

    // Weekly hours, a date with other hours, a day off; a holiday; then slots.
    let (short, closed) = (tomorrow(2), tomorrow(3));
    open(&browser, "Opening hours").await;
    browser.until("document.querySelector('#act-weekly-0-from')").await;
    for day in ["sat", "sun"] {
        browser.click(&format!("#act-weekly-0-days-{day}")).await;
    }
    browser.click("#act-exceptions-add").await;
    set(&browser, "#act-exceptions-0-date", &short).await;
    set(&browser, "#act-exceptions-0-from", "13:00").await;
    set(&browser, "#act-exceptions-0-to", "15:00").await;
    browser.click("#act-exceptions-add").await;
    set(&browser, "#act-exceptions-1-date", &closed).await;
    browser.picture("console-hours").await;
    confirm(&browser, &format!("{short} 13:00–15:00. {closed} Closed.")).await;
    let path = format!("/v1/rooms/{}/operating-hours", room["id"]);
    let hours = call("GET", url, &path, 1, Value::Null).await;
    assert_eq!(hours["weekly"]["sun"], json!([{ "from": "09:00", "to": "18:00" }]));
    let exceptions =
        json!([{ "date": short, "hours": [{ "from": "13:00", "to": "15:00" }] }, { "date": closed, "hours": [] }]);
    assert_eq!(hours["exceptions"], exceptions);

    open(&browser, "Holidays").await;
    let known = browser.run("return document.querySelectorAll('#act-dates .one').length").await.as_u64().unwrap();
    browser.click("#act-dates-add").await;
    set(&browser, &format!("#act-dates-{known}-date"), &tomorrow(1)).await;
    let dates = if known == 0 { "1 date".to_owned() } else { format!("{} dates", known + 1) };
    confirm(&browser, &format!("will be replaced by {dates}.")).await;
    open(&browser, "Generate slots").await;
    confirm(&browser, "will be generated for days without slots").await;
    browser.until_shown("generated. Slots exist until").await;
    let slots = call("GET", url, &format!("/v1/rooms/{}/slots?date={short}", room["id"]), 1, Value::Null).await;
    assert_eq!(slots.as_array().unwrap().len(), 2);
    let dear = call("GET", url, &format!("/v1/rooms/{}/slots?date={}", room["id"], tomorrow(1)), 1, Value::Null).await;
    assert_eq!((&dear[0]["isHoliday"], &dear[0]["finalPrice"]), (&json!(true), &json!(24_000)));

    // Blocks two slots at once.
    set(&browser, "#week", &short).await;
    browser.run("document.getElementById('week').dispatchEvent(new Event('change'))").await;
    browser.click(&format!("[id='slot-{short}-13:00']")).await;
    set(&browser, "#act-to", "15:00").await;
    confirm(&browser, "can no longer be booked. If any slot is locked").await;
    browser.until(&format!("document.querySelector(\"[id='slot-{short}-14:00'][data-status=BLOCKED]\")")).await;
    open(&browser, "Pricing").await;
    set(&browser, "#act-basePrice", "30000").await;
    confirm(&browser, "Base price ₩30,000.").await;
    open(&browser, "Reprice").await;
    set(&browser, "#act-to", &tomorrow(20)).await;
    confirm(&browser, "will be repriced").await;
    browser.close().await;
}

#[tokio::test]
async fn operator_manages_event() {
    let demo = Demo::start(&[]);
    let url = &demo.server.url;
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/tickets")).await;
    open(&browser, "Create event").await;
    browser.fill("#act-name", "겨울 공연").await;
    set(&browser, "#act-startsAt", "2030-12-24T19:30").await;
    set(&browser, "#act-salesOpenAt", "2030-12-01T10:00").await;
    set(&browser, "#act-maxSeatsPerUser", "4").await;
    browser.fill("#act-sections-0-section", "VIP").await;
    set(&browser, "#act-sections-0-rows", "2").await;
    browser.click("#act-sections-add").await;
    set(&browser, "#act-sections-1-price", "30000").await;
    browser.picture("console-new-event").await;
    confirm(&browser, "84 seats at ₩30,000 – ₩50,000 each. Customers enter through the waiting room").await;
    browser.until("document.querySelectorAll('.seat').length === 84").await;
    let events = call("GET", url, "/v1/events", 1, Value::Null).await;
    let event = events["items"].as_array().unwrap().iter().find(|it| it["name"] == "겨울 공연").unwrap().clone();
    assert!(event["startsAt"].as_str().unwrap().starts_with("2030-12-2") && event["maxSeatsPerUser"] == 4);
    let seats = call("GET", url, &format!("/v1/events/{}/seats", event["id"]), 1, Value::Null).await;
    assert_eq!((&seats[0]["section"], &seats[83]["label"]), (&json!("VIP"), &json!("G12")));

    open(&browser, "Edit event").await;
    set(&browser, "#act-salesOpenAt", "").await;
    browser.click("#act-queueEnabled").await;
    confirm(&browser, "is on sale. Held and sold seats stay. There is no waiting room").await;
    browser.until_shown("This event has no waiting room").await;
    let event = call("GET", url, &format!("/v1/events/{}", event["id"]), 1, Value::Null).await;
    assert_eq!((&event["salesOpenAt"], &event["queueEnabled"]), (&Value::Null, &json!(false)));
    assert!(event["startsAt"].is_string(), "untouched fields stay");
    browser.close().await;
}

#[tokio::test]
async fn operator_manages_shop() {
    let demo = Demo::start(&[]);
    let url = &demo.server.url;
    book_something(&demo).await;
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/console/shop")).await;
    browser.until("document.querySelector('[data-option=\"1\"] .count-sold').innerText === '2'").await;
    browser.run("document.querySelector('[data-option=\"1\"] button').click()").await;
    set(&browser, "#act-stockDelta", "7").await;
    confirm(&browser, "7 units will be added to the stock of ETH-HD-200").await;
    browser.until("document.querySelector('[data-option=\"1\"] .count-free').innerText === '15'").await;

    open(&browser, "Create product").await;
    browser.fill("#act-name", "케냐 AA").await;
    browser.fill("#act-options-0-optionCode", "KEN-200").await;
    browser.click("#act-options-add").await;
    browser.fill("#act-options-1-optionCode", "KEN-500").await;
    confirm(&browser, "KEN-200 ₩10,000 × 10, KEN-500 ₩10,000 × 10").await;
    browser.until_shown("케냐 AA").await;

    open(&browser, "Create coupon").await;
    browser.fill("#act-code", "SPRING").await;
    set(&browser, "#act-validUntil", "2030-12-01T10:00").await;
    confirm(&browser, "and used until").await;
    open(&browser, "Issue coupon").await;
    browser.fill("#act-code", "SPRING").await;
    browser.fill("#act-userId", "2").await;
    confirm(&browser, "One coupon SPRING will be issued to user 2").await;
    open(&browser, "Add balance").await;
    set(&browser, "#act-id", "2").await;
    confirm(&browser, "will be added to the balance of user 2").await;
    assert_eq!(call("GET", url, "/api/users/2", 2, Value::Null).await["balance"], json!(60_000));

    // Another customer's reservation is found by its number, and released.
    let reserved = call("GET", url, "/api/order/reserve", 2, Value::Null).await;
    let number = reserved["reservations"][0]["reservationId"].to_string();
    browser.go(&demo.url(&format!("/console/search?q={number}"))).await;
    let story = "[...document.querySelectorAll('.story')].find((it) => it.innerText.startsWith('Shop reservation'))";
    browser.until(&format!("{story}.querySelector('.mark').innerText === 'Reserved'")).await;
    browser.run(&format!("{story}.querySelector('button').click()")).await;
    confirm(&browser, "will be released").await;
    browser.until(&format!("{story}.querySelector('.mark').innerText === 'Released'")).await;
    browser.close().await;
}
