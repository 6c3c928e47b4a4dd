//! What a command is, and the two ways in which it can stop.

use crate::calendar;
use crate::id::UserId;
use crate::rejection::Rejection;
use crate::relay;
use crate::rows::Rows;
use crate::shop;
use crate::stay;
use crate::tee;
use crate::ticket;
use crate::time::{Span, Timestamp};
use crate::webhook;

/// A change somebody asks for.
///
/// `decide` may run several times: first to name the rows it needs, then on those rows. It must depend on nothing but
/// its arguments. Whatever it wrote before it stopped is undone by the caller ([`Rows::attempt`]).
///
/// Where live and durable rows lie in two stores, no commit covers both. A command that writes both is then carried out
/// in three steps instead, each a commit of its own: [`prepare`](Self::prepare), [`record`](Self::record),
/// [`finish`](Self::finish). What has been recorded has happened, whatever becomes of the rest.
pub trait Command: Send + 'static {
    type Outcome: Send + 'static;

    /// For metrics and logs.
    const NAME: &'static str;

    /// Which rows it may write. It may read any.
    const WRITES: Writes;

    /// All of it at once.
    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Self::Outcome>;

    /// First of three, live rows only: sees to it that what will be recorded stays possible, whatever time or others do.
    fn prepare(&self, _rows: &mut Rows, _at: &Context<'_>) -> Decision<Attempt> {
        unreachable!("{} writes one kind of rows", Self::NAME)
    }

    /// Second of three, durable rows only. Live rows are as `prepare` left them.
    fn record(&self, _rows: &mut Rows, _at: &Context<'_>, _attempt: Attempt) -> Decision<Self::Outcome> {
        unreachable!("{} writes one kind of rows", Self::NAME)
    }

    /// Last of three, live rows only: takes back what `prepare` did. Without an outcome nothing was recorded.
    fn finish(
        &self,
        _rows: &mut Rows,
        _at: &Context<'_>,
        _attempt: Attempt,
        _outcome: Option<&Self::Outcome>,
    ) -> Decision<()> {
        unreachable!("{} writes one kind of rows", Self::NAME)
    }

    /// Commands of the same lane touch the same rows and belong into one batch; those of others may be decided at the same
    /// time, where a store allows it. It is a hint: whatever gets in each other's way is noticed at the commit.
    fn lane(&self) -> u64 {
        0
    }

    /// User for whom it is carried out, if it names one. The engine's queue serves users in turn.
    fn user(&self) -> Option<UserId> {
        None
    }

    /// How much work this is, in units of one ordinary command. Stores set numbers aside by it, and generously: a command
    /// draws no more than [`NUMBERS_PER_WEIGHT_MAX`](crate::id::NUMBERS_PER_WEIGHT_MAX) times its weight of a sequence.
    fn weight(&self) -> usize {
        1
    }

    /// How much more it is where live and durable rows lie in two stores.
    fn weight_in_steps(&self) -> usize {
        0
    }
}

/// Which rows a command may write. Live rows are holds and what follows from them; all others are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    Live,
    Durable,
    Both,
}

/// Tells one try to carry out a command in three steps from the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attempt(pub u32);

/// The moment of a decision and the settings that bind it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub now: Timestamp,
    pub limits: &'a Limits,
}

/// Settings that rules depend on.
#[derive(Clone, Debug)]
pub struct Limits {
    pub holds_per_user_max: u32,
    pub relay: relay::Limits,
    pub stay: stay::Limits,
    pub shop: shop::Limits,
    pub calendar: calendar::Limits,
    pub ticket: ticket::Limits,
    pub tee: tee::Limits,
    pub webhook: webhook::Limits,
}

impl Limits {
    /// What holds if nobody says otherwise.
    pub const DEFAULT: Self = Self {
        holds_per_user_max: 50,
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

/// A decision ends in an outcome, or stops.
pub type Decision<T> = Result<T, Stop>;

/// Why a decision went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Rows are wanted that are not in the working set yet: load them, decide again.
    Missing,
    /// Somebody is between two steps on the same rows; how that ends decides this too. Decide again in a moment.
    Busy,
    /// The answer is no.
    Rejected(Rejection),
}

/// A row was asked for that is not in the working set; the table remembers which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing;

impl From<Missing> for Stop {
    fn from(_: Missing) -> Self {
        Self::Missing
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
