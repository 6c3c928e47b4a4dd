//! Webhooks: somebody's address, and which events are sent there.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::secrets::Secrets;
use super::types::EventTypes;
use super::{URL_CHARS_MAX, WEBHOOKS_MAX};
use crate::command::{Command, Context, Decision, Writes};
use crate::id::{ID_MAX, Sequence, number_id};
use crate::rejection::{Rejection, WebhookRejection};
use crate::rows::Rows;
use crate::table::{Row, Scan};
use crate::text::check_text;
use crate::time::Timestamp;

number_id!(
    /// The number of a webhook.
    WebhookId
);

/// Whom to tell, and of what.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub url: Arc<str>,
    pub types: EventTypes,
    pub secrets: Secrets,
    pub created_at: Timestamp,
    /// The last durable event there was then: it is told of later ones.
    pub told_after: u64,
    /// The receiver said it is gone for good.
    pub disabled_at: Option<Timestamp>,
}

impl Row for Webhook {}

/// Without the secret, which belongs in no log.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Webhook");
        shown.field("id", &self.id).field("types", &self.types).field("disabled_at", &self.disabled_at);
        shown.finish_non_exhaustive()
    }
}

/// All there are; few.
#[derive(Clone, PartialEq, Debug)]
pub struct AllWebhooks;

impl Scan<WebhookId> for AllWebhooks {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<WebhookId> {
        let [first, last] = [1, ID_MAX].map(|number| WebhookId::new(number).expect("the ends are ids"));
        first..=last
    }
}

/// Tells somebody of what happens from now on.
#[derive(Clone)]
pub struct CreateWebhook {
    /// Checked by the server, which knows what an address is.
    pub url: String,
    pub types: EventTypes,
    pub secret: String,
    /// The last durable event there is.
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
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Webhook> {
        check_text("url", &self.url, URL_CHARS_MAX)?;
        rows.ids.want(&Sequence::Webhook);
        if rows.webhook.webhooks.scan(&AllWebhooks)?.len() >= WEBHOOKS_MAX {
            return Err(WebhookRejection::TooManyWebhooks { max: WEBHOOKS_MAX }.into());
        }
        let id = WebhookId::new(rows.next_id(Sequence::Webhook)?).expect("sequences give ids");
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

/// Tells somebody nothing more. What was to be delivered is dropped when its turn comes.
#[derive(Clone, Copy, Debug)]
pub struct DeleteWebhook {
    pub id: WebhookId,
}

impl Command for DeleteWebhook {
    type Outcome = ();
    const NAME: &'static str = "webhook.delete";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<()> {
        find(rows, self.id)?;
        rows.webhook.webhooks.delete(self.id);
        Ok(())
    }
}

/// Sends to a receiver again that had said it is gone. One that is not disabled stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct EnableWebhook {
    pub id: WebhookId,
}

impl Command for EnableWebhook {
    type Outcome = Webhook;
    const NAME: &'static str = "webhook.enable";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<Webhook> {
        let webhook = find(rows, self.id)?;
        if webhook.disabled_at.is_none() {
            return Ok(webhook);
        }
        let webhook = Webhook { disabled_at: None, ..webhook };
        rows.webhook.webhooks.put(self.id, webhook.clone());
        Ok(webhook)
    }
}

/// Signs with another secret from now on; the one before signs too, for a while.
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
    /// With the moment at which that was decided.
    type Outcome = (Webhook, Timestamp);
    const NAME: &'static str = "webhook.rotate_secret";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<(Webhook, Timestamp)> {
        let webhook = find(rows, self.id)?;
        let webhook = Webhook { secrets: webhook.secrets.rotated(&self.secret, at.now), ..webhook };
        rows.webhook.webhooks.put(self.id, webhook.clone());
        Ok((webhook, at.now))
    }
}

/// The webhook, or the refusal that there is none.
pub fn find(rows: &mut Rows, id: WebhookId) -> Decision<Webhook> {
    Ok(rows.webhook.webhooks.get(&id)?.cloned().ok_or(Rejection::from(WebhookRejection::WebhookNotFound))?)
}

/// Those that are to be told: all that are not disabled.
pub fn active(rows: &mut Rows) -> Decision<Vec<Webhook>> {
    let mut webhooks = Vec::new();
    for id in rows.webhook.webhooks.scan(&AllWebhooks)? {
        webhooks.extend(rows.webhook.webhooks.get(&id)?.filter(|webhook| webhook.disabled_at.is_none()).cloned());
    }
    Ok(webhooks)
}
