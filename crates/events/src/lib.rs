//! Publishing and receiving of events.
//!
//! | module | contents |
//! | --- | --- |
//! | [`context`] | state that the parts below share |
//! | [`relay`] | outbox relay: publishes durable events to the bus; retries dead letters |
//! | [`inbox`] | receives messages of the tee-time services and applies each once |
//! | [`webhooks`] | delivery of events over HTTP to subscribers |
//! | [`stream`] | source of server-sent events, and the replay of past ones |
//! | [`activity`] | activity counters of holds, for display |
//! | [`wire`] | JSON of events and messages |
//! | [`nats`] | NATS `JetStream` as the bus between services |
//!
//! No rule and no HTTP handler is here: rules are in `core`, handlers in `server`.

pub mod activity;
pub mod context;
pub mod inbox;
pub mod nats;
pub mod relay;
pub mod stream;
pub mod webhooks;
pub mod wire;

pub use context::Context;

use webhooks::WebhookSettings;

/// Starts the jobs that every server has: leases, webhooks and the event stream. They run until the server stops. The
/// relay and the inbox are started apart, with the bus.
pub fn start(context: &Context, settings: WebhookSettings) {
    let keeper = context.clone();
    tokio::spawn(async move { keeper.leases().keep(&keeper).await });
    webhooks::start(context, settings);
    tokio::spawn(stream::follow_outbox(context.clone()));
}
