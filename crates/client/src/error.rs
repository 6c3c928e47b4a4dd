//! Errors of a call.

pub use holdfast_api::error::ProblemBody as Problem;
use serde_json::Map;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server rejected the request.
    #[error("{0}")]
    Problem(Box<Problem>),
    #[error("the server could not be reached: {0}")]
    Transport(#[from] reqwest::Error),
    #[error("the server's answer could not be read: {0}")]
    Unreadable(serde_json::Error),
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

    /// Returns the stable code of a rejection; `None` if the server did not answer.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => Some(&problem.code),
            Self::Transport(_) | Self::Unreadable(_) => None,
        }
    }

    /// Returns the existing reservation, if a confirm was repeated.
    pub fn made_before(&self) -> Option<u64> {
        match self {
            Self::Problem(problem) => problem.extra.get("reservationId")?.as_u64(),
            Self::Transport(_) | Self::Unreadable(_) => None,
        }
    }
}
