//! Conversions from and to the types of the rules.

use holdfast_core::Timestamp;
use holdfast_core::webhook::{self, Delivery, DeliveryId, Webhook};

use super::{DeliveryStatus, DeliveryView, WebhookStatus, WebhookView};

impl WebhookView {
    pub fn new(webhook: &Webhook) -> Self {
        Self {
            id: webhook.id.get(),
            url: webhook.url.to_string(),
            types: webhook.types.as_slice().to_vec(),
            status: if webhook.disabled_at.is_none() { WebhookStatus::Active } else { WebhookStatus::Disabled },
            created_at: webhook.created_at.to_jiff(),
            disabled_at: webhook.disabled_at.map(Timestamp::to_jiff),
            secret: None,
            earlier_secret_until: None,
        }
    }

    /// A webhook whose secret was just changed.
    pub fn rotated(webhook: &Webhook, now: Timestamp) -> Self {
        Self { earlier_secret_until: webhook.secrets.earlier_until(now).map(Timestamp::to_jiff), ..Self::new(webhook) }
    }

    /// Shows the secret, in an answer that is not recorded.
    #[must_use]
    pub fn with_secret(self, secret: String) -> Self {
        Self { secret: Some(secret), ..self }
    }
}

/// The id of a delivery as receivers see it. Deliveries of several installations to one receiver do not collide.
pub fn message_id(installation: &str, delivery: DeliveryId) -> String {
    format!("msg_{installation}_{delivery}")
}

impl DeliveryView {
    pub fn new(delivery: &Delivery, installation: &str) -> Self {
        Self {
            id: delivery.id.get(),
            message_id: message_id(installation, delivery.id),
            webhook_id: delivery.webhook.get(),
            event_id: delivery.event.to_string(),
            event_type: delivery.event_type.to_string(),
            status: delivery.status().into(),
            attempts: delivery.attempts,
            last_status: delivery.last_status,
            last_error: delivery.last_error.as_ref().map(ToString::to_string),
            next_attempt_at: delivery.next_attempt_at().map(Timestamp::to_jiff),
            created_at: delivery.created_at.to_jiff(),
        }
    }
}

impl From<webhook::DeliveryStatus> for DeliveryStatus {
    fn from(value: webhook::DeliveryStatus) -> Self {
        match value {
            webhook::DeliveryStatus::Pending => Self::Pending,
            webhook::DeliveryStatus::Delivered => Self::Delivered,
            webhook::DeliveryStatus::Failed => Self::Failed,
        }
    }
}
