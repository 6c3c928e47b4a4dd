//! Core without engine and store: each call decided alone, on rows that are all in memory. What a batch on a store did
//! must be the same as its calls done here, one after another.

use holdfast_core::hold::Remembered as _;
use holdfast_core::id::HoldId;
use holdfast_core::stay::StayHold;
use holdfast_core::table::TableSet;
use holdfast_core::{Context, Limits, Rows, Stop, Timestamp};

use crate::Finding;
use crate::call::{Call, Reply};
use crate::look::Source;

/// A command that still wants rows after so many loads is asking in circles.
const LOADS_MAX: usize = 16;

#[derive(Debug)]
pub struct Pure {
    memory: Rows,
    /// One working set for all calls, cleared before each, as the engine does with its batches.
    rows: Rows,
    limits: Limits,
}

impl Pure {
    pub fn new(limits: Limits) -> Self {
        Self { memory: Rows::complete(), rows: Rows::default(), limits }
    }

    pub fn run(&mut self, call: &Call, now: Timestamp) -> Reply {
        let Self { memory, rows, limits } = self;
        let at = Context { now, limits };
        rows.clear(0);
        for _ in 0..LOADS_MAX {
            match rows.attempt(|rows| call.decide(rows, &at)) {
                Ok(reply) => {
                    memory.absorb(rows);
                    memory.tidy(now, usize::MAX);
                    return reply;
                }
                Err(Stop::Rejected(rejection)) => return Reply::Rejected(rejection),
                Err(Stop::Missing) => rows.answer_from(memory),
                Err(Stop::Busy) => panic!("{call}: nobody else is there"),
            }
        }
        panic!("{call} asks for rows in circles");
    }

    /// What a store does when it tidies: the record of an ended hold goes.
    pub fn forget(&mut self, hold: HoldId) {
        let mut rows = Rows::default();
        rows.stay.holds.want(&hold);
        rows.answer_from(&self.memory);
        rows.stay.holds.delete(hold);
        self.memory.absorb(&mut rows);
    }

    /// What a store does when it starts: everything derived is made anew from live holds.
    pub fn restart(&mut self, now: Timestamp) {
        let mut rows = Rows::default();
        let old = &self.memory;
        old.ids.rows().for_each(|(id, row)| rows.ids.insert(*id, *row));
        old.receipts.rows().for_each(|(id, row)| rows.receipts.insert(id.clone(), row.clone()));
        old.stay.room_types.rows().for_each(|(id, row)| rows.stay.room_types.insert(*id, row.clone()));
        old.stay.nights.rows().for_each(|(id, row)| rows.stay.nights.insert(*id, *row));
        old.stay.holds.rows().for_each(|(id, row)| rows.stay.holds.insert(*id, row.clone()));
        old.stay.reservations.rows().for_each(|(id, row)| rows.stay.reservations.insert(*id, row.clone()));
        let mut memory = Rows::complete();
        memory.absorb(&mut rows);
        for (_, hold) in old.stay.holds.rows().filter(|(_, hold)| hold.is_live(now)) {
            let mut rows = Rows::default();
            StayHold::want_derived(&mut rows, hold);
            rows.answer_from(&memory);
            StayHold::remember(&mut rows, hold, now).expect("all derived rows are in memory");
            memory.absorb(&mut rows);
        }
        self.memory = memory;
    }
}

impl Source for Pure {
    fn read(&self, rows: &mut Rows) -> Result<(), Finding> {
        rows.answer_from(&self.memory);
        Ok(())
    }
}
