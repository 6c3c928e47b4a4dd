//! One batch: load → decide → commit → reply. Replies wait until the commit is durable; the next batch does not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use holdfast_core::command::Writes;
use holdfast_core::table::TableSet;
use holdfast_core::{Command, Context, Limits, Stop, Timestamp, WorkingSet};
use metrics::{Counter, Histogram};

use crate::panics::{self, Panic};
use crate::sink::{EventSink, OutboxEntry, Published};
use crate::store::{Flush, Store, StoreError, Tier};
use crate::task::{CommandTask, Once, Pending, Refused, Step, Task};
use crate::trace::Trace;

/// Maximum number of load rounds per command; more means that its read set does not converge.
const LOADS_MAX: usize = 16;
/// Capacity that a working set keeps between batches, in rows per table. The excess of a huge batch is freed.
const ROWS_KEPT: usize = 16_384;
/// Maximum number of retries after a commit conflict.
const CONFLICTS_MAX: u32 = 64;
/// Backoff added per retry.
const CONFLICT_WAIT: Duration = Duration::from_micros(100);
/// Time after which a conflict is not retried; the commands are then answered as having no effect.
const CONFLICT_RETRY_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of retries of commands that back off when a batch runs without an engine.
const BACKOFFS_MAX: usize = 16;

/// Commands that are decided together.
#[derive(Default)]
pub struct Batch {
    tasks: Vec<Box<dyn Task>>,
}

impl Batch {
    pub fn add<C: Command>(&mut self, command: C, once: Option<Once<C::Outcome>>) -> Pending<C::Outcome> {
        let (task, pending) = CommandTask::new(command, once, 1, Arc::default());
        self.tasks.push(Box::new(task));
        pending
    }

    /// Runs the batch without an engine, for simulations in which every step is reproducible.
    pub async fn run(self, store: &dyn Store, sink: &dyn EventSink, limits: &Limits) {
        let mut runner = Runner::new(store, sink, limits, Meters::new());
        let meters = runner.meters.clone();
        let mut tasks = self.tasks;
        for _ in 0..BACKOFFS_MAX {
            runner.run(tasks, &mut |decided| decided.answer(sink, &meters)).await;
            tasks = std::mem::take(&mut runner.backing_off);
            if tasks.is_empty() {
                return;
            }
        }
        for task in tasks {
            task.refuse(Refused::LockTimeout);
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tasks.iter().map(|task| task.name())).finish()
    }
}

/// Runs batches, one after another.
pub(crate) struct Runner<'a> {
    store: &'a dyn Store,
    sink: &'a dyn EventSink,
    limits: &'a Limits,
    meters: Meters,
    /// The working set, empty between batches.
    rows: WorkingSet,
    /// Whether the store was asked to commit, so that a panic leaves the outcome unknown.
    committing: bool,
    /// Commands that must retry after a backoff, because a prepared attempt decides their outcome.
    pub backing_off: Vec<Box<dyn Task>>,
    /// Faults of the last decision. Its commit tells whether they are conflicts.
    faults: Vec<Fault>,
}

/// A decision that broke a rule, or did not converge. On an inconsistent read set either is a conflict.
struct Fault {
    command: &'static str,
    /// `None` if the command needed further rows after [`LOADS_MAX`] loads.
    panic: Option<Panic>,
}

impl Fault {
    fn report(self) {
        let command = self.command;
        match self.panic {
            Some(panic) => {
                tracing::error!(command, %panic, "a decision panicked, the command was refused");
                panic.report();
            }
            None => tracing::error!(command, "the read set of a command does not converge"),
        }
    }
}

/// Metrics of batches.
#[derive(Clone)]
pub(crate) struct Meters {
    commands: Histogram,
    wait_seconds: Histogram,
    decide_seconds: Histogram,
    commit_seconds: Histogram,
    flush_seconds: Histogram,
    failures: Counter,
    conflicts: Counter,
}

impl Meters {
    pub(crate) fn new() -> Self {
        Self {
            commands: metrics::histogram!("holdfast_batch_commands"),
            wait_seconds: metrics::histogram!("holdfast_command_wait_seconds"),
            decide_seconds: metrics::histogram!("holdfast_batch_decide_seconds"),
            commit_seconds: metrics::histogram!("holdfast_batch_commit_seconds"),
            flush_seconds: metrics::histogram!("holdfast_batch_flush_seconds"),
            failures: metrics::counter!("holdfast_batch_failures_total"),
            conflicts: metrics::counter!("holdfast_batch_conflicts_total"),
        }
    }
}

/// A committed or failed batch, whose tasks wait for their replies.
pub(crate) struct Decided {
    tasks: Vec<Box<dyn Task>>,
    result: Result<Outcome, StoreError>,
}

/// Result of a batch, valid once it is durable.
struct Outcome {
    published: Vec<Published>,
    flush: Flush,
}

impl Outcome {
    /// Returns the result of a batch without writes.
    fn nothing() -> Self {
        Self { published: Vec::new(), flush: Box::new(|| Ok(())) }
    }
}

impl Decided {
    /// Waits until the commit is durable, then publishes events and sends replies.
    pub(crate) fn answer(self, sink: &dyn EventSink, meters: &Meters) {
        if self.tasks.is_empty() {
            return;
        }
        let began = Instant::now();
        let result = self.result.and_then(|Outcome { published, flush }| {
            guarded(flush).unwrap_or_else(|| Err(StoreError::OutcomeUnknown("a panic in the flush".into())))?;
            Ok(published)
        });
        meters.flush_seconds.record(began.elapsed());
        match result {
            Ok(published) => {
                // A sink's error must not fail the batch: it is already committed.
                if guarded(|| sink.publish(published)).is_none() {
                    tracing::error!("the events of a batch could not be published");
                }
                self.tasks.into_iter().for_each(Task::answer);
            }
            Err(error) => {
                meters.failures.increment(1);
                tracing::error!(%error, commands = self.tasks.len(), "a batch failed");
                let refused = Refused::from(error);
                for task in self.tasks {
                    task.refuse(refused.clone());
                }
            }
        }
    }
}

impl<'a> Runner<'a> {
    pub(crate) fn new(store: &'a dyn Store, sink: &'a dyn EventSink, limits: &'a Limits, meters: Meters) -> Self {
        Self {
            store,
            sink,
            limits,
            meters,
            rows: WorkingSet::default(),
            committing: false,
            backing_off: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Runs one batch until it is committed or has failed. Finished tasks are passed to `answer` at once; commands that
    /// must retry are kept in `backing_off`.
    pub(crate) async fn run(&mut self, mut tasks: Vec<Box<dyn Task>>, answer: &mut (dyn FnMut(Decided) + Send)) {
        tasks.retain(|task| task.take());
        if tasks.is_empty() {
            return;
        }
        self.meters.commands.record(tasks.len() as f64);
        for task in &tasks {
            self.meters.wait_seconds.record(task.waited());
        }
        if self.store.is_split() {
            self.run_in_steps(tasks, answer).await;
        } else {
            let result = self.commit(Step::Whole, &mut tasks, &WorkingSet::default()).await;
            answer(Decided { tasks, result });
        }
    }

    /// Runs a batch where live and durable rows lie in two stores: first the live steps, then the durable ones, then
    /// the finish of commands that write both.
    async fn run_in_steps(&mut self, tasks: Vec<Box<dyn Task>>, answer: &mut (dyn FnMut(Decided) + Send)) {
        let (mut first, mut second): (Vec<_>, Vec<_>) =
            tasks.into_iter().partition(|task| task.writes() != Writes::Durable);
        let prepared = match self.commit(Step::Prepare, &mut first, &WorkingSet::default()).await {
            Ok(outcome) => {
                self.collect_backing_off(&mut first);
                let (under_way, done) = first.into_iter().partition(|task| task.is_under_way());
                answer(Decided { tasks: done, result: Ok(outcome) });
                second.extend::<Vec<_>>(under_way);
                self.rows.take_live()
            }
            Err(error) => {
                answer(Decided { tasks: first, result: Err(error) });
                WorkingSet::default()
            }
        };
        let recorded = self.commit(Step::Record, &mut second, &prepared).await;
        if !matches!(recorded, Err(StoreError::OutcomeUnknown(_))) {
            if recorded.is_err() {
                // The decided outcomes were not recorded.
                for task in &mut second {
                    task.discard_outcome();
                }
            }
            // An unfinished attempt is recovered later; the replies do not depend on it.
            if let Err(error) = self.commit(Step::Finish, &mut second, &WorkingSet::default()).await {
                tracing::warn!(%error, "committed confirm attempts could not be finished; recovery finishes them");
            }
        }
        // Deferred commands are finished first, because they start over.
        self.collect_backing_off(&mut second);
        answer(Decided { tasks: second, result: recorded });
    }

    fn collect_backing_off(&mut self, tasks: &mut Vec<Box<dyn Task>>) {
        self.backing_off.extend(tasks.extract_if(.., |task| task.must_retry()));
    }

    /// Decides and commits one step of the tasks that take part in it; retries with backoff after conflicts.
    async fn commit(
        &mut self,
        step: Step,
        tasks: &mut [Box<dyn Task>],
        prepared: &WorkingSet,
    ) -> Result<Outcome, StoreError> {
        let mut tasks: Vec<&mut Box<dyn Task>> = tasks.iter_mut().filter(|task| task.takes_part(step)).collect();
        if tasks.is_empty() {
            self.rows.clear(ROWS_KEPT);
            return Ok(Outcome::nothing());
        }
        let began = Instant::now();
        let mut result = Err(StoreError::Conflict);
        for tries in 1..=CONFLICTS_MAX {
            // A failure of the store fails this batch, never the engine.
            self.committing = false;
            result = AssertUnwindSafe(self.decide_and_commit(step, &mut tasks, prepared))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| Err(panicked(self.committing)));
            if !matches!(result, Err(StoreError::Conflict)) || began.elapsed() > CONFLICT_RETRY_TIMEOUT {
                break;
            }
            self.meters.conflicts.increment(1);
            tokio::time::sleep(CONFLICT_WAIT * tries).await;
        }
        let faults = std::mem::take(&mut self.faults);
        if result.is_ok() {
            // The read set was consistent.
            faults.into_iter().for_each(Fault::report);
        }
        result
    }

    async fn decide_and_commit(
        &mut self,
        step: Step,
        tasks: &mut [&mut Box<dyn Task>],
        prepared: &WorkingSet,
    ) -> Result<Outcome, StoreError> {
        let mut session = self.store.begin(step.tier()).await?;
        let rows = &mut self.rows;
        rows.clear(ROWS_KEPT);
        self.faults.clear();

        let began = Instant::now();
        for task in &mut *tasks {
            task.begin(step);
        }
        let mut undecided: Vec<&mut Box<dyn Task>> = tasks.iter_mut().map(|task| &mut **task).collect();
        dry_run(rows, self.limits, step, &mut undecided);
        if step == Step::Record {
            // Prepared holds lead to further rows, which are requested before the first load.
            rows.copy_known(prepared);
            dry_run(rows, self.limits, step, &mut undecided);
        }
        let mut now = Timestamp::default();
        let mut traces = Vec::new();
        let mut is_refused = false;
        for _ in 0..LOADS_MAX {
            rows.copy_known(prepared);
            now = session.load(rows).await?;
            let at = Context { now, limits: self.limits };
            let decided = decide_all(rows, &mut traces, &at, step, undecided);
            self.faults.extend(decided.faults);
            is_refused |= decided.is_refused;
            undecided = decided.undecided;
            if undecided.is_empty() {
                break;
            }
        }
        for task in undecided {
            self.faults.push(Fault { command: task.name(), panic: None });
            if step != Step::Finish {
                task.fail(Refused::Internal);
            }
        }
        self.meters.decide_seconds.record(began.elapsed());
        // Rows are loaded in several rounds and from two stores, and other servers commit in between. A rejection or a
        // fault is valid only on a consistent read set; otherwise it is a conflict.
        let is_doubtful = self.store.is_split() && (is_refused || !self.faults.is_empty());
        if is_doubtful {
            session.validate().await?;
        }
        let must_validate = is_doubtful || (self.store.is_split() && step.tier() == Tier::Live);
        if !rows.has_changes() && rows.events.is_empty() && !must_validate {
            // The rows that were read may not be durable yet.
            return Ok(Outcome { published: Vec::new(), flush: session.flush() });
        }

        let began = Instant::now();
        let events = rows.events.take();
        let durable = events.iter().zip(traces).filter(|(event, _)| event.is_durable());
        let outbox: Vec<_> =
            durable.map(|(event, trace)| OutboxEntry { trace, ..self.sink.encode(event, now) }).collect();
        self.committing = true;
        let committed = session.commit(rows, &outbox).await?;
        let mut recorded = committed.outbox_ids.into_iter().zip(outbox).map(|(id, entry)| entry.recorded(id));
        self.meters.commit_seconds.record(began.elapsed());
        let published = events.into_iter().map(|event| {
            let recorded = if event.is_durable() { recorded.next() } else { None };
            Published { event, recorded, at: now }
        });
        Ok(Outcome { published: published.collect(), flush: committed.flush })
    }
}

/// Collects the read set of each command in a dry run, without rows or the time.
fn dry_run(rows: &mut WorkingSet, limits: &Limits, step: Step, tasks: &mut [&mut Box<dyn Task>]) {
    let at = Context { now: Timestamp::default(), limits };
    for task in tasks {
        // Dry run: its effects and its panics are discarded; the command runs again once its rows are loaded.
        let _ = panics::catch(|| rows.attempt(|rows| task.decide(rows, &at, step).and(Err::<(), _>(Stop::NeedRows))));
    }
}

/// Outcome of a round of decisions.
struct Decisions<'a> {
    /// Commands that need further rows.
    undecided: Vec<&'a mut Box<dyn Task>>,
    faults: Vec<Fault>,
    /// Whether a command was rejected.
    is_refused: bool,
}

/// Decides in order. `traces` gets the trace of each event.
fn decide_all<'a>(
    rows: &mut WorkingSet,
    traces: &mut Vec<Option<Trace>>,
    at: &Context<'_>,
    step: Step,
    tasks: Vec<&'a mut Box<dyn Task>>,
) -> Decisions<'a> {
    let mut decisions = Decisions { undecided: Vec::new(), faults: Vec::new(), is_refused: false };
    for task in tasks {
        let decided = panics::catch(|| rows.attempt(|rows| task.decide(rows, at, step)));
        traces.resize(rows.events.len(), task.trace());
        match decided {
            Ok(Ok(())) => {}
            Ok(Err(Stop::NeedRows)) => decisions.undecided.push(task),
            // The outcome is committed, so a failure to finish does not change the reply.
            Ok(Err(stopped)) if step == Step::Finish => {
                tracing::error!(command = task.name(), ?stopped, "a committed confirm attempt could not be finished");
            }
            Ok(Err(Stop::Retry)) => task.back_off(),
            Ok(Err(Stop::Rejected(rejection))) => {
                decisions.is_refused = true;
                task.fail(Refused::Rejected(rejection));
            }
            Err(panic) => {
                decisions.faults.push(Fault { command: task.name(), panic: Some(panic) });
                if step != Step::Finish {
                    task.fail(Refused::Internal);
                }
            }
        }
    }
    decisions
}

fn panicked(committing: bool) -> StoreError {
    if committing {
        StoreError::OutcomeUnknown("a panic during the commit".into())
    } else {
        StoreError::Broken("a panic before the commit".into())
    }
}

/// Runs `act` and contains its panic. `None` after a panic.
fn guarded<T>(act: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(act)).ok()
}
