//! Periodic sweep of dead letters: events that failed after all retries. Types of events without which state stays
//! inconsistent are retried from the beginning; all other dead letters wait for an operator.

use std::time::Duration;

use futures_util::future::join_all;
use holdfast_core::relay::{FailedPublication, FailedPublicationId, RetryEvent};
use holdfast_core::schema::relay::failed_publications;
use holdfast_core::tee::Subject;
use holdfast_engine::Refused;

use crate::Context;

/// Maximum number of events read together.
const PAGE: usize = 500;

/// Runs until the server stops.
pub async fn sweep(context: Context, every: Duration) {
    let mut due = tokio::time::interval(every);
    loop {
        tokio::select! {
            () = context.stopped() => return,
            _ = due.tick() => {}
        }
        if let Err(error) = retry_all(&context).await {
            tracing::warn!(%error, "[Outbox] cannot read dead letters; retrying");
        }
    }
}

async fn retry_all(context: &Context) -> Result<(), Refused> {
    let (mut after, mut count) = (None, 0_u32);
    // While the bus is unavailable a retry cannot succeed. Once it is available again, all are retried.
    let is_unavailable = context.bus().is_some_and(|bus| bus.check().is_err());
    loop {
        let page: Vec<(FailedPublicationId, FailedPublication)> =
            context.list_with_keys(failed_publications(Some(true), after, PAGE)).await?;
        count += page.len() as u32;
        if !is_unavailable {
            let mut again = Vec::new();
            for (FailedPublicationId { event }, _) in &page {
                if is_always_retried(context, *event).await? {
                    again.push(context.engine().run(RetryEvent { event: *event }, None));
                }
            }
            // A page is run concurrently, so that it needs one commit and not one per event.
            for tried in join_all(again).await {
                tried?;
            }
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => after = Some(*last),
            _ => break,
        }
    }
    metrics::gauge!("holdfast_outbox_dead_letters").set(count);
    Ok(())
}

async fn is_always_retried(context: &Context, event: u64) -> Result<bool, Refused> {
    let record = context.store().outbox_after(event.saturating_sub(1), 1).await?.pop();
    let subject = record.filter(|record| record.id == event).and_then(|it| Subject::parse(&it.event_type));
    let Some(subject) = subject.filter(|subject| subject.is_always_retried()) else { return Ok(false) };
    tracing::warn!(event, %subject, "[Outbox] retrying a dead letter");
    Ok(true)
}
