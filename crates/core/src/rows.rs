//! The working set of a batch: all rows its commands read and write. A store fills it and writes it back; a complete
//! one ([`Rows::memory`]) is a store's own memory.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::calendar;
use crate::command::{Decision, Missing};
use crate::event::{Event, EventLog};
use crate::hold::{Decided, TryId};
use crate::id::{IdRange, Sequence};
use crate::receipt::{Receipt, ReceiptId};
use crate::relay;
use crate::shop;
use crate::stay;
use crate::table::{Row, Table, TableSet};
use crate::tee;
use crate::ticket;
use crate::time::Timestamp;
use crate::unit::{Holder, Limit, Resource, Tally, Unit, Units};
use crate::webhook;

/// Everything a decision can see. A new vertical adds a field.
#[derive(Debug, Default)]
pub struct Rows {
    /// Apart, because they are large and working sets are handed around.
    tables: Box<Tables>,
    pub events: EventLog,
    /// Live rows were lost: no new holds before this moment, so that whoever lost one has a chance to hear of it first.
    pub suspended_until: Option<Timestamp>,
    stamp: u64,
}

/// The tables of all verticals, and what they share.
#[derive(Debug, Default)]
pub struct Tables {
    pub ids: Table<Sequence, IdRange>,
    pub receipts: Table<ReceiptId, Receipt>,
    /// Derived: what is held of each unit.
    pub held: Table<Unit, Tally, Units>,
    /// Derived: how many live holds of a kind each user has.
    pub holders: Table<Holder, Tally>,
    /// Lower capacities on their way. Only there where live and durable rows lie in two stores.
    pub limits: Table<Resource, Limit>,
    /// How tries to confirm a hold ended. Only there where live and durable rows lie in two stores.
    pub decisions: Table<TryId, Decided>,
    pub relay: relay::Tables,
    pub stay: stay::Tables,
    pub shop: shop::Tables,
    pub calendar: calendar::Tables,
    pub ticket: ticket::Tables,
    pub tee: tee::Tables,
    pub webhook: webhook::Tables,
}

crate::table_set!(Tables {
    ids,
    receipts,
    held,
    holders,
    limits,
    decisions,
    relay,
    stay,
    shop,
    calendar,
    ticket,
    tee,
    webhook
});

impl Row for IdRange {}

impl Rows {
    /// For a store's memory: derived rows are all here, other rows are a cache.
    pub fn memory() -> Self {
        Self::from(Tables {
            ids: Table::cache(),
            // They can be large and are rarely asked for again.
            receipts: Table::default(),
            held: Table::complete(),
            holders: Table::complete(),
            limits: Table::complete(),
            decisions: Table::complete(),
            relay: relay::Tables::memory(),
            stay: stay::Tables::memory(),
            shop: shop::Tables::memory(),
            calendar: calendar::Tables::memory(),
            ticket: ticket::Tables::memory(),
            tee: tee::Tables::memory(),
            webhook: webhook::Tables::memory(),
        })
    }

    /// For tests and tools that keep everything in memory.
    pub fn complete() -> Self {
        Self::from(Tables {
            ids: Table::complete(),
            receipts: Table::complete(),
            held: Table::complete(),
            holders: Table::complete(),
            limits: Table::complete(),
            decisions: Table::complete(),
            relay: relay::Tables::complete(),
            stay: stay::Tables::complete(),
            shop: shop::Tables::complete(),
            calendar: calendar::Tables::complete(),
            ticket: ticket::Tables::complete(),
            tee: tee::Tables::complete(),
            webhook: webhook::Tables::complete(),
        })
    }

    /// Runs `decide`; if it stops or panics, nothing it wrote remains. Attempts may be nested.
    pub fn attempt<T>(&mut self, decide: impl FnOnce(&mut Self) -> Decision<T>) -> Decision<T> {
        self.stamp += 1;
        let stamp = self.stamp;
        self.tables.begin(stamp);
        self.events.begin(stamp);
        let result = catch_unwind(AssertUnwindSafe(|| decide(self)));
        if !matches!(result, Ok(Ok(_))) {
            self.tables.roll_back(stamp);
            self.events.roll_back(stamp);
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// An empty working set that wants the same rows as this one.
    #[must_use]
    pub fn copy_wants(&self) -> Self {
        Self::from(self.tables.copy_wants())
    }

    /// The live rows of this working set, to be looked up by another one.
    #[must_use]
    pub fn take_live(&mut self) -> Self {
        let Tables { held, holders, limits, stay, shop, calendar, ticket, .. } = &mut *self.tables;
        Self::from(Tables {
            held: std::mem::take(held),
            holders: std::mem::take(holders),
            limits: std::mem::take(limits),
            stay: stay.take_live(),
            shop: shop.take_live(),
            calendar: calendar.take_live(),
            ticket: ticket.take_live(),
            ..Tables::default()
        })
    }

    /// Forgets everything, to be used again, with room for as many rows of each table.
    pub fn clear(&mut self, kept: usize) {
        self.tables.clear(kept);
        self.events.take();
        self.suspended_until = None;
    }

    /// The next number of a sequence.
    pub fn next_id(&mut self, sequence: Sequence) -> Result<u64, Missing> {
        self.next_ids(sequence, 1)
    }

    /// The first of the next `count` numbers of a sequence, which follow one another.
    pub fn next_ids(&mut self, sequence: Sequence, count: usize) -> Result<u64, Missing> {
        let range = *self.ids.get(&sequence)?.unwrap_or(&IdRange { next: 1, last: crate::id::ID_MAX });
        let next = range.next + count as u64;
        assert!(next <= range.last + 1, "a store sets aside enough numbers for a batch");
        self.ids.put(sequence, IdRange { next, ..range });
        Ok(range.next)
    }

    pub fn emit(&mut self, event: Event) {
        self.events.push(event);
    }
}

impl From<Tables> for Rows {
    fn from(tables: Tables) -> Self {
        Self { tables: Box::new(tables), events: EventLog::default(), suspended_until: None, stamp: 0 }
    }
}

impl std::ops::Deref for Rows {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl std::ops::DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_numbers(next: u64, last: u64) -> Rows {
        let mut rows = Rows::default();
        rows.ids.supply(Sequence::Order, Some(IdRange { next, last }));
        rows
    }

    #[test]
    fn numbers_drawn_together_follow_one_another() {
        let mut rows = with_numbers(5, 10);
        assert_eq!(rows.next_ids(Sequence::Order, 4), Ok(5));
        assert_eq!(rows.next_id(Sequence::Order), Ok(9));
        assert_eq!(rows.next_ids(Sequence::Order, 1), Ok(10));
    }

    #[test]
    #[should_panic(expected = "sets aside enough numbers")]
    fn no_more_numbers_are_drawn_than_were_set_aside() {
        let mut rows = with_numbers(5, 10);
        rows.next_ids(Sequence::Order, 7).ok();
    }
}
