//! The life of a hold: an all-or-nothing claim of one owner on units of one or more lines, with an end.
//!
//! A hold never changes a durable count. Its quantities are counted in `rows.held` by the second of their end, so they
//! stop counting without a job. This module has the whole life of a hold; a vertical contributes its line
//! ([`LineItem`]): the claimed units, index entries, and what confirming records.
//!
//! | module | contents |
//! | --- | --- |
//! | [`mod@line`], [`mod@request`] | lines, items and requests: a vertical's part of a hold |
//! | [`count`] | availability, quantities held per unit, limit of holds per user |
//! | [`place`] | inserting a new hold |
//! | [`confirm`] | turning a hold into records, in one commit or as a two-phase commit |
//! | [`recover`] | finishing a confirm attempt whose server failed |
//! | [`cancel`] | ending a hold before its time |
//! | [`extend`] | moving the end of a hold |
//! | [`owner`] | live holds of an owner |
//! | [`audit`] | consistency rules of holds and their records |

pub mod audit;
pub mod cancel;
pub mod confirm;
pub mod count;
pub mod extend;
pub mod line;
pub mod owner;
pub mod place;
pub mod recover;
pub mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::actor::Actor;
use crate::claim::refund::RefundTiers;
use crate::command::{Attempt, Decision, Stop};
use crate::id::{HoldId, UserId};
use crate::money::Currency;
use crate::rejection::{CalendarRejection, ClaimRejection, Rejection, StayRejection, TicketRejection};
use crate::table::Row;
use crate::ticket::{EventId, SeatsItem};
use crate::time::{Span, Timestamp};
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

pub use cancel::CancelHold;
pub use confirm::{ConfirmHold, Decided, Records};
pub use count::{available, check_hold_limit, check_suspended, effective_capacity, has_prepared, held};
pub use extend::{ExtendHold, NewEnd};
pub use line::{EndpointItem, Item, Line, LineItem, LineRecord, LineState, RecordType};
pub use recover::RecoverHold;
pub use request::LineRequest;

/// Retention of ended holds, which stay readable for this time.
pub const ENDED_HOLD_KEPT: Span = Span::from_hours(24);

/// Upper bound of every hold TTL setting.
pub const HOLD_TTL_MAX: Span = Span::from_days(31);

/// Settings of the life of a hold.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of extensions of a hold.
    pub extensions_max: u8,
    /// Maximum time from placing a hold to an end that an extension sets.
    pub lifetime_max: Span,
    /// Maximum TTL that an operator may choose.
    pub ttl_max: Span,
    /// Refunds of holds that are placed from now on.
    pub refund: RefundTiers,
}

impl Limits {
    /// Default settings.
    pub const DEFAULT: Self = Self {
        extensions_max: 5,
        lifetime_max: Span::from_hours(2),
        ttl_max: Span::from_hours(24),
        refund: RefundTiers::DEFAULT,
    };

    /// Returns the refund tiers to keep with a new hold; `None` for the default.
    pub fn refund_of_new_holds(&self) -> Option<RefundTiers> {
        (self.refund != RefundTiers::DEFAULT).then_some(self.refund)
    }
}

/// A claim of one owner, with its end and state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub id: HoldId,
    pub owner: UserId,
    pub origin: Origin,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// End of a pending payment; the hold does not end before it.
    pub pay_by: Option<Timestamp>,
    pub state: HoldState,
    /// Number of changes visible to clients since the hold was placed; prepare and abort do not count.
    pub version: u32,
    /// Number of extensions.
    pub extensions: u8,
    /// Latest confirm attempt that was prepared; stays 0 where confirming is a single commit.
    pub attempt: Attempt,
    pub currency: Currency,
    pub lines: Arc<[Line]>,
    /// Absent for most holds.
    pub extras: Option<Arc<Extras>>,
}

/// Terms of a new hold, as its endpoint decides them.
#[derive(Debug)]
pub struct Placement<L> {
    pub id: HoldId,
    pub owner: UserId,
    pub origin: Origin,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub currency: Currency,
    /// Price and item of each line.
    pub lines: L,
    pub extras: Extras,
}

/// Endpoint that placed a hold. It decides which holds replace it, and the error codes of its owner's vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Stay,
    Cart,
    Seats,
    Lock,
    Claim,
    /// Placed by the system user while slots are being blocked, where live and durable rows lie in two stores. It
    /// becomes no record.
    System,
}

/// Stored state of a hold. Expiry is not stored, because it follows from the time: see [`Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    Held,
    /// Prepared by a confirm attempt: the hold no longer ends by time, and only that attempt's outcome can end it.
    Prepared,
    Confirmed,
    Cancelled,
    Replaced {
        by: HoldId,
    },
}

/// Status of a hold at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Held,
    Prepared,
    Confirmed,
    Cancelled,
    Replaced,
    Expired,
}

/// Terms that most holds do not have. Reference and metadata are the caller's, and never interpreted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// The caller's own id, not unique.
    pub reference: Option<Arc<str>>,
    /// Pairs of key and value, in the order given.
    pub metadata: Vec<(Arc<str>, Arc<str>)>,
    /// Refunds of cancelled lines; `None` for the default.
    pub refund: Option<RefundTiers>,
}

impl Extras {
    /// Returns the terms of a hold without data of the caller.
    pub fn of_new_hold(limits: &Limits) -> Self {
        Self { refund: limits.refund_of_new_holds(), ..Self::default() }
    }

    /// Returns `None` if all terms are the default.
    pub(crate) fn into_shared(self) -> Option<Arc<Self>> {
        (self != Self::default()).then(|| Arc::new(self))
    }
}

/// Identity of one confirm attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    pub hold: HoldId,
    pub attempt: Attempt,
}

/// Reason why an endpoint of a vertical cannot change a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldFault {
    NotFound,
    /// Expired or replaced.
    Ended,
    /// Confirmed or cancelled; with the record of its first line if it was confirmed.
    Processed {
        record: Option<u64>,
    },
}

impl<L: IntoIterator<Item = (i64, Item)>> Placement<L> {
    /// Returns the hold, not inserted yet.
    pub fn into_hold(self) -> Hold {
        let line = |(index, (price, item))| Line { index, state: LineState::Held, price, item };
        Hold {
            id: self.id,
            owner: self.owner,
            origin: self.origin,
            created_at: self.created_at,
            expires_at: self.expires_at,
            pay_by: None,
            state: HoldState::Held,
            version: 0,
            extensions: 0,
            attempt: Attempt::default(),
            currency: self.currency,
            lines: (0..).zip(self.lines).map(line).collect(),
            extras: self.extras.into_shared(),
        }
    }
}

impl Hold {
    pub fn status(&self, now: Timestamp) -> Status {
        match self.state {
            HoldState::Held if now < self.ends_at() => Status::Held,
            HoldState::Held => Status::Expired,
            HoldState::Prepared => Status::Prepared,
            HoldState::Confirmed => Status::Confirmed,
            HoldState::Cancelled => Status::Cancelled,
            HoldState::Replaced { .. } => Status::Replaced,
        }
    }

    pub fn is_live(&self, now: Timestamp) -> bool {
        self.status(now) == Status::Held
    }

    /// Returns the end of a live hold: its own, or that of a pending payment if it is later.
    pub fn ends_at(&self) -> Timestamp {
        self.pay_by.map_or(self.expires_at, |pay_by| pay_by.max(self.expires_at))
    }

    /// Returns the time until which the units count; `None` while the hold is prepared.
    pub fn counted_until(&self) -> Option<Timestamp> {
        (self.state != HoldState::Prepared).then(|| self.ends_at())
    }

    /// Returns the latest confirm attempt.
    pub fn attempt_id(&self) -> AttemptId {
        AttemptId { hold: self.id, attempt: self.attempt }
    }

    /// Returns the record of the first confirmed line.
    pub fn record(&self) -> Option<u64> {
        self.lines.iter().find_map(|line| line.state.record())
    }

    /// Returns the units that the hold claims, with the quantity of each line.
    pub fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.held_lines().flat_map(|line| line.item.units())
    }

    /// Returns the lines that are neither released nor processed.
    pub fn held_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.state == LineState::Held)
    }

    /// Returns each type of the held lines once.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(|kind| self.held_lines().any(|line| line.item.kind() == *kind))
    }

    /// Returns the sum of the prices of all lines that are neither released nor cancelled.
    pub fn total(&self) -> i64 {
        let counts = |line: &&Line| matches!(line.state, LineState::Held | LineState::Confirmed { .. });
        self.lines.iter().filter(counts).map(|line| line.price).sum()
    }

    /// Returns the items of one type.
    pub fn items<I: LineItem>(&self) -> impl Iterator<Item = &I> {
        self.lines.iter().filter_map(|line| I::of(&line.item))
    }

    /// Returns the items of one type of lines that are held.
    pub(crate) fn held_items<I: LineItem>(&self) -> impl Iterator<Item = &I> {
        self.held_lines().filter_map(|line| I::of(&line.item))
    }

    /// Returns the line of a hold with a single line of this type, as the endpoint of its vertical places it.
    pub fn line<I: EndpointItem>(&self) -> (&Line, &I) {
        let line = self.lines.iter().find_map(|line| Some((line, I::of(&line.item)?)));
        line.expect("an endpoint's hold has one line of its type")
    }

    /// Returns the item of [`line`](Self::line).
    pub fn item<I: EndpointItem>(&self) -> &I {
        self.line::<I>().1
    }

    /// Returns each event with seats of confirmed lines once.
    pub fn seat_events(&self) -> BTreeSet<EventId> {
        let is_confirmed = |line: &&Line| matches!(line.state, LineState::Confirmed { .. });
        let items = self.lines.iter().filter(is_confirmed).filter_map(|line| SeatsItem::of(&line.item));
        items.map(|item| item.event).collect()
    }

    /// Returns the records of all lines that were confirmed, cancelled ones included.
    pub fn records(&self) -> Vec<LineRecord> {
        let record = |line: &Line| {
            let record = line.item.record_type(self.origin);
            line.state.record().map(|number| LineRecord { line: line.index, record, number })
        };
        self.lines.iter().filter_map(record).collect()
    }

    /// Whether all records have been cancelled.
    pub fn is_cancelled_after_confirm(&self) -> bool {
        self.state == HoldState::Confirmed
            && !self.lines.iter().any(|line| matches!(line.state, LineState::Confirmed { .. }))
    }

    /// Returns the refunds of cancelled lines, fixed when the hold was placed.
    pub fn refund_tiers(&self) -> RefundTiers {
        self.extras.as_ref().and_then(|extras| extras.refund).unwrap_or(RefundTiers::DEFAULT)
    }

    /// Returns the next version of a live hold, without the chosen lines.
    #[must_use]
    pub(crate) fn with_lines_released(&self, chosen: &[u16]) -> Self {
        let state = |line: &Line| match line.state {
            LineState::Held if chosen.contains(&line.index) => LineState::Released,
            state => state,
        };
        let lines = self.lines.iter().map(|line| Line { state: state(line), ..line.clone() }).collect();
        Self { lines, version: self.version + 1, ..self.clone() }
    }

    /// Returns the next version of a confirmed hold, with the chosen records cancelled.
    #[must_use]
    pub(crate) fn with_lines_cancelled(&self, is_chosen: impl Fn(u16) -> bool) -> Self {
        let state = |line: &Line| match line.state {
            LineState::Confirmed { record } if is_chosen(line.index) => LineState::Cancelled { record },
            state => state,
        };
        let lines = self.lines.iter().map(|line| Line { state: state(line), ..line.clone() }).collect();
        Self { lines, version: self.version + 1, ..self.clone() }
    }

    /// Returns the hold in another state, as the next version.
    #[must_use]
    pub fn with_state(&self, state: HoldState) -> Self {
        Self { state, version: self.version + 1, ..self.clone() }
    }
}

impl Row for Hold {
    fn kept_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            HoldState::Prepared => None,
            HoldState::Held => Some(self.ends_at() + ENDED_HOLD_KEPT),
            HoldState::Confirmed | HoldState::Cancelled | HoldState::Replaced { .. } => Some(now + ENDED_HOLD_KEPT),
        }
    }
}

impl LineState {
    pub fn record(self) -> Option<u64> {
        match self {
            Self::Confirmed { record } | Self::Cancelled { record } => Some(record),
            Self::Held | Self::Released => None,
        }
    }
}

impl Origin {
    /// Returns the rejection of a query for an unknown hold.
    fn not_found(self) -> Rejection {
        match self {
            Self::Lock => CalendarRejection::LockNotFound.into(),
            Self::Stay | Self::Seats | Self::Cart | Self::Claim | Self::System => self.rejection(HoldFault::NotFound),
        }
    }

    /// Returns the rejection of a change for a fault of the hold.
    pub fn rejection(self, fault: HoldFault) -> Rejection {
        match self {
            Self::Stay => match fault {
                HoldFault::NotFound => StayRejection::StayHoldNotFound.into(),
                HoldFault::Ended => StayRejection::StayHoldExpired.into(),
                HoldFault::Processed { record } => {
                    StayRejection::StayHoldAlreadyProcessed { reservation: record }.into()
                }
            },
            Self::Seats => match fault {
                HoldFault::NotFound => TicketRejection::SeatHoldNotFound.into(),
                HoldFault::Ended => TicketRejection::SeatHoldExpired.into(),
                HoldFault::Processed { record } => {
                    TicketRejection::SeatHoldAlreadyProcessed { reservation: record }.into()
                }
            },
            Self::Lock => match fault {
                HoldFault::NotFound | HoldFault::Ended => CalendarRejection::SlotNotLocked { reservation: None }.into(),
                HoldFault::Processed { record } => CalendarRejection::SlotNotLocked { reservation: record }.into(),
            },
            Self::Cart | Self::Claim | Self::System => match fault {
                HoldFault::NotFound => ClaimRejection::ClaimNotFound.into(),
                HoldFault::Ended => ClaimRejection::ClaimExpired.into(),
                HoldFault::Processed { .. } => ClaimRejection::ClaimAlreadyProcessed { records: Vec::new() }.into(),
            },
        }
    }
}

/// Requests a hold in any state.
pub fn request(rows: &mut WorkingSet, id: HoldId) {
    rows.holds.request(&id);
    rows.confirmed_holds.request(&id);
}

/// Returns a hold in any state. In the Redis cluster a confirmed hold outlives its live row.
pub fn get(rows: &mut WorkingSet, id: HoldId) -> Decision<Option<Hold>> {
    let Some(hold) = rows.holds.get(&id)?.cloned() else { return Ok(rows.confirmed_holds.get(&id)?.cloned()) };
    if hold.state != HoldState::Confirmed {
        return Ok(Some(hold));
    }
    // The durable row has the changes since the hold was confirmed. In a single store it is the same row, which may have
    // been cached before that.
    let is_newer = |durable: &&Hold| durable.state == HoldState::Confirmed && durable.version >= hold.version;
    Ok(Some(rows.confirmed_holds.get(&id)?.filter(is_newer).cloned().unwrap_or(hold)))
}

/// Writes a confirmed hold that [`get`] returned: to its durable row, or in a single store to the row that was confirmed in
/// the same batch.
pub(crate) fn put_confirmed(rows: &mut WorkingSet, hold: Hold) -> Decision<()> {
    if rows.confirmed_holds.get(&hold.id)?.is_some() {
        rows.confirmed_holds.put(hold.id, hold);
    } else {
        rows.holds.get(&hold.id)?;
        rows.holds.put(hold.id, hold);
    }
    Ok(())
}

/// Marks lines as cancelled whose records the caller cancels. No effect if the hold is purged or lost.
pub fn cancel_lines(rows: &mut WorkingSet, hold: HoldId, is_chosen: impl Fn(u16) -> bool) -> Decision<()> {
    let Some(hold) = get(rows, hold)? else { return Ok(()) };
    match hold.state {
        // The attempt that made the record is not finished.
        HoldState::Prepared => Err(Stop::Retry),
        HoldState::Confirmed => put_confirmed(rows, hold.with_lines_cancelled(is_chosen)),
        HoldState::Held | HoldState::Cancelled | HoldState::Replaced { .. } => Ok(()),
    }
}

/// Returns a hold that this endpoint placed, to its owner or an operator; `None` if there is none.
fn find_placed(rows: &mut WorkingSet, id: HoldId, actor: &Actor, origin: Origin) -> Decision<Option<Hold>> {
    let Some(hold) = get(rows, id)?.filter(|hold| hold.origin == origin) else { return Ok(None) };
    actor.must_own(&hold.owner)?;
    Ok(Some(hold))
}

/// Returns a hold that this endpoint placed, to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor, origin: Origin) -> Decision<Hold> {
    Ok(find_placed(rows, id, actor, origin)?.ok_or_else(|| origin.not_found())?)
}

/// Returns a live hold that this endpoint placed and `actor` may change, and requests its counts and index entries.
/// Backs off while the hold is prepared.
pub fn find_live(rows: &mut WorkingSet, id: HoldId, actor: &Actor, origin: Origin, now: Timestamp) -> Decision<Hold> {
    let reject = |fault| Stop::from(origin.rejection(fault));
    let hold = find_placed(rows, id, actor, origin)?.ok_or_else(|| reject(HoldFault::NotFound))?;
    match hold.status(now) {
        Status::Held => {
            place::request_indexes(rows, &hold);
            Ok(hold)
        }
        Status::Prepared => Err(Stop::Retry),
        Status::Expired | Status::Replaced => Err(reject(HoldFault::Ended)),
        Status::Confirmed | Status::Cancelled => Err(reject(HoldFault::Processed { record: hold.record() })),
    }
}
