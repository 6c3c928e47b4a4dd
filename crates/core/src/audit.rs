//! Consistency rules of a whole store. Each vertical has an auditor; a store passes all records to all of them.

use crate::calendar::audit::CalendarAudit;
use crate::hold::audit::HoldAudit;
use crate::hold::{Hold, Item};
use crate::shop::audit::ShopAudit;
use crate::stay::audit::StayAudit;
use crate::tee::audit::TeeAudit;
use crate::ticket::audit::TicketAudit;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit, Units};
use crate::webhook::audit::WebhookAudit;
use crate::{calendar, shop, stay};

/// Collects the records of a store; [`finish`](Self::finish) returns the violations.
#[derive(Debug)]
pub struct Audit {
    pub holds: HoldAudit,
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
            holds: HoldAudit::default(),
            stay: StayAudit::new(now),
            shop: ShopAudit::new(now),
            calendar: CalendarAudit::new(now),
            ticket: TicketAudit::new(now),
            tee: TeeAudit::new(),
            webhook: WebhookAudit::default(),
        }
    }

    /// Adds a hold, and each of its lines to the auditor of its vertical.
    pub fn hold(&mut self, hold: &Hold) {
        self.holds.hold(hold);
        for line in hold.held_lines() {
            match &line.item {
                Item::Stay(item) => self.stay.line(hold, item),
                Item::Stock(item) => self.shop.line(hold, line, item),
                Item::Seats(item) => self.ticket.line(hold, item),
                Item::Slots(item) => self.calendar.line(hold, line, item),
            }
        }
    }

    /// Returns the units that could be held, from the records collected so far. Stores that cannot list holds look up
    /// their quantities and call [`held`](Self::held).
    pub fn units(&self) -> Vec<Units> {
        let mut units = self.stay.units();
        units.extend(self.shop.units());
        units.extend(self.calendar.units());
        units.extend(self.ticket.units());
        units
    }

    /// Adds the quantity that is counted as held of a unit, where holds cannot be listed. `prepared` is set if some of it
    /// is prepared.
    pub fn held(&mut self, unit: Unit, quantity: u32, prepared: bool) {
        match unit.kind {
            Kind::Stay => self.stay.held(stay::night_of(unit), quantity),
            Kind::Shop => self.shop.held(shop::option_of(unit), quantity),
            Kind::Room => self.calendar.held(calendar::SlotId::of(unit), quantity, prepared),
            Kind::Ticket => self.ticket.held(unit, quantity),
        }
    }

    /// Returns the number of records collected.
    pub fn records(&self) -> u64 {
        let held = self.holds.records()
            + self.stay.records()
            + self.shop.records()
            + self.calendar.records()
            + self.ticket.records();
        held + self.tee.records() + self.webhook.records()
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(self) -> Vec<String> {
        let mut findings = self.holds.finish();
        findings.extend(self.stay.finish());
        findings.extend(self.shop.finish());
        findings.extend(self.calendar.finish());
        findings.extend(self.ticket.finish());
        findings.extend(self.tee.finish());
        findings.extend(self.webhook.finish());
        findings
    }
}
