//! Commands, and the reasons why a decision stops.

use crate::calendar;
use crate::hold;
use crate::id::UserId;
use crate::rejection::Rejection;
use crate::relay;
use crate::shop;
use crate::stay;
use crate::tee;
use crate::ticket;
use crate::time::{Span, Timestamp};
use crate::webhook;
use crate::working_set::WorkingSet;

/// A requested change.
///
/// `decide` may run several times: first as a dry run that collects its read set, then on loaded rows. It depends on
/// its arguments only. If it stops, the caller rolls back its writes ([`WorkingSet::attempt`]).
///
/// Where live and durable rows lie in two stores, no commit covers both. A command that writes both then runs as a
/// two-phase commit, see [`TwoPhase`].
pub trait Command: Sized + Send + 'static {
    type Outcome: Send + 'static;

    /// Name in metrics and logs.
    const NAME: &'static str;

    /// Rows that the command may write: [`writes::Live`], [`writes::Durable`] or [`writes::Both`]. It may read any.
    type Writes: WriteMode<Self>;

    /// Decides the command as a whole, in one commit.
    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Outcome>;

    /// Batching hint. Commands of the same lane touch the same rows and belong in one batch; those of different lanes
    /// may be decided concurrently, where a store allows it. Conflicts are detected at commit in any case.
    fn lane(&self) -> u64 {
        0
    }

    /// User for whom it is carried out, if it names one. The engine's queue serves users in turn.
    fn user(&self) -> Option<&UserId> {
        None
    }

    /// Work of the command, in units of one ordinary command. Stores reserve ids in proportion to it: a command draws
    /// at most [`NUMBERS_PER_WEIGHT_MAX`](crate::id::NUMBERS_PER_WEIGHT_MAX) times its weight of a sequence.
    fn weight(&self) -> usize {
        1
    }

    /// Additional weight where live and durable rows lie in two stores.
    fn weight_in_steps(&self) -> usize {
        0
    }
}

/// A command that writes live and durable rows. Where they lie in two stores it runs in three steps, each a commit of its
/// own. The commit of `record` decides the outcome, even if `finish` fails.
pub trait TwoPhase: Command {
    /// Identifies what `prepare` wrote.
    type Prepared: Send + 'static;

    /// First step, live rows only: ensures that the record stays possible until `finish`, independent of time and other
    /// commands.
    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Prepared>;

    /// Second step, durable rows only. Live rows are as `prepare` left them.
    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &Self::Prepared) -> Decision<Self::Outcome>;

    /// Last step, live rows only: reverts `prepare`. `None` as outcome means that no outcome was recorded.
    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &Self::Prepared,
        outcome: Option<&Self::Outcome>,
    ) -> Decision<()>;
}

/// Rows that a command may write. Live rows are holds and the counts that follow from them; the rest is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    Live,
    Durable,
    Both,
}

/// Result of the first step of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstStep<P, T> {
    /// The other steps follow.
    Prepared(P),
    /// The command is decided as a whole.
    Done(T),
}

/// Steps of a command where live and durable rows lie in two stores, by the rows that it writes.
pub trait WriteMode<C: Command> {
    const WRITES: Writes;
    /// [`TwoPhase::Prepared`]; without values for a command of one step.
    type Prepared: Send + 'static;

    fn begin(command: &C, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<FirstStep<Self::Prepared, C::Outcome>>;

    fn record(command: &C, rows: &mut WorkingSet, at: &Context<'_>, prepared: &Self::Prepared) -> Decision<C::Outcome>;

    fn finish(
        command: &C,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &Self::Prepared,
        outcome: Option<&C::Outcome>,
    ) -> Decision<()>;
}

/// The modes of [`Command::Writes`].
pub mod writes {
    use std::convert::Infallible;

    use super::{Command, Context, Decision, FirstStep, TwoPhase, WriteMode, Writes};
    use crate::working_set::WorkingSet;

    /// Live rows only: decided in the first step.
    #[derive(Debug)]
    pub enum Live {}
    /// Durable rows only: decided in the second step.
    #[derive(Debug)]
    pub enum Durable {}
    /// Both kinds: a [`TwoPhase`] command.
    #[derive(Debug)]
    pub enum Both {}

    macro_rules! one_step {
        ($($mode:ident),+) => { $(
            impl<C: Command> WriteMode<C> for $mode {
                const WRITES: Writes = Writes::$mode;
                type Prepared = Infallible;

                fn begin(
                    command: &C,
                    rows: &mut WorkingSet,
                    at: &Context<'_>,
                ) -> Decision<FirstStep<Infallible, C::Outcome>> {
                    command.decide(rows, at).map(FirstStep::Done)
                }

                fn record(
                    _: &C,
                    _: &mut WorkingSet,
                    _: &Context<'_>,
                    prepared: &Infallible,
                ) -> Decision<C::Outcome> {
                    match *prepared {}
                }

                fn finish(
                    _: &C,
                    _: &mut WorkingSet,
                    _: &Context<'_>,
                    prepared: &Infallible,
                    _: Option<&C::Outcome>,
                ) -> Decision<()> {
                    match *prepared {}
                }
            }
        )+ };
    }
    one_step!(Live, Durable);

    impl<C: TwoPhase> WriteMode<C> for Both {
        const WRITES: Writes = Writes::Both;
        type Prepared = C::Prepared;

        fn begin(command: &C, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<FirstStep<C::Prepared, C::Outcome>> {
            command.prepare(rows, at).map(FirstStep::Prepared)
        }

        fn record(
            command: &C,
            rows: &mut WorkingSet,
            at: &Context<'_>,
            prepared: &C::Prepared,
        ) -> Decision<C::Outcome> {
            command.record(rows, at, prepared)
        }

        fn finish(
            command: &C,
            rows: &mut WorkingSet,
            at: &Context<'_>,
            prepared: &C::Prepared,
            outcome: Option<&C::Outcome>,
        ) -> Decision<()> {
            command.finish(rows, at, prepared, outcome)
        }
    }
}

/// Number of an attempt to execute a command in three steps; distinguishes it from later attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attempt(pub u32);

/// Time of a decision, and the settings that apply to it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub now: Timestamp,
    pub limits: &'a Limits,
}

impl Context<'_> {
    /// Returns the end of a hold that is placed now: the first full second at or after `now + ttl`. All counts of the hold
    /// end in the same instant, because tallies count by second.
    pub fn end_after(&self, ttl: Span) -> Timestamp {
        (self.now + ttl).rounded_up_to_second()
    }
}

/// Settings that the rules depend on.
#[derive(Clone, Debug)]
pub struct Limits {
    pub holds_per_user_max: u32,
    pub hold: hold::Limits,
    pub relay: relay::Limits,
    pub stay: stay::Limits,
    pub shop: shop::Limits,
    pub calendar: calendar::Limits,
    pub ticket: ticket::Limits,
    pub tee: tee::Limits,
    pub webhook: webhook::Limits,
}

impl Limits {
    /// Default settings.
    pub const DEFAULT: Self = Self {
        holds_per_user_max: 50,
        hold: hold::Limits::DEFAULT,
        relay: relay::Limits { retries_max: 5 },
        stay: stay::Limits { hold_ttl: Span::from_secs(600) },
        shop: shop::Limits { hold_ttl: Span::from_secs(1_800) },
        calendar: calendar::Limits { lock_ttl: Span::from_secs(300), days_ahead: 60, keep_days: 92 },
        ticket: ticket::Limits { hold_ttl: Span::from_secs(300) },
        tee: tee::Limits {
            saga_timeout: Span::from_secs(60),
            key_ttl: Span::from_hours(24),
            refund: tee::RefundPolicy::DEFAULT,
        },
        webhook: webhook::Limits::DEFAULT,
    };
}

/// Result of a decision: an outcome, or the reason why it stopped.
pub type Decision<T> = Result<T, Stop>;

/// Reason why a decision stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Requested rows are not in the working set yet: load them and decide again.
    NeedRows,
    /// A prepared attempt of another command decides the outcome: back off and decide again.
    Retry,
    /// The command is rejected.
    Rejected(Rejection),
}

/// A requested row is not in the working set. The table has recorded the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedRows;

impl From<NeedRows> for Stop {
    fn from(_: NeedRows) -> Self {
        Self::NeedRows
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
