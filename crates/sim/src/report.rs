//! What a history comes to: counts of what happened, or the first thing that was not as it must be, with everything
//! needed to see it again.

use std::collections::BTreeMap;
use std::fmt;

use holdfast_core::Rejection;

use crate::Finding;
use crate::call::{Heard, Reply};
use crate::runner::History;

/// How often what happened, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary(pub BTreeMap<String, u64>);

/// A history in which something was not as it must be.
#[derive(Clone, Debug)]
pub struct Failure {
    pub history: History,
    pub finding: Finding,
    /// What happened before, one line each.
    pub trace: Vec<String>,
}

/// So many lines of what happened before are shown with a failure; a replay shows all.
const TRACE_SHOWN: usize = 12;

impl Summary {
    pub fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(what.clone()).or_default() += times;
        }
    }

    pub(crate) fn count(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn count_heard(&mut self, heard: &Heard) {
        match heard {
            Heard::Reply(Reply::Done(_)) => self.count("done"),
            Heard::Reply(Reply::Replayed(_)) => self.count("replayed"),
            Heard::Reply(Reply::Rejected(rejection)) => {
                self.count(&rejection_name(rejection));
            }
            Heard::Nothing(_) => self.count("no answer"),
            Heard::Broken(_) => self.count("broken"),
        }
    }
}

/// What a refusal is counted as, whichever vertical's it is.
pub(crate) fn rejection_name(rejection: &Rejection) -> String {
    let text = match rejection {
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
        self.0.iter().try_for_each(|(what, times)| writeln!(f, "{times:>9}  {what}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let History { profile, seed, steps } = self.history;
        writeln!(f, "{profile:?}, seed {seed}: {}", self.finding)?;
        writeln!(f, "before that:")?;
        let first = self.trace.len().saturating_sub(TRACE_SHOWN);
        self.trace[first..].iter().try_for_each(|line| writeln!(f, "{line}"))?;
        let profile = format!("{profile:?}").to_lowercase();
        write!(f, "replay it with: cargo run -p holdfast-sim -- --profile {profile} --seed {seed} --steps {steps}")
    }
}
