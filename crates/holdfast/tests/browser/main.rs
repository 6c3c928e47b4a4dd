//! Pages in a real browser, on the real server with the demo's data. Pictures of them are kept in `target/screenshots/`.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod console;
mod customer;
mod customer_line;
mod driver;
#[path = "../process/support.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use support::Process;
use tempfile::TempDir;

/// A server with the demo's data, and settings of its own.
pub(crate) struct Demo {
    pub(crate) server: Process,
    _data: TempDir,
}

impl Demo {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let args = ["--demo", "--data", data.path().to_str().unwrap()];
        Self { server: Process::start_with(&args, settings), _data: data }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }
}
