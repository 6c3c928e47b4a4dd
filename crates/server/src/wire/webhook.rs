//! Webhooks in JSON.

use holdfast_core::Timestamp;
use holdfast_core::webhook::{Delivery, DeliveryId, Webhook};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[schema(as = NewWebhook)]
pub struct NewWebhookBody {
    /// `http` or `https`. Addresses of private networks only while auth is off, or within `webhook.allow_networks`.
    #[schema(pattern = "^https?://", max_length = 2_000)]
    pub url: String,
    /// Types of durable events, or beginnings of them: `booking.confirmed`, `order.`. None at all means every durable event. Events of
    /// holds are named whole: `seat.held`. `*` means every event there is.
    #[schema(max_items = 50)]
    pub types: Vec<String>,
    /// `whsec_` and base64 of 24 to 64 bytes; made if left out.
    #[schema(format = Password, min_length = 32, max_length = 94)]
    pub secret: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Webhook)]
pub struct WebhookView {
    id: u64,
    url: String,
    types: Vec<String>,
    /// `ACTIVE`, or `DISABLED` after the receiver has answered 410.
    status: &'static str,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    disabled_at: Option<Timestamp>,
    /// What deliveries are signed with. Shown only when it is made, and not by an idempotent replay.
    // Added to the first answer by its handler: what is rendered here is kept under the idempotency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// Until then deliveries are signed with the secret before, too. Shown only when the secret is changed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    earlier_secret_until: Option<Timestamp>,
}

#[derive(Default, Deserialize, ToSchema)]
#[schema(as = NewSecret)]
pub struct NewSecretBody {
    /// `whsec_` and base64 of 24 to 64 bytes; made if left out.
    #[schema(format = Password, min_length = 32, max_length = 94)]
    pub secret: Option<String>,
}

impl WebhookView {
    pub fn new(webhook: &Webhook) -> Self {
        Self {
            id: webhook.id.get(),
            url: webhook.url.to_string(),
            types: webhook.types.as_slice().to_vec(),
            status: if webhook.disabled_at.is_none() { "ACTIVE" } else { "DISABLED" },
            created_at: webhook.created_at,
            disabled_at: webhook.disabled_at,
            secret: None,
            earlier_secret_until: None,
        }
    }

    /// A webhook whose secret was just changed.
    pub fn rotated(webhook: &Webhook, now: Timestamp) -> Self {
        Self { earlier_secret_until: webhook.secrets.earlier_until(now), ..Self::new(webhook) }
    }
}

/// The id of a delivery as receivers see it. Deliveries of several installations to one receiver do not collide.
pub fn message_id(installation: &str, delivery: DeliveryId) -> String {
    format!("msg_{installation}_{delivery}")
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDelivery)]
pub struct DeliveryView {
    id: u64,
    /// The header `webhook-id` of every attempt, unique across installations.
    message_id: String,
    webhook_id: u64,
    /// The `id` of the event.
    event_id: String,
    event_type: String,
    /// `PENDING`, `DELIVERED` or `FAILED`.
    status: &'static str,
    attempts: u32,
    /// What the receiver answered last.
    last_status: Option<u16>,
    last_error: Option<String>,
    /// Of one that is being tried: when it is tried again if nothing more is heard of it.
    #[serde(serialize_with = "super::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl DeliveryView {
    pub fn new(delivery: &Delivery, installation: &str) -> Self {
        Self {
            id: delivery.id.get(),
            message_id: message_id(installation, delivery.id),
            webhook_id: delivery.webhook.get(),
            event_id: delivery.event.to_string(),
            event_type: delivery.event_type.to_string(),
            status: delivery.status().as_str(),
            attempts: delivery.attempts,
            last_status: delivery.last_status,
            last_error: delivery.last_error.as_ref().map(ToString::to_string),
            next_attempt_at: delivery.next_attempt_at(),
            created_at: delivery.created_at,
        }
    }
}
