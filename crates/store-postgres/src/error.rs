//! What PostgreSQL says when it says no, in our words.

use holdfast_engine::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

/// Raised by `count_commit`: somebody else wrote.
pub(crate) const NOT_THE_LAST_COMMIT: &str = "UH001";
/// Raised by `expect_rows`.
pub(crate) const UNEXPECTED_ROWS: &str = "UH002";
/// Raised by `expect_version`.
const VERSION_MOVED: &str = "UH003";
/// Raised by `expect_fresh`.
const TOO_OLD: &str = "UH004";

/// How a transaction that was sent as a whole ended, if not well.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// Nothing of it was applied.
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

/// For whatever changes nothing, or was refused as a whole.
pub(crate) fn explain(error: &Error) -> StoreError {
    let said = sentence(error);
    let Some(code) = error.code() else {
        let is_network = std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>());
        // Else it is a value that the library did not know how to send.
        let is_lost = error.is_closed() || is_network;
        return if is_lost { StoreError::Unavailable(said) } else { StoreError::Broken(said) };
    };
    match code.code() {
        NOT_THE_LAST_COMMIT | VERSION_MOVED | TOO_OLD => StoreError::Conflict,
        // Serialization failure, deadlock, lock timeout: somebody else was first.
        "40001" | "40P01" | "55P03" => StoreError::Conflict,
        UNEXPECTED_ROWS => StoreError::Broken(said),
        "XX001" | "XX002" => StoreError::Damaged(said),
        // Integrity constraints, and values that a column does not take.
        code if code.starts_with("23") || code.starts_with("22") => StoreError::Broken(said),
        _ => StoreError::Unavailable(said),
    }
}

/// Whether an error is the server's last word on a COMMIT that it then did not carry out. A server that ends a
/// connection says something too, but may have committed before.
pub(crate) fn is_refusal_of_commit(error: &Error) -> bool {
    let Some(error) = error.as_db_error() else { return false };
    let code = error.code().code();
    error.parsed_severity() == Some(Severity::Error) && (code.starts_with("23") || code.starts_with("40"))
}

/// The error and what caused it, in one line.
pub(crate) fn sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some say it all in the first line already.
        if !said.contains(&more) {
            said = format!("{said}: {more}");
        }
        cause = error.source();
    }
    said
}
