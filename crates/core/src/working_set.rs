//! The working set of a batch: all rows that its commands read and write. A store fills it and writes its changes.
//! [`InMemoryState`] holds committed rows between batches, in a store that is the only writer of its database.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::command::{Decision, NeedRows, Stop};
use crate::event::{Event, EventLog};
use crate::hold::owner::{OwnerHolds, OwnerPage};
use crate::hold::{AttemptId, Decided, Hold};
use crate::id::{HoldId, IdRange, Sequence};
use crate::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use crate::rejection::Rejection;
use crate::schema::unit::UnitName;
use crate::schema::{calendar, relay, shop, stay, tee, ticket, webhook};
use crate::table::{Row, TableSet};
use crate::time::Timestamp;
use crate::unit::{CapacityFence, Resource, Tally, Unit, Units};

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

crate::tables! {
    /// Tables of all verticals, and those they share.
    {
        ids: Table<Sequence, IdRange> => durable cached,
        /// Not cached in memory: records can be large and are rarely read again.
        idempotency_records: Table<IdempotencyRecordId, IdempotencyRecord> => durable uncached,
        holds: Table<HoldId, Hold> => live cached {
            table "hold";
            key id => id;
            fixed { origin, created_at, currency };
            changing {
                owner as user_id, expires_at, pay_by, state as (state, replaced_by), version as revision, extensions,
                attempt, lines, extras as (reference, metadata, refund_tiers),
            };
            // For the index by end.
            computed { ends_at = |hold| hold.ends_at() };
            name |id| format_args!("hold:{id}");
            audit |_, hold, audit| audit.hold(hold);
        },
        /// Secondary index: quantities held per unit.
        held: Table<Unit, Tally, Units> => live complete {
            table "unit_held";
            key { kind, resource, part };
            row (prepared, ends);
            name |unit| UnitName(*unit);
        },
        /// Secondary index: live holds of users, by kind.
        owner_holds: Table<OwnerPage, OwnerHolds> => live complete {
            table "owner_holds";
            key { kind, user as user_id, page };
            row (holds, overflow_prepared, overflow_ends);
            name |key| format_args!("holds:{}:{}:{}", key.kind.name(), key.user.key_part(), key.page);
        },
        /// Capacity fences. Used only where live and durable rows lie in two stores.
        fences: Table<Resource, CapacityFence> => live complete {
            table "capacity_fence";
            key { kind, id };
            changing { capacity, ends_at };
            name |resource| format_args!("hold-limit:{}:{}", resource.kind.name(), resource.id);
        },
        /// Outcomes of confirm attempts. Used only where live and durable rows lie in two stores.
        decisions: Table<AttemptId, Decided> => durable complete,
        /// Confirmed holds. Written only where live and durable rows lie in two stores; elsewhere the same SQL table as
        /// `holds`.
        confirmed_holds: Table<HoldId, Hold> => durable cached { declared_above; },
    }
    sets { relay, stay, shop, calendar, ticket, tee, webhook }
}

/// In-memory state of a single-writer store: complete secondary indexes, and a cache of the other rows. Boxed, because it is
/// large.
#[derive(Debug)]
pub struct InMemoryState(Box<State>);

impl InMemoryState {
    /// Returns the empty state of a store.
    pub fn of_store() -> Self {
        Self(Box::new(State::of_store()))
    }

    /// Returns an empty state that keeps all rows, for tests and tools without a store.
    pub fn complete() -> Self {
        Self(Box::new(State::complete()))
    }

    /// Returns an empty cache of immutable rows.
    pub fn of_immutable_rows() -> Self {
        Self(Box::new(State::of_immutable_rows()))
    }
}

impl std::ops::Deref for InMemoryState {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl std::ops::DerefMut for InMemoryState {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

impl Row for IdRange {}

impl WorkingSet {
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

    /// Runs an attempt for each item; a rejected item does not affect the others. After an item that needs rows it goes on,
    /// so that the rows of all items are requested for one load.
    pub fn attempt_each<I, T>(
        &mut self,
        items: &[I],
        decide: impl Fn(&mut Self, &I) -> Decision<T>,
    ) -> Decision<Vec<Result<T, Rejection>>> {
        let mut results = Vec::with_capacity(items.len());
        let (mut needs_rows, mut must_retry) = (false, false);
        for item in items {
            match self.attempt(|rows| decide(rows, item)) {
                Ok(outcome) => results.push(Ok(outcome)),
                Err(Stop::Rejected(rejection)) => results.push(Err(rejection)),
                Err(Stop::NeedRows) => needs_rows = true,
                Err(Stop::Retry) => must_retry = true,
            }
        }
        match (needs_rows, must_retry) {
            (true, _) => Err(Stop::NeedRows),
            (false, true) => Err(Stop::Retry),
            (false, false) => Ok(results),
        }
    }

    /// Returns an empty working set with the same requested rows.
    #[must_use]
    pub fn copy_requests(&self) -> Self {
        Self::from(self.tables.copy_requests())
    }

    /// Moves the live rows into a working set of their own, to be committed to the live tier.
    #[must_use]
    pub fn take_live(&mut self) -> Self {
        Self::from(self.tables.take_live())
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
