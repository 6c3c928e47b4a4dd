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
    pub fn contains(&self, event: u64) -> bool {
        self.events.lock().contains_key(&event)
    }

    pub(super) fn add(&self, partition: Partition, events: impl Iterator<Item = u64>) {
        let mut events_in_flight = self.events.lock();
        events_in_flight.extend(events.map(|event| (event, partition)));
    }

    pub(super) fn retain(&self, is_kept: impl Fn(u64, Partition) -> bool) {
        let mut events_in_flight = self.events.lock();
        events_in_flight.retain(|event, partition| is_kept(*event, *partition));
    }
}
