//! Webhook fan-out of hold events, for webhooks that name them. These events are ephemeral and not in the outbox: each
//! server enqueues those of its own commits, and loses those it cannot keep up with. Without such webhooks it does not
//! subscribe.

use std::sync::Arc;
use std::time::Duration;

use holdfast_core::webhook::enqueue::Candidate;
use holdfast_core::webhook::{ENQUEUED_MAX, EventName, Webhook, subscription};
use holdfast_engine::Refused;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::fan_out;
use crate::Context;
use crate::stream::PublishedEvent;
use crate::wire::event::EPHEMERAL_TYPES;

/// Interval at which the webhooks are read.
const REFRESH_EVERY: Duration = Duration::from_secs(5);

/// Runs until the server stops. `server` must be unique among servers: it makes the names of events unique.
pub async fn run(context: Context, server: u64) {
    while !context.is_stopping() {
        let refresh_at = Instant::now() + REFRESH_EVERY;
        match subscribed(&context).await {
            Ok(webhooks) if !webhooks.is_empty() => enqueue_until(&context, server, &webhooks, refresh_at).await,
            Ok(_) | Err(_) => tokio::select! {
                () = context.stopped() => return,
                () = context.webhooks().holds.notified() => {}
                () = sleep_until(refresh_at) => {}
            },
        }
    }
}

/// Returns the webhooks that name a hold event.
async fn subscribed(context: &Context) -> Result<Vec<Webhook>, Refused> {
    let mut webhooks = context.query(|rows, _| subscription::active(rows)).await?;
    webhooks.retain(|webhook| EPHEMERAL_TYPES.iter().any(|name| webhook.types.name(name)));
    Ok(webhooks)
}

/// Enqueues hold events until the webhooks are due to be read again.
async fn enqueue_until(context: &Context, server: u64, webhooks: &[Webhook], until: Instant) {
    let mut published = context.stream().subscribe();
    loop {
        let first = tokio::select! {
            () = context.stopped() => return,
            () = context.webhooks().holds.notified() => return,
            first = timeout_at(until, published.recv()) => first,
        };
        let mut events = Vec::new();
        let mut next = match first {
            Ok(Ok(published)) => Some(published),
            Ok(Err(RecvError::Lagged(_))) => None,
            Ok(Err(RecvError::Closed)) | Err(_) => return,
        };
        while let Some(one) = next {
            events.extend(candidate(&one, server).filter(|event| webhooks.iter().any(|webhook| event.is_for(webhook))));
            next = if events.len() < ENQUEUED_MAX { published.try_recv().ok() } else { None };
        }
        if !events.is_empty()
            && let Err(error) = fan_out::offer(context, events).await
        {
            tracing::warn!(%error, "[Webhook] hold events could not be enqueued; they are lost");
        }
    }
}

fn candidate(published: &Arc<PublishedEvent>, server: u64) -> Option<Candidate> {
    published.durable.is_none().then(|| Candidate {
        name: EventName(format!("{}-{server:x}", published.id).into()),
        event_type: published.event_type.as_str().into(),
        at: published.at,
        data: published.data.as_str().into(),
        number: None,
    })
}
