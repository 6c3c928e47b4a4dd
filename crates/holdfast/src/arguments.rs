//! Values of command-line arguments that several subcommands share.

use std::time::Duration;

use anyhow::Context as _;
use holdfast_server::config::parse_duration;

pub(crate) fn duration(text: &str) -> anyhow::Result<Duration> {
    parse_duration(text).context("write a duration like 500ms, 10s or 1m")
}
