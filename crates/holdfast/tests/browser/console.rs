//! The console.

use super::Demo;
use super::driver::{Browser, Look};

#[tokio::test]
async fn the_console_opens() {
    let demo = Demo::start(&[]);
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/")).await;
    browser.until_shown("Now").await;
    browser.picture("console-now").await;
    browser.close().await;
}
