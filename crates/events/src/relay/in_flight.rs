//! Events in flight.

use std::collections::HashMap;

use holdfast_core::relay::Partition;
use parking_lot::Mutex;

/// Events that the relay of this server is publishing, until their outcome is committed. For display only.
#[derive(Debug, Default)]
pub struct InFlight {
    events: Mutex<HashMap<u64, Partition>>,
}

impl InFlight {
    pub fn has(&self, event: u64) -> bool {
        self.events.lock().contains_key(&event)
    }

    pub(super) fn take(&self, partition: Partition, events: impl Iterator<Item = u64>) {
        let mut held = self.events.lock();
        held.extend(events.map(|event| (event, partition)));
    }

    pub(super) fn keep(&self, is_kept: impl Fn(u64, Partition) -> bool) {
        let mut held = self.events.lock();
        held.retain(|event, partition| is_kept(*event, *partition));
    }
}
