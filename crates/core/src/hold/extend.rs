//! Moving the end of a live hold.

use crate::actor::Actor;
use crate::claim;
use crate::command::{Command, Context, Decision, writes};
use crate::event::Event;
use crate::hold::{Hold, place};
use crate::id::HoldId;
use crate::rejection::{ClaimRejection, Fault, Rejection};
use crate::time::{Span, Timestamp};
use crate::working_set::WorkingSet;

/// Moves the end of a live hold of any origin. Its units, and its owner's counts, follow.
#[derive(Clone, Debug)]
pub struct ExtendHold {
    pub id: HoldId,
    pub actor: Actor,
    pub end: NewEnd,
    /// Expected version.
    pub version: Option<u32>,
}

/// New end of a hold; rounded up to a full second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewEnd {
    /// Counted from the present end.
    Later(Span),
    At(Timestamp),
}

impl Command for ExtendHold {
    type Outcome = Hold;
    const NAME: &'static str = "hold.extend";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Hold> {
        let hold = claim::find_live(rows, self.id, &self.actor, self.version, at.now)?;
        place::request_indexes(rows, &hold);
        let expires_at = self.expires_at(&hold)?;
        let max_until = (hold.created_at + at.limits.hold.lifetime_max).rounded_up_to_second();
        if expires_at > max_until || hold.extensions >= at.limits.hold.extensions_max {
            return Err(ClaimRejection::ExtensionLimit { max_until }.into());
        }
        let (version, extensions) = (hold.version + 1, hold.extensions + 1);
        let extended = Hold { expires_at, version, extensions, ..hold.clone() };
        place::update(rows, &hold, extended.clone(), at.now)?;
        rows.emit(Event::ClaimExtended(extended.clone()));
        Ok(extended)
    }
}

impl ExtendHold {
    /// Returns the new end, if it is later than the present one.
    fn expires_at(&self, hold: &Hold) -> Result<Timestamp, Rejection> {
        let (field, end) = match self.end {
            NewEnd::Later(span) => ("seconds", hold.expires_at + span),
            NewEnd::At(end) => ("until", end),
        };
        let end = end.rounded_up_to_second();
        if end > hold.expires_at { Ok(end) } else { Err(Rejection::invalid(field, Fault::EmptyRange)) }
    }
}
