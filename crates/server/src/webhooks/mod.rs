//! Webhooks: events of all verticals, sent by HTTP to subscribers, and signed as Standard Webhooks.
//!
//! | module | contents |
//! | --- | --- |
//! | [`subscriptions`], [`deliveries`] | handlers |
//! | [`fan_out`] | fan-out of durable events: reads the outbox and creates deliveries |
//! | [`hold_fan_out`] | fan-out of ephemeral hold events of this server |
//! | [`delivery_worker`] | delivery worker: attempts due deliveries with backoff, and purges old ones |
//! | [`send`] | one attempt: an allowed address, one request, its status |
//! | [`target`], [`network`] | allowed addresses |
//! | [`sign`] | secrets and signatures |
//!
//! Each durable event is delivered at least once to each webhook that subscribes to it. Order is not guaranteed: later
//! events may overtake a failed attempt.

pub mod deliveries;
pub mod delivery_worker;
pub mod fan_out;
pub mod hold_fan_out;
pub mod network;
pub mod send;
pub mod sign;
pub mod subscriptions;
pub mod target;

use tokio::sync::Notify;

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
