//! Claims: holds seen and changed apart from the vertical that placed them, with lines of any types.
//!
//! Every hold is a claim. The endpoint that placed it (its [`Origin`]) limits how a claim is changed and confirmed.
//!
//! | module | contents |
//! | --- | --- |
//! | [`place`] | placing claims, all lines or those that are available, and dry runs |
//! | [`change`] | changing lines, owner and client data of a live claim |
//! | [`confirm`] | confirming all lines or some |
//! | [`cancel`] | cancelling live and confirmed claims, all lines or some |
//! | [`refund`] | refunds of cancelled lines |
//! | [`list`] | lists of claims |

pub mod cancel;
pub mod change;
pub mod confirm;
pub mod list;
pub mod place;
pub mod refund;

use std::sync::Arc;

use crate::actor::Actor;
use crate::command::{Decision, Stop};
use crate::hold::{self, Extras, Hold, HoldState, LineState, Origin, Status};
use crate::id::HoldId;
use crate::rejection::{ClaimRejection, Fault, Rejection};
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// Maximum number of lines of a claim.
pub const LINES_MAX: usize = 100;
/// Maximum number of different units of a claim.
pub const UNITS_MAX: usize = 1_000;
/// Maximum length of a reference, in characters.
pub const REFERENCE_CHARS_MAX: usize = 200;
/// Maximum number of pairs of metadata.
pub const METADATA_PAIRS_MAX: usize = 20;
/// Maximum length of a key of metadata, in characters.
pub const METADATA_KEY_CHARS_MAX: usize = 40;
/// Maximum length of a value of metadata, in characters.
pub const METADATA_VALUE_CHARS_MAX: usize = 500;

/// Pairs of key and value, in the order given.
pub type Metadata = Vec<(Arc<str>, Arc<str>)>;

/// Status of a claim at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimStatus {
    Held,
    /// Prepared by a confirm attempt, which is decided within seconds.
    Confirming,
    Confirmed,
    Cancelled,
    Replaced,
    Expired,
}

impl ClaimStatus {
    /// Returns the status of a claim at a time. A confirmed claim is cancelled once all its records are.
    pub fn of(hold: &Hold, now: Timestamp) -> Self {
        match hold.status(now) {
            Status::Held => Self::Held,
            Status::Prepared => Self::Confirming,
            Status::Confirmed if hold.is_cancelled_after_confirm() => Self::Cancelled,
            Status::Confirmed => Self::Confirmed,
            Status::Cancelled => Self::Cancelled,
            Status::Replaced => Self::Replaced,
            Status::Expired => Self::Expired,
        }
    }
}

/// Returns a claim to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<Hold> {
    hold::request(rows, id);
    let hold = hold::get(rows, id)?.filter(|hold| hold.origin != Origin::System);
    let hold = hold.ok_or(ClaimRejection::ClaimNotFound)?;
    actor.must_own(&hold.owner)?;
    Ok(hold)
}

/// Returns a live claim that `actor` may change, in the expected version.
pub(crate) fn find_live(
    rows: &mut WorkingSet,
    id: HoldId,
    actor: &Actor,
    version: Option<u32>,
    now: Timestamp,
) -> Decision<Hold> {
    let hold = find(rows, id, actor)?;
    check_version(&hold, version)?;
    match hold.status(now) {
        Status::Held => Ok(hold),
        Status::Prepared => Err(Stop::Retry),
        Status::Expired | Status::Replaced => Err(ClaimRejection::ClaimExpired.into()),
        Status::Confirmed | Status::Cancelled => Err(processed(&hold).into()),
    }
}

/// Returns the rejection of a change of a confirmed or cancelled claim.
fn processed(hold: &Hold) -> ClaimRejection {
    ClaimRejection::ClaimAlreadyProcessed { records: hold.records() }
}

/// Rejects a claim in another version than the caller has seen.
fn check_version(hold: &Hold, expected: Option<u32>) -> Result<(), Rejection> {
    match expected {
        Some(expected) if expected != hold.version => {
            Err(ClaimRejection::VersionMismatch { version: hold.version }.into())
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks that the chosen lines exist and are in this state, each once.
fn check_lines(
    hold: &Hold,
    chosen: &[u16],
    field: &'static str,
    is_open: fn(LineState) -> bool,
) -> Result<(), Rejection> {
    if chosen.is_empty() {
        return Err(Rejection::invalid(field, Fault::Blank));
    }
    for (position, index) in chosen.iter().enumerate() {
        if chosen[..position].contains(index) {
            return Err(Rejection::invalid(field, Fault::Duplicate));
        }
        let line = hold.lines.iter().find(|line| line.index == *index);
        if !line.is_some_and(|line| is_open(line.state)) {
            return Err(Rejection::invalid(field, Fault::UnknownValue));
        }
    }
    Ok(())
}

fn check_reference(reference: &str) -> Result<(), Rejection> {
    let field = "reference";
    if reference.is_empty() {
        return Err(Rejection::invalid(field, Fault::Blank));
    }
    if reference.chars().count() > REFERENCE_CHARS_MAX {
        return Err(Rejection::invalid(field, Fault::TooLong { max: REFERENCE_CHARS_MAX }));
    }
    if reference.chars().any(char::is_control) {
        return Err(Rejection::invalid(field, Fault::ControlCharacter));
    }
    Ok(())
}

fn check_metadata(metadata: &Metadata) -> Result<(), Rejection> {
    let invalid = |fault| Err(Rejection::invalid("metadata", fault));
    if metadata.len() > METADATA_PAIRS_MAX {
        return invalid(Fault::TooManyItems { max: METADATA_PAIRS_MAX });
    }
    for (key, value) in metadata {
        if key.is_empty() {
            return invalid(Fault::Blank);
        }
        if key.chars().count() > METADATA_KEY_CHARS_MAX {
            return invalid(Fault::TooLong { max: METADATA_KEY_CHARS_MAX });
        }
        if value.chars().count() > METADATA_VALUE_CHARS_MAX {
            return invalid(Fault::TooLong { max: METADATA_VALUE_CHARS_MAX });
        }
        // PostgreSQL has no text with this character.
        if key.contains('\0') || value.contains('\0') {
            return invalid(Fault::ControlCharacter);
        }
    }
    Ok(())
}

impl Hold {
    /// Returns the client's own id of the hold.
    pub fn reference(&self) -> Option<&Arc<str>> {
        self.extras.as_ref()?.reference.as_ref()
    }

    /// Returns the client's metadata.
    pub fn metadata(&self) -> &[(Arc<str>, Arc<str>)] {
        self.extras.as_ref().map_or(&[], |extras| &extras.metadata)
    }

    /// Sets reference, metadata and refund tiers.
    fn set_extras(&mut self, extras: Extras) {
        self.extras = extras.into_shared();
    }
}

/// Whether an endpoint confirms the claim by its payment only.
fn is_paid_for(hold: &Hold) -> bool {
    hold.origin == Origin::Cart
}

/// Whether the claim is in a state in which it has records.
pub fn is_confirmed(hold: &Hold) -> bool {
    hold.state == HoldState::Confirmed
}
