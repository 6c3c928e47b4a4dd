//! Waiting room in JSON.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::UserId;

#[cfg(feature = "core")]
mod convert;

/// Request to join or enter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueuePerson))]
pub struct QueueBody {
    /// Optional if a header or token names the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueueStatus))]
pub enum QueueStatus {
    Waiting,
    Ready,
    Entered,
}

/// Position of a user.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueuePlace))]
pub struct PlaceView {
    pub status: QueueStatus,
    /// Counted from 0; 0 once entered.
    pub rank: u64,
    pub ahead_count: u64,
    pub estimated_wait_seconds: u64,
    /// A user who polls at this interval keeps the place, or the entry.
    pub poll_after_ms: u64,
    pub remaining_seats: u32,
    /// If ready: end of the turn; without entering, the place is lost then.
    #[serde(serialize_with = "crate::optional_time", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub ready_until: Option<Timestamp>,
    /// If entered: end of the entry, unless polling renews it.
    #[serde(serialize_with = "crate::optional_time", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
}

/// Entry, and its proof for other systems.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueueEntry))]
pub struct EntryView {
    pub status: QueueStatus,
    pub token: String,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueueStats))]
pub struct StatsView {
    /// Excludes ready users.
    pub waiting: u64,
    pub ready: u64,
    pub entered: u64,
    pub max_concurrent: u32,
    pub paused: bool,
    pub admitted_per_minute: u64,
}

/// Event of a user's admission.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionView {
    pub event_id: u64,
    pub user_id: UserId,
    pub entry_id: Uuid,
    #[serde(serialize_with = "crate::time")]
    pub entered_at: Timestamp,
    #[serde(serialize_with = "crate::time")]
    pub expires_at: Timestamp,
}
