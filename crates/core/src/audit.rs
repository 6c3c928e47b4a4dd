//! What must be true of a whole store. Every vertical has its own auditor; a store shows all records to all of them.

use crate::stay::audit::StayAudit;
use crate::ticket::audit::TicketAudit;
use crate::time::Timestamp;

/// Collects the records of a store; [`finish`](Self::finish) says what is wrong.
#[derive(Debug)]
pub struct Audit {
    pub stay: StayAudit,
    pub ticket: TicketAudit,
}

impl Audit {
    pub fn new(now: Timestamp) -> Self {
        Self { stay: StayAudit::new(now), ticket: TicketAudit::new(now) }
    }

    /// How many records were looked at.
    pub fn records(&self) -> u64 {
        self.stay.records() + self.ticket.records()
    }

    /// What is wrong, one sentence each; empty if all is well.
    pub fn finish(self) -> Vec<String> {
        let mut findings = self.stay.finish();
        findings.extend(self.ticket.finish());
        findings
    }
}
