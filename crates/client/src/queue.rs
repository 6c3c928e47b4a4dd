//! The waiting room in front of an event.

use jiff::Timestamp;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{Client, Error, Event, read};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueStatus {
    Waiting,
    Ready,
    Entered,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuePlace {
    pub status: QueueStatus,
    pub rank: u64,
    pub ahead_count: u64,
    pub estimated_wait_seconds: u64,
    pub poll_after_ms: u64,
    pub remaining_seats: u32,
    pub ready_until: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueEntry {
    pub status: QueueStatus,
    pub token: String,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueStats {
    pub waiting: u64,
    pub ready: u64,
    pub entered: u64,
    pub max_concurrent: u32,
    pub paused: bool,
    pub admitted_per_minute: u64,
}

impl Client {
    pub async fn join_queue(&self, event: u64) -> Result<QueuePlace, Error> {
        self.post(&format!("/v1/events/{event}/queue"), &json!({})).await
    }

    pub async fn poll_queue(&self, event: u64) -> Result<QueuePlace, Error> {
        self.get(&format!("/v1/events/{event}/queue"), &[]).await
    }

    pub async fn enter_queue(&self, event: u64) -> Result<QueueEntry, Error> {
        self.post(&format!("/v1/events/{event}/queue/enter"), &json!({})).await
    }

    pub async fn leave_queue(&self, event: u64) -> Result<(), Error> {
        read(self.call(Method::DELETE, &format!("/v1/events/{event}/queue"))).await
    }

    pub async fn pause_queue(&self, event: u64) -> Result<Event, Error> {
        read(self.call(Method::POST, &format!("/v1/events/{event}/queue/pause"))).await
    }

    pub async fn resume_queue(&self, event: u64) -> Result<Event, Error> {
        read(self.call(Method::POST, &format!("/v1/events/{event}/queue/resume"))).await
    }

    pub async fn queue_stats(&self, event: u64) -> Result<QueueStats, Error> {
        self.get(&format!("/v1/events/{event}/queue/stats"), &[]).await
    }
}
