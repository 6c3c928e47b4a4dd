//! Failed events: which are due for a retry, and which wait behind an earlier event of their line.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use holdfast_core::relay::{FailedPublication, FailedPublicationId, Partition, REPORTED_MAX, RetryEvent};
use holdfast_core::schema::Listed;
use holdfast_core::schema::relay::failed_publications;
use holdfast_engine::Refused;

use super::bus::Line;
use super::{OutboxMessage, Worker};

/// Maximum number of failed events read at once.
const FAILED_PUBLICATIONS_MAX: usize = REPORTED_MAX / 2;

/// Failed events, by what can be done about them now.
#[derive(Default)]
pub(super) struct FailedEvents {
    pub(super) due: BTreeMap<Partition, Vec<OutboxMessage>>,
    /// Lines whose earliest failed event is not due yet.
    pub(super) blocked: HashSet<Line>,
    /// Whether there may be more failed events than were read.
    pub(super) is_full: bool,
}

impl Worker {
    /// Makes all failed events due at once, dead letters included.
    pub(super) async fn retry_all(&mut self) -> Result<(), Refused> {
        let (mut after, mut count) = (None, 0_usize);
        loop {
            let page = self.context.store().list(failed_publications(None, after, FAILED_PUBLICATIONS_MAX)).await?;
            let is_last = page.len() < FAILED_PUBLICATIONS_MAX;
            let found: Vec<_> = page.into_iter().filter_map(Listed::read::<FailedPublication>).collect();
            after = found.last().map(|(id, _)| *id);
            let ours =
                found.iter().filter(|(_, failed_publication)| self.leased.contains_key(&failed_publication.partition));
            let again = ours.map(|(id, _)| self.context.engine().run(RetryEvent { event: id.event }, None));
            for tried in join_all(again.collect::<Vec<_>>()).await {
                tried?;
                count += 1;
            }
            if is_last {
                break;
            }
        }
        if count > 0 {
            tracing::info!(count, "[Outbox] failed events are retried after an outage of the bus");
        }
        self.must_retry_all = false;
        self.scan_at = None;
        Ok(())
    }

    /// Reads failed events that are not dead letters. The earliest event of each line decides: if it is due, all events
    /// of the line are retried in order; if not, all wait for it.
    pub(super) async fn failed_events(&mut self) -> Result<FailedEvents, Refused> {
        if self.scan_at.is_some_and(|at| Instant::now() < at) {
            return Ok(FailedEvents::default());
        }
        let listed = self.context.store().list(failed_publications(Some(false), None, FAILED_PUBLICATIONS_MAX)).await?;
        let mut failed = FailedEvents { is_full: listed.len() == FAILED_PUBLICATIONS_MAX, ..FailedEvents::default() };
        if listed.is_empty() {
            self.known.clear();
            self.scan_at = Some(Instant::now() + self.settings.poll);
            return Ok(failed);
        }
        self.scan_at = None;
        let now = self.context.query(|_, at| Ok(at.now)).await.unwrap_or_default();
        let (mut seen, mut looked_at) = (HashSet::new(), HashSet::new());
        for row in listed {
            let Some((FailedPublicationId { event }, failed_publication)) = row.read::<FailedPublication>() else {
                continue;
            };
            if !self.leased.contains_key(&failed_publication.partition) {
                continue;
            }
            let Some(message) = self.look_up(event).await? else { continue };
            looked_at.insert(event);
            let line = message.address.line();
            if seen.insert(line) && failed_publication.next_try_at > now {
                failed.blocked.insert(line);
            }
            if !failed.blocked.contains(&line) {
                failed.due.entry(failed_publication.partition).or_default().push(message);
            }
        }
        self.known.retain(|event, _| looked_at.contains(event));
        Ok(failed)
    }

    async fn look_up(&mut self, event: u64) -> Result<Option<OutboxMessage>, Refused> {
        if let Some(message) = self.known.get(&event) {
            return Ok(Some(message.clone()));
        }
        let found = self.context.store().outbox_after(event - 1, 1).await?.pop().filter(|record| record.id == event);
        let message = found.and_then(|record| self.message(Arc::new(record)));
        self.known.extend(message.clone().map(|message| (event, message)));
        Ok(message)
    }
}
