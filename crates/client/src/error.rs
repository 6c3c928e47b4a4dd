//! What can go wrong with a call.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no, and why.
    #[error("{0}")]
    Problem(Box<Problem>),
    #[error("the server could not be reached: {0}")]
    Transport(#[from] reqwest::Error),
    #[error("the server's answer could not be read: {0}")]
    Unreadable(serde_json::Error),
}

/// A refusal, as RFC 9457 problem details.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub status: u16,
    /// Stable; match on this.
    pub code: String,
    pub detail: String,
    /// Of bad input: what exactly is wrong with its `field`.
    pub reason: Option<String>,
    #[serde(default)]
    pub request_id: String,
    /// What helps: `field`, `available`, `reservationId`, …
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.detail)?;
        self.reason.iter().try_for_each(|reason| write!(f, " {reason}"))
    }
}

impl Error {
    pub(crate) fn problem(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(problem) => Self::Problem(Box::new(problem)),
            Err(_) => {
                let detail = String::from_utf8_lossy(body).into_owned();
                let code = "UNKNOWN".to_owned();
                let problem =
                    Problem { status, code, detail, reason: None, request_id: String::new(), extra: Map::new() };
                Self::Problem(Box::new(problem))
            }
        }
    }

    /// The stable code of a refusal; `None` if the server did not answer at all.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => Some(&problem.code),
            Self::Transport(_) | Self::Unreadable(_) => None,
        }
    }

    /// Of a confirm that was repeated: the reservation that was made the first time.
    pub fn made_before(&self) -> Option<u64> {
        match self {
            Self::Problem(problem) => problem.extra.get("reservationId")?.as_u64(),
            Self::Transport(_) | Self::Unreadable(_) => None,
        }
    }
}
