//! Consistency rules of holds and the records that they become: every confirmed line has its record, and no record is
//! made twice.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::hold::{Hold, LineState, RecordType};
use crate::id::HoldId;

/// Collects holds and records in any order; [`finish`](Self::finish) returns the violations.
#[derive(Debug, Default)]
pub struct HoldAudit {
    /// Records of confirmed lines.
    confirmed: BTreeSet<(HoldId, RecordType, u64)>,
    /// Holds with a confirmed line.
    holds_confirmed: HashSet<HoldId>,
    holds: HashMap<(RecordType, u64), HoldId>,
    findings: Vec<String>,
    holds_seen: u64,
}

impl HoldAudit {
    pub fn hold(&mut self, hold: &Hold) {
        self.holds_seen += 1;
        for line in hold.lines.iter() {
            if let LineState::Confirmed { record } | LineState::Cancelled { record } = line.state {
                self.confirmed.insert((hold.id, line.item.record_type(hold.origin), record));
                self.holds_confirmed.insert(hold.id);
            }
        }
        if hold.expires_at <= hold.created_at {
            self.findings.push(format!("hold {}: ends before it begins", hold.id));
        }
    }

    /// Adds a record that a hold became.
    pub fn record(&mut self, record: RecordType, number: u64, hold: HoldId) {
        if self.holds.insert((record, number), hold).is_some() {
            self.findings.push(format!("{record} {number}: number is not unique"));
        }
    }

    /// Returns the number of holds collected.
    pub fn records(&self) -> u64 {
        self.holds_seen
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(mut self) -> Vec<String> {
        let mut records: BTreeMap<(HoldId, RecordType), Vec<u64>> = BTreeMap::new();
        for ((record, number), hold) in &self.holds {
            records.entry((*hold, *record)).or_default().push(*number);
        }
        for ((hold, record), mut numbers) in records {
            numbers.sort_unstable();
            numbers.retain(|number| !self.confirmed.contains(&(hold, record, *number)));
            // Where holds cannot be listed, a single record has no counterpart here.
            let is_known = self.holds_confirmed.contains(&hold);
            if numbers.len() > usize::from(!is_known) {
                let finding = format!("hold {hold}: confirmed twice, as {record} {numbers:?} too");
                self.findings.push(finding);
            }
        }
        for (hold, record, number) in &self.confirmed {
            if self.holds.get(&(*record, *number)) != Some(hold) {
                self.findings.push(format!("hold {hold}: confirmed, but {record} {number} is not its own"));
            }
        }
        self.findings.sort();
        self.findings
    }
}
