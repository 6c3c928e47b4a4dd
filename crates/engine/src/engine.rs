//! The handle of the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as blocking;
use std::time::Duration;

use holdfast_core::{Command, Context, Decision, Limits, Stop, WorkingSet};
use parking_lot::Mutex;

use crate::batch::{Decided, Meters, Runner};
use crate::panics::{self, Panic};
use crate::queue::{COMMAND_WEIGHT_MAX, FlowId, Queue};
use crate::sink::EventSink;
use crate::store::{COMMIT_TIMEOUT, Store};
use crate::task::{Answer, CommandTask, Once, Ownership, Refused};

/// Maximum time of a command after it was taken from the queue. Then its caller is answered that the outcome is
/// unknown.
const COMMIT_WAIT_MAX: Duration = COMMIT_TIMEOUT.saturating_add(Duration::from_millis(500));
/// Number of concurrent batches where rows lie in two stores: one uses each store.
const SPLIT_LANES: usize = 2;
/// Maximum number of committed batches that are not durable yet. It keeps the disk busy, and bounds unknown outcomes.
const BATCHES_IN_FLIGHT_MAX: usize = 2;
/// Backoff of commands that must retry.
const BACKOFF_WAIT: Duration = Duration::from_millis(2);
/// Maximum time of a query.
const QUERY_TIMEOUT: Duration = Duration::from_millis(4_500);
/// Maximum number of idle working sets kept for queries.
const IDLE_ROWS_MAX: usize = 64;
/// Capacity of an idle working set, in rows per table.
const IDLE_ROWS_SIZE: usize = 256;
/// Maximum number of load rounds per query; more means that its read set does not converge.
const READS_MAX: usize = 16;
/// Maximum number of times that a query is answered anew after a fault: its rows are read in several rounds, and a
/// commit in between makes them inconsistent.
const QUERY_RETRIES_MAX: u32 = 8;
/// Backoff added per retry.
const QUERY_RETRY_WAIT: Duration = Duration::from_millis(1);

#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Maximum time that a command waits for its batch.
    pub lock_wait: Duration,
    /// Maximum weight in the queue, in ordinary commands.
    pub queue_max: usize,
    pub limits: Limits,
}

/// Handle of the engine. Cheap to clone. The engine stops when the last handle is dropped and every submitted command
/// is answered.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    settings: EngineSettings,
    answered: Arc<AtomicU64>,
    /// Working sets of finished queries, because allocating one costs more than most queries.
    idle_rows: Mutex<Vec<WorkingSet>>,
    /// Last, because the thread ends when it is dropped: a caller that has joined it may open the store anew.
    queue: OpenQueue,
}

/// The queue while commands can be added to it. Closes it when dropped.
struct OpenQueue(Arc<Queue>);

impl Drop for OpenQueue {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Abandons waiting commands when the thread that would carry them out ends, also by a panic.
struct Consumer(Arc<Queue>);

impl Drop for Consumer {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the batch loop on its own thread, where a store may block, and a second thread that answers batches once
    /// they are durable. The first thread ends when the last handle is dropped. After joining it, all commits are
    /// durable, all commands are answered, and the engine no longer uses the store.
    pub fn start(
        store: Arc<dyn Store>,
        sink: Arc<dyn EventSink>,
        settings: EngineSettings,
    ) -> std::io::Result<(Self, std::thread::JoinHandle<()>)> {
        let lanes = if store.is_split() { SPLIT_LANES } else { 1 };
        let queue = Arc::new(Queue::new(lanes, settings.queue_max));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (decided, to_answer) = blocking::sync_channel::<Decided>(BATCHES_IN_FLIGHT_MAX);
        let (meters, answered) = (Meters::new(), Arc::new(AtomicU64::new(0)));
        let answering = {
            let (sink, meters, answered) = (sink.clone(), meters.clone(), answered.clone());
            let answer = move || {
                for decided in to_answer {
                    // Incremented before the replies are sent.
                    answered.fetch_add(1, Ordering::Release);
                    decided.answer(&*sink, &meters);
                }
            };
            std::thread::Builder::new().name("answers".into()).spawn(panics::inherit(answer))?
        };
        let thread = {
            let (store, queue, settings) = (store.clone(), Consumer(queue.clone()), settings.clone());
            let run_lanes = move || {
                let (store, sink, limits) = (&*store, &*sink, &settings.limits);
                let run_lane = |lane| {
                    let runner = Runner::new(store, sink, limits, meters.clone());
                    run_batches(runner, &queue.0, lane, &decided, settings.lock_wait)
                };
                runtime.block_on(futures_util::future::join_all((0..lanes).map(run_lane)));
                drop(decided);
                answering.join().ok();
            };
            std::thread::Builder::new().name("engine".into()).spawn(panics::inherit(run_lanes))?
        };
        Ok((
            Self {
                shared: Arc::new(Shared {
                    store,
                    settings,
                    answered,
                    idle_rows: Mutex::default(),
                    queue: OpenQueue(queue),
                }),
            },
            thread,
        ))
    }

    /// Runs a command of the server itself. Returns after the commit is durable.
    pub async fn run<C: Command>(
        &self,
        command: C,
        once: Option<Once<C::Outcome>>,
    ) -> Result<Answer<C::Outcome>, Refused> {
        self.run_for(FlowId::System, command, once).await
    }

    /// Runs a command of a caller. It waits in the flow of the user that it names, or else in that of the caller.
    pub async fn run_for<C: Command>(
        &self,
        caller: FlowId,
        command: C,
        once: Option<Once<C::Outcome>>,
    ) -> Result<Answer<C::Outcome>, Refused> {
        let Shared { queue: OpenQueue(queue), settings, .. } = &*self.shared;
        let in_steps = if self.shared.store.is_split() { command.weight_in_steps() } else { 0 };
        let weight = (command.weight() + in_steps).clamp(1, COMMAND_WEIGHT_MAX);
        let flow = command.user().map_or(caller, |user| FlowId::User(user.clone()));
        let lane = command.lane();
        let ownership = Arc::new(Ownership::default());
        let (task, mut answer) = CommandTask::new(command, once, weight, ownership.clone());
        queue.push(lane, flow, Box::new(task))?;
        if let Ok(answered) = tokio::time::timeout(settings.lock_wait, &mut answer).await {
            return answered.unwrap_or(Err(Refused::Internal));
        }
        if ownership.withdraw() {
            return Err(Refused::LockTimeout);
        }
        match tokio::time::timeout(COMMIT_WAIT_MAX, answer).await {
            Ok(answered) => answered.unwrap_or(Err(Refused::Internal)),
            Err(_) => Err(Refused::OutcomeUnknown),
        }
    }

    /// Runs a query on committed state. `ask` runs again until its read set is loaded, and must have no side effects.
    pub async fn query<T>(&self, ask: impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>) -> Result<T, Refused> {
        let idle_rows = || self.shared.idle_rows.lock();
        let mut rows = idle_rows().pop().unwrap_or_default();
        let answer = tokio::time::timeout(QUERY_TIMEOUT, self.answer(&mut rows, ask)).await;
        rows.clear(IDLE_ROWS_SIZE);
        let mut idle = idle_rows();
        if idle.len() < IDLE_ROWS_MAX {
            idle.push(rows);
        }
        answer.unwrap_or_else(|_| Err(Refused::StoreUnavailable("the query timed out".into())))
    }

    async fn answer<T>(
        &self,
        rows: &mut WorkingSet,
        mut ask: impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>,
    ) -> Result<T, Refused> {
        for retries in 0.. {
            let fault = match self.answer_once(rows, &mut ask).await? {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if retries == QUERY_RETRIES_MAX {
                match fault {
                    Some(panic) => panic.report(),
                    None => tracing::error!("the read set of a query does not converge"),
                }
                break;
            }
            rows.clear(IDLE_ROWS_SIZE);
            tokio::time::sleep(QUERY_RETRY_WAIT * (retries + 1)).await;
        }
        Err(Refused::Internal)
    }

    /// The inner `Err` is a fault, of consistent rows or not: the query panicked, or its read set does not converge.
    async fn answer_once<T>(
        &self,
        rows: &mut WorkingSet,
        ask: &mut impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>,
    ) -> Result<Result<T, Option<Panic>>, Refused> {
        let Shared { store, settings, .. } = &*self.shared;
        let mut at = Context { now: holdfast_core::Timestamp::default(), limits: &settings.limits };
        // Dry run: names the first rows.
        let _ = panics::catch(|| ask(rows, &at).map(drop));
        for _ in 0..READS_MAX {
            at.now = store.read(rows).await?;
            match panics::catch(|| ask(rows, &at)) {
                Ok(Ok(answer)) => return Ok(Ok(answer)),
                Ok(Err(Stop::Rejected(rejection))) => return Err(Refused::Rejected(rejection)),
                Ok(Err(Stop::NeedRows)) => {}
                Ok(Err(Stop::Retry)) => return Err(Refused::LockTimeout),
                Err(panic) => return Ok(Err(Some(panic))),
            }
        }
        Ok(Err(None))
    }

    /// Whether the engine accepts commands.
    pub fn is_alive(&self) -> bool {
        !self.shared.queue.0.is_closed()
    }

    /// Settings that rules depend on.
    pub fn limits(&self) -> &Limits {
        &self.shared.settings.limits
    }

    /// Returns the weight that each command of a divided request should have.
    pub fn part_weight(&self) -> usize {
        self.shared.queue.0.part_weight()
    }

    /// Returns the number of answered batches. It is incremented before the effects of a batch are visible to callers,
    /// so an equal number means that this server has changed nothing.
    pub fn batches(&self) -> u64 {
        self.shared.answered.load(Ordering::Acquire)
    }

    /// Returns the store, for lists and jobs.
    pub fn store(&self) -> &dyn Store {
        &*self.shared.store
    }
}

async fn run_batches(
    mut runner: Runner<'_>,
    queue: &Queue,
    lane_index: usize,
    decided: &blocking::SyncSender<Decided>,
    lock_wait: Duration,
) {
    loop {
        let (mut tasks, late): (Vec<_>, Vec<_>) =
            std::mem::take(&mut runner.backing_off).into_iter().partition(|task| task.waited() < lock_wait);
        for task in late {
            task.refuse(Refused::LockTimeout);
        }
        if tasks.is_empty() {
            if !queue.wait(lane_index).await {
                return;
            }
        } else {
            tokio::time::sleep(BACKOFF_WAIT).await;
        }
        let weight = tasks.iter().map(|task| task.weight()).sum();
        queue.take(lane_index, &mut tasks, weight);
        // Blocks while [`BATCHES_IN_FLIGHT_MAX`] batches wait for durability: back-pressure on this thread only.
        runner.run(tasks, &mut |batch| decided.send(batch).unwrap_or_default()).await;
    }
}
