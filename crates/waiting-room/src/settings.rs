//! Settings of a room: durations, and the rules of an event.

use holdfast_core::Timestamp;
use holdfast_core::time::Span;

/// Id of the event that users wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Durations, equal for all events of a server: the settings `queue.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Life of an entry after it is made or renewed.
    pub entry_ttl: Span,
    /// Maximum total life of an entry, however often it is renewed.
    pub entry_max: Span,
    /// Time without a poll after which a waiter loses the place.
    pub waiter_ttl: Span,
    /// Time without entering after which a ready user loses the place.
    pub ready_ttl: Span,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            entry_ttl: Span::from_secs(300),
            entry_max: Span::from_secs(1_800),
            waiter_ttl: Span::from_secs(300),
            ready_ttl: Span::from_secs(60),
        }
    }
}

/// Admission rules of an event. The event's own record is the authority: callers pass what they have read there with
/// each call, and the room applies the newest revision. So no room needs initialization, and several servers agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// Grows with each change of the event. Settings with a smaller revision than the room has are stale, and ignored.
    /// Equal revisions replace each other, so a caller without a counter may always pass 0: the last call wins.
    pub revision: u64,
    pub max_concurrent: u32,
    pub paused: bool,
    pub sales_open_at: Option<Timestamp>,
}

impl EventSettings {
    /// Whether users may become ready at that moment, if there is space.
    pub fn admits(&self, at: Timestamp) -> bool {
        !self.paused && self.sales_open_at.is_none_or(|opens_at| opens_at <= at)
    }

    pub(crate) fn replaces(&self, known: Option<&Self>) -> bool {
        known.is_none_or(|known| self.revision >= known.revision && self != known)
    }
}
