//! Tests of the test servers.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod runner;
mod servers;
mod support;
