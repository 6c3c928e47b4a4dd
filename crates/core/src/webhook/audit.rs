//! Consistency rules of webhooks: the due index contains exactly the pending deliveries, and events are kept as long as
//! their deliveries.

use std::collections::{BTreeMap, BTreeSet};

use super::delivery::{Delivery, DueId};
use super::enqueue::{EventName, QueuedEvent};
use super::subscription::Webhook;

/// Collects records in any order; [`finish`](Self::finish) returns the violations.
#[derive(Debug, Default)]
pub struct WebhookAudit {
    events: BTreeMap<EventName, u32>,
    deliveries: BTreeMap<EventName, u32>,
    pending: BTreeSet<DueId>,
    due: BTreeSet<DueId>,
    records: u64,
}

impl WebhookAudit {
    pub fn webhook(&mut self, _webhook: &Webhook) {
        self.records += 1;
    }

    pub fn event(&mut self, name: &EventName, event: &QueuedEvent) {
        self.records += 1;
        self.events.insert(name.clone(), event.deliveries);
    }

    pub fn delivery(&mut self, delivery: &Delivery) {
        self.records += 1;
        *self.deliveries.entry(delivery.event.clone()).or_default() += 1;
        self.pending.extend(delivery.due());
    }

    pub fn due(&mut self, due: DueId) {
        self.records += 1;
        self.due.insert(due);
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns one sentence per violation.
    pub fn finish(self) -> Vec<String> {
        let mut findings = Vec::new();
        for due in self.pending.difference(&self.due) {
            findings.push(format!("delivery {} is pending, but missing in the due index", due.delivery));
        }
        for due in self.due.difference(&self.pending) {
            findings.push(format!("delivery {} has a stale entry in the due index", due.delivery));
        }
        for (name, counted) in &self.events {
            let kept = self.deliveries.get(name).copied().unwrap_or(0);
            if kept != *counted {
                findings.push(format!("event {name} counts {counted} deliveries, but has {kept}"));
            }
        }
        for name in self.deliveries.keys().filter(|name| !self.events.contains_key(*name)) {
            findings.push(format!("event {name} is missing, but has deliveries"));
        }
        findings
    }
}
