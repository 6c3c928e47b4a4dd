//! Random histories of stays, of the shop and of rooms by the hour, and what must be true of them.
//!
//! A history is planned from a seed, run on a real store that crashes now and then, and watched by two who never look
//! at the code under test: a naive model that predicts every answer, and an auditor that holds what must be true
//! whatever was answered. The same seed gives the same history, so every failure can be replayed.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`call`], [`answer`] | a command as callers send it, and what they hear back |
//! | [`workload`], [`plan`] | plans what happens next |
//! | [`model`] | the rules once more, naive and independent |
//! | [`explain`] | in which order a batch can have been carried out |
//! | [`look`] | everything that can be read, from a store, the pure core or the model, to be compared |
//! | [`auditor`] | what must be true whatever happened |
//! | [`pure`] | core without engine and store |
//! | [`disk`] | a store on disk that can crash at any step |
//! | [`runner`] | runs one history |
//! | [`report`] | what it came to |
//! | [`shop`], [`calendar`] | the same for the shop and for rooms, on the same stores |
//!
//! Nothing here reads the machine's clock or makes a random number that does not come from the seed.

pub mod answer;
pub mod auditor;
pub mod calendar;
pub mod call;
pub mod disk;
pub mod explain;
pub mod look;
pub mod model;
pub mod plan;
pub mod pure;
pub mod report;
pub mod runner;
pub mod shop;
pub mod workload;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Something that must not be: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding(pub String);

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A broken assertion inside core is a finding like any other.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, Finding>) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Finding(format!("a rule was broken inside: {text}")))
    })
}

/// Fails with a finding unless `held`. The sentence is only made when it is needed.
pub(crate) fn must(held: bool, finding: impl FnOnce() -> String) -> Result<(), Finding> {
    if held { Ok(()) } else { Err(Finding(finding())) }
}
