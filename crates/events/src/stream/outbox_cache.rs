//! Cache of the newest outbox events, kept as they were committed, so that the relay need not read them back from the store.
//! Useful only to the single writer of a store, which itself commits all events in order.

use std::collections::VecDeque;
use std::sync::Arc;

use holdfast_engine::store::OutboxRecord;
use parking_lot::Mutex;

/// Maximum number of cached events: more than one batch creates.
const KEPT_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct OutboxCache {
    /// Consecutive in their ids.
    records: Mutex<VecDeque<Arc<OutboxRecord>>>,
}

impl OutboxCache {
    pub(crate) fn keep(&self, new: impl IntoIterator<Item = Arc<OutboxRecord>>) {
        let mut records = self.records.lock();
        for record in new {
            if records.back().is_some_and(|last| last.id + 1 != record.id) {
                records.clear();
            }
            if records.len() == KEPT_MAX {
                records.pop_front();
            }
            records.push_back(record);
        }
    }

    /// Returns events after the one with this id; `None` if they are not cached, or there are none.
    pub(crate) fn after(&self, id: u64, limit: usize) -> Option<Vec<Arc<OutboxRecord>>> {
        let records = self.records.lock();
        let skipped = (id + 1).checked_sub(records.front()?.id)?;
        let found: Vec<_> = records.range((skipped as usize).min(records.len())..).take(limit).cloned().collect();
        (!found.is_empty()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use holdfast_core::Timestamp;

    use super::*;

    fn record(id: u64) -> Arc<OutboxRecord> {
        let (event_type, data, at) = ("reservation.confirmed".into(), "{}".into(), Timestamp::default());
        Arc::new(OutboxRecord { id, event_type, owner: None, at, data, trace: None, imported: false })
    }

    fn after(cache: &OutboxCache, id: u64, limit: usize) -> Option<Vec<u64>> {
        Some(cache.after(id, limit)?.iter().map(|record| record.id).collect())
    }

    #[test]
    fn only_consecutive_events_are_returned() {
        let cache = OutboxCache::default();
        assert_eq!(after(&cache, 0, 10), None);
        cache.keep([3, 4, 5].map(record));
        assert_eq!(after(&cache, 1, 10), None, "event 2 is missing");
        assert_eq!(after(&cache, 2, 10), Some(vec![3, 4, 5]));
        assert_eq!(after(&cache, 3, 1), Some(vec![4]));
        assert_eq!(
            (after(&cache, 5, 10), after(&cache, 77, 10)),
            (None, None),
            "only the store knows whether there are more"
        );
        cache.keep([9].map(record));
        assert_eq!((after(&cache, 3, 10), after(&cache, 8, 10)), (None, Some(vec![9])));
    }

    #[test]
    fn oldest_events_are_evicted() {
        let cache = OutboxCache::default();
        cache.keep((1..=KEPT_MAX as u64 + 2).map(record));
        assert_eq!(after(&cache, 1, 10), None);
        assert_eq!(after(&cache, 2, 1), Some(vec![3]));
    }
}
