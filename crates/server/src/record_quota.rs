//! Quota of each caller on the bytes of its idempotency records.
//!
//! Records are kept for 24 hours. The quota is a leaky bucket: the bytes of a caller's large records are added when they are kept
//! and drain evenly over those 24 hours. At most twice the quota is stored for a caller at any time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use holdfast_core::idempotency::IDEMPOTENCY_TTL;
use parking_lot::Mutex;

/// Maximum size of a record that is not counted: the number of small records is bounded like that of all other rows.
const FREE_BYTES: usize = 2 << 10;
/// Maximum number of callers counted separately. Further callers share one quota.
const CALLERS_MAX: usize = 10_000;
/// Fraction of the quota that must be free before a rejected caller should retry.
const FREE_PART: f64 = 0.1;

#[derive(Debug)]
pub(crate) struct RecordQuota {
    bytes_max: usize,
    used: Mutex<HashMap<String, Used>>,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    bytes: f64,
    at: Instant,
}

impl RecordQuota {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, used: Mutex::default() }
    }

    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns the time until a caller may have further large records; `None` if it may now.
    pub(crate) fn wait(&self, caller: &str, now: Instant) -> Option<Duration> {
        let used = self.used.lock();
        let is_beyond = used.len() >= CALLERS_MAX && !used.contains_key(caller);
        let bytes = self.left(used.get(if is_beyond { "" } else { caller })?, now);
        let quota = self.bytes_max as f64;
        let seconds = (bytes / quota - 1.0 + FREE_PART) * ttl().as_secs_f64();
        (bytes >= quota).then(|| Duration::from_secs_f64(seconds).min(ttl()))
    }

    /// Counts a kept record.
    pub(crate) fn count(&self, caller: &str, bytes: usize, now: Instant) {
        if bytes <= FREE_BYTES {
            return;
        }
        let mut used = self.used.lock();
        if used.len() >= CALLERS_MAX && !used.contains_key(caller) {
            used.retain(|_, used| self.left(used, now) > 0.0);
        }
        let caller = if used.len() >= CALLERS_MAX && !used.contains_key(caller) { "" } else { caller };
        let before = used.get(caller).map_or(0.0, |used| self.left(used, now));
        used.insert(caller.to_owned(), Used { bytes: before + bytes as f64, at: now });
    }

    fn left(&self, used: &Used, now: Instant) -> f64 {
        let drained =
            now.saturating_duration_since(used.at).as_secs_f64() / ttl().as_secs_f64() * self.bytes_max as f64;
        (used.bytes - drained).max(0.0)
    }
}

fn ttl() -> Duration {
    Duration::from_millis(IDEMPOTENCY_TTL.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_drains_over_a_day() {
        let (quota, start) = (RecordQuota::new(1_000_000), Instant::now());
        quota.count("a", 1_200_000, start);
        assert!(quota.wait("b", start).is_none());
        let wait = quota.wait("a", start).unwrap();
        assert_eq!(wait.as_secs(), 24 * 3_600 * 3 / 10);
        assert!(quota.wait("a", start + wait).is_none());
        quota.count("a", 100_001, start + wait);
        assert!(quota.wait("a", start + wait).is_some());
        assert!(quota.wait("a", start + wait + ttl()).is_none());
    }

    #[test]
    fn small_records_are_not_counted() {
        let (quota, now) = (RecordQuota::new(10), Instant::now());
        quota.count("a", FREE_BYTES, now);
        assert!(quota.wait("a", now).is_none());
    }

    #[test]
    fn tracked_callers_are_bounded() {
        let (quota, now) = (RecordQuota::new(10_000), Instant::now());
        for caller in 0..2 * CALLERS_MAX {
            quota.count(&caller.to_string(), 5_000, now);
        }
        assert_eq!(quota.used.lock().len(), CALLERS_MAX + 1);
        assert!(quota.wait("1", now).is_none());
        assert!(quota.wait("19999", now).is_some(), "further callers share a quota");
        quota.count("new", 5_000, now + ttl());
        assert_eq!(quota.used.lock().len(), 2, "drained callers are evicted");
    }
}
