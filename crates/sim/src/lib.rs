//! Random histories of stays, of the shop and of rooms by the hour, and their invariants.
//!
//! A history is planned from a seed, and runs on a real store that crashes at times. Two checkers are independent of
//! the code under test: a naive model that predicts every reply, and an auditor of invariants. The same seed gives the
//! same history, so every failure can be replayed.
//!
//! | module | contents |
//! | --- | --- |
//! | [`stay`], [`shop`], [`calendar`] | calls, workload, model and runner of each vertical |
//! | [`plan`] | steps of a history |
//! | [`submit`] | commands in a batch, and their replies |
//! | [`disk`] | the store under test, which can crash at any step |
//! | [`query`] | queries on committed rows |
//! | [`report`] | result of a history |
//!
//! The simulator never reads the machine's clock, and all random numbers come from the seed.

pub mod calendar;
pub mod disk;
pub mod plan;
pub mod query;
pub mod report;
pub mod shop;
pub mod stay;
pub mod submit;

use std::panic::{AssertUnwindSafe, catch_unwind};

use holdfast_core::id::UserId;

/// A violation, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding(pub String);

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns one of the users of a history: integers and texts in turn.
pub(crate) fn user(number: u64) -> UserId {
    let text = if number.is_multiple_of(2) { format!("auth0|{number}:{{a}}%") } else { number.to_string() };
    UserId::parse_text(&text).expect("both forms are users")
}

/// Runs a history; a failed assertion in core is a finding too.
pub(crate) fn catch_panics<T>(run: impl FnOnce() -> Result<T, Finding>) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Finding(format!("an assertion failed: {text}")))
    })
}

/// Returns a finding unless `holds`. The sentence is built only if needed.
pub(crate) fn ensure(holds: bool, finding: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding(finding())) }
}
