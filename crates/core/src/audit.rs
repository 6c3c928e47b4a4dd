//! What must be true of a whole store. Every vertical has its own auditor; a store shows all records to all of them.

use crate::calendar::audit::CalendarAudit;
use crate::stay::audit::StayAudit;
use crate::time::Timestamp;

/// Collects the records of a store; [`finish`](Self::finish) says what is wrong.
#[derive(Debug)]
pub struct Audit {
    pub stay: StayAudit,
    pub calendar: CalendarAudit,
}

impl Audit {
    pub fn new(now: Timestamp) -> Self {
        Self { stay: StayAudit::new(now), calendar: CalendarAudit::new(now) }
    }

    /// How many records were looked at.
    pub fn records(&self) -> u64 {
        self.stay.records() + self.calendar.records()
    }

    /// What is wrong, one sentence each; empty if all is well.
    pub fn finish(self) -> Vec<String> {
        let mut findings = self.stay.finish();
        findings.extend(self.calendar.finish());
        findings
    }
}
