//! Mapping of PostgreSQL's errors to store errors.

use holdfast_engine::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

/// Raised by `count_commit`: another server has committed.
pub(crate) const NOT_THE_LAST_COMMIT: &str = "UH001";
/// Raised by `expect_rows`.
pub(crate) const UNEXPECTED_ROWS: &str = "UH002";
/// Raised by `expect_version`.
const VERSION_MOVED: &str = "UH003";
/// Raised by `expect_fresh`.
const TOO_OLD: &str = "UH004";

/// Failure of a transaction that was sent as a whole.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// The transaction was rolled back.
    Refused(Error),
    Unknown(String),
}

impl CommitError {
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => error.code().map(SqlState::code),
            Self::Unknown(_) => None,
        }
    }
}

impl From<CommitError> for StoreError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(error) => explain(&error),
            CommitError::Unknown(why) => Self::OutcomeUnknown(why),
        }
    }
}

/// Maps an error of a statement without effect, or of a transaction that was rejected as a whole.
pub(crate) fn explain(error: &Error) -> StoreError {
    let said = sentence(error);
    let Some(code) = error.code() else {
        let cause = std::error::Error::source(error);
        let is_lost = error.is_closed() || cause.is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        // Otherwise a value that the library could not encode.
        return if is_lost { StoreError::Unavailable(said) } else { StoreError::Broken(said) };
    };
    match code.code() {
        // Among them serialization failure, deadlock, lock timeout: another server was first.
        NOT_THE_LAST_COMMIT | VERSION_MOVED | TOO_OLD | "40001" | "40P01" | "55P03" => StoreError::Conflict,
        UNEXPECTED_ROWS => StoreError::Broken(said),
        "XX001" | "XX002" => StoreError::Damaged(said),
        // Integrity constraints, and values outside a column's domain.
        code if code.starts_with("23") || code.starts_with("22") => StoreError::Broken(said),
        _ => StoreError::Unavailable(said),
    }
}

/// Whether an error is the server's definite rejection of a COMMIT. A server that closes a connection reports an error
/// too, but may have committed before.
pub(crate) fn is_refusal_of_commit(error: &Error) -> bool {
    let Some(error) = error.as_db_error() else { return false };
    let code = error.code().code();
    error.parsed_severity() == Some(Severity::Error) && (code.starts_with("23") || code.starts_with("40"))
}

/// Formats an error and its causes in one line.
pub(crate) fn sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some errors include their cause already.
        if !said.contains(&more) {
            said = format!("{said}: {more}");
        }
        cause = error.source();
    }
    said
}
