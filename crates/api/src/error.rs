//! Errors of the API (RFC 9457).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Body of an error response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemBody {
    pub status: u16,
    /// Stable; match on this.
    pub code: String,
    pub detail: String,
    /// Exact cause of invalid input in `field`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub request_id: String,
    /// Further members: `field`, `available`, `reservationId`, …
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl std::fmt::Display for ProblemBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.detail)?;
        self.reason.iter().try_for_each(|reason| write!(f, " {reason}"))
    }
}
