//! Handlers of webhooks: subscriptions and deliveries. [`holdfast_events::webhooks`] sends the events.

pub mod deliveries;
pub mod subscriptions;
