//! Result of a history: counters, or the first violation with everything needed to replay it.

use std::collections::BTreeMap;
use std::fmt;

use holdfast_core::Rejection;

use crate::Finding;
use crate::stay::call::{CallResult, Outcome, Reply};
use crate::stay::runner::History;

/// Counters by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary(pub BTreeMap<String, u64>);

/// A history with a violation.
#[derive(Clone, Debug)]
pub struct Failure {
    pub history: History,
    pub finding: Finding,
    /// Trace of the steps before, one line each.
    pub trace: Vec<String>,
}

/// Number of trace lines shown with a failure; a replay shows all.
const TRACE_LINES_MAX: usize = 12;

impl Summary {
    pub fn add(&mut self, other: &Self) {
        for (name, times) in &other.0 {
            *self.0.entry(name.clone()).or_default() += times;
        }
    }

    pub(crate) fn count(&mut self, name: &str) {
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    pub(crate) fn count_result(&mut self, result: &CallResult) {
        match result {
            CallResult::Reply(Reply::Done(outcome)) => {
                self.count("done");
                if matches!(outcome, Outcome::Extended(_)) {
                    self.count("extended");
                }
            }
            CallResult::Reply(Reply::Replayed(_)) => self.count("replayed"),
            CallResult::Reply(Reply::Rejected(rejection)) => {
                self.count(&rejection_name(rejection));
            }
            CallResult::NoReply(_) => self.count("no reply"),
            CallResult::Unexpected(_) => self.count("unexpected"),
        }
    }
}

/// Name under which a rejection of any vertical is counted.
pub(crate) fn rejection_name(rejection: &Rejection) -> String {
    let text = match rejection {
        Rejection::Claim(rejection) => format!("{rejection:?}"),
        Rejection::Stay(rejection) => format!("{rejection:?}"),
        Rejection::Shop(rejection) => format!("{rejection:?}"),
        Rejection::Calendar(rejection) => format!("{rejection:?}"),
        other => format!("{other:?}"),
    };
    format!("rejected: {}", first_word(&text))
}

pub(crate) fn first_word(text: &str) -> String {
    text.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, times)| writeln!(f, "{times:>9}  {name}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let History { profile, seed, steps } = self.history;
        writeln!(f, "{profile:?}, seed {seed}: {}", self.finding)?;
        writeln!(f, "before that:")?;
        let first = self.trace.len().saturating_sub(TRACE_LINES_MAX);
        self.trace[first..].iter().try_for_each(|line| writeln!(f, "{line}"))?;
        let profile = format!("{profile:?}").to_lowercase();
        write!(f, "replay: cargo run -p holdfast-sim -- --profile {profile} --seed {seed} --steps {steps}")
    }
}
