//! Cache of near-term rows, which most clients request. An entry is valid while its part has the cache version under
//! which it was read, see [`cache_versions`](crate::cache_versions).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use holdfast_core::near_term::{CachedPart, PartId};
use parking_lot::{Mutex, MutexGuard};

/// Capacity in rows: those of ten thousand parts, about 200 MB. When exceeded, the whole cache is evicted.
const CACHED_ROWS_MAX: usize = 2_500_000;

#[derive(Default)]
pub(crate) struct NearTermCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    parts: HashMap<PartId, (EntryVersion, Arc<CachedPart>)>,
    size: usize,
    /// Parts that a caller is loading into the cache.
    loading: HashSet<PartId>,
}

/// Version of a cache entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryVersion {
    pub cache_version: String,
    /// Number of the connection to Redis: after a restart of Redis, an older cache version may reappear.
    pub connection: u64,
}

impl NearTermCache {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock()
    }

    pub(crate) fn get(&self, part: PartId, version: &EntryVersion) -> Option<Arc<CachedPart>> {
        self.entries().parts.get(&part).filter(|(cached, _)| cached == version).map(|(_, part)| part.clone())
    }

    pub(crate) fn insert(&self, version: EntryVersion, part: Arc<CachedPart>) {
        let mut evicted = HashMap::new();
        let mut entries = self.entries();
        if let Some((_, before)) = entries.parts.remove(&part.id()) {
            entries.size -= before.size();
        }
        if entries.size + part.size() > CACHED_ROWS_MAX {
            evicted = std::mem::take(&mut entries.parts);
            entries.size = 0;
        }
        entries.size += part.size();
        entries.parts.insert(part.id(), (version, part));
        // Dropped after the lock is released.
        drop(entries);
        drop(evicted);
    }

    /// Lets one caller at a time load a part; other callers read it without caching.
    pub(crate) fn try_begin_load(&self, part: PartId) -> Option<LoadGuard<'_>> {
        // Created lazily: dropping one takes the lock that is held here.
        self.entries().loading.insert(part).then(|| LoadGuard { near_term_cache: self, part })
    }
}

/// Exclusive right to load a part into the cache.
pub(crate) struct LoadGuard<'a> {
    near_term_cache: &'a NearTermCache,
    part: PartId,
}

impl Drop for LoadGuard<'_> {
    fn drop(&mut self) {
        self.near_term_cache.entries().loading.remove(&self.part);
    }
}
