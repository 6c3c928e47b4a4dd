//! Epoch of the data in Redis. Its key is written with the first row and never again; if it is missing, any hold may be
//! lost.

use holdfast_core::Timestamp;
use parking_lot::Mutex;

/// Epoch: a unique name, and when the previous epoch was found lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub value: String,
    pub lost_at: Option<Timestamp>,
}

impl Epoch {
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

/// Result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FoundEpoch {
    Same(Epoch),
    /// No epoch exists: this one is to be written, unless another server is first.
    Missing(Epoch),
}

/// Epoch that this server read last.
#[derive(Debug)]
pub(crate) struct KnownEpoch {
    last: Mutex<Option<Epoch>>,
    /// No epoch existed before those read here.
    is_first: bool,
}

impl KnownEpoch {
    pub(crate) fn new(is_first: bool) -> Self {
        Self { last: Mutex::default(), is_first }
    }

    /// Compares the epoch in Redis with the one read last. `name` is for a new epoch.
    pub(crate) fn look(&self, found: Option<&str>, name: u64, now: Timestamp) -> FoundEpoch {
        let mut last = self.last.lock();
        let Some(found) = found.and_then(Epoch::parse) else {
            let is_lost = last.is_some() || !self.is_first;
            return FoundEpoch::Missing(Epoch::new(name, is_lost.then_some(now)));
        };
        if last.as_ref().is_some_and(|last| *last != found) {
            metrics::counter!("holdfast_redis_data_losses_total").increment(1);
            tracing::error!("Redis has lost its data: live holds are gone, confirmed reservations are not");
        }
        *last = Some(found.clone());
        FoundEpoch::Same(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_epoch_is_detected_and_dated() {
        let known_epoch = KnownEpoch::new(true);
        let now = Timestamp::from_millis(5_000);
        let FoundEpoch::Missing(first) = known_epoch.look(None, 1, now) else { panic!("no epoch exists yet") };
        assert_eq!(first.lost_at, None, "the first epoch follows no loss");
        assert_eq!(known_epoch.look(Some(&first.value), 2, now), FoundEpoch::Same(first.clone()));
        let FoundEpoch::Missing(second) = known_epoch.look(None, 3, now) else { panic!("the epoch is lost") };
        assert_eq!(second.lost_at, Some(now));
        assert_ne!(first.value, second.value);
        assert_eq!(known_epoch.look(Some(&second.value), 4, now), FoundEpoch::Same(second));
        let FoundEpoch::Missing(third) = KnownEpoch::new(false).look(None, 5, now) else { panic!("the epoch is lost") };
        assert_eq!(third.lost_at, Some(now), "also for a server that starts later");
    }
}
