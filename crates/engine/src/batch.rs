//! One batch: load → decide → commit → reply. Replies wait until the commit is safe; the next batch does not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use holdfast_core::receipt::{self, ReceiptId};
use holdfast_core::table::TableSet;
use holdfast_core::{Command, Context, Decision, Limits, Rejection, Rows, Stop, Timestamp};
use metrics::{Counter, Histogram};
use tokio::sync::oneshot;

use crate::sink::{EventSink, Published};
use crate::store::{Safe, Store, StoreError};

/// A command that still wants other rows after so many loads is asking in circles.
const LOADS_MAX: usize = 16;
/// How often a batch is decided again because another server was first.
const CONFLICTS_MAX: usize = 16;

/// What a command gets back when it succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    Fresh(T),
    /// Carried out under an idempotency key: the answer as it was written down.
    Kept(Vec<u8>),
    /// The answer first given under the same idempotency key.
    Replayed(Vec<u8>),
}

/// Why a command did not succeed. Unless said otherwise, nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("refused: {0:?}")]
    Rejected(Rejection),
    #[error("too many commands are waiting")]
    Overloaded,
    #[error("the command waited too long for its turn")]
    LockTimeout,
    #[error("{0}")]
    StoreUnavailable(String),
    #[error("no word from the store in time; the command may or may not have been carried out")]
    OutcomeUnknown,
    #[error("a rule was broken inside; the command was not carried out")]
    Internal,
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Damaged(_) => Self::StoreUnavailable(error.to_string()),
            StoreError::Conflict => Self::LockTimeout,
            StoreError::Broken(_) => Self::Internal,
            StoreError::OutcomeUnknown(_) => Self::OutcomeUnknown,
        }
    }
}

/// Makes the bytes that are sent and kept.
pub type Render<T> = Box<dyn Fn(&T) -> Vec<u8> + Send>;

/// Makes a command safe to repeat under a key.
pub struct Once<T> {
    pub id: ReceiptId,
    /// Tells whether a repeated request is the same request.
    pub fingerprint: [u8; 32],
    /// Writes the answer down, to be given again.
    pub render: Render<T>,
}

impl<T> std::fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Commands that are decided together.
#[derive(Default)]
pub struct Batch {
    tasks: Vec<Box<dyn Task>>,
}

/// Where the answer to a command arrives.
pub type Pending<T> = oneshot::Receiver<Result<Answer<T>, Refused>>;

impl Batch {
    pub fn add<C: Command>(&mut self, command: C, once: Option<Once<C::Outcome>>) -> Pending<C::Outcome> {
        let (task, pending) = CommandTask::new(command, once, Arc::default());
        self.tasks.push(Box::new(task));
        pending
    }

    /// Runs the batch here and now, without an engine: for simulations, where every step must be repeatable.
    pub async fn run(self, store: &dyn Store, sink: &dyn EventSink, limits: &Limits) {
        let mut runner = Runner { store, sink, limits, meters: Meters::new(), rows: Rows::default() };
        if let Some(decided) = runner.run(self.tasks).await {
            decided.answer(sink, &runner.meters);
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
    pub store: &'a dyn Store,
    pub sink: &'a dyn EventSink,
    pub limits: &'a Limits,
    pub meters: Meters,
    /// The working set, empty between batches.
    pub rows: Rows,
}

/// What is measured of every batch.
#[derive(Clone)]
pub(crate) struct Meters {
    commands: Histogram,
    wait_seconds: Histogram,
    decide_seconds: Histogram,
    commit_seconds: Histogram,
    safe_seconds: Histogram,
    failures: Counter,
}

impl Meters {
    pub(crate) fn new() -> Self {
        Self {
            commands: metrics::histogram!("holdfast_batch_commands"),
            wait_seconds: metrics::histogram!("holdfast_command_wait_seconds"),
            decide_seconds: metrics::histogram!("holdfast_batch_decide_seconds"),
            commit_seconds: metrics::histogram!("holdfast_batch_commit_seconds"),
            safe_seconds: metrics::histogram!("holdfast_batch_safe_seconds"),
            failures: metrics::counter!("holdfast_batch_failures_total"),
        }
    }
}

/// A batch that is committed, or that failed: its tasks wait for their answers.
pub(crate) struct Decided {
    tasks: Vec<Box<dyn Task>>,
    result: Result<Outcome, StoreError>,
}

/// What there is to tell of a batch, once it is safe.
struct Outcome {
    published: Vec<Published>,
    safe: Safe,
}

impl Decided {
    /// Waits until the commit is safe, then tells everybody.
    pub(crate) fn answer(self, sink: &dyn EventSink, meters: &Meters) {
        let began = Instant::now();
        let result = self.result.and_then(|Outcome { published, safe }| {
            guarded(safe).unwrap_or_else(|| Err(StoreError::OutcomeUnknown("a panic inside".into())))?;
            Ok(published)
        });
        meters.safe_seconds.record(began.elapsed());
        match result {
            Ok(published) => {
                // What a sink does wrong changes nothing about what is committed.
                if guarded(|| sink.publish(published)).is_none() {
                    tracing::error!("the events of a batch could not be told");
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

impl Runner<'_> {
    /// Runs one batch until it is committed or has failed. `None` if nobody waits for it any more.
    pub(crate) async fn run(&mut self, mut tasks: Vec<Box<dyn Task>>) -> Option<Decided> {
        tasks.retain(|task| task.take_turn());
        if tasks.is_empty() {
            return None;
        }
        self.meters.commands.record(tasks.len() as f64);
        for task in &tasks {
            self.meters.wait_seconds.record(task.waited());
        }
        let mut result = Err(StoreError::Conflict);
        for _ in 0..CONFLICTS_MAX {
            // Whatever a store does wrong fails this batch, never the engine.
            result = AssertUnwindSafe(self.decide_and_commit(&mut tasks))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| Err(StoreError::Broken("a panic inside".into())));
            if !matches!(result, Err(StoreError::Conflict)) {
                break;
            }
        }
        Some(Decided { tasks, result })
    }

    async fn decide_and_commit(&mut self, tasks: &mut [Box<dyn Task>]) -> Result<Outcome, StoreError> {
        let mut session = self.store.begin().await?;
        let rows = &mut self.rows;
        rows.clear();

        let began = Instant::now();
        let mut undecided: Vec<&mut Box<dyn Task>> = tasks.iter_mut().collect();
        name_wanted_rows(rows, self.limits, &mut undecided);
        let mut now = Timestamp::default();
        for _ in 0..LOADS_MAX {
            now = session.load(rows).await?;
            undecided = decide_all(rows, &Context { now, limits: self.limits }, undecided);
            if undecided.is_empty() {
                break;
            }
        }
        for task in undecided {
            tracing::error!(command = task.name(), "a command asks for rows in circles");
            task.settle(Refused::Internal);
        }
        self.meters.decide_seconds.record(began.elapsed());
        if !rows.has_changes() {
            // It may rest on what is not safe yet; but it is answered after all batches before it.
            return Ok(Outcome { published: Vec::new(), safe: Box::new(|| Ok(())) });
        }

        let began = Instant::now();
        let events = rows.events.take();
        let durable = events.iter().filter(|event| event.is_durable());
        let outbox: Vec<_> = durable.map(|event| self.sink.encode(event, now)).collect();
        let committed = session.commit(rows, &outbox).await?;
        let mut outbox_ids = committed.outbox_ids.into_iter();
        self.meters.commit_seconds.record(began.elapsed());
        let published = events.into_iter().map(|event| {
            let outbox_id = if event.is_durable() { outbox_ids.next() } else { None };
            Published { event, outbox_id, at: now }
        });
        Ok(Outcome { published: published.collect(), safe: committed.safe })
    }
}

/// Lets each command say which rows it wants. Nothing it decides counts: it has seen neither rows nor the time.
fn name_wanted_rows(rows: &mut Rows, limits: &Limits, tasks: &mut [&mut Box<dyn Task>]) {
    let at = Context { now: Timestamp::default(), limits };
    for task in tasks {
        // What comes of it is undone, so it is of no interest, not even a panic: it will come again.
        let _ = guarded(|| rows.attempt(|rows| task.decide(rows, &at).and(Err::<(), _>(Stop::Missing))));
    }
}

/// Decides in order; gives back those that want more rows.
fn decide_all<'a>(rows: &mut Rows, at: &Context<'_>, tasks: Vec<&'a mut Box<dyn Task>>) -> Vec<&'a mut Box<dyn Task>> {
    let mut undecided = Vec::new();
    for task in tasks {
        match guarded(|| rows.attempt(|rows| task.decide(rows, at))) {
            Some(Ok(())) => {}
            Some(Err(Stop::Missing)) => undecided.push(task),
            Some(Err(Stop::Rejected(rejection))) => task.settle(Refused::Rejected(rejection)),
            None => {
                tracing::error!(command = task.name(), "a command broke a rule inside and was refused");
                task.settle(Refused::Internal);
            }
        }
    }
    undecided
}

/// A broken invariant stops the command that broke it, never its batch. `None` if it panicked.
fn guarded<T>(decide: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(decide)).ok()
}

/// A command on its way through a batch.
pub(crate) trait Task: Send {
    fn name(&self) -> &'static str;
    fn weight(&self) -> usize;
    /// False if whoever sent the command has given up waiting.
    fn take_turn(&self) -> bool;
    /// How long the command has waited.
    fn waited(&self) -> Duration;
    /// Decides, and keeps the outcome until the batch is committed.
    fn decide(&mut self, rows: &mut Rows, at: &Context<'_>) -> Decision<()>;
    /// Keeps a refusal until the batch is committed: it may rest on what others in the batch did.
    fn settle(&mut self, refused: Refused);
    /// Sends what was decided.
    fn answer(self: Box<Self>);
    fn refuse(self: Box<Self>, refused: Refused);
}

/// Who gets to a waiting command first: the engine, or the patience of its sender.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU8);

impl Turn {
    const WAITING: u8 = 0;
    const TAKEN: u8 = 1;
    const GIVEN_UP: u8 = 2;

    fn take(&self) -> bool {
        self.0.compare_exchange(Self::WAITING, Self::TAKEN, Ordering::AcqRel, Ordering::Acquire) != Err(Self::GIVEN_UP)
    }

    pub(crate) fn give_up(&self) -> bool {
        self.0.compare_exchange(Self::WAITING, Self::GIVEN_UP, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

pub(crate) struct CommandTask<C: Command> {
    command: C,
    once: Option<Once<C::Outcome>>,
    turn: Arc<Turn>,
    waiting_since: Instant,
    decided: Option<Result<Answer<C::Outcome>, Refused>>,
    reply: oneshot::Sender<Result<Answer<C::Outcome>, Refused>>,
}

impl<C: Command> CommandTask<C> {
    pub(crate) fn new(command: C, once: Option<Once<C::Outcome>>, turn: Arc<Turn>) -> (Self, Pending<C::Outcome>) {
        let (reply, pending) = oneshot::channel();
        (Self { command, once, turn, waiting_since: Instant::now(), decided: None, reply }, pending)
    }
}

impl<C: Command> Task for CommandTask<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn weight(&self) -> usize {
        self.command.weight()
    }

    fn take_turn(&self) -> bool {
        self.turn.take()
    }

    fn waited(&self) -> Duration {
        self.waiting_since.elapsed()
    }

    fn decide(&mut self, rows: &mut Rows, at: &Context<'_>) -> Decision<()> {
        if let Some(once) = &self.once {
            match receipt::find(rows, at, &once.id, &once.fingerprint) {
                Ok(None) => {}
                Ok(Some(response)) => {
                    self.decided = Some(Ok(Answer::Replayed(response)));
                    return Ok(());
                }
                Err(Stop::Missing) => {
                    // Name the command's own rows in the same round.
                    self.command.decide(rows, at).ok();
                    return Err(Stop::Missing);
                }
                Err(refused) => return Err(refused),
            }
        }
        let outcome = self.command.decide(rows, at)?;
        self.decided = Some(Ok(match &self.once {
            None => Answer::Fresh(outcome),
            Some(once) => {
                let response = (once.render)(&outcome);
                receipt::keep(rows, at, once.id.clone(), once.fingerprint, response.clone());
                Answer::Kept(response)
            }
        }));
        Ok(())
    }

    fn settle(&mut self, refused: Refused) {
        self.decided = Some(Err(refused));
    }

    fn answer(self: Box<Self>) {
        // Nobody may be listening any more; what was committed stays committed.
        self.reply.send(self.decided.unwrap_or(Err(Refused::Internal))).ok();
    }

    fn refuse(self: Box<Self>, refused: Refused) {
        self.reply.send(Err(refused)).ok();
    }
}
