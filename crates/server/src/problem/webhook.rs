//! Problems of webhooks.

use holdfast_api::error::ErrorCode;
use holdfast_core::WebhookRejection as R;
use holdfast_core::webhook::{DeliveryStatus, WEBHOOKS_MAX};

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::WebhookNotFound => Problem::of(ErrorCode::WebhookNotFound),
        R::TooManyWebhooks { max } => Problem::of(ErrorCode::WebhookLimitReached).with("max", *max),
        R::WebhookDisabled => Problem::of(ErrorCode::WebhookDisabled),
        R::WebhookDeliveryNotFound => Problem::of(ErrorCode::WebhookDeliveryNotFound),
        R::WebhookDeliveryNotFailed { status } => {
            Problem::of(ErrorCode::WebhookDeliveryNotFailed).with("deliveryStatus", status.as_str())
        }
    }
}

/// Examples of all rejections, for the reference.
pub(super) fn catalog() -> Vec<R> {
    vec![
        R::WebhookNotFound,
        R::TooManyWebhooks { max: WEBHOOKS_MAX },
        R::WebhookDisabled,
        R::WebhookDeliveryNotFound,
        R::WebhookDeliveryNotFailed { status: DeliveryStatus::Delivered },
    ]
}
