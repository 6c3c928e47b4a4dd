//! A world for tests: all rows in memory, time by hand. A command is carried out as a store does it: its rows are named,
//! loaded, it is decided, and what it wrote is taken over.

use crate::command::{Attempt, Command, Context, Decision, Limits, Stop, Writes};
use crate::event::Event;
use crate::rejection::Rejection;
use crate::rows::Rows;
use crate::stay;
use crate::table::TableSet;
use crate::ticket;
use crate::time::{Span, Timestamp};

/// A command that still wants rows after so many loads is asking in circles.
const LOADS_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct World {
    pub memory: Rows,
    pub now: Timestamp,
    pub limits: Limits,
    /// What happened, until somebody takes it.
    pub events: Vec<Event>,
    /// How often the last step had to load rows.
    pub loads: usize,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            memory: Rows::complete(),
            now: Timestamp::from_millis(1_800_000_000_000),
            limits: Limits {
                holds_per_user_max: 50,
                stay: stay::Limits { hold_ttl: Span::from_secs(600) },
                ticket: ticket::Limits { hold_ttl: Span::from_secs(300) },
            },
            events: Vec::new(),
            loads: 0,
        }
    }

    pub(crate) fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        self.memory.tidy(self.now, usize::MAX);
    }

    /// All at once.
    pub(crate) fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        settled(self.step(C::WRITES, |rows, at| command.decide(rows, at)))
    }

    /// As where live and durable rows lie in two stores.
    pub(crate) fn run_in_steps<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        if C::WRITES != Writes::Both {
            return self.run(command);
        }
        let attempt = settled(self.prepare(command))?;
        let outcome = self.record(command, attempt);
        self.finish(command, attempt, outcome.as_ref().ok());
        settled(outcome)
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

    /// A question.
    pub(crate) fn ask<T>(&mut self, query: impl Fn(&mut Rows, &Context<'_>) -> Decision<T>) -> Result<T, Rejection> {
        settled(self.step(Writes::Both, query))
    }

    /// Decides on a working set of its own and takes over what was written, to those rows that may be.
    pub(crate) fn step<T>(
        &mut self,
        writes: Writes,
        decide: impl Fn(&mut Rows, &Context<'_>) -> Decision<T>,
    ) -> Decision<T> {
        let mut rows = Rows::default();
        let at = Context { now: self.now, limits: &self.limits };
        // As the engine does: rows are named without knowing the time.
        let naming = Context { now: Timestamp::default(), limits: &self.limits };
        rows.attempt(|rows| decide(rows, &naming).and(Err::<(), _>(Stop::Missing))).ok();
        for loads in 1..=LOADS_MAX {
            rows.answer_from(&self.memory);
            assert!(rows.is_settled(), "memory is complete");
            match rows.attempt(|rows| decide(rows, &at)) {
                Err(Stop::Missing) => {}
                Ok(outcome) => {
                    self.loads = loads;
                    self.events.extend(rows.events.take());
                    let mut live = rows.take_live();
                    assert!(writes != Writes::Durable || !live.has_changes(), "live rows were written");
                    assert!(writes != Writes::Live || !rows.has_changes(), "durable rows were written");
                    self.memory.absorb(&mut live);
                    self.memory.absorb(&mut rows);
                    return Ok(outcome);
                }
                Err(stop) => {
                    assert!(!rows.has_changes(), "what is refused leaves nothing behind");
                    self.loads = loads;
                    return Err(stop);
                }
            }
        }
        panic!("it asks for rows in circles");
    }
}

/// An outcome or a refusal: nobody else is there to be busy with anything.
pub(crate) fn settled<T>(decision: Decision<T>) -> Result<T, Rejection> {
    decision.map_err(|stop| match stop {
        Stop::Rejected(rejection) => rejection,
        Stop::Missing | Stop::Busy => panic!("undecided: {stop:?}"),
    })
}

/// Numbers that look random and are the same every time.
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
