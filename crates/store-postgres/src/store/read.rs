//! Reads of committed rows beside the batches, from in-memory state and a database snapshot of the same commit.

use std::sync::Arc;
use std::time::Duration;

use holdfast_core::table::TableSet as _;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::StoreError;

use super::{Shared, batch};
use crate::connection::Connection;
use crate::error::explain;
use crate::pipeline::{self, Pipeline};
use crate::pool::within;
use crate::readers::READ_TIMEOUT;
use crate::records::{self, Of};
use crate::shared::{self, Head};

/// Optimistic attempts of a read before it takes the writer's lock.
const READ_ATTEMPTS_MAX: usize = 4;
/// Maximum wait until a commit versions in the database is applied in memory.
const APPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a read.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(4);

impl Shared {
    pub(super) async fn read(self: &Arc<Self>, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        let too_long = || StoreError::Unavailable("the read took too long".into());
        let answered = tokio::time::timeout(RESPONSE_TIMEOUT, self.answer(rows)).await;
        answered.unwrap_or_else(|_| Err(too_long()))?;
        Ok(self.clock.now())
    }

    async fn answer(self: &Arc<Self>, rows: &mut WorkingSet) -> Result<(), StoreError> {
        for _ in 0..READ_ATTEMPTS_MAX {
            if !self.is_fit() {
                drop(self.writer().await?);
            }
            if self.try_answer(rows).await? {
                return Ok(());
            }
        }
        // Commits or evictions are too frequent: read between two batches, with the writer's lock.
        let writer = self.writer().await?;
        let Some(connection) = &writer.connection else { unreachable!("the writer is fit") };
        rows.fill_from(&self.memory().memory.rows);
        batch::load(connection, rows).await
    }

    /// Answers from in-memory state if it is complete, else from it and a snapshot of the database. False if the two
    /// are inconsistent.
    ///
    /// In-memory state may be newer than the snapshot, and then prevails: it has all writes since, unless cached rows
    /// were evicted, which `epoch` tells. It cannot update rows it never has, nor ranges; for those both must be of the
    /// same commit.
    async fn try_answer(&self, rows: &mut WorkingSet) -> Result<bool, StoreError> {
        let (mut requests, mut ahead, epoch) = {
            let cache = self.memory();
            if rows.is_covered_by(&cache.memory.rows) {
                rows.fill_from(&cache.memory.rows);
                return Ok(true);
            }
            let mut requests = rows.copy_requests();
            requests.fill_from(&cache.memory.rows);
            let ahead = cache.memory.prefetch(&requests);
            (requests, ahead, cache.epoch)
        };
        let snapshot = async |connection: &Connection| snapshot(connection, &mut requests, &mut ahead).await;
        let snapshot = within(&self.readers.by_key, READ_TIMEOUT, snapshot).await?;
        if !self.applied(snapshot.commits).await {
            return Ok(false);
        }
        let cache = self.memory();
        let commits = cache.memory.commits;
        let fits = cache.epoch == epoch && commits >= snapshot.commits && self.is_fit();
        if !fits || (snapshot.has_ranges_requested && commits != snapshot.commits) {
            return Ok(false);
        }
        rows.fill_from(&cache.memory.rows);
        rows.copy_known(&requests);
        drop(cache);
        self.cache_read(&requests, epoch, commits);
        // Ranges are known only as of the snapshot.
        self.cache_read(&ahead, epoch, snapshot.commits);
        Ok(true)
    }

    /// Caches rows that were read, unless a commit or an eviction happened since.
    fn cache_read(&self, read: &WorkingSet, epoch: u64, commits: u64) {
        let mut cache = self.memory_mut();
        if (cache.epoch, cache.memory.commits) == (epoch, commits) {
            cache.memory.cache_read(read);
        }
    }

    /// Waits until a commit is applied in memory. False if it cannot be, or on timeout.
    async fn applied(&self, commits: u64) -> bool {
        let mut applied = self.commits.subscribe();
        let waiting = applied.wait_for(|applied| *applied >= commits || !self.is_fit());
        matches!(tokio::time::timeout(APPLY_TIMEOUT, waiting).await, Ok(Ok(applied)) if *applied >= commits)
    }
}

/// Rows of one snapshot.
struct Snapshot {
    commits: u64,
    /// Some rows cannot be updated from in-memory state.
    has_ranges_requested: bool,
}

/// Loads requested rows, and those worth prefetching, as of one commit, in one round trip.
async fn snapshot(
    connection: &Connection,
    requests: &mut WorkingSet,
    ahead: &mut WorkingSet,
) -> Result<Snapshot, StoreError> {
    let mut pipeline = Pipeline::new(connection);
    pipeline.send(pipeline::BEGIN_SNAPSHOT, Vec::new());
    let head = pipeline.send(shared::HEAD, Vec::new());
    let mut shared = shared::PendingLoad::default();
    shared.ask_sequences(&mut pipeline, requests);
    shared.request_idempotency_records(&mut pipeline, requests);
    let asked = records::PendingLoad::ask(&mut pipeline, requests, Of::Everything);
    let asked_ahead = records::PendingLoad::ask(&mut pipeline, ahead, Of::Everything);
    pipeline.send(pipeline::COMMIT, Vec::new());
    let has_ranges_requested = shared.has_ranges_requested() || asked.has_ranges_requested();
    let mut answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
    let commits = Head::read(answers.one(head))?.commits;
    shared.fill(&mut answers, requests)?;
    asked.fill(&mut answers, requests, None)?;
    asked_ahead.fill(&mut answers, ahead, None)?;
    Ok(Snapshot { commits, has_ranges_requested })
}
