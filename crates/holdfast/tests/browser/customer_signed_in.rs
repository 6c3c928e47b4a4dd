//! Customers of a server with authentication.

use super::driver::{Browser, Look};
use super::{Demo, SECRET, token};

async fn sign_in(browser: &Browser, token: &str) {
    browser.fill("#token", token).await;
    browser.click("form button.primary").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_sign_in_and_book() {
    let demo = Demo::start(&[("HOLDFAST_AUTH_JWT_SECRET", SECRET)]);
    let mut browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/demo/hotel")).await;
    browser.until_shown("Please sign in first").await;
    browser.picture("demo-sign-in").await;
    sign_in(&browser, "nonsense").await;
    browser.until_shown("This token is invalid").await;
    sign_in(&browser, &token("1", "admin")).await;
    browser.until_shown("Operators use the console").await;
    // A bad signature, which only the server can detect.
    browser.expect("401");
    sign_in(&browser, &format!("{}x", token("1", "user"))).await;
    browser.until_shown("This token is invalid").await;
    sign_in(&browser, &token("1", "user")).await;
    browser.until_shown("Guest 1").await;

    browser.click("[data-room='2'] button.primary").await;
    browser.click("#pay").await;
    browser.until("document.querySelector('#number')").await;
    browser.go(&demo.url("/demo/golf")).await;
    browser.click("[data-slot] button").await;
    browser.until("document.querySelector('[data-booking=\"CONFIRMED\"]')").await;
    browser.go(&demo.url("/demo/concert")).await;
    browser.click("#join").await;
    browser.click("[data-seat='C7']").await;
    browser.click("#hold").await;
    browser.click("#pay").await;
    browser.until("document.querySelector('#number')").await;
    browser.go(&demo.url("/demo/rooms")).await;
    browser.click("[data-time='10:00']").await;
    browser.click("#hold").await;
    browser.click("#pay").await;
    browser.until("document.querySelector('#number')").await;
    browser.go(&demo.url("/demo/shop")).await;
    browser.click("[data-key='add-5']").await;
    browser.click("#reserve").await;
    browser.click("#pay").await;
    browser.until("document.querySelector('#number')").await;
    browser.go(&demo.url("/demo")).await;
    browser.until_shown("Guest 1").await;
    assert_eq!(browser.run("return document.querySelector('#sale')").await, serde_json::Value::Null);

    // A user without a shop account.
    browser.click("#who button").await;
    browser.until_shown("Please sign in first").await;
    browser.go(&demo.url("/demo/shop")).await;
    browser.expect("404");
    sign_in(&browser, &token("4077", "user")).await;
    browser.until_shown("You do not have a shop account yet").await;
    browser.picture("demo-no-account").await;
    browser.close().await;
}
