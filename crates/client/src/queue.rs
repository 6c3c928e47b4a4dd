//! The waiting room in front of an event.

pub use holdfast_api::queue::{EntryView as QueueEntry, PlaceView as QueuePlace, QueueStatus, StatsView as QueueStats};

use reqwest::Method;
use serde_json::json;

use crate::{Client, Error, Event, read};

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
