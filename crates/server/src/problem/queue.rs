//! Problems of the waiting room.

use holdfast_waiting_room::{Error, Refusal, View};
use http::StatusCode as S;

use super::Problem;

pub(super) fn not_in_queue() -> Problem {
    Problem::new(S::NOT_FOUND, "NOT_IN_QUEUE", "대기열에 없습니다.", "Not in the queue, or no longer; join it first.")
}

pub(super) fn not_your_turn(rank: u64, poll_after_ms: u64) -> Problem {
    Problem::new(
        S::CONFLICT,
        "NOT_YOUR_TURN",
        "아직 입장 순서가 아닙니다.",
        "It is not your turn yet; you keep your position. Poll until the status is ready.",
    )
    .with("rank", rank)
    .with("aheadCount", rank)
    .with("pollAfterMs", poll_after_ms)
}

impl Problem {
    pub fn queue_disabled() -> Self {
        Self::new(
            S::CONFLICT,
            "QUEUE_DISABLED",
            "대기열을 사용하지 않는 공연입니다.",
            "This event has no queue; hold or reserve seats directly.",
        )
    }

    pub fn queue_token_required() -> Self {
        Self::new(
            S::FORBIDDEN,
            "QUEUE_TOKEN_REQUIRED",
            "대기열을 통해 입장한 뒤 이용할 수 있습니다.",
            "Enter through the queue first; an entry is needed to hold or reserve seats.",
        )
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
