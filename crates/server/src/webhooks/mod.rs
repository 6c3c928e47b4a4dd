//! Webhooks: events of all verticals, told by HTTP to whoever subscribed to them, signed as Standard Webhooks.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`subscriptions`], [`deliveries`] | handlers |
//! | [`feed`] | reads the outbox, and makes deliveries of what somebody wants |
//! | [`holds`] | makes deliveries of events of holds, as far as this server hears of them |
//! | [`courier`] | tries deliveries that are due, later and later, and clears away old ones |
//! | [`send`] | one try: an address that may be connected to, one request, its status |
//! | [`target`], [`network`] | which addresses those are |
//! | [`sign`] | secrets and signatures |
//!
//! Each durable event is delivered at least once to each webhook that wants it. Order is not promised: a try that fails is repeated
//! later, and others overtake it.

pub mod courier;
pub mod deliveries;
pub mod feed;
pub mod holds;
pub mod network;
pub mod send;
pub mod sign;
pub mod subscriptions;
pub mod target;

use tokio::sync::Notify;

/// Wakes those who would else look only now and then.
#[derive(Debug, Default)]
pub struct Bells {
    /// Somebody wants to be told.
    pub feed: Notify,
    /// Perhaps of holds too.
    pub holds: Notify,
    /// There is something to deliver.
    pub courier: Notify,
}
