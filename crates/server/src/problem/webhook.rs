//! Problems of webhooks.

use holdfast_core::WebhookRejection as R;
use holdfast_core::webhook::{DeliveryStatus, WEBHOOKS_MAX};
use http::StatusCode as S;

use super::Problem;

pub(super) fn problem(rejection: &R) -> Problem {
    match rejection {
        R::WebhookNotFound => {
            Problem::new(S::NOT_FOUND, "WEBHOOK_NOT_FOUND", "웹훅을 찾을 수 없습니다.", "There is no such webhook.")
        }
        R::TooManyWebhooks { max } => Problem::new(
            S::CONFLICT,
            "WEBHOOK_LIMIT_REACHED",
            format!("웹훅은 최대 {max}개까지 등록할 수 있습니다."),
            format!("There may be at most {max} webhooks; delete one first."),
        )
        .with("max", *max),
        R::WebhookDisabled => Problem::new(
            S::CONFLICT,
            "WEBHOOK_DISABLED",
            "수신 측이 410 Gone으로 응답하여 중지된 웹훅입니다. 먼저 다시 활성화해 주세요.",
            "The receiver answered 410 Gone, so the webhook is disabled; enable it first.",
        ),
        R::WebhookDeliveryNotFound => Problem::new(
            S::NOT_FOUND,
            "WEBHOOK_DELIVERY_NOT_FOUND",
            "웹훅 전송 기록을 찾을 수 없습니다.",
            "There is no such delivery.",
        ),
        R::WebhookDeliveryNotFailed { status } => Problem::new(
            S::CONFLICT,
            "WEBHOOK_DELIVERY_NOT_FAILED",
            "실패한 전송만 다시 시도할 수 있습니다.",
            "Only a failed delivery can be retried.",
        )
        .with("deliveryStatus", status.as_str()),
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
