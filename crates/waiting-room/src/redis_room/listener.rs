//! Subscriber to the changes that the script publishes, on any server. Best effort: changes are missed while the
//! connection is down.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use holdfast_connect::redis::ReconnectingClient;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use redis::{Client, RedisError};
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::settings::EventId;
use crate::waiting_room::Change;

const CHANGES_MAX: usize = 4_096;
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// Stays subscribed until dropped.
#[derive(Debug)]
pub(super) struct ChangeSubscriber {
    changes: broadcast::Sender<Change>,
    task: JoinHandle<()>,
}

impl ChangeSubscriber {
    /// Subscribes inside this runtime.
    pub(super) fn start(client: Arc<ReconnectingClient>, channel: String, runtime: &Handle) -> Self {
        let changes = broadcast::Sender::new(CHANGES_MAX);
        let changes_sender = changes.clone();
        let task = runtime.spawn(async move {
            loop {
                if let Err(error) = forward(&client.client(), &channel, &changes_sender).await {
                    tracing::warn!(%error, "subscription to Redis failed; retrying");
                }
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        });
        Self { changes, task }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

impl Drop for ChangeSubscriber {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(client: &Client, channel: &str, changes_sender: &broadcast::Sender<Change>) -> Result<(), RedisError> {
    let mut connection = client.get_async_pubsub().await?;
    connection.subscribe(channel).await?;
    let mut messages = connection.into_on_message();
    while let Some(message) = messages.next().await {
        if let Some(change) = message.get_payload::<String>().ok().as_deref().and_then(read) {
            // There may be no subscriber.
            changes_sender.send(change).ok();
        }
    }
    Ok(())
}

/// Parses `moved EVENT` or `admitted EVENT USER MILLIS`.
fn read(message: &str) -> Option<Change> {
    let mut words = message.split(' ');
    let kind = words.next()?;
    let event = EventId(words.next()?.parse().ok()?);
    match kind {
        "moved" => Some(Change::Moved { event }),
        "admitted" => {
            let user = UserId::parse_text(words.next()?)?;
            Some(Change::Admitted { event, user, at: Timestamp::from_millis(words.next()?.parse().ok()?) })
        }
        _ => None,
    }
}
