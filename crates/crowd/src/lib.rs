//! Load simulator of a sale.
//!
//! Hundreds of simulated customers want the same few seats of a concert and the same few nights of one room type. They
//! use the public API only, as browsers would: they join the queue, poll at the interval they are told, enter, hold, pay,
//! or give up. A [`Board`] has the progress; an [`Outcome`] has the results, read back from the server;
//! [`report::html`] renders them as one page.
//!
//! | module | contents |
//! | --- | --- |
//! | `sale` | the course of a sale, from set-up to verification |
//! | `stage` | the fixture: which event, which room type, which nights |
//! | `person` | a simulated customer: calls, waiting, random numbers |
//! | `concert`, `hotel` | behaviour of customers |
//! | `board` | progress and phase signal |
//! | `notes` | measurements: latencies, admissions |
//! | `check` | verification against the server's data |
//! | `fairness` | order of admission |
//! | `report`, `plot`, `words` | the report page |
//!
//! Time and seed are parameters.

mod board;
mod check;
mod concert;
mod fairness;
mod hotel;
mod notes;
mod person;
mod plot;
pub mod report;
mod sale;
mod stage;
mod words;

use std::time::Duration;

pub use board::{Board, Phase, Progress};
pub use check::{ConcertSold, RoomSold};
pub use fairness::Fairness;
use jiff::Timestamp;
pub use notes::{Admission, CallTimes, LatencyPoint};
pub use report::Language;
pub use sale::{Outcome, run};

/// Upper bound; larger loads are the benchmarks' task.
pub const PEOPLE_MAX: u32 = 20_000;
pub const THINK_MAX: Duration = Duration::from_secs(30);
pub const TIME_LIMIT_MAX: Duration = Duration::from_mins(10);

/// Parameters of a sale.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Base address of the server, like `http://127.0.0.1:8080`.
    pub url: String,
    /// Number of customers: four of five go to the concert, the others to the hotel.
    pub people: u32,
    /// Average time to choose, and again to pay.
    pub think: Duration,
    /// Time after which the sale is stopped.
    pub time_limit: Duration,
    pub now: Timestamp,
    /// Equal seeds make equal customers.
    pub seed: u64,
}

/// Failure of a simulated sale.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Server(#[from] holdfast_client::Error),
    #[error("the server at {0} was not started with --demo; nothing was changed")]
    NoDemo(String),
    #[error("the server has no {0}; start it with `holdfast serve --demo`")]
    NothingToSell(&'static str),
    #[error("{0} must be between {1} and {2}")]
    OutOfRange(&'static str, u64, u64),
    #[error("a simulated customer panicked: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

impl Plan {
    fn check(&self) -> Result<(), Error> {
        if !(1..=PEOPLE_MAX).contains(&self.people) {
            return Err(Error::OutOfRange("people", 1, u64::from(PEOPLE_MAX)));
        }
        if self.think > THINK_MAX {
            return Err(Error::OutOfRange("think, in seconds,", 0, THINK_MAX.as_secs()));
        }
        if self.time_limit.is_zero() || self.time_limit > TIME_LIMIT_MAX {
            return Err(Error::OutOfRange("the time limit, in seconds,", 1, TIME_LIMIT_MAX.as_secs()));
        }
        Ok(())
    }
}
