//! Accessibility of all pages: keyboard only, screen reader, low vision, phone. Every page is checked for names,
//! headings, contrast and focus, in light and dark, on a desktop and a phone, with each of its dialogs open.

use serde_json::Value;

use super::Demo;
use super::api_calls::book_something;
use super::driver::{Browser, Look};

const TAB: &str = "\u{E004}";
const ESCAPE: &str = "\u{E00C}";
/// Upper bound of focusable elements on a page.
const TABS_MAX: u64 = 400;

/// Fails with every accessibility violation of the current page.
pub(crate) async fn check(browser: &Browser, what: &str) {
    let mut found = Complaints::default();
    found.look(browser, what).await;
    found.must_be_none();
}

/// Violations of several pages, reported together.
#[derive(Default)]
struct Complaints(Vec<String>);

impl Complaints {
    async fn look(&mut self, browser: &Browser, what: &str) {
        let found = browser.run(include_str!("accessibility.js")).await;
        self.0.extend(found.as_array().unwrap().iter().map(|it| format!("{what}: {}", it.as_str().unwrap())));
    }

    /// Checks a page in every colour scheme and size.
    async fn check_all_looks(&mut self, browser: &Browser, what: &str) {
        for (name, look) in LOOKS {
            browser.set_look(look).await;
            self.look(browser, &format!("{what}, {name}")).await;
        }
        browser.set_look(Look::ENGLISH).await;
    }

    /// Checks that focused elements show their focus. Returns the number of focusable elements.
    async fn look_at_focus(&mut self, browser: &Browser, what: &str) -> u64 {
        browser.press(TAB).await;
        let found = browser.run(include_str!("focus.js")).await;
        let list = found["complaints"].as_array().unwrap().iter();
        self.0.extend(list.map(|it| format!("{what}: {}", it.as_str().unwrap())));
        found["count"].as_u64().unwrap()
    }

    /// Checks that the Tab key reaches every focusable element, from the skip link to the last.
    async fn check_tab_order(&mut self, browser: &Browser, what: &str) {
        browser.press(TAB).await;
        if browser.run("return document.activeElement.className").await != "skip" {
            self.0.push(format!("{what}: the first is not the link that skips the menu"));
        }
        let count = self.look_at_focus(browser, what).await;
        browser
            .run("document.querySelector('.skip').focus(); globalThis.visited = new Set([document.activeElement])")
            .await;
        let mut steps = 1;
        for _ in 0..TABS_MAX {
            browser.press(TAB).await;
            // A date input has several fields.
            let here = "const it = document.activeElement; const isSame = it === globalThis.last; globalThis.last = it; \
                        if (isSame) return 'same'; if (it === document.body || visited.has(it)) return 'end'; \
                        visited.add(it); return 'next'";
            match browser.run(here).await.as_str() {
                Some("same") => {}
                Some("next") => steps += 1,
                _ => break,
            }
        }
        if steps != count {
            self.0.push(format!("{what}: of {count} the Tab key reaches {steps}"));
        }
    }

    fn must_be_none(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

const LOOKS: [(&str, Look); 4] = [
    ("light", Look::ENGLISH),
    ("dark", Look { dark: true, ..Look::ENGLISH }),
    ("light, phone", Look { phone: true, ..Look::ENGLISH }),
    ("dark, phone", Look { phone: true, dark: true, ..Look::ENGLISH }),
];

#[tokio::test]
async fn console_pages_are_accessible() {
    let demo = Demo::start(&[]);
    book_something(&demo).await;
    let webhook = serde_json::json!({ "url": "http://127.0.0.1:9/closed", "types": ["order."] });
    super::api_calls::call("POST", &demo.server.url, "/v1/webhooks", 1, webhook).await;
    let (browser, mut found) = (Browser::open(Look::ENGLISH).await, Complaints::default());
    for (name, path, _, english) in super::console::PAGES {
        browser.go(&demo.url(path)).await;
        browser.until_shown(english).await;
        super::console::ready(&browser, name).await;
        found.check_all_looks(&browser, name).await;
        found.check_tab_order(&browser, name).await;

        let tools = browser.run("return document.querySelectorAll('#tools button:not(.square)').length").await;
        for tool in 1..=tools.as_u64().unwrap() {
            let open = format!("document.querySelectorAll('#tools button:not(.square)')[{}].click()", tool - 1);
            browser.run(&open).await;
            browser.until("document.querySelector('dialog[open]')").await;
            let title = format!("{name}: {}", browser.text("dialog h2").await);
            found.check_all_looks(&browser, &title).await;
            found.look_at_focus(&browser, &title).await;
            browser.picture(&format!("console-{name}-dialog-{tool}")).await;
            browser.press(ESCAPE).await;
            browser.until("!document.querySelector('dialog')").await;
        }
    }
    browser.close().await;
    found.must_be_none();
}

#[tokio::test]
async fn customer_pages_are_accessible() {
    let demo = Demo::start(&[]);
    let (browser, mut found) = (Browser::open(Look::ENGLISH).await, Complaints::default());
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
        found.check_all_looks(&browser, name).await;
        found.check_tab_order(&browser, name).await;
    }
    browser.close().await;
    found.must_be_none();
}

#[tokio::test]
async fn sign_in_and_reference_are_accessible() {
    let demo = Demo::start(&[("HOLDFAST_AUTH_JWT_SECRET", super::SECRET)]);
    let (browser, mut found) = (Browser::open(Look::ENGLISH).await, Complaints::default());
    for (name, path) in [("console", "/console/sign-in"), ("customer", "/demo/hotel")] {
        browser.go(&demo.url(path)).await;
        browser.until("document.querySelector('#token')").await;
        found.check_all_looks(&browser, name).await;
        found.check_tab_order(&browser, name).await;
    }
    browser.go(&demo.url("/docs")).await;
    found.check_all_looks(&browser, "reference").await;
    browser.close().await;
    found.must_be_none();
}
