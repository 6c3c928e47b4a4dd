//! Headless Chromium, driven over the W3C's `WebDriver`: a few JSON calls.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Maximum wait for a condition in a page.
const TIMEOUT: Duration = Duration::from_secs(15);
const DRIVER_ATTEMPTS_MAX: usize = 10;
/// In CSS pixels.
pub(crate) const PHONE_WIDTH: u32 = 390;
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Language, colour scheme and size of a browser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// As in `Accept-Language`.
    pub(crate) language: &'static str,
    pub(crate) dark: bool,
    pub(crate) phone: bool,
}

impl Look {
    pub(crate) const ENGLISH: Self = Self { language: "en-US", dark: false, phone: false };
    pub(crate) const KOREAN: Self = Self { language: "ko-KR", dark: false, phone: false };
}

pub(crate) struct Browser {
    http: reqwest::Client,
    session: String,
    driver: Child,
    /// Parts of console messages that a test provokes on purpose.
    expected: Vec<&'static str>,
    _profile: TempDir,
}

impl Browser {
    pub(crate) async fn open(look: Look) -> Self {
        let (driver, port) = start_driver();
        let profile = tempfile::tempdir().unwrap();
        let http = reqwest::Client::new();
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            // Ends the browser when the driver ends, however that happens.
            "--remote-debugging-pipe",
            "--window-size=1360,900",
            &format!("--lang={}", look.language),
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let request = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": {
                "binary": "/usr/bin/chromium",
                "args": args,
                "prefs": { "intl.accept_languages": look.language },
            },
        }}});
        let driver_url = format!("http://127.0.0.1:{port}/session");
        let answer: Value = http.post(&driver_url).json(&request).send().await.unwrap().json().await.unwrap();
        let id = answer["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("no browser: {answer}"));
        let session = format!("{driver_url}/{id}");
        let browser = Self { http, session, driver, expected: Vec::new(), _profile: profile };
        browser.set_look(look).await;
        browser
    }

    /// Sets colour scheme and size.
    pub(crate) async fn set_look(&self, look: Look) {
        let scheme = if look.dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
        let (width, height) = if look.phone { (PHONE_WIDTH, 844) } else { (1_360, 900) };
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": look.phone });
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    pub(crate) async fn go(&self, url: &str) {
        self.call("url", json!({ "url": url })).await;
    }

    /// Runs a script in the page; `return` yields the result.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.call("execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// Waits until an expression is true in the page.
    pub(crate) async fn until(&self, expression: &str) {
        let began = Instant::now();
        let script = format!("try {{ return Boolean({expression}) }} catch {{ return false }}");
        while self.run(&script).await != Value::Bool(true) {
            if began.elapsed() > TIMEOUT {
                let page = self.run("return location.href + '\\n' + document.body.innerText").await;
                let log = self.log().await;
                panic!("never became true: {expression}\non {}\n{log:?}", page.as_str().unwrap_or_default());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the page shows a text.
    pub(crate) async fn until_shown(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", Value::from(text))).await;
    }

    /// Waits for an element and clicks it like a user: it must be visible and not covered.
    pub(crate) async fn click(&self, selector: &str) {
        self.on(selector, "click", json!({})).await;
    }

    /// Waits for a field and fills it in.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        self.on(selector, "clear", json!({})).await;
        self.on(selector, "value", json!({ "text": text })).await;
    }

    /// Acts on an element. If the page has just replaced it, it is looked up again.
    async fn on(&self, selector: &str, what: &str, body: Value) {
        let began = Instant::now();
        loop {
            let element = self.find(selector).await;
            match self.try_call(&format!("element/{element}/{what}"), &body).await {
                Ok(_) => return,
                Err(why) if why.contains("stale element") && began.elapsed() < TIMEOUT => {}
                Err(why) => panic!("{what} {selector}: {why}"),
            }
        }
    }

    /// Presses keys where the focus is, as `WebDriver` encodes them: `\u{E004}` is Tab, `\u{E007}` Enter.
    pub(crate) async fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() })))
            .collect();
        let keyboard = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.call("actions", keyboard).await;
    }

    /// Hides or shows the page, as another window in front of it does.
    pub(crate) async fn hide(&self, is_hidden: bool) {
        let state = if is_hidden { "minimize" } else { "maximize" };
        self.call(&format!("window/{state}"), json!({})).await;
    }

    /// Returns the text of the first element that matches.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let text = self.run(&format!("return document.querySelector({}).innerText", Value::from(selector))).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Saves a screenshot of the whole page in `target/screenshots/`.
    pub(crate) async fn picture(&self, name: &str) {
        // Completes running animations.
        self.run("document.getAnimations().forEach((it) => it.finish())").await;
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        let taken = self.devtools("Page.captureScreenshot", whole).await;
        let bytes = BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }

    /// Allows console messages with this part: the test provokes them.
    pub(crate) fn expect(&mut self, part: &'static str) {
        self.expected.push(part);
    }

    /// Closes the browser, and fails if its console has unexpected errors.
    pub(crate) async fn close(self) {
        let complaints: Vec<Value> = self.log().await;
        let complaints: Vec<_> = complaints
            .iter()
            .filter(|entry| entry["level"] == "SEVERE" || entry["source"] == "security")
            .filter(|entry| {
                let message = entry["message"].as_str().unwrap_or_default();
                !self.expected.iter().any(|part| message.contains(part))
            })
            .collect();
        assert!(complaints.is_empty(), "the browser complained: {complaints:#?}");
        self.http.delete(&self.session).send().await.unwrap();
    }

    /// Returns console messages since the last call.
    async fn log(&self) -> Vec<Value> {
        let entries = self.call("se/log", json!({ "type": "browser" })).await;
        entries.as_array().cloned().unwrap_or_default()
    }

    async fn find(&self, selector: &str) -> String {
        self.until(&format!("document.querySelector({})", Value::from(selector))).await;
        let found = self.call("element", json!({ "using": "css selector", "value": selector })).await;
        let id = found.as_object().and_then(|it| it.values().next()).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("no {selector}: {found}")).to_owned()
    }

    async fn devtools(&self, method: &str, params: Value) -> Value {
        self.call("goog/cdp/execute", json!({ "cmd": method, "params": params })).await
    }

    async fn call(&self, command: &str, body: Value) -> Value {
        self.try_call(command, &body).await.unwrap_or_else(|why| panic!("{command} {body}: {why}"))
    }

    async fn try_call(&self, command: &str, body: &Value) -> Result<Value, String> {
        let sent = self.http.post(format!("{}/{command}", self.session)).json(body).send().await.unwrap();
        let is_ok = sent.status().is_success();
        let mut answer: Value = sent.json().await.unwrap();
        if is_ok { Ok(answer["value"].take()) } else { Err(answer["value"]["message"].to_string()) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.driver.id()).ok().and_then(Pid::from_raw) {
            kill_process_group(group, Signal::KILL).ok();
        }
        self.driver.wait().ok();
    }
}

/// Starts a driver. It chooses its port itself and prints it. If another one has taken the port meanwhile, it ends, and
/// is started again.
fn start_driver() -> (Child, u16) {
    for _ in 0..DRIVER_ATTEMPTS_MAX {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut driver = command.spawn().expect("chromedriver is installed; ./test installs it");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("started successfully on port ")?;
            rest.trim_end_matches('.').parse().ok()
        });
        if let Some(port) = port {
            // Drains further output, so that a full pipe does not block the driver.
            std::thread::spawn(move || lines.for_each(drop));
            return (driver, port);
        }
        driver.wait().unwrap();
    }
    panic!("no driver could be started");
}
