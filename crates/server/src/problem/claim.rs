//! Problems of holds, whichever endpoint placed them.

use holdfast_api::error::ErrorCode;
use holdfast_core::ClaimRejection as R;
use holdfast_core::Timestamp;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::ClaimNotFound => Problem::of(ErrorCode::ClaimNotFound),
        R::ClaimExpired => Problem::of(ErrorCode::ClaimExpired),
        R::ClaimAlreadyProcessed => Problem::of(ErrorCode::ClaimAlreadyProcessed),
        R::ExtensionLimit { max_until } => {
            Problem::of(ErrorCode::ExtensionLimit).with("maxUntil", max_until.to_jiff().to_string())
        }
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    let max_until = Timestamp::from_millis(1_800_000_000_000);
    vec![R::ClaimNotFound, R::ClaimExpired, R::ClaimAlreadyProcessed, R::ExtensionLimit { max_until }]
}
