//! Whether Redis still has the data it had. One key is made with the first row and never written again; if it is gone, so
//! may be any hold.

use std::sync::{Mutex, PoisonError};

use holdfast_core::Timestamp;

/// One life of the data in Redis: a name nobody used before, and when the life before it was found to be over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incarnation {
    pub value: String,
    pub lost_at: Option<Timestamp>,
}

impl Incarnation {
    fn new(name: u64, lost_at: Option<Timestamp>) -> Self {
        let value = format!("{name:016x} {}", lost_at.map_or(0, Timestamp::as_millis));
        Self { value, lost_at }
    }

    fn parse(value: &str) -> Option<Self> {
        let (_, lost_at) = value.split_once(' ')?;
        let lost_at = Some(lost_at.parse().ok()?).filter(|millis| *millis > 0).map(Timestamp::from_millis);
        Some(Self { value: value.to_owned(), lost_at })
    }
}

/// What a read found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Same(Incarnation),
    /// There is none: this one is to be written, unless somebody else was quicker.
    Missing(Incarnation),
}

/// The incarnation this server has seen last.
#[derive(Debug)]
pub(crate) struct Witness {
    last: Mutex<Option<Incarnation>>,
    /// There was none before those it has seen.
    is_first: bool,
}

impl Witness {
    pub(crate) fn new(is_first: bool) -> Self {
        Self { last: Mutex::default(), is_first }
    }

    /// Compares what lies in Redis with what lay there before. `name` is for a new incarnation.
    pub(crate) fn look(&self, found: Option<&str>, name: u64, now: Timestamp) -> Found {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = found.and_then(Incarnation::parse) else {
            let is_lost = last.is_some() || !self.is_first;
            return Found::Missing(Incarnation::new(name, is_lost.then_some(now)));
        };
        if last.as_ref().is_some_and(|last| *last != found) {
            metrics::counter!("holdfast_live_lost_total").increment(1);
            tracing::error!("Redis has lost its data: holds that were in it are gone, what is confirmed is not");
        }
        *last = Some(found.clone());
        Found::Same(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_that_ends_is_noticed_and_the_next_one_knows_when() {
        let witness = Witness::new(true);
        let now = Timestamp::from_millis(5_000);
        let Found::Missing(first) = witness.look(None, 1, now) else { panic!("there was none") };
        assert_eq!(first.lost_at, None, "nothing was there to be lost");
        assert_eq!(witness.look(Some(&first.value), 2, now), Found::Same(first.clone()));
        let Found::Missing(second) = witness.look(None, 3, now) else { panic!("it is gone") };
        assert_eq!(second.lost_at, Some(now));
        assert_ne!(first.value, second.value);
        assert_eq!(witness.look(Some(&second.value), 4, now), Found::Same(second));
        let Found::Missing(third) = Witness::new(false).look(None, 5, now) else { panic!("it is gone") };
        assert_eq!(third.lost_at, Some(now), "also if one comes later");
    }
}
