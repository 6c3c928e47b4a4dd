//! Load simulator of a sale.
//!
//! Hundreds of simulated customers want the same few seats of a concert and the same few nights of one room type. They
//! use the public API only, as browsers would: they join the queue, poll at the interval they are told, enter, hold, pay,
//! or give up. A [`Progress`] has the counts so far; an [`Outcome`] has the results, read back from the server;
//! [`report::html`] renders them as one page. `course` runs the phases; `concert` and `hotel` are the customers.

mod concert;
mod customer;
mod fixture;
mod hotel;
mod phases;
mod progress;
pub mod report;
mod verification;

use std::time::Duration;

use jiff::Timestamp;

pub use self::phases::{Outcome, run};
pub use self::progress::{Counts, Measurements, Phase, Progress};
pub use self::verification::{ConcertSold, Fairness, QueueRecord, RoomSold};

/// Maximum number of customers; larger loads are the benchmarks' task.
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
}

impl Plan {
    fn validate(&self) -> Result<(), Error> {
        for (name, value, min, max) in [
            ("people", u64::from(self.people), 1, u64::from(PEOPLE_MAX)),
            ("think, in seconds,", self.think.as_secs_f64().ceil() as u64, 0, THINK_MAX.as_secs()),
            ("the time limit, in seconds,", self.time_limit.as_secs_f64().ceil() as u64, 1, TIME_LIMIT_MAX.as_secs()),
        ] {
            if !(min..=max).contains(&value) {
                return Err(Error::OutOfRange(name, min, max));
            }
        }
        Ok(())
    }

    fn concert_people(&self) -> u32 {
        self.people - self.people / 5
    }
}
