//! Streams and their durable consumers. Each service has a stream with a consumer: NATS 2.9 cannot give a consumer
//! several subjects of a larger stream. Further consumers may subscribe to all messages of a service. All are created
//! before the first message is published: a message without a consumer would be dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use tokio::sync::Mutex;

use crate::nats::BusError;
use crate::nats::connection::Connection;
use crate::nats::options::{ACKS_PENDING_MAX, DELIVERIES_MAX, DUPLICATE_WINDOW, Options, StreamOptions};

/// Knowledge whether the streams exist, so that they are created once per connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    is_ensured: AtomicBool,
    ensure_lock: Mutex<()>,
}

impl Streams {
    /// Creates missing streams, and updates the limits of existing ones.
    pub(crate) async fn ensure(&self, connection: &Connection) -> Result<(), BusError> {
        if self.is_ensured.load(Ordering::Acquire) {
            return Ok(());
        }
        let _guard = self.ensure_lock.lock().await;
        if self.is_ensured.load(Ordering::Acquire) {
            return Ok(());
        }
        let options = connection.options();
        for stream in &options.streams {
            create_or_update(connection, options, stream).await?;
        }
        self.is_ensured.store(true, Ordering::Release);
        Ok(())
    }

    /// Marks the streams as unknown, after one was found missing.
    pub(crate) fn invalidate(&self) {
        self.is_ensured.store(false, Ordering::Release);
    }
}

async fn create_or_update(connection: &Connection, options: &Options, stream: &StreamOptions) -> Result<(), BusError> {
    let refused = |error: &dyn std::fmt::Display| BusError::Refused(error.to_string());
    let name = options.stream(&stream.service);
    let config = Config {
        name: name.clone(),
        description: Some(format!("Messages for the {} service of Holdfast", stream.service)),
        subjects: stream.subjects.iter().map(|subject| options.subject(subject)).collect(),
        // Kept until every consumer has acknowledged it, those of other applications included.
        retention: RetentionPolicy::Interest,
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        max_age: options.age_max,
        max_bytes: i64::try_from(options.bytes_max).unwrap_or(i64::MAX),
        max_messages: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        duplicate_window: DUPLICATE_WINDOW.min(options.age_max),
        num_replicas: 1,
        ..Config::default()
    };
    let jetstream = &connection.jetstream;
    match jetstream.get_stream(&name).await {
        Ok(found) => {
            // The number of replicas is the operator's choice.
            let num_replicas = found.cached_info().config.num_replicas;
            jetstream.update_stream(Config { num_replicas, ..config }).await.map_err(|error| refused(&error))?;
        }
        Err(_) => {
            jetstream.create_stream(config).await.map_err(|error| refused(&error))?;
        }
    }
    for consumer in stream.consumers() {
        let created =
            jetstream.create_consumer_on_stream(consumer_config(options, stream, consumer), name.clone()).await;
        created.map_err(|error| refused(&error))?;
    }
    Ok(())
}

pub(crate) fn consumer_config(options: &Options, stream: &StreamOptions, name: &str) -> pull::Config {
    let is_permanent = name == stream.service;
    pull::Config {
        durable_name: Some(name.to_owned()),
        // The messages it has missed by then have expired, too.
        inactive_threshold: if is_permanent { Duration::ZERO } else { options.age_max },
        ack_policy: AckPolicy::Explicit,
        ack_wait: options.ack_wait(),
        max_deliver: DELIVERIES_MAX,
        max_ack_pending: ACKS_PENDING_MAX as i64,
        ..pull::Config::default()
    }
}
