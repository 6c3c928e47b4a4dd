//! Cache of near-term rows, which most clients request. An entry is valid while its part has the cache version under
//! which it was read, see [`cache_versions`](crate::cache_versions).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use holdfast_core::near_term::{CachedPart, PartId};
use parking_lot::{Mutex, MutexGuard};

/// Capacity in rows: those of ten thousand parts, about 200 MB. When exceeded, the whole cache is evicted.
const CACHED_ROWS_MAX: usize = 2_500_000;

#[derive(Default)]
pub(crate) struct NearTermCache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    parts: HashMap<PartId, (Validity, Arc<CachedPart>)>,
    size: usize,
    /// Parts that a caller is loading into the cache.
    being_read: HashSet<PartId>,
}

/// Version of a cache entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub cache_version: String,
    /// Number of the connection to Redis: after a restart of Redis, an older cache version may reappear.
    pub connection: u64,
}

impl NearTermCache {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }

    pub(crate) fn cached_under(&self, part: PartId, under: &Validity) -> Option<Arc<CachedPart>> {
        self.kept().parts.get(&part).filter(|(cached_under, _)| cached_under == under).map(|(_, part)| part.clone())
    }

    pub(crate) fn keep(&self, under: Validity, part: Arc<CachedPart>) {
        let mut forgotten = HashMap::new();
        let mut kept = self.kept();
        if kept.size + part.size() > CACHED_ROWS_MAX {
            forgotten = std::mem::take(&mut kept.parts);
            kept.size = 0;
        }
        kept.size += part.size();
        if let Some((_, before)) = kept.parts.insert(part.id(), (under, part)) {
            kept.size -= before.size();
        }
        // Dropped after the lock is released.
        drop(kept);
        drop(forgotten);
    }

    /// Lets one caller at a time load a part; other callers read it without caching.
    pub(crate) fn begin_reading(&self, part: PartId) -> Option<Reading<'_>> {
        // Created lazily: dropping one takes the lock that is held here.
        self.kept().being_read.insert(part).then(|| Reading { near_term_cache: self, part })
    }
}

/// Exclusive right to load a part into the cache.
pub(crate) struct Reading<'a> {
    near_term_cache: &'a NearTermCache,
    part: PartId,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.near_term_cache.kept().being_read.remove(&self.part);
    }
}
