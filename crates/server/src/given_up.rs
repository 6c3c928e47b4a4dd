//! Events that were given up, looked through now and then. Some may never be given up: nothing else would put right what they
//! leave wrong. Those are tried again from the beginning; all others wait for somebody to decide.

use std::time::Duration;

use futures_util::future::join_all;
use holdfast_core::relay::{RetryEvent, Trouble, TroubleId};
use holdfast_core::tee::Subject;
use holdfast_records::relay::troubles;

use crate::app::App;
use crate::problem::Problem;

/// Events that are looked at together.
const PAGE: usize = 500;

/// Runs until the app stops.
pub async fn sweep(app: App, every: Duration) {
    let mut due = tokio::time::interval(every);
    loop {
        tokio::select! {
            () = app.stopped() => return,
            _ = due.tick() => {}
        }
        if let Err(error) = retry_all(&app).await {
            tracing::warn!(code = error.code, "[Outbox] could not look through what was given up; trying again");
        }
    }
}

async fn retry_all(app: &App) -> Result<(), Problem> {
    let (mut after, mut count) = (None, 0_u32);
    // While the bus is away there is no use in it; once it is back, all are tried again at once.
    let is_away = app.bus().is_some_and(|bus| bus.check().is_err());
    loop {
        let page: Vec<(TroubleId, Trouble)> = app.list_with_keys(troubles(Some(true), after, PAGE)).await?;
        count += page.len() as u32;
        if !is_away {
            let mut again = Vec::new();
            for (TroubleId { event }, _) in &page {
                if is_never_given_up(app, *event).await? {
                    again.push(app.engine().run(RetryEvent { event: *event }, None));
                }
            }
            // All of a page at once: one after another, each would be a commit of its own.
            for tried in join_all(again).await {
                tried?;
            }
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => after = Some(*last),
            _ => break,
        }
    }
    metrics::gauge!("holdfast_outbox_given_up").set(count);
    Ok(())
}

async fn is_never_given_up(app: &App, event: u64) -> Result<bool, Problem> {
    let record = app.store().outbox_after(event.saturating_sub(1), 1).await?.pop();
    let subject = record.filter(|record| record.id == event).and_then(|it| Subject::parse(&it.event_type));
    let Some(subject) = subject.filter(|subject| subject.is_never_given_up()) else { return Ok(false) };
    tracing::warn!(event, %subject, "[Outbox] FAILED before; trying it again");
    Ok(true)
}
