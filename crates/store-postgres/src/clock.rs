//! Clock of the database. Between two responses, time is extrapolated from the last one. It never runs backwards, nor
//! behind the last commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_engine::Clock;
use parking_lot::Mutex;

pub(crate) struct StoreClock {
    /// Replaces the database's time, for tests.
    given: Option<Arc<dyn Clock>>,
    anchor: Mutex<Option<Anchor>>,
    /// Latest time returned.
    latest: AtomicI64,
}

/// Database time at a local instant.
#[derive(Clone, Copy)]
struct Anchor {
    shown: Timestamp,
    at: Instant,
}

impl Anchor {
    fn shows(self, at: Instant) -> Timestamp {
        self.shown + span(at.saturating_duration_since(self.at))
    }
}

impl StoreClock {
    pub(crate) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self { given, anchor: Mutex::default(), latest: AtomicI64::new(0) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let now = match &self.given {
            Some(clock) => clock.now(),
            None => {
                let anchor = *self.anchor.lock();
                anchor.map_or(Timestamp::default(), |anchor| anchor.shows(Instant::now()))
            }
        };
        let now = now.as_millis();
        Timestamp::from_millis(self.latest.fetch_max(now, Ordering::AcqRel).max(now))
    }

    /// Raises the clock to at least this time.
    pub(crate) fn not_before(&self, moment: Timestamp) {
        self.latest.fetch_max(moment.as_millis(), Ordering::AcqRel);
    }

    /// Adjusts the clock: the database's clock showed `shown` at some moment between `asked` and now. The anchor moves
    /// only as far as that proves it wrong: a slow response says little about the time.
    pub(crate) fn heard(&self, shown: Timestamp, asked: Instant) {
        let at = Instant::now();
        let latest = shown + span(at.saturating_duration_since(asked));
        let mut anchor = self.anchor.lock();
        let ours = anchor.map_or(shown, |anchor| anchor.shows(at));
        if anchor.is_none() || ours < shown || ours > latest {
            *anchor = Some(Anchor { shown: ours.clamp(shown, latest), at });
        }
    }
}

fn span(duration: std::time::Duration) -> Span {
    Span::from_millis(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}
