//! Pages in a real browser, on the real server with the demo's data. Screenshots are saved in `target/screenshots/`.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod accessibility;
mod api_calls;
mod console;
mod customer;
mod customer_contention;
mod customer_signed_in;
mod driver;
mod operator;
#[path = "../process/support.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;
mod viewers;

use holdfast_connect::jwt::{EncodingKey, Header, encode};
use serde_json::json;
use support::Process;
use tempfile::TempDir;

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Server with the demo's data and the settings of a test.
pub(crate) struct Demo {
    pub(crate) server: Process,
    pub(crate) data: TempDir,
}

impl Demo {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        Self { server: start(&data, settings), data }
    }

    /// Stops the server cleanly; its data stay.
    pub(crate) fn stop(&mut self) {
        let (status, _) = self.server.terminate();
        assert!(status.success());
    }

    pub(crate) fn start_again(&mut self, settings: &[(&str, &str)]) {
        self.server = start(&self.data, settings);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }
}

fn start(data: &TempDir, settings: &[(&str, &str)]) -> Process {
    Process::start_with(&["--demo", "--data", data.path().to_str().unwrap()], settings)
}

/// Returns a token that stays valid longer than any test runs.
pub(crate) fn token(subject: &str, role: &str) -> String {
    let claims = json!({ "sub": subject, "role": role, "exp": 4_102_444_800_i64 });
    encode(&Header::default(), &claims, &EncodingKey::from_secret(SECRET.as_bytes())).unwrap()
}
