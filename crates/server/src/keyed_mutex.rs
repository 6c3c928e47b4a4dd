//! Keyed mutex: serializes requests of this server that read first and write afterwards. It is keyed by the idempotency key,
//! or by the entry to an event that the requests use.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use holdfast_engine::Refused;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

/// Maximum time that a request waits for the lock of its key.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Locks by key. A key is present while a request holds or awaits its lock.
#[derive(Debug)]
pub(crate) struct KeyedMutex<K> {
    taken: Mutex<Places<K>>,
}

type Places<K> = HashMap<K, Arc<tokio::sync::Mutex<()>>>;

/// Guard of a key: released when dropped.
pub(crate) struct Turn<'a, K: Hash + Eq> {
    turns: &'a KeyedMutex<K>,
    key: K,
    guard: Option<OwnedMutexGuard<()>>,
}

impl<K> Default for KeyedMutex<K> {
    fn default() -> Self {
        Self { taken: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone> KeyedMutex<K> {
    pub(crate) async fn take(&self, key: K) -> Result<Turn<'_, K>, Refused> {
        let place = self.taken().entry(key.clone()).or_default().clone();
        // Constructed before the wait, so that its `Drop` removes an unused key even if the wait fails or is cancelled.
        let mut turn = Turn { turns: self, key, guard: None };
        let waited = tokio::time::timeout(LOCK_TIMEOUT, place.lock_owned()).await;
        turn.guard = Some(waited.map_err(|_| Refused::LockTimeout)?);
        Ok(turn)
    }
}

impl<K> KeyedMutex<K> {
    fn taken(&self) -> MutexGuard<'_, Places<K>> {
        self.taken.lock()
    }
}

impl<K: Hash + Eq> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        self.guard = None;
        let mut taken = self.turns.taken();
        if taken.get(&self.key).is_some_and(|place| Arc::strong_count(place) == 1) {
            taken.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lock_is_exclusive_per_key_and_leaves_no_entry() {
        let turns = KeyedMutex::default();
        let first = turns.take("one").await.unwrap();
        let elsewhere = turns.take("other").await.unwrap();
        assert_eq!(turns.take("one").await.err(), Some(Refused::LockTimeout), "the key is locked");
        let (second, ()) = tokio::join!(turns.take("one"), async { drop(first) });
        assert!(second.is_ok());
        drop((second, elsewhere));
        assert!(turns.taken().is_empty());
    }
}
