//! Webhook subscriptions: an address, and the types of events sent to it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::secrets::Secrets;
use super::types::EventTypes;
use super::{URL_CHARS_MAX, WEBHOOKS_MAX};
use crate::command::{Command, Context, Decision, writes};
use crate::id::{ID_MAX, Sequence, number_id};
use crate::rejection::{Rejection, WebhookRejection};
use crate::table::{Row, Scan};
use crate::text::check_text;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a webhook.
    WebhookId
);

/// A subscription of one address to types of events.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub url: Arc<str>,
    pub types: EventTypes,
    pub secrets: Secrets,
    pub created_at: Timestamp,
    /// Number of the last durable event at creation; later events are sent.
    pub told_after: u64,
    /// Set after the receiver reported that it is gone for good.
    pub disabled_at: Option<Timestamp>,
}

impl Row for Webhook {}

/// Omits the address and the secrets, which must not be logged.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut output = f.debug_struct("Webhook");
        output.field("id", &self.id).field("types", &self.types).field("disabled_at", &self.disabled_at);
        output.finish_non_exhaustive()
    }
}

/// Scan of all webhooks, of which there are at most [`WEBHOOKS_MAX`].
#[derive(Clone, PartialEq, Debug)]
pub struct AllWebhooks;

impl Scan<WebhookId> for AllWebhooks {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<WebhookId> {
        let [first, last] = [1, ID_MAX].map(|number| WebhookId::new(number).expect("both bounds are valid ids"));
        first..=last
    }
}

/// Creates a webhook for events from now on.
#[derive(Clone)]
pub struct CreateWebhook {
    /// Validated by the server.
    pub url: String,
    pub types: EventTypes,
    pub secret: String,
    /// Number of the last event in the outbox.
    pub outbox_last: u64,
}

impl std::fmt::Debug for CreateWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreateWebhook").field("types", &self.types).finish_non_exhaustive()
    }
}

impl Command for CreateWebhook {
    type Outcome = Webhook;
    const NAME: &'static str = "webhook.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Webhook> {
        check_text("url", &self.url, URL_CHARS_MAX)?;
        rows.ids.request(&Sequence::Webhook);
        if rows.webhook.webhooks.scan(&AllWebhooks)?.len() >= WEBHOOKS_MAX {
            return Err(WebhookRejection::TooManyWebhooks { max: WEBHOOKS_MAX }.into());
        }
        let id = WebhookId::new(rows.next_id(Sequence::Webhook)?).expect("sequence numbers are valid ids");
        let webhook = Webhook {
            id,
            url: self.url.as_str().into(),
            types: self.types.clone(),
            secrets: Secrets::new(&self.secret),
            created_at: at.now,
            told_after: self.outbox_last,
            disabled_at: None,
        };
        rows.webhook.webhooks.insert(id, webhook.clone());
        Ok(webhook)
    }
}

/// Deletes a webhook. Its pending deliveries are removed when they are claimed.
#[derive(Clone, Copy, Debug)]
pub struct DeleteWebhook {
    pub id: WebhookId,
}

impl Command for DeleteWebhook {
    type Outcome = ();
    const NAME: &'static str = "webhook.delete";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
        find(rows, self.id)?;
        rows.webhook.webhooks.delete(self.id);
        Ok(())
    }
}

/// Enables a webhook that was disabled because its receiver was gone. Other webhooks stay unchanged.
#[derive(Clone, Copy, Debug)]
pub struct EnableWebhook {
    pub id: WebhookId,
}

impl Command for EnableWebhook {
    type Outcome = Webhook;
    const NAME: &'static str = "webhook.enable";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Webhook> {
        let webhook = find(rows, self.id)?;
        if webhook.disabled_at.is_none() {
            return Ok(webhook);
        }
        let webhook = Webhook { disabled_at: None, ..webhook };
        rows.webhook.webhooks.put(self.id, webhook.clone());
        Ok(webhook)
    }
}

/// Replaces the signing secret; the previous one also signs for a limited time.
#[derive(Clone)]
pub struct RotateSecret {
    pub id: WebhookId,
    pub secret: String,
}

impl std::fmt::Debug for RotateSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RotateSecret").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Command for RotateSecret {
    /// The webhook, and the time of the decision.
    type Outcome = (Webhook, Timestamp);
    const NAME: &'static str = "webhook.rotate_secret";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(Webhook, Timestamp)> {
        let webhook = find(rows, self.id)?;
        let webhook = Webhook { secrets: webhook.secrets.rotated(&self.secret, at.now), ..webhook };
        rows.webhook.webhooks.put(self.id, webhook.clone());
        Ok((webhook, at.now))
    }
}

/// Returns the webhook, or rejects an unknown one.
pub fn find(rows: &mut WorkingSet, id: WebhookId) -> Decision<Webhook> {
    Ok(rows.webhook.webhooks.get(&id)?.cloned().ok_or(Rejection::from(WebhookRejection::WebhookNotFound))?)
}

/// Returns all webhooks that are not disabled.
pub fn active(rows: &mut WorkingSet) -> Decision<Vec<Webhook>> {
    let mut webhooks = Vec::new();
    for id in rows.webhook.webhooks.scan(&AllWebhooks)? {
        webhooks.extend(rows.webhook.webhooks.get(&id)?.filter(|webhook| webhook.disabled_at.is_none()).cloned());
    }
    Ok(webhooks)
}
