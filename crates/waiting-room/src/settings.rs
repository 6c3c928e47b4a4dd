//! What a room is told from outside: how long things last, and what an event allows.

use holdfast_core::Timestamp;
use holdfast_core::time::Span;

/// The event in front of which people wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// How long things last, the same for all events of a server: the settings `queue.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// How long an entry lasts from when it is made or renewed.
    pub entry_ttl: Span,
    /// How long an entry lasts at most, however often it is renewed.
    pub entry_max: Span,
    /// Who is not heard of for so long loses the place.
    pub waiter_ttl: Span,
    /// Who is asked in and does not come for so long loses the place.
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

/// What an event allows. The event's own record is the authority: callers pass what they have read there with each call,
/// and the room acts on the newest it was shown. So no room has to be told at start, and several servers agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// Grows with each change of the event. Settings with a smaller one than the room already has are stale, and ignored; with an
    /// equal one they count, so that a caller who does not count changes may always say 0: then the last to speak wins.
    pub revision: u64,
    pub max_concurrent: u32,
    pub paused: bool,
    pub sales_open_at: Option<Timestamp>,
}

impl EventSettings {
    /// Whether anybody may be asked in at that moment, if there is space.
    pub fn admits(&self, at: Timestamp) -> bool {
        !self.paused && self.sales_open_at.is_none_or(|opens_at| opens_at <= at)
    }

    pub(crate) fn replaces(&self, known: Option<&Self>) -> bool {
        known.is_none_or(|known| self.revision >= known.revision && self != known)
    }
}
