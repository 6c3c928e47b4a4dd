//! Waiting room in JSON.

use holdfast_core::Timestamp;
use holdfast_core::ticket::admission::QueueAdmission;
use holdfast_waiting_room::{Entry, Stats, Status, View};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::wire::ids::UserId;

/// Request to join or enter.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueuePerson)]
pub struct QueueBody {
    /// Optional if a header or token names the caller.
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = QueueStatus)]
pub enum QueueStatus {
    Waiting,
    Ready,
    Entered,
}

/// Position of a user.
#[derive(PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueuePlace)]
pub struct PlaceView {
    pub status: QueueStatus,
    /// Counted from 0; 0 once entered.
    rank: u64,
    ahead_count: u64,
    estimated_wait_seconds: u64,
    /// A user who polls at this interval keeps the place, or the entry.
    poll_after_ms: u64,
    remaining_seats: u32,
    /// If ready: end of the turn; without entering, the place is lost then.
    #[serde(serialize_with = "super::optional_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    ready_until: Option<Timestamp>,
    /// If entered: end of the entry, unless polling renews it.
    #[serde(serialize_with = "super::optional_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

impl PlaceView {
    pub fn new(view: &View, remaining_seats: u32) -> Self {
        let (status, ready_until, expires_at) = match &view.status {
            Status::Waiting => (QueueStatus::Waiting, None, None),
            Status::Ready { until } => (QueueStatus::Ready, Some(*until), None),
            Status::Entered(entry) => (QueueStatus::Entered, None, Some(entry.expires_at)),
        };
        Self {
            status,
            rank: view.rank,
            ahead_count: view.rank,
            estimated_wait_seconds: view.estimated_wait_seconds,
            poll_after_ms: view.poll_after_ms,
            remaining_seats,
            ready_until,
            expires_at,
        }
    }
}

/// Entry, and its proof for other systems.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueueEntry)]
pub struct EntryView {
    status: QueueStatus,
    token: String,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl EntryView {
    pub fn new(entry: &Entry) -> Self {
        Self { status: QueueStatus::Entered, token: entry.token.clone(), expires_at: entry.expires_at }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueueStats)]
pub struct StatsView {
    /// Excludes ready users.
    waiting: u64,
    ready: u64,
    entered: u64,
    max_concurrent: u32,
    paused: bool,
    admitted_per_minute: u64,
}

impl StatsView {
    pub fn new(stats: &Stats) -> Self {
        Self {
            waiting: stats.waiting,
            ready: stats.ready,
            entered: stats.entered,
            max_concurrent: stats.max_concurrent,
            paused: stats.paused,
            admitted_per_minute: stats.admitted_per_minute,
        }
    }
}

/// Event of a user's admission.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionView {
    event_id: u64,
    user_id: u64,
    entry_id: Uuid,
    #[serde(serialize_with = "super::time")]
    entered_at: Timestamp,
    #[serde(serialize_with = "super::time")]
    expires_at: Timestamp,
}

impl AdmissionView {
    pub fn new(admission: &QueueAdmission) -> Self {
        Self {
            event_id: admission.event.get(),
            user_id: admission.user.get(),
            entry_id: Uuid::from_bytes(admission.entry),
            entered_at: admission.entered_at,
            expires_at: admission.expires_at,
        }
    }
}
