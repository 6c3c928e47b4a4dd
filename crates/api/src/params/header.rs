//! Parameters of headers.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::ids::UserId;

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Header))]
pub struct UserHeader {
    /// User for whom the call is made, while auth is off.
    #[serde(rename = "X-User-Id")]
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Header))]
pub struct IdempotencyHeader {
    /// Repeating a request under the same key replays its first success.
    #[serde(rename = "Idempotency-Key")]
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false, min_length = 1, max_length = 255))]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Header))]
pub struct IfMatchHeader {
    /// Version that the caller has seen; another one is refused.
    #[serde(rename = "If-Match")]
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub if_match: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Header))]
pub struct PreferHeader {
    /// `wait=2`: wait at most this number of seconds for the outcome.
    #[serde(rename = "Prefer")]
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub prefer: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Header))]
pub struct LastEventHeader {
    /// Go on after this event. From before `stream.keep` (24 hours) the first event is of type `stream.gap`.
    #[serde(rename = "Last-Event-ID")]
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub last_event_id: Option<String>,
}
