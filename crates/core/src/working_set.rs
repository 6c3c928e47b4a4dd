//! The working set of a batch: all rows that its commands read and write. A store fills it and writes its changes.
//! [`WorkingSet::memory`] is the in-memory state of a single-writer store instead.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::calendar;
use crate::command::{Decision, NeedRows};
use crate::event::{Event, EventLog};
use crate::hold::{AttemptId, Decided};
use crate::id::{IdRange, Sequence};
use crate::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use crate::relay;
use crate::shop;
use crate::stay;
use crate::table::{Row, Table, TableSet};
use crate::tee;
use crate::ticket;
use crate::time::Timestamp;
use crate::unit::{CapacityFence, Holder, Resource, Tally, Unit, Units};
use crate::webhook;

/// All rows that a decision can see. A new vertical adds a field to [`Tables`].
#[derive(Debug, Default)]
pub struct WorkingSet {
    /// Boxed, because the tables are large and working sets are moved often.
    tables: Box<Tables>,
    pub events: EventLog,
    /// End of the suspension after a loss of live rows: no new holds before, so that owners of lost holds learn of it
    /// first.
    pub suspended_until: Option<Timestamp>,
    savepoint: u64,
}

/// Tables of all verticals, and those they share.
#[derive(Debug, Default)]
pub struct Tables {
    pub ids: Table<Sequence, IdRange>,
    pub idempotency_records: Table<IdempotencyRecordId, IdempotencyRecord>,
    /// Secondary index: quantities held per unit.
    pub held: Table<Unit, Tally, Units>,
    /// Secondary index: number of live holds per user and kind.
    pub holders: Table<Holder, Tally>,
    /// Capacity fences. Used only where live and durable rows lie in two stores.
    pub fences: Table<Resource, CapacityFence>,
    /// Outcomes of confirm attempts. Used only where live and durable rows lie in two stores.
    pub decisions: Table<AttemptId, Decided>,
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
    idempotency_records,
    held,
    holders,
    fences,
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

impl WorkingSet {
    /// Returns the in-memory state of a single-writer store: complete secondary indexes, and a cache of the other rows.
    pub fn memory() -> Self {
        Self::from(Tables {
            ids: Table::cache(),
            // Not cached: idempotency records can be large and are rarely read again.
            idempotency_records: Table::default(),
            held: Table::complete(),
            holders: Table::complete(),
            fences: Table::complete(),
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

    /// Returns tables that are all complete, for tests and tools without a store.
    pub fn complete() -> Self {
        Self::from(Tables {
            ids: Table::complete(),
            idempotency_records: Table::complete(),
            held: Table::complete(),
            holders: Table::complete(),
            fences: Table::complete(),
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

    /// Runs `decide`, and rolls back its writes if it stops or panics. Attempts may be nested.
    pub fn attempt<T>(&mut self, decide: impl FnOnce(&mut Self) -> Decision<T>) -> Decision<T> {
        self.savepoint += 1;
        let savepoint = self.savepoint;
        self.tables.begin(savepoint);
        self.events.begin(savepoint);
        let result = catch_unwind(AssertUnwindSafe(|| decide(self)));
        if !matches!(result, Ok(Ok(_))) {
            self.tables.roll_back(savepoint);
            self.events.roll_back(savepoint);
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns an empty working set with the same requested rows.
    #[must_use]
    pub fn copy_requests(&self) -> Self {
        Self::from(self.tables.copy_requests())
    }

    /// Moves the live rows into a working set of their own, to be committed to the live tier.
    #[must_use]
    pub fn take_live(&mut self) -> Self {
        let Tables { held, holders, fences, stay, shop, calendar, ticket, .. } = &mut *self.tables;
        Self::from(Tables {
            held: std::mem::take(held),
            holders: std::mem::take(holders),
            fences: std::mem::take(fences),
            stay: stay.take_live(),
            shop: shop.take_live(),
            calendar: calendar.take_live(),
            ticket: ticket.take_live(),
            ..Tables::default()
        })
    }

    /// Removes all rows and events for reuse; keeps capacity for up to `kept` rows per table.
    pub fn clear(&mut self, kept: usize) {
        self.tables.clear(kept);
        self.events.take();
        self.suspended_until = None;
    }

    /// Draws the next number of a sequence.
    pub fn next_id(&mut self, sequence: Sequence) -> Result<u64, NeedRows> {
        self.next_ids(sequence, 1)
    }

    /// Draws the next `count` consecutive numbers of a sequence and returns the first.
    pub fn next_ids(&mut self, sequence: Sequence, count: usize) -> Result<u64, NeedRows> {
        let range = *self.ids.get(&sequence)?.unwrap_or(&IdRange { next: 1, last: crate::id::ID_MAX });
        let next = range.next + count as u64;
        assert!(next <= range.last + 1, "a store reserves enough numbers for a batch");
        self.ids.put(sequence, IdRange { next, ..range });
        Ok(range.next)
    }

    pub fn emit(&mut self, event: Event) {
        self.events.push(event);
    }
}

impl From<Tables> for WorkingSet {
    fn from(tables: Tables) -> Self {
        Self { tables: Box::new(tables), events: EventLog::default(), suspended_until: None, savepoint: 0 }
    }
}

impl std::ops::Deref for WorkingSet {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl std::ops::DerefMut for WorkingSet {
    fn deref_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_numbers(next: u64, last: u64) -> WorkingSet {
        let mut rows = WorkingSet::default();
        rows.ids.fill(Sequence::Order, Some(IdRange { next, last }));
        rows
    }

    #[test]
    fn numbers_drawn_together_are_consecutive() {
        let mut rows = with_numbers(5, 10);
        assert_eq!(rows.next_ids(Sequence::Order, 4), Ok(5));
        assert_eq!(rows.next_id(Sequence::Order), Ok(9));
        assert_eq!(rows.next_ids(Sequence::Order, 1), Ok(10));
    }

    #[test]
    #[should_panic(expected = "reserves enough numbers")]
    fn drawing_beyond_reserved_numbers_panics() {
        let mut rows = with_numbers(5, 10);
        rows.next_ids(Sequence::Order, 7).ok();
    }
}
