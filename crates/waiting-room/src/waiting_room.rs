//! Port of the waiting room, implemented by each storage.
//!
//! Every call is safe to repeat. Each carries the event's settings as the caller has just read them, see
//! [`EventSettings`]. To pause, to resume or to change `max_concurrent`, change the event, then call
//! [`WaitingRoom::configure`] so that it takes effect at once.

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use tokio::sync::broadcast;

use crate::settings::{EventId, EventSettings};
use crate::token::Keys;
use crate::view::{Entry, View};

/// Failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The call may or may not have been carried out; it may be repeated.
    #[error("the waiting room is not available: {0}")]
    Unavailable(String),
    /// Rejected without any effect.
    #[error("the waiting room has too much to do")]
    Overloaded,
    #[error("another server already uses this waiting room: {0}")]
    InUse(String),
    #[error("the journal of the waiting room is damaged: {0}")]
    Damaged(String),
}

/// Rejection by the rules.
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
    /// Excludes ready users.
    pub waiting: u64,
    pub ready: u64,
    pub entered: u64,
    pub max_concurrent: u32,
    pub paused: bool,
    pub admitted_per_minute: u64,
}

/// Notification to subscribers, sent once the change is durable. A subscriber that lags misses some and should reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A user has entered for the first time.
    Admitted { event: EventId, user: UserId, at: Timestamp },
    /// A waiter has left, or a user has become ready or stopped being ready: positions have changed.
    Moved { event: EventId },
}

#[async_trait]
pub trait WaitingRoom: Send + Sync {
    /// Takes a place at the end of the queue. A user with a place or an entry keeps it.
    async fn join(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Joined, Error>;

    /// Returns the user's position. Extends a waiter's deadline, and renews an entry.
    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<View, Refusal>, Error>;

    /// Enters if it is the user's turn. A user who is inside gets the same entry again, not renewed.
    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<Entered, Refusal>, Error>;

    /// Ends the place or the entry. True if there was one.
    async fn leave(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error>;

    /// Ends the entry but not a place, once its purpose is served. True if there was one.
    async fn give_back(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error>;

    /// Returns the user's entry if it is live, without renewing it.
    async fn entry(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Option<Entry>, Error>;

    /// Applies changed settings at once.
    async fn configure(&self, event: EventId, settings: &EventSettings) -> Result<(), Error>;

    async fn stats(&self, event: EventId, settings: &EventSettings) -> Result<Stats, Error>;

    /// Expires places although no call comes in, so that subscribers are notified and memory is freed. No rule
    /// depends on it; once a second suffices.
    async fn tidy(&self) -> Result<(), Error>;

    /// An error if it is known that calls fail, without asking anything.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Keys that sign entry tokens.
    fn keys(&self) -> &Keys;

    /// Subscribes to the changes of all events; on Redis, to those made by any server.
    fn subscribe(&self) -> broadcast::Receiver<Change>;
}
