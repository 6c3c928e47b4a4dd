//! One batch: load → decide → commit → reply.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use holdfast_core::receipt::{self, ReceiptId};
use holdfast_core::table::TableSet;
use holdfast_core::{Command, Context, Decision, Limits, Rejection, Rows, Stop, Timestamp};
use tokio::sync::oneshot;

use crate::sink::{EventSink, Published};
use crate::store::{Store, StoreError};

/// A command that still wants other rows after so many loads is asking in circles.
const LOADS_MAX: usize = 16;

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
    #[error("the store failed: {0}")]
    StoreUnavailable(String),
    #[error("no word from the store in time; the command may or may not have been carried out")]
    OutcomeUnknown,
    #[error("a rule was broken inside; the command was not carried out")]
    Internal,
}

/// Makes a command safe to repeat under a key.
pub struct Once<T> {
    pub id: ReceiptId,
    /// Tells whether a repeated request is the same request.
    pub fingerprint: [u8; 32],
    /// Writes the answer down, to be given again.
    pub render: Box<dyn Fn(&T) -> Vec<u8> + Send>,
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
    pub async fn run(self, store: &dyn Store, sink: &dyn EventSink, limits: Limits) {
        run(store, sink, limits, self.tasks).await;
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tasks.iter().map(|task| task.name())).finish()
    }
}

/// Runs one batch to its end; every task is answered.
pub(crate) async fn run(store: &dyn Store, sink: &dyn EventSink, limits: Limits, mut tasks: Vec<Box<dyn Task>>) {
    tasks.retain(|task| task.take_turn());
    if tasks.is_empty() {
        return;
    }
    metrics::histogram!("holdfast_batch_commands").record(tasks.len() as f64);
    match decide_and_commit(store, sink, limits, &mut tasks).await {
        Ok(()) => tasks.into_iter().for_each(|task| task.answer()),
        Err(Failure::Store(error)) => {
            metrics::counter!("holdfast_batch_failures_total").increment(1);
            tracing::error!(%error, commands = tasks.len(), "a batch failed; nothing of it was kept");
            let refused = Refused::StoreUnavailable(error.to_string());
            tasks.into_iter().for_each(|task| task.refuse(refused.clone()));
        }
        Err(Failure::Panic) if tasks.len() > 1 => {
            // Find out whose rule broke, without letting the others pay for it.
            for task in tasks {
                Box::pin(run(store, sink, limits, vec![task])).await;
            }
        }
        Err(Failure::Panic) => {
            let task = tasks.pop().expect("one task");
            tracing::error!(command = task.name(), "a command broke a rule inside and was refused");
            task.refuse(Refused::Internal);
        }
    }
}

enum Failure {
    Store(StoreError),
    Panic,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

async fn decide_and_commit(
    store: &dyn Store,
    sink: &dyn EventSink,
    limits: Limits,
    tasks: &mut [Box<dyn Task>],
) -> Result<(), Failure> {
    let mut session = store.begin().await?;
    let mut rows = Rows::default();

    let began = Instant::now();
    let mut undecided: Vec<&mut Box<dyn Task>> = tasks.iter_mut().collect();
    name_wanted_rows(&mut rows, limits, &mut undecided)?;
    let mut now = Timestamp::default();
    for _ in 0..LOADS_MAX {
        now = session.load(&mut rows).await?;
        let at = Context { now, limits };
        undecided = decide_all(&mut rows, &at, undecided)?;
        if undecided.is_empty() {
            break;
        }
    }
    assert!(undecided.is_empty(), "{} asks for rows in circles", undecided[0].name());
    metrics::histogram!("holdfast_batch_decide_seconds").record(began.elapsed());

    let events = rows.events.take();
    let outbox: Vec<_> =
        events.iter().filter(|event| event.is_durable()).map(|event| sink.encode(event, now)).collect();
    if !rows.has_changes() {
        return Ok(());
    }
    let began = Instant::now();
    let mut outbox_ids = session.commit(&mut rows, &outbox).await?.into_iter();
    metrics::histogram!("holdfast_batch_commit_seconds").record(began.elapsed());
    let published = events.into_iter().map(|event| {
        let outbox_id = if event.is_durable() { outbox_ids.next() } else { None };
        Published { event, outbox_id, at: now }
    });
    sink.publish(published.collect());
    Ok(())
}

/// Lets each command say which rows it wants. Nothing it decides counts: it has seen neither rows nor the time.
fn name_wanted_rows(rows: &mut Rows, limits: Limits, tasks: &mut [&mut Box<dyn Task>]) -> Result<(), Failure> {
    let at = Context { now: Timestamp::default(), limits };
    for task in tasks {
        guard(|| rows.attempt(|rows| task.decide(rows, &at).and(Err::<(), _>(Stop::Missing))))?.ok();
    }
    Ok(())
}

/// Decides in order; gives back those that want more rows.
fn decide_all<'a>(
    rows: &mut Rows,
    at: &Context,
    tasks: Vec<&'a mut Box<dyn Task>>,
) -> Result<Vec<&'a mut Box<dyn Task>>, Failure> {
    let mut undecided = Vec::new();
    for task in tasks {
        match guard(|| rows.attempt(|rows| task.decide(rows, at)))? {
            Err(Stop::Missing) => undecided.push(task),
            Err(Stop::Rejected(rejection)) => task.reject(rejection),
            Ok(()) => {}
        }
    }
    Ok(undecided)
}

/// A broken invariant stops the command that broke it, never the engine.
fn guard<T>(decide: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(decide)).map_err(|_| Failure::Panic)
}

/// A command on its way through a batch.
pub(crate) trait Task: Send {
    fn name(&self) -> &'static str;
    fn weight(&self) -> usize;
    /// False if whoever sent the command has given up waiting.
    fn take_turn(&self) -> bool;
    /// Decides, and keeps the outcome until the batch is committed.
    fn decide(&mut self, rows: &mut Rows, at: &Context) -> Decision<()>;
    fn reject(&mut self, rejection: Rejection);
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
        let taken = self.turn.take();
        if taken {
            metrics::histogram!("holdfast_command_wait_seconds").record(self.waiting_since.elapsed());
        }
        taken
    }

    fn decide(&mut self, rows: &mut Rows, at: &Context) -> Decision<()> {
        if let Some(once) = &self.once
            && let Some(response) = receipt::find(rows, at, &once.id, &once.fingerprint)?
        {
            self.decided = Some(Ok(Answer::Replayed(response)));
            return Ok(());
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

    fn reject(&mut self, rejection: Rejection) {
        self.decided = Some(Err(Refused::Rejected(rejection)));
    }

    fn answer(self: Box<Self>) {
        // Nobody may be listening any more; what was committed stays committed.
        self.reply.send(self.decided.unwrap_or(Err(Refused::Internal))).ok();
    }

    fn refuse(self: Box<Self>, refused: Refused) {
        self.reply.send(Err(refused)).ok();
    }
}
