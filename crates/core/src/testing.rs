//! A world for tests of rules: all rows in memory, a clock that is set, commands run one after another.

use std::cell::Cell;

use crate::command::{Attempt, Command, Context, Decision, Limits, Stop, Writes};
use crate::event::Event;
use crate::rejection::Rejection;
use crate::rows::Rows;
use crate::table::TableSet as _;
use crate::time::{Span, Timestamp};

/// A command that still wants rows after so many loads is asking in circles.
const LOADS_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) memory: Rows,
    pub(crate) now: Timestamp,
    pub(crate) limits: Limits,
    pub(crate) events: Vec<Event>,
    /// How often the last command or query had to load rows.
    pub(crate) loads: Cell<usize>,
}

impl World {
    pub(crate) fn new() -> Self {
        let limits = Limits::DEFAULT;
        let now = Timestamp::from_millis(1_762_237_800_000); // 2025-11-04T06:30:00Z
        Self { memory: Rows::complete(), now, limits, events: Vec::new(), loads: Cell::new(0) }
    }

    /// Lets time pass. Nothing is tidied: no rule may depend on that.
    pub(crate) fn wait(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// A command decided as a whole. It writes only what it says it writes.
    pub(crate) fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        self.step(C::WRITES, |rows, at| command.decide(rows, at)).map_err(rejection)
    }

    /// A command carried out in as many steps as it has, each a commit of its own.
    pub(crate) fn run_in_steps<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        if C::WRITES != Writes::Both {
            return self.run(command);
        }
        let attempt = self.prepare(command).map_err(rejection)?;
        let outcome = self.record(command, attempt);
        self.finish(command, attempt, outcome.as_ref().ok());
        outcome.map_err(rejection)
    }

    pub(crate) fn prepare<C: Command>(&mut self, command: &C) -> Decision<Attempt> {
        self.step(Writes::Live, |rows, at| command.prepare(rows, at))
    }

    pub(crate) fn record<C: Command>(&mut self, command: &C, attempt: Attempt) -> Decision<C::Outcome> {
        self.step(Writes::Durable, |rows, at| command.record(rows, at, attempt))
    }

    pub(crate) fn finish<C: Command>(&mut self, command: &C, attempt: Attempt, outcome: Option<&C::Outcome>) {
        self.step(Writes::Live, |rows, at| command.finish(rows, at, attempt, outcome))
            .expect("finishing is never refused");
    }

    /// A query.
    pub(crate) fn ask<T>(&self, query: impl Fn(&mut Rows, &Context<'_>) -> Decision<T>) -> Result<T, Rejection> {
        let at = Context { now: self.now, limits: &self.limits };
        let mut rows = Rows::default();
        for loads in 0..LOADS_MAX {
            self.loads.set(loads);
            match query(&mut rows, &at) {
                Err(Stop::Missing) => rows.answer_from(&self.memory),
                decision => return decision.map_err(rejection),
            }
        }
        panic!("a query asks for rows in circles");
    }

    /// Decides on a fresh working set, and keeps what was written.
    pub(crate) fn step<T>(
        &mut self,
        writes: Writes,
        decide: impl Fn(&mut Rows, &Context<'_>) -> Decision<T>,
    ) -> Decision<T> {
        let at = Context { now: self.now, limits: &self.limits };
        let mut rows = Rows::default();
        // As the engine does: rows are named without knowing the time.
        let unknown = Context { now: Timestamp::default(), limits: &self.limits };
        rows.attempt(|rows| decide(rows, &unknown).and(Err::<(), _>(Stop::Missing))).ok();
        rows.answer_from(&self.memory);
        for loads in 1..=LOADS_MAX {
            self.loads.set(loads);
            match rows.attempt(|rows| decide(rows, &at)) {
                Err(Stop::Missing) => rows.answer_from(&self.memory),
                Err(stop) => return Err(stop),
                Ok(outcome) => {
                    self.keep(rows, writes);
                    return Ok(outcome);
                }
            }
        }
        panic!("a command asks for rows in circles");
    }

    fn keep(&mut self, mut rows: Rows, writes: Writes) {
        let events = rows.events.take();
        assert!(writes != Writes::Live || !events.iter().any(Event::is_durable), "durable events are told: {events:?}");
        self.events.extend(events);
        // Numbers may be drawn for live rows too.
        let mut ids = std::mem::take(&mut rows.ids);
        let mut live = rows.take_live();
        assert!(writes != Writes::Durable || !live.has_changes(), "live rows are written: {live:?}");
        assert!(writes != Writes::Live || !rows.has_changes(), "durable rows are written: {rows:?}");
        self.memory.ids.absorb(&mut ids);
        self.memory.absorb(&mut live);
        self.memory.absorb(&mut rows);
    }
}

fn rejection(stop: Stop) -> Rejection {
    match stop {
        Stop::Rejected(rejection) => rejection,
        Stop::Busy | Stop::Missing => panic!("{stop:?}: nobody else is there"),
    }
}

/// Numbers that look random, the same for the same seed: xorshift.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// One of `0..sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}
