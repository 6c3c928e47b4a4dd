//! Positions of the relay: how far each partition is published. They move under the leases of this server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use holdfast_core::Rejection;
use holdfast_core::relay::{AdvanceRelay, Partition, PublishOutcome};
use holdfast_engine::{Answer, Refused};

use super::Worker;

/// Interval at which positions of idle partitions are committed: that of the outbox purge, which depends on them.
pub(super) const COMMIT_EVERY: Duration = Duration::from_mins(1);

/// A partition and the lease under which it is advanced.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) partition: Partition,
    pub(super) term: u64,
}

impl Worker {
    pub(super) fn position(&self, partition: Partition) -> u64 {
        self.positions.get(&partition).copied().unwrap_or_default()
    }

    pub(super) fn reached(&mut self, partition: Partition, sent_up_to: u64) {
        let position = self.positions.entry(partition).or_default();
        *position = sent_up_to.max(*position);
    }

    /// Updates the partitions that this server leases.
    pub(super) async fn lease(&mut self) -> Result<(), Refused> {
        if !self.is_leasing {
            self.context.leases().want(&self.context, &Partition::all().collect::<Vec<_>>()).await?;
            self.is_leasing = true;
        }
        let mut held = self.context.leases().held();
        held.remove(&Partition::WEBHOOKS);
        let terms: BTreeMap<_, _> = held.iter().map(|(partition, lease)| (*partition, lease.term)).collect();
        if terms == self.leased {
            return Ok(());
        }
        let has_more = terms.iter().any(|(partition, term)| self.leased.get(partition) != Some(term));
        for (partition, lease) in held {
            // Kept if it is ahead: the position of recent events may not be committed yet.
            self.reached(partition, lease.relay.sent_up_to);
        }
        self.leased = terms;
        if has_more {
            self.scan_at = None;
        }
        self.must_retry_all |= has_more && self.bus.has_outages();
        self.context.in_flight().retain(|_, partition| self.leased.contains_key(&partition));
        Ok(())
    }

    /// Whether this server still holds the lease. The process may have been paused since the last check.
    pub(super) fn has(&self, held: Held) -> bool {
        self.context.leases().lease(held.partition).is_some_and(|lease| lease.term == held.term)
    }

    /// Releases all partitions with their positions. If that fails, another server takes them when the leases end, and
    /// publishes the events after the committed position again.
    pub(super) async fn release(&self) {
        let positions = self.leased.keys().map(|partition| (*partition, self.position(*partition)));
        if let Err(error) = self.context.leases().release(&self.context, positions.collect()).await {
            tracing::warn!(%error, "[Outbox] leases could not be released; they expire");
        }
    }

    /// Commits the positions of partitions. Events before all of them may be purged.
    pub(super) async fn commit_positions(&mut self) -> Result<(), Refused> {
        self.commit_at = Instant::now() + COMMIT_EVERY;
        let due = self.leased.keys().map(|partition| (*partition, self.position(*partition)));
        let due: Vec<_> =
            due.filter(|(partition, position)| self.committed_positions.get(partition) != Some(position)).collect();
        let worker = &*self;
        let marks = due.into_iter().map(|(partition, position)| async move {
            Ok(worker.report(partition, position, Vec::new()).await?.map(|_| (partition, position)))
        });
        let marked: Result<Vec<_>, Refused> = join_all(marks).await.into_iter().collect();
        self.committed_positions.extend(marked?.into_iter().flatten());
        let committed = &self.committed_positions;
        let is_beyond = |event, partition| committed.get(&partition).is_some_and(|position| event > *position);
        self.context.in_flight().retain(is_beyond);
        Ok(())
    }

    /// Commits the position and failures of a partition. Returns the events that became dead letters; `None` if the
    /// lease is lost.
    pub(super) async fn report(
        &self,
        partition: Partition,
        sent_up_to: u64,
        outcomes: Vec<(u64, PublishOutcome)>,
    ) -> Result<Option<Vec<u64>>, Refused> {
        let command = AdvanceRelay { server: self.context.leases().server(), partition, sent_up_to, outcomes };
        match self.context.engine().run(command, None).await {
            Ok(Answer::Fresh(dead_letters)) => Ok(Some(dead_letters)),
            Ok(Answer::Recorded(_) | Answer::Replayed(_)) => unreachable!("nothing is kept without a key"),
            Err(Refused::Rejected(Rejection::LeaseLost)) => {
                self.context.leases().lost(partition);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
