//! What a command is, and the two ways in which it can stop.

use crate::rejection::Rejection;
use crate::rows::Rows;
use crate::stay;
use crate::time::Timestamp;

/// A change somebody asks for.
///
/// `decide` may run several times: first to name the rows it needs, then on those rows. It must depend on nothing but
/// its arguments. Whatever it wrote before it stopped is undone by the caller ([`Rows::attempt`]).
pub trait Command: Send + 'static {
    type Outcome: Send + 'static;

    /// For metrics and logs.
    const NAME: &'static str;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Self::Outcome>;

    /// How much work this is, in units of one ordinary command.
    fn weight(&self) -> usize {
        1
    }
}

/// The moment of a decision and the settings that bind it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub now: Timestamp,
    pub limits: &'a Limits,
}

/// Settings that rules depend on.
#[derive(Clone, Debug)]
pub struct Limits {
    pub holds_per_user_max: u32,
    pub stay: stay::Limits,
}

/// A decision ends in an outcome, or stops.
pub type Decision<T> = Result<T, Stop>;

/// Why a decision went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Rows are wanted that are not in the working set yet: load them, decide again.
    Missing,
    /// The answer is no.
    Rejected(Rejection),
}

/// A row was asked for that is not in the working set; the table remembers which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing;

impl From<Missing> for Stop {
    fn from(_: Missing) -> Self {
        Self::Missing
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
