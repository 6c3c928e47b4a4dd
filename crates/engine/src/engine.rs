//! The handle of the engine.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_core::{Command, Context, Decision, Limits, Rows, Stop};
use tokio::sync::mpsc;

use crate::batch::{Decided, Meters, Runner};
use crate::sink::EventSink;
use crate::store::{COMMIT_WITHIN, Store};
use crate::task::{Answer, CommandTask, Once, Refused, Task, Turn};

/// Maximum weight of a batch, in ordinary commands, which keeps each commit short.
const BATCH_WEIGHT_MAX: usize = 8_192;
/// Time that a command may take once its batch has begun, before its outcome is reported as unknown.
const COMMIT_WAIT_MAX: Duration = COMMIT_WITHIN.saturating_add(Duration::from_millis(500));
/// Number of concurrent batches where rows lie in two stores: one uses each store.
const SPLIT_LANES: usize = 2;
/// Maximum number of committed batches that are not durable yet. It keeps the disk busy, and bounds unknown outcomes.
const BATCHES_IN_FLIGHT_MAX: usize = 2;
/// Backoff of deferred commands.
const DEFERRED_WAIT: Duration = Duration::from_millis(2);
/// Maximum time of a query.
const QUERY_WITHIN: Duration = Duration::from_millis(4_500);
/// Maximum number of idle working sets kept for queries.
const IDLE_ROWS_MAX: usize = 64;
/// Capacity that they keep, in rows per table.
const IDLE_ROWS_SIZE: usize = 256;
/// Maximum number of load rounds per query; more means that its read set does not converge.
const READS_MAX: usize = 16;

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
    /// Weight in the queue.
    waiting: Arc<AtomicUsize>,
    store: Arc<dyn Store>,
    settings: EngineSettings,
    answered: Arc<AtomicU64>,
    /// Working sets of finished queries, because allocating one costs more than most queries.
    idle_rows: Mutex<Vec<Rows>>,
    /// One per lane. Last field, because the thread ends when they are dropped, and a caller that has joined it may
    /// reopen the store.
    queues: Vec<mpsc::UnboundedSender<Box<dyn Task>>>,
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
        let (queues, tasks): (Vec<_>, Vec<_>) = (0..lanes).map(|_| mpsc::unbounded_channel()).unzip();
        let waiting = Arc::new(AtomicUsize::new(0));
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
            std::thread::Builder::new().name("answers".into()).spawn(answer)?
        };
        let thread = {
            let (store, waiting, settings) = (store.clone(), waiting.clone(), settings.clone());
            std::thread::Builder::new().name("engine".into()).spawn(move || {
                let (store, sink, limits) = (&*store, &*sink, &settings.limits);
                let lane = |tasks| {
                    let runner = Runner::new(store, sink, limits, meters.clone());
                    run_batches(runner, tasks, &waiting, &decided, settings.lock_wait)
                };
                runtime.block_on(futures_util::future::join_all(tasks.into_iter().map(lane)));
                drop(decided);
                answering.join().ok();
            })?
        };
        Ok((
            Self {
                shared: Arc::new(Shared { waiting, store, settings, answered, idle_rows: Mutex::default(), queues }),
            },
            thread,
        ))
    }

    /// Executes a command. The reply is sent after the commit.
    pub async fn run<C: Command>(
        &self,
        command: C,
        once: Option<Once<C::Outcome>>,
    ) -> Result<Answer<C::Outcome>, Refused> {
        let Shared { queues, waiting, settings, .. } = &*self.shared;
        let in_steps = if self.shared.store.is_split() { command.weight_in_steps() } else { 0 };
        let weight = command.weight() + in_steps;
        let queue = &queues[(command.lane() % queues.len() as u64) as usize];
        if waiting.fetch_add(weight, Ordering::Relaxed) + weight > settings.queue_max.max(weight) {
            waiting.fetch_sub(weight, Ordering::Relaxed);
            return Err(Refused::Overloaded);
        }
        let turn = Arc::new(Turn::default());
        let (task, mut answer) = CommandTask::new(command, once, weight, turn.clone());
        if queue.send(Box::new(task)).is_err() {
            return Err(Refused::StoreUnavailable("the engine has stopped".into()));
        }
        if let Ok(answered) = tokio::time::timeout(settings.lock_wait, &mut answer).await {
            return answered.unwrap_or(Err(Refused::Internal));
        }
        if turn.give_up() {
            return Err(Refused::LockTimeout);
        }
        match tokio::time::timeout(COMMIT_WAIT_MAX, answer).await {
            Ok(answered) => answered.unwrap_or(Err(Refused::Internal)),
            Err(_) => Err(Refused::OutcomeUnknown),
        }
    }

    /// Runs a query on committed state. `ask` may run several times, until all its rows are loaded.
    pub async fn query<T>(&self, ask: impl FnMut(&mut Rows, &Context<'_>) -> Decision<T>) -> Result<T, Refused> {
        let idle_rows = || self.shared.idle_rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = idle_rows().pop().unwrap_or_default();
        let answer = tokio::time::timeout(QUERY_WITHIN, self.answer(&mut rows, ask)).await;
        rows.clear(IDLE_ROWS_SIZE);
        let mut idle = idle_rows();
        if idle.len() < IDLE_ROWS_MAX {
            idle.push(rows);
        }
        answer.unwrap_or_else(|_| Err(Refused::StoreUnavailable("the store took too long".into())))
    }

    async fn answer<T>(
        &self,
        rows: &mut Rows,
        mut ask: impl FnMut(&mut Rows, &Context<'_>) -> Decision<T>,
    ) -> Result<T, Refused> {
        let Shared { store, settings, .. } = &*self.shared;
        // Dry run that collects the read set.
        let mut at = Context { now: holdfast_core::Timestamp::default(), limits: &settings.limits };
        ask(rows, &at).ok();
        for _ in 0..READS_MAX {
            at.now = store.read(rows).await?;
            match ask(rows, &at) {
                Ok(answer) => return Ok(answer),
                Err(Stop::Rejected(rejection)) => return Err(Refused::Rejected(rejection)),
                Err(Stop::Missing) => {}
                Err(Stop::Busy) => return Err(Refused::LockTimeout),
            }
        }
        tracing::error!("a query asks for rows in circles");
        Err(Refused::Internal)
    }

    /// Whether the engine accepts commands.
    pub fn is_alive(&self) -> bool {
        self.shared.queues.iter().all(|queue| !queue.is_closed())
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
    mut queue: mpsc::UnboundedReceiver<Box<dyn Task>>,
    waiting: &AtomicUsize,
    decided: &blocking::SyncSender<Decided>,
    lock_wait: Duration,
) {
    loop {
        let (mut tasks, late): (Vec<_>, Vec<_>) =
            std::mem::take(&mut runner.deferred).into_iter().partition(|task| task.waited() < lock_wait);
        for task in late {
            task.refuse(Refused::LockTimeout);
        }
        if tasks.is_empty() {
            let Some(first) = queue.recv().await else { return };
            waiting.fetch_sub(first.weight(), Ordering::Relaxed);
            tasks.push(first);
        } else {
            tokio::time::sleep(DEFERRED_WAIT).await;
        }
        let mut weight: usize = tasks.iter().map(|task| task.weight()).sum();
        while weight < BATCH_WEIGHT_MAX
            && let Ok(next) = queue.try_recv()
        {
            waiting.fetch_sub(next.weight(), Ordering::Relaxed);
            weight += next.weight();
            tasks.push(next);
        }
        // Blocks while too many batches are in flight; this thread has no other work.
        runner.run(tasks, &mut |batch| decided.send(batch).unwrap_or_default()).await;
    }
}
