//! Webhooks: subscriptions to events by HTTP, and their deliveries.
//!
//! An event is recorded once, with one delivery per webhook that subscribes to its type. A server claims a delivery
//! before it attempts it, so that several servers share the work; the claim of a failed server ends and the delivery is
//! due again. Deliveries are made at least once, in no particular order.
//!
//! | module | contents |
//! | --- | --- |
//! | [`subscription`] | webhooks: create, delete, enable, rotate the secret |
//! | [`secrets`] | signing secrets, and how long they are used |
//! | [`types`] | subscribed event types |
//! | [`enqueue`] | fan-out of an event to deliveries, once |
//! | [`delivery`] | deliveries; manual retry; purging old ones |
//! | [`attempt`] | claiming due deliveries, and results of attempts |
//! | [`audit`] | consistency rules of a whole store |
//!
//! The server signs and sends events, and checks the addresses.

pub mod attempt;
pub mod audit;
pub mod delivery;
pub mod enqueue;
pub mod secrets;
pub mod subscription;
#[cfg(test)]
mod tests;
pub mod types;

use std::borrow::Cow;

use crate::time::Span;

pub use delivery::{Delivery, DeliveryId, DeliveryState, DeliveryStatus, Due, DueId};
pub use enqueue::{EventName, QueuedEvent};
pub use secrets::Secrets;
pub use subscription::{AllWebhooks, Webhook, WebhookId};
pub use types::EventTypes;

/// Maximum number of webhooks. Bounds the deliveries of an event, and the numbers that it draws.
pub const WEBHOOKS_MAX: usize = 100;
/// Maximum length of a URL.
pub const URL_CHARS_MAX: usize = 2_000;
/// Maximum number of events per fan-out command.
pub const ENQUEUED_MAX: usize = 100;
/// Maximum number of deliveries that are claimed or purged at once.
pub const AT_ONCE_MAX: usize = 500;
/// Maximum length of a recorded error.
pub const ERROR_CHARS_MAX: usize = 200;

/// Settings of webhooks.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Delay after each failed attempt; a delivery whose attempts exceed the list fails.
    pub retry_after: Cow<'static, [Span]>,
}

impl Limits {
    /// Schedule suggested by Standard Webhooks: about three days in total.
    pub const DEFAULT: Self = Self {
        retry_after: Cow::Borrowed(&[
            Span::from_secs(5),
            Span::from_secs(5 * 60),
            Span::from_secs(30 * 60),
            Span::from_hours(2),
            Span::from_hours(5),
            Span::from_hours(10),
            Span::from_hours(14),
            Span::from_hours(20),
            Span::from_hours(24),
        ]),
    };
}
