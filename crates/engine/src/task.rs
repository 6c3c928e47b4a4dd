//! A command on its way through a batch: its step, its result, and the receiver of its reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use holdfast_core::command::{FirstStep, WriteMode, Writes};
use holdfast_core::idempotency::{self, IdempotencyRecordId};
use holdfast_core::{Command, Context, Decision, Rejection, Stop, WorkingSet};
use tokio::sync::oneshot;

use crate::store::{StoreError, Tier};
use crate::trace::{self, Trace};

/// Reply to a successful command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    Fresh(T),
    /// The command ran under an idempotency key: the response as recorded.
    Recorded(Vec<u8>),
    /// The response first recorded under the same idempotency key.
    Replayed(Vec<u8>),
}

/// Reason why a command failed. Unless stated otherwise, the command changed no row.
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
    #[error("the store did not answer in time; the command may or may not have been carried out")]
    OutcomeUnknown,
    #[error("internal error; the command was not carried out")]
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

/// Renders the response that is sent and recorded; `None` if no part succeeded, and no response is recorded.
pub type Render<T> = Box<dyn Fn(&T) -> Option<Vec<u8>> + Send>;

/// Idempotency of a command under a key.
pub struct Once<T> {
    pub id: IdempotencyRecordId,
    /// Fingerprint by which a repeated request is recognized.
    pub fingerprint: [u8; 32],
    /// Renders the response to be replayed.
    pub render: Render<T>,
}

impl<T> std::fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Receiver of the reply to a command.
pub type Pending<T> = oneshot::Receiver<Result<Answer<T>, Refused>>;

/// Part of a command that is decided. See [`Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Whole,
    /// Also a whole command that writes live rows only.
    Prepare,
    /// Also a whole command that writes durable rows only.
    Record,
    Finish,
}

impl Step {
    pub(crate) fn tier(self) -> Tier {
        match self {
            Self::Whole => Tier::Whole,
            Self::Prepare | Self::Finish => Tier::Live,
            Self::Record => Tier::Durable,
        }
    }
}

/// A command on its way through a batch.
pub(crate) trait Task: Send {
    fn name(&self) -> &'static str;
    fn weight(&self) -> usize;
    fn writes(&self) -> Writes;
    /// Trace of the request that the command is part of.
    fn trace(&self) -> Option<Trace>;
    /// Returns false if the caller has stopped waiting.
    fn take(&self) -> bool;
    /// Time since the command was queued.
    fn waited(&self) -> Duration;
    /// Whether the task has something to decide in this step.
    fn takes_part(&self, step: Step) -> bool;
    /// Discards the result of an earlier run of this step, before a conflict.
    fn begin(&mut self, step: Step);
    /// Decides, and keeps the outcome until the batch is committed.
    fn decide(&mut self, rows: &mut WorkingSet, at: &Context<'_>, step: Step) -> Decision<()>;
    /// Keeps a failure until the batch is committed, because it may depend on other effects of the batch.
    fn fail(&mut self, refused: Refused);
    /// Marks the task for a retry after a backoff.
    fn back_off(&mut self);
    /// Whether the task must be retried; resets the mark.
    fn must_retry(&mut self) -> bool;
    /// Whether the command is prepared and not recorded yet.
    fn is_under_way(&self) -> bool;
    /// Discards an outcome that was not recorded.
    fn discard_outcome(&mut self);
    /// Sends the result.
    fn answer(self: Box<Self>);
    fn refuse(self: Box<Self>, refused: Refused);
}

/// Ownership of a queued command: taken by the engine, or withdrawn by its caller, whichever is first.
#[derive(Debug, Default)]
pub(crate) struct Ownership(AtomicU8);

impl Ownership {
    const WAITING: u8 = 0;
    const TAKEN: u8 = 1;
    const WITHDRAWN: u8 = 2;

    fn take(&self) -> bool {
        self.0.compare_exchange(Self::WAITING, Self::TAKEN, Ordering::AcqRel, Ordering::Acquire) != Err(Self::WITHDRAWN)
    }

    pub(crate) fn withdraw(&self) -> bool {
        self.0.compare_exchange(Self::WAITING, Self::WITHDRAWN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// Result of the first step of a command of several steps.
type Prepared<C> = <<C as Command>::Writes as WriteMode<C>>::Prepared;

pub(crate) struct CommandTask<C: Command> {
    command: C,
    once: Option<Once<C::Outcome>>,
    weight: usize,
    ownership: Arc<Ownership>,
    waiting_since: Instant,
    trace: Option<Trace>,
    /// Result of the first step, if the command runs in several steps.
    prepared: Option<Prepared<C>>,
    progress: Progress<C::Outcome>,
    reply: oneshot::Sender<Result<Answer<C::Outcome>, Refused>>,
}

/// Progress of a command.
enum Progress<T> {
    Undecided,
    Retry,
    Refused(Refused),
    Done {
        outcome: T,
        /// Response recorded under the idempotency key; `None` without a key or if no part succeeded.
        recorded: Option<Vec<u8>>,
    },
    Replayed(Vec<u8>),
}

impl<C: Command> CommandTask<C> {
    pub(crate) fn new(
        command: C,
        once: Option<Once<C::Outcome>>,
        weight: usize,
        ownership: Arc<Ownership>,
    ) -> (Self, Pending<C::Outcome>) {
        let (reply, pending) = oneshot::channel();
        let (prepared, progress) = (None, Progress::Undecided);
        let (waiting_since, trace) = (Instant::now(), trace::current());
        (Self { command, once, weight, ownership, waiting_since, trace, prepared, progress, reply }, pending)
    }

    /// Looks up the response recorded under the same key. While that is not loaded, requests the command's own rows
    /// too.
    fn replay(&mut self, rows: &mut WorkingSet, at: &Context<'_>, step: Step) -> Decision<bool> {
        let Some(once) = &self.once else { return Ok(false) };
        match idempotency::find(rows, at, &once.id, &once.fingerprint) {
            Ok(None) => Ok(false),
            Ok(Some(response)) => {
                self.progress = Progress::Replayed(response);
                Ok(true)
            }
            Err(Stop::NeedRows) => {
                let command = &self.command;
                match (step, &self.prepared) {
                    (Step::Record, Some(prepared)) => C::Writes::record(command, rows, at, prepared).map(|_| ()).ok(),
                    (Step::Whole, _) => command.decide(rows, at).map(|_| ()).ok(),
                    _ => C::Writes::begin(command, rows, at).map(|_| ()).ok(),
                };
                Err(Stop::NeedRows)
            }
            Err(refused) => Err(refused),
        }
    }

    fn run_step(&mut self, rows: &mut WorkingSet, at: &Context<'_>, step: Step) -> Decision<()> {
        let outcome = match (step, &self.prepared) {
            (Step::Record, Some(prepared)) => C::Writes::record(&self.command, rows, at, prepared)?,
            (Step::Whole, _) => self.command.decide(rows, at)?,
            _ => match C::Writes::begin(&self.command, rows, at)? {
                FirstStep::Done(outcome) => outcome,
                FirstStep::Prepared(prepared) => {
                    self.prepared = Some(prepared);
                    return Ok(());
                }
            },
        };
        self.done(rows, at, outcome);
        Ok(())
    }

    fn done(&mut self, rows: &mut WorkingSet, at: &Context<'_>, outcome: C::Outcome) {
        let recorded = self.once.as_ref().and_then(|once| {
            let response = (once.render)(&outcome)?;
            idempotency::keep(rows, at, once.id.clone(), once.fingerprint, response.clone());
            Some(response)
        });
        self.progress = Progress::Done { outcome, recorded };
    }
}

impl<C: Command> Task for CommandTask<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn writes(&self) -> Writes {
        C::Writes::WRITES
    }

    fn trace(&self) -> Option<Trace> {
        self.trace
    }

    fn take(&self) -> bool {
        self.ownership.take()
    }

    fn waited(&self) -> Duration {
        self.waiting_since.elapsed()
    }

    fn takes_part(&self, step: Step) -> bool {
        match step {
            Step::Whole => true,
            Step::Prepare => self.writes() != Writes::Durable,
            Step::Record => self.writes() == Writes::Durable || self.is_under_way(),
            Step::Finish => self.prepared.is_some(),
        }
    }

    fn begin(&mut self, step: Step) {
        if step == Step::Prepare {
            self.prepared = None;
        }
        if step != Step::Finish {
            self.progress = Progress::Undecided;
        }
    }

    fn decide(&mut self, rows: &mut WorkingSet, at: &Context<'_>, step: Step) -> Decision<()> {
        if let (Step::Finish, Some(prepared)) = (step, &self.prepared) {
            let outcome = match &self.progress {
                Progress::Done { outcome, .. } => Some(outcome),
                _ => None,
            };
            return C::Writes::finish(&self.command, rows, at, prepared, outcome);
        }
        if self.replay(rows, at, step)? { Ok(()) } else { self.run_step(rows, at, step) }
    }

    fn fail(&mut self, refused: Refused) {
        self.progress = Progress::Refused(refused);
    }

    fn back_off(&mut self) {
        self.progress = Progress::Retry;
    }

    fn must_retry(&mut self) -> bool {
        let must_retry = matches!(self.progress, Progress::Retry);
        if must_retry {
            self.progress = Progress::Undecided;
        }
        must_retry
    }

    fn is_under_way(&self) -> bool {
        self.prepared.is_some() && matches!(self.progress, Progress::Undecided)
    }

    fn discard_outcome(&mut self) {
        self.progress = Progress::Undecided;
    }

    fn answer(self: Box<Self>) {
        let answer = match self.progress {
            Progress::Done { recorded: Some(response), .. } => Ok(Answer::Recorded(response)),
            Progress::Done { outcome, recorded: None } => Ok(Answer::Fresh(outcome)),
            Progress::Replayed(response) => Ok(Answer::Replayed(response)),
            Progress::Refused(refused) => Err(refused),
            Progress::Undecided | Progress::Retry => Err(Refused::Internal),
        };
        // The caller may have stopped waiting; the commit is not affected.
        self.reply.send(answer).ok();
    }

    fn refuse(self: Box<Self>, refused: Refused) {
        self.reply.send(Err(refused)).ok();
    }
}
