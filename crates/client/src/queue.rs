//! The waiting room in front of an event.

pub use holdfast_api::queue::{EntryView as QueueEntry, PlaceView as QueuePlace, QueueStatus, StatsView as QueueStats};

use reqwest::Method;
use serde_json::json;

use crate::{Client, Error, Event, read};

impl Client {
    /// Joins the queue of an event at its end. A user who is in the queue keeps the position.
    pub async fn join_queue(&self, event: u64) -> Result<QueuePlace, Error> {
        self.post(&format!("/v1/events/{event}/queue"), &json!({})).await
    }

    /// Returns the position of the user. Keeps the position of a waiting user, and renews the entry of an admitted one.
    pub async fn poll_queue(&self, event: u64) -> Result<QueuePlace, Error> {
        self.get(&format!("/v1/events/{event}/queue"), &[]).await
    }

    /// Enters the event if the status of the user is `READY`. Returns the entry with its token.
    pub async fn enter_queue(&self, event: u64) -> Result<QueueEntry, Error> {
        self.post(&format!("/v1/events/{event}/queue/enter"), &json!({})).await
    }

    /// Leaves the queue, or releases the entry. Succeeds without effect for a user who has neither.
    pub async fn leave_queue(&self, event: u64) -> Result<(), Error> {
        read(self.call(Method::DELETE, &format!("/v1/events/{event}/queue"))).await
    }

    /// Stops admission. Entries stay valid. Admins only.
    pub async fn pause_queue(&self, event: u64) -> Result<Event, Error> {
        read(self.call(Method::POST, &format!("/v1/events/{event}/queue/pause"))).await
    }

    /// Resumes admission. Admins only.
    pub async fn resume_queue(&self, event: u64) -> Result<Event, Error> {
        read(self.call(Method::POST, &format!("/v1/events/{event}/queue/resume"))).await
    }

    /// Returns the numbers of waiting, ready and admitted users. Admins only.
    pub async fn queue_stats(&self, event: u64) -> Result<QueueStats, Error> {
        self.get(&format!("/v1/events/{event}/queue/stats"), &[]).await
    }
}
