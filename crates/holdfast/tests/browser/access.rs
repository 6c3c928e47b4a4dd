//! Pages can be used by everybody: without a mouse, without eyes, with poor ones, on a phone. Every page is looked through for
//! names, headings, contrast and focus, in light and in dark, at a desk and on a phone, with each of its dialogs open.

use serde_json::Value;

use super::Demo;
use super::driver::{Browser, Look};
use super::life::book_something;

const TAB: &str = "\u{E004}";
const ESCAPE: &str = "\u{E00C}";
/// More than any page has to offer.
const TABS_MAX: u64 = 400;

/// Everything that keeps somebody from using the page as it is now.
pub(crate) async fn check(browser: &Browser, what: &str) {
    let found = browser.run(include_str!("access.js")).await;
    let found: Vec<&str> = found.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(found.is_empty(), "{what}: {found:#?}");
}

/// Whatever takes the focus shows it.
async fn check_focus(browser: &Browser, what: &str) -> u64 {
    let found = browser.run(include_str!("focus.js")).await;
    assert_eq!(found["complaints"], Value::Array(Vec::new()), "{what}");
    found["count"].as_u64().unwrap()
}

/// With nothing but the Tab key one comes to everything there is, from the link that skips the menu to the last, and out again.
async fn walk_with_keys(browser: &Browser, what: &str, count: u64) {
    assert!(count < TABS_MAX, "{what}: {count}");
    browser.run("document.activeElement.blur(); scrollTo(0, 0); globalThis.visited = new Set()").await;
    let mut steps = 0;
    for _ in 0..TABS_MAX {
        browser.press(TAB).await;
        let here = "const it = document.activeElement; if (it === document.body || visited.has(it)) return null; \
                    visited.add(it); return it.className";
        let place = browser.run(here).await;
        if place.is_null() {
            break;
        }
        assert!(steps > 0 || place == "skip", "{what}: the first is not the link that skips the menu, but {place}");
        steps += 1;
    }
    assert_eq!(steps, count, "{what}: not everything is reached with the Tab key");
}

const LOOKS: [(&str, Look); 4] = [
    ("light", Look::ENGLISH),
    ("dark", Look { dark: true, ..Look::ENGLISH }),
    ("light, phone", Look { phone: true, ..Look::ENGLISH }),
    ("dark, phone", Look { phone: true, dark: true, ..Look::ENGLISH }),
];

/// A page in every look.
async fn check_in_every_look(browser: &Browser, name: &str) {
    for (look_name, look) in LOOKS {
        browser.set_look(look).await;
        check(browser, &format!("{name}, {look_name}")).await;
    }
    browser.set_look(Look::ENGLISH).await;
}

#[tokio::test]
async fn everybody_can_use_every_page_of_the_console() {
    let demo = Demo::start(&[]);
    book_something(&demo).await;
    let webhook = serde_json::json!({ "url": "http://127.0.0.1:9/nobody", "types": ["order."] });
    super::life::call("POST", &demo.server.url, "/v1/webhooks", 1, webhook).await;
    let browser = Browser::open(Look::ENGLISH).await;
    for (name, path, _, english) in super::console::PAGES {
        browser.go(&demo.url(path)).await;
        browser.until_shown(english).await;
        super::console::ready(&browser, name).await;
        check_in_every_look(&browser, name).await;
        browser.press(TAB).await;
        let count = check_focus(&browser, name).await;
        walk_with_keys(&browser, name, count).await;

        let tools = browser.run("return document.querySelectorAll('#tools button:not(.square)').length").await;
        for tool in 1..=tools.as_u64().unwrap() {
            let open = format!("document.querySelectorAll('#tools button:not(.square)')[{}].click()", tool - 1);
            browser.run(&open).await;
            browser.until("document.querySelector('dialog[open]')").await;
            let title = format!("{name}: {}", browser.text("dialog h2").await);
            check_in_every_look(&browser, &title).await;
            browser.press(TAB).await;
            check_focus(&browser, &title).await;
            browser.picture(&format!("console-{name}-dialog-{tool}")).await;
            browser.press(ESCAPE).await;
            browser.until("!document.querySelector('dialog')").await;
        }
    }
    browser.close().await;
}

#[tokio::test]
async fn everybody_can_use_every_page_for_customers() {
    let demo = Demo::start(&[]);
    let browser = Browser::open(Look::ENGLISH).await;
    for (name, path, there) in [
        ("index", "/demo", "#start-sale"),
        ("hotel", "/demo/hotel", "[data-room='2'] button"),
        ("shop", "/demo/shop", "#cart"),
        ("golf", "/demo/golf", "[data-slot] button"),
        ("rooms", "/demo/rooms", "[data-time='10:00']"),
        ("concert", "/demo/concert", "#join"),
    ] {
        browser.go(&demo.url(path)).await;
        browser.until(&format!("document.querySelector({})", Value::from(there))).await;
        check_in_every_look(&browser, name).await;
        browser.press(TAB).await;
        let count = check_focus(&browser, name).await;
        walk_with_keys(&browser, name, count).await;
    }
    browser.close().await;
}

#[tokio::test]
async fn everybody_can_sign_in_and_read_the_reference() {
    let demo = Demo::start(&[("HOLDFAST_AUTH_JWT_SECRET", super::SECRET)]);
    let browser = Browser::open(Look::ENGLISH).await;
    for (name, path) in [("console", "/console/sign-in"), ("customer", "/demo/hotel")] {
        browser.go(&demo.url(path)).await;
        browser.until("document.querySelector('#token')").await;
        check_in_every_look(&browser, name).await;
        browser.press(TAB).await;
        let count = check_focus(&browser, name).await;
        walk_with_keys(&browser, name, count).await;
    }
    browser.go(&demo.url("/docs")).await;
    check_in_every_look(&browser, "reference").await;
    browser.close().await;
}
