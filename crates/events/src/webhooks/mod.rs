//! Webhooks: events of all verticals, sent by HTTP to subscribers, and signed as Standard Webhooks.
//!
//! | module | contents |
//! | --- | --- |
//! | [`fan_out`] | fan-out of durable events: reads the outbox and creates deliveries |
//! | [`hold_fan_out`] | fan-out of ephemeral hold events of this server |
//! | [`delivery_worker`] | delivery worker: attempts due deliveries with backoff, and purges old ones |
//! | [`sender`] | one attempt: an allowed address, one request, its status |
//! | [`target`], [`network`] | allowed addresses |
//! | [`signature`] | secrets and signatures |
//!
//! Each durable event is delivered at least once to each webhook that subscribes to it. Order is not guaranteed: later
//! events may overtake a failed attempt.

pub mod delivery_worker;
pub mod fan_out;
pub mod hold_fan_out;
pub mod network;
pub mod sender;
pub mod signature;
pub mod target;

use std::time::Duration;

use tokio::sync::Notify;

use self::target::AllowedAddresses;
use crate::Context;

/// Settings of the webhook jobs.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    pub connect_timeout: Duration,
    /// Maximum time of an attempt, including the connection.
    pub timeout: Duration,
    /// Maximum number of attempts in progress.
    pub concurrency_max: usize,
    /// Maximum number of attempts in progress to one webhook.
    pub per_webhook_max: usize,
    /// Interval of polls without a wake-up.
    pub poll: Duration,
    /// Retention of ended deliveries.
    pub keep: Duration,
    pub allowed: AllowedAddresses,
}

/// Wake-up signals of the webhook jobs, which otherwise poll.
#[derive(Debug, Default)]
pub struct WakeUps {
    /// A webhook was created.
    pub fan_out: Notify,
    /// A webhook was created, possibly for hold events.
    pub holds: Notify,
    /// Deliveries were created.
    pub delivery_worker: Notify,
}

/// Starts the jobs, which run until the server stops.
pub fn start(context: &Context, settings: WebhookSettings) {
    let server = context.ids().number() >> 11;
    tokio::spawn(fan_out::run(context.clone(), settings.poll));
    tokio::spawn(hold_fan_out::run(context.clone(), server));
    tokio::spawn(delivery_worker::run(context.clone(), settings));
}
