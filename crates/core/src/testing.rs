//! Test harness of the rules: all rows in memory, a clock that the test sets, commands one after another.

use std::cell::Cell;

use crate::audit::Audit;
use crate::command::{Attempt, Command, Context, Decision, FirstStep, Limits, Stop, TwoPhase, WriteMode, Writes};
use crate::event::Event;
use crate::hold::{AttemptId, Decided, Hold, HoldState, Records, confirm, place};
use crate::id::HoldId;
use crate::rejection::Rejection;
use crate::table::{StateSet as _, TableSet as _};
use crate::time::{Span, Timestamp};
use crate::working_set::{InMemoryState, WorkingSet};

/// Maximum number of load rounds per command; more means that its read set does not converge.
const LOADS_MAX: usize = 16;

/// Result of the first step of a command.
pub(crate) type BegunBy<C> = FirstStep<<<C as Command>::Writes as WriteMode<C>>::Prepared, <C as Command>::Outcome>;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) memory: InMemoryState,
    pub(crate) now: Timestamp,
    pub(crate) limits: Limits,
    pub(crate) events: Vec<Event>,
    /// Number of load rounds of the last command or query.
    pub(crate) loads: Cell<usize>,
}

impl World {
    pub(crate) fn new() -> Self {
        let limits = Limits::DEFAULT;
        let now = Timestamp::from_millis(1_762_237_800_000); // 2025-11-04T06:30:00Z
        Self { memory: InMemoryState::complete(), now, limits, events: Vec::new(), loads: Cell::new(0) }
    }

    /// Advances the clock. Ended rows are not purged: no rule may depend on that.
    pub(crate) fn wait(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// Decides a command as a whole, and checks that it writes only what it declares.
    pub(crate) fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        self.step(C::Writes::WRITES, |rows, at| command.decide(rows, at)).map_err(rejection)
    }

    /// Executes a command in three steps if it writes both kinds of rows, each step a commit of its own.
    pub(crate) fn run_in_steps<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        self.decide_in_steps(command).map_err(rejection)
    }

    pub(crate) fn decide_in_steps<C: Command>(&mut self, command: &C) -> Decision<C::Outcome> {
        match self.begin(command)? {
            FirstStep::Done(outcome) => Ok(outcome),
            FirstStep::Prepared(prepared) => {
                let record = |rows: &mut WorkingSet, at: &Context<'_>| C::Writes::record(command, rows, at, &prepared);
                let outcome = self.step(Writes::Durable, record);
                let recorded = outcome.as_ref().ok();
                self.step(Writes::Live, |rows, at| C::Writes::finish(command, rows, at, &prepared, recorded))
                    .expect("finishing is never rejected");
                outcome
            }
        }
    }

    /// Executes the first step of a command.
    pub(crate) fn begin<C: Command>(&mut self, command: &C) -> Decision<BegunBy<C>> {
        let writes = if C::Writes::WRITES == Writes::Both { Writes::Live } else { C::Writes::WRITES };
        self.step(writes, |rows, at| C::Writes::begin(command, rows, at))
    }

    pub(crate) fn prepare<C: TwoPhase>(&mut self, command: &C) -> Decision<C::Prepared> {
        self.step(Writes::Live, |rows, at| command.prepare(rows, at))
    }

    pub(crate) fn record<C: TwoPhase<Prepared: Copy>>(
        &mut self,
        command: &C,
        prepared: C::Prepared,
    ) -> Decision<C::Outcome> {
        self.step(Writes::Durable, |rows, at| command.record(rows, at, &prepared))
    }

    pub(crate) fn finish<C: TwoPhase<Prepared: Copy>>(
        &mut self,
        command: &C,
        prepared: C::Prepared,
        outcome: Option<&C::Outcome>,
    ) {
        self.step(Writes::Live, |rows, at| command.finish(rows, at, &prepared, outcome))
            .expect("finishing is never rejected");
    }

    /// Runs a query.
    pub(crate) fn ask<T>(&self, query: impl Fn(&mut WorkingSet, &Context<'_>) -> Decision<T>) -> Result<T, Rejection> {
        let at = Context { now: self.now, limits: &self.limits };
        let mut rows = WorkingSet::default();
        for loads in 0..LOADS_MAX {
            self.loads.set(loads);
            match query(&mut rows, &at) {
                Err(Stop::NeedRows) => rows.fill_from(&self.memory),
                decision => return decision.map_err(rejection),
            }
        }
        panic!("the read set of a query does not converge");
    }

    /// Decides on a fresh working set, and applies its writes.
    pub(crate) fn step<T>(
        &mut self,
        writes: Writes,
        decide: impl Fn(&mut WorkingSet, &Context<'_>) -> Decision<T>,
    ) -> Decision<T> {
        let at = Context { now: self.now, limits: &self.limits };
        let mut rows = WorkingSet::default();
        // Like the engine, the dry run does not know the time.
        let unknown = Context { now: Timestamp::default(), limits: &self.limits };
        rows.attempt(|rows| decide(rows, &unknown).and(Err::<(), _>(Stop::NeedRows))).ok();
        rows.fill_from(&self.memory);
        for loads in 1..=LOADS_MAX {
            self.loads.set(loads);
            match rows.attempt(|rows| decide(rows, &at)) {
                Err(Stop::NeedRows) => rows.fill_from(&self.memory),
                Err(stop) => return Err(stop),
                Ok(outcome) => {
                    self.apply(rows, writes);
                    return Ok(outcome);
                }
            }
        }
        panic!("the read set of a command does not converge");
    }

    /// Returns a hold, with the endpoints' checks left out.
    pub(crate) fn hold(&self, id: HoldId) -> Hold {
        self.memory.holds.get(&id).unwrap().expect("the hold exists").clone()
    }

    /// Returns the live holds in the order of their ids.
    pub(crate) fn live_holds(&self) -> Vec<Hold> {
        let holds = self.memory.holds.rows().map(|(_, hold)| hold);
        let mut live: Vec<Hold> = holds.filter(|hold| hold.is_live(self.now)).cloned().collect();
        live.sort_by_key(|hold| hold.id);
        live
    }

    /// Returns all holds as text, without the numbers of attempts, which depend on the number of steps.
    pub(crate) fn hold_rows(&self) -> impl Iterator<Item = String> {
        let without_attempt = |hold: &Hold| Hold { attempt: Attempt::default(), ..hold.clone() };
        // The durable row of a confirmed hold has its later changes.
        let latest = move |id: &HoldId, hold: &Hold| match self.memory.confirmed_holds.get(id) {
            Ok(Some(confirmed)) if confirmed.version > hold.version => without_attempt(confirmed),
            _ => without_attempt(hold),
        };
        self.memory.holds.rows().map(move |(id, hold)| format!("{:?}", latest(id, hold)))
    }

    /// Records the outcome of a confirm attempt, as another server may: with this record, or aborted.
    pub(crate) fn decide_attempt(&mut self, of: AttemptId, record: Option<u64>) {
        let hold = self.hold(of.hold);
        assert_eq!(hold.attempt_id(), of, "the latest attempt is decided");
        let decide = |rows: &mut WorkingSet, _: &Context<'_>| {
            rows.decisions.get(&of)?;
            match record {
                Some(record) => confirm::commit(rows, &hold, Records::Shared(record)),
                None => rows.decisions.put(of, Decided::Aborted),
            }
            Ok(())
        };
        self.step(Writes::Durable, decide).unwrap();
    }

    /// Returns an auditor that has all holds, also those of the durable tier.
    pub(crate) fn audit_holds(&self) -> Audit {
        let mut audit = Audit::new(self.now);
        self.memory.holds.rows().for_each(|(_, hold)| audit.hold(hold));
        self.memory.confirmed_holds.rows().for_each(|(_, hold)| audit.holds.hold(hold));
        audit
    }

    /// Writes the counts and index entries of a live hold, like a store at start.
    pub(crate) fn index(&mut self, hold: &Hold) {
        let mut rows = WorkingSet::default();
        place::request_all_indexes(&mut rows, hold);
        rows.fill_from(&self.memory);
        place::index(&mut rows, hold, self.now).unwrap();
        self.memory.apply(&mut rows);
    }

    fn apply(&mut self, mut rows: WorkingSet, writes: Writes) {
        let events = rows.events.take();
        assert!(
            writes != Writes::Live || !events.iter().any(Event::is_durable),
            "a live step emits durable events: {events:?}"
        );
        self.events.extend(events);
        // Numbers may be drawn for live rows too.
        let mut ids = std::mem::take(&mut rows.ids);
        let mut live = rows.take_live();
        // A confirmed hold is durable. In a single store it stays in the table of all holds.
        let mut holds = std::mem::take(&mut live.holds);
        let are_confirmed =
            holds.changes().iter().all(|change| change.row.is_some_and(|hold| hold.state == HoldState::Confirmed));
        assert!(
            writes != Writes::Durable || (are_confirmed && !live.has_changes()),
            "a durable step writes live rows: {holds:?} {live:?}"
        );
        assert!(writes != Writes::Live || !rows.has_changes(), "a live step writes durable rows: {rows:?}");
        self.memory.ids.apply(&mut ids);
        self.memory.holds.apply(&mut holds);
        self.memory.apply(&mut live);
        self.memory.apply(&mut rows);
    }
}

fn rejection(stop: Stop) -> Rejection {
    match stop {
        Stop::Rejected(rejection) => rejection,
        Stop::Retry | Stop::NeedRows => panic!("{stop:?} without concurrent commands"),
    }
}

/// Pseudo-random numbers from a seed (xorshift).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number in `0..sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}
