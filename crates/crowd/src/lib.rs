//! A crowd at a sale, for all to see.
//!
//! Hundreds of people want the same few seats of a concert and the same few nights of one hotel room. They use the public
//! API and nothing else, as their browsers would: they join the line, ask again as often as they are told to, come in when
//! it is their turn, hold, pay, or change their minds. A [`Board`] shows how it goes; an [`Outcome`] says how it went, in
//! numbers that are read back from the server; [`report::html`] writes that down as one page.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `sale` | the course of a sale, from the first look to the last check |
//! | `stage` | what is for sale: which event, which room, which nights |
//! | `person` | one of the crowd: asks, waits, rolls dice |
//! | `concert`, `hotel` | what people do there |
//! | `board` | how it goes |
//! | `notes` | what is written down on the way: how long calls took, who came in when |
//! | `check` | what the server says was sold |
//! | `fairness` | who overtook whom |
//! | `report`, `plot`, `words` | the page |
//!
//! The crowd must be told the time and its dice's seed, and it keeps no secret about the server: what it knows, any
//! customer could know.

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

/// More people than this is a benchmark, and there is one.
pub const PEOPLE_MAX: u32 = 20_000;
pub const THINK_MAX: Duration = Duration::from_secs(30);
pub const TIME_LIMIT_MAX: Duration = Duration::from_mins(10);

/// Who comes, and how they behave.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server answers, like `http://127.0.0.1:8080`.
    pub url: String,
    /// How many come in all: four of five to the concert, the others to the hotel.
    pub people: u32,
    /// How long somebody takes to choose, and again to pay, on average.
    pub think: Duration,
    /// After so long the sale is stopped, wherever it is.
    pub time_limit: Duration,
    pub now: Timestamp,
    /// The same seed makes the same people.
    pub seed: u64,
}

/// Why a sale could not be held.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Server(#[from] holdfast_client::Error),
    #[error("the server at {0} was not started with --demo; nothing there was touched")]
    NoDemo(String),
    #[error("the server has no {0}; start it with `holdfast serve --demo`")]
    NothingToSell(&'static str),
    #[error("{0} must be between {1} and {2}")]
    OutOfRange(&'static str, u64, u64),
    #[error("somebody of the crowd broke down: {0}")]
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
