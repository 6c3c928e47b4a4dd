//! Webhooks: who wants to be told of durable events by HTTP, and what became of telling them.
//!
//! An event that somebody wants is written down once, with one delivery for each webhook that wants it. A delivery is claimed
//! for a while by whoever tries it, so that several servers share the work; what a server that died had claimed is due again
//! when its claim ends. Deliveries are made at least once, and in no promised order.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`subscription`] | webhooks: making, deleting, enabling, giving another secret |
//! | [`secrets`] | what is signed with, and for how long |
//! | [`types`] | which events one wants |
//! | [`offer`] | an event becomes deliveries, once |
//! | [`delivery`] | what is known of a delivery; trying again one that was given up; forgetting old ones |
//! | [`attempt`] | claiming what is due, and how a try ended |
//! | [`audit`] | what must be true of a whole store |
//!
//! How an event is signed and sent, and to which addresses, is the server's business.

pub mod attempt;
pub mod audit;
pub mod delivery;
pub mod offer;
pub mod secrets;
pub mod subscription;
#[cfg(test)]
mod tests;
pub mod types;

use std::borrow::Cow;

use crate::table::Table;
use crate::time::Span;

pub use delivery::{Delivery, DeliveryId, DeliveryState, DeliveryStatus, Due, DueId};
pub use offer::{EventName, OfferedEvent};
pub use secrets::Secrets;
pub use subscription::{AllWebhooks, Webhook, WebhookId};
pub use types::EventTypes;

/// The most webhooks there may be. One event makes no more deliveries than that, and draws no more numbers.
pub const WEBHOOKS_MAX: usize = 100;
/// The longest address.
pub const URL_CHARS_MAX: usize = 2_000;
/// The most events that are offered at once.
pub const OFFERED_MAX: usize = 100;
/// The most deliveries that are claimed or forgotten at once.
pub const AT_ONCE_MAX: usize = 500;
/// What is kept of an error.
pub const ERROR_CHARS_MAX: usize = 200;

/// Settings of this part.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long to wait after each try that failed; when there is no more, the delivery is given up.
    pub retry_after: Cow<'static, [Span]>,
}

impl Limits {
    /// The schedule that Standard Webhooks suggests: about three days in all.
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

/// The rows of webhooks. All are durable, and belong to the notify service.
#[derive(Debug, Default)]
pub struct Tables {
    pub webhooks: Table<WebhookId, Webhook, AllWebhooks>,
    /// What is told: as long as a delivery of it is kept.
    pub events: Table<EventName, OfferedEvent>,
    pub deliveries: Table<DeliveryId, Delivery>,
    /// Deliveries that are to be tried, by webhook and time.
    pub due: Table<DueId, Due>,
}

crate::table_set!(Tables { webhooks, events, deliveries, due });

impl Tables {
    pub(crate) fn memory() -> Self {
        Self {
            webhooks: Table::cache(),
            // What webhooks are told can be large, and is rarely asked for again.
            events: Table::default(),
            deliveries: Table::cache(),
            due: Table::cache(),
        }
    }

    pub(crate) fn complete() -> Self {
        Self {
            webhooks: Table::complete(),
            events: Table::complete(),
            deliveries: Table::complete(),
            due: Table::complete(),
        }
    }
}
