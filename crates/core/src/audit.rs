//! What must be true of a whole store. Every vertical has its own auditor; a store shows all records to all of them.

use crate::calendar::audit::CalendarAudit;
use crate::shop::audit::ShopAudit;
use crate::stay::audit::StayAudit;
use crate::tee::audit::TeeAudit;
use crate::ticket::audit::TicketAudit;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit, Units};
use crate::webhook::audit::WebhookAudit;
use crate::{calendar, shop, stay};

/// Collects the records of a store; [`finish`](Self::finish) says what is wrong.
#[derive(Debug)]
pub struct Audit {
    pub stay: StayAudit,
    pub shop: ShopAudit,
    pub calendar: CalendarAudit,
    pub ticket: TicketAudit,
    pub tee: TeeAudit,
    pub webhook: WebhookAudit,
}

impl Audit {
    pub fn new(now: Timestamp) -> Self {
        Self {
            stay: StayAudit::new(now),
            shop: ShopAudit::new(now),
            calendar: CalendarAudit::new(now),
            ticket: TicketAudit::new(now),
            tee: TeeAudit::new(),
            webhook: WebhookAudit::default(),
        }
    }

    /// What could be held of all that was shown, for stores that cannot list holds: they look it up and call
    /// [`held`](Self::held).
    pub fn units(&self) -> Vec<Units> {
        let mut units = self.stay.units();
        units.extend(self.shop.units());
        units.extend(self.calendar.units());
        units.extend(self.ticket.units());
        units
    }

    /// What is counted as held of a unit, where holds themselves cannot be listed; `pinned`, if some of it is between two
    /// steps.
    pub fn held(&mut self, unit: Unit, quantity: u32, pinned: bool) {
        match unit.kind {
            Kind::Stay => self.stay.held(stay::night_of(unit), quantity),
            Kind::Shop => self.shop.held(shop::option_of(unit), quantity),
            Kind::Room => self.calendar.held(calendar::SlotId::of(unit), quantity, pinned),
            Kind::Ticket => self.ticket.held(unit, quantity),
        }
    }

    /// How many records were looked at.
    pub fn records(&self) -> u64 {
        let held = self.stay.records() + self.shop.records() + self.calendar.records() + self.ticket.records();
        held + self.tee.records() + self.webhook.records()
    }

    /// What is wrong, one sentence each; empty if all is well.
    pub fn finish(self) -> Vec<String> {
        let mut findings = self.stay.finish();
        findings.extend(self.shop.finish());
        findings.extend(self.calendar.finish());
        findings.extend(self.ticket.finish());
        findings.extend(self.tee.finish());
        findings.extend(self.webhook.finish());
        findings
    }
}
