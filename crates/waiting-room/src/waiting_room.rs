//! The port: what a server asks of a waiting room, wherever it is kept.
//!
//! Every call is safe to repeat. Each is given the event's settings as the caller has just read them: see
//! [`EventSettings`]. To pause, to resume or to change `max_concurrent`, change the event, then call
//! [`WaitingRoom::configure`], so that it counts at once and not with the next call.

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use tokio::sync::broadcast;

use crate::settings::{EventId, EventSettings};
use crate::token::Keys;
use crate::view::{Entry, View};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What was asked may or may not have been done; it may be repeated.
    #[error("the waiting room is not available: {0}")]
    Unavailable(String),
    /// Nothing was done.
    #[error("the waiting room has too much to do")]
    Overloaded,
    #[error("another server already uses this waiting room: {0}")]
    InUse(String),
    #[error("what the waiting room has written is damaged: {0}")]
    Damaged(String),
}

/// A business no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotInQueue,
    /// The place is kept.
    NotYourTurn(View),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub view: View,
    /// False if the user had a place or an entry already.
    pub new: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    pub entry: Entry,
    /// False if the user was inside already.
    pub first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Not counting those who are ready.
    pub waiting: u64,
    pub ready: u64,
    pub entered: u64,
    pub max_concurrent: u32,
    pub paused: bool,
    pub admitted_per_minute: u64,
}

/// What listeners are told, after it can no longer be lost. A listener that lags misses some, and should look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Somebody has entered for the first time.
    Admitted { event: EventId, user: UserId, at: Timestamp },
    /// Somebody has left the line, or it is somebody else's turn: positions have changed.
    Moved { event: EventId },
}

#[async_trait]
pub trait WaitingRoom: Send + Sync {
    /// Takes a place at the end of the line; who has one, or is inside, keeps it.
    async fn join(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Joined, Error>;

    /// Where the user stands. Keeps a waiter's place, renews the entry of one who is inside.
    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<View, Refusal>, Error>;

    /// Goes in, if it is the user's turn. Who is inside gets the same entry again; it is not renewed.
    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<Entered, Refusal>, Error>;

    /// Gives up the place or the entry. True if there was one.
    async fn leave(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error>;

    /// Gives up the entry, but not a place: for one who has what they came for. True if there was one.
    async fn give_back(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error>;

    /// The user's entry, if it is live. Renews nothing.
    async fn entry(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Option<Entry>, Error>;

    /// Lets changed settings count at once.
    async fn configure(&self, event: EventId, settings: &EventSettings) -> Result<(), Error>;

    async fn stats(&self, event: EventId, settings: &EventSettings) -> Result<Stats, Error>;

    /// Ends what time has ended although nobody asks, so that listeners hear of it and little piles up. Nothing else depends on
    /// it; once a second is often enough.
    async fn tidy(&self) -> Result<(), Error>;

    /// An error if it is known that calls fail, without asking anything.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// What entry tokens are signed with.
    fn keys(&self) -> &Keys;

    /// What happens from now on, in all events. On Redis, whatever server caused it.
    fn subscribe(&self) -> broadcast::Receiver<Change>;
}
