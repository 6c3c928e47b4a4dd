//! Problems of the waiting room.

use holdfast_api::error::ErrorCode;
use holdfast_waiting_room::{Error, Refusal, View};

use super::Problem;

pub(super) fn not_in_queue() -> Problem {
    Problem::of(ErrorCode::NotInQueue)
}

pub(super) fn not_your_turn(rank: u64, poll_after_ms: u64) -> Problem {
    Problem::of(ErrorCode::NotYourTurn).with("rank", rank).with("aheadCount", rank).with("pollAfterMs", poll_after_ms)
}

impl Problem {
    pub fn queue_disabled() -> Self {
        Self::of(ErrorCode::QueueDisabled)
    }

    pub fn queue_token_required() -> Self {
        Self::of(ErrorCode::QueueTokenRequired)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotInQueue => not_in_queue(),
            Refusal::NotYourTurn(View { rank, poll_after_ms, .. }) => not_your_turn(rank, poll_after_ms),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Overloaded => Self::overloaded(),
            Error::Unavailable(_) | Error::InUse(_) | Error::Damaged(_) => {
                tracing::warn!(%error, "the waiting room is unavailable");
                Self::store_unavailable("The waiting room is unavailable; the request can be repeated.")
            }
        }
    }
}

/// Examples of all problems.
pub(super) fn catalog() -> [Problem; 4] {
    [not_in_queue(), not_your_turn(120, 2_000), Problem::queue_disabled(), Problem::queue_token_required()]
}
