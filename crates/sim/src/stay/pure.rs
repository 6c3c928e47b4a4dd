//! Core without engine and store: each call is decided alone, on complete tables in memory. A batch on a store must be
//! equivalent to its calls executed here in some order.

use holdfast_core::hold::place;
use holdfast_core::id::HoldId;
use holdfast_core::table::{StateSet as _, TableSet as _};
use holdfast_core::{Context, InMemoryState, Limits, Stop, Timestamp, WorkingSet};

use super::call::{Call, Reply};
use super::model::is_live;
use crate::Finding;
use crate::query::Source;

/// Maximum number of load rounds per command; more means that its read set does not converge.
const LOADS_MAX: usize = 16;

#[derive(Debug)]
pub struct Pure {
    memory: InMemoryState,
    /// Working set of all calls, cleared before each, like that of the engine's batches.
    rows: WorkingSet,
    limits: Limits,
}

impl Pure {
    pub fn new(limits: Limits) -> Self {
        Self { memory: InMemoryState::complete(), rows: WorkingSet::default(), limits }
    }

    pub fn run(&mut self, call: &Call, now: Timestamp) -> Reply {
        let Self { memory, rows, limits } = self;
        let at = Context { now, limits };
        rows.clear(0);
        for _ in 0..LOADS_MAX {
            match rows.attempt(|rows| call.decide(rows, &at)) {
                Ok(reply) => {
                    memory.apply(rows);
                    memory.purge(now, usize::MAX);
                    return reply;
                }
                Err(Stop::Rejected(rejection)) => return Reply::Rejected(rejection),
                Err(Stop::NeedRows) => rows.fill_from(memory),
                Err(Stop::Retry) => panic!("{call} must retry without concurrent commands"),
            }
        }
        panic!("the read set of {call} does not converge");
    }

    /// Deletes the record of an ended hold, like a store that purges it.
    pub fn remove_hold(&mut self, hold: HoldId) {
        let mut rows = WorkingSet::default();
        rows.holds.request(&hold);
        rows.fill_from(&self.memory);
        rows.holds.delete(hold);
        self.memory.apply(&mut rows);
    }

    /// Rebuilds the secondary indexes from live holds, like a store at start.
    pub fn restart(&mut self, now: Timestamp) {
        let mut rows = WorkingSet::default();
        let old = &self.memory;
        old.ids.rows().for_each(|(id, row)| rows.ids.insert(*id, *row));
        old.idempotency_records.rows().for_each(|(id, row)| rows.idempotency_records.insert(id.clone(), row.clone()));
        old.stay.room_types.rows().for_each(|(id, row)| rows.stay.room_types.insert(*id, row.clone()));
        old.stay.nights.rows().for_each(|(id, row)| rows.stay.nights.insert(*id, *row));
        old.holds.rows().for_each(|(id, row)| rows.holds.insert(*id, row.clone()));
        old.confirmed_holds.rows().for_each(|(id, row)| rows.confirmed_holds.insert(*id, row.clone()));
        old.stay.reservations.rows().for_each(|(id, row)| rows.stay.reservations.insert(*id, row.clone()));
        let mut memory = InMemoryState::complete();
        memory.apply(&mut rows);
        for (_, hold) in old.holds.rows().filter(|(_, hold)| is_live(hold, now)) {
            let mut rows = WorkingSet::default();
            place::request_indexes(&mut rows, hold);
            rows.fill_from(&memory);
            place::index(&mut rows, hold, now).expect("all index entries are in memory");
            memory.apply(&mut rows);
        }
        self.memory = memory;
    }
}

impl Source for Pure {
    fn read(&self, rows: &mut WorkingSet) -> Result<(), Finding> {
        rows.fill_from(&self.memory);
        Ok(())
    }
}
