//! Reading committed rows beside the batches, from memory and database as they stand after one and the same commit.

use std::sync::Arc;
use std::time::Duration;

use holdfast_core::table::TableSet as _;
use holdfast_core::{Rows, Timestamp};
use holdfast_engine::StoreError;

use super::{Shared, batch};
use crate::connection::Connection;
use crate::error::explain;
use crate::pipeline::{self, Pipeline};
use crate::pool::within;
use crate::readers::READ_WITHIN;
use crate::records::{self, Of, Seen};
use crate::shared::{self, Head};

/// How often a read looks again before it asks for silence.
const READ_TRIES_MAX: usize = 4;
/// How long a read waits for memory to take over a commit that it has seen in the database.
const ABSORBED_WITHIN: Duration = Duration::from_secs(2);
/// How long a read may take in all.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

impl Shared {
    pub(super) async fn read(self: &Arc<Self>, rows: &mut Rows) -> Result<Timestamp, StoreError> {
        let too_long = || StoreError::Unavailable("the read took too long".into());
        let answered = tokio::time::timeout(ANSWER_WITHIN, self.answer(rows)).await;
        answered.unwrap_or_else(|_| Err(too_long()))?;
        Ok(self.clock.now())
    }

    async fn answer(self: &Arc<Self>, rows: &mut Rows) -> Result<(), StoreError> {
        for _ in 0..READ_TRIES_MAX {
            if !self.is_fit() {
                drop(self.writer().await?);
            }
            if self.try_answer(rows).await? {
                return Ok(());
            }
        }
        // Batches come too fast, or memory forgets too often: read between two of them, as a batch would.
        let writer = self.writer().await?;
        let Some(connection) = &writer.connection else { unreachable!("the writer is fit") };
        rows.answer_from(&self.memory().memory.rows);
        batch::load(connection, rows).await
    }

    /// Answers from memory if it knows everything, else from memory and a snapshot of the database. False if the two do
    /// not fit together.
    ///
    /// Memory may have gone on since the snapshot, and then it counts: whatever was written meanwhile is in memory,
    /// unless memory has forgotten cached rows, which `epoch` tells. Rows that memory never keeps, and the question
    /// which rows there are, it cannot bring up to date; for those both must stand at the same commit.
    async fn try_answer(&self, rows: &mut Rows) -> Result<bool, StoreError> {
        let (mut wants, mut ahead, epoch) = {
            let cache = self.memory();
            if rows.is_answered_by(&cache.memory.rows) {
                rows.answer_from(&cache.memory.rows);
                return Ok(true);
            }
            let mut wants = rows.copy_wants();
            wants.answer_from(&cache.memory.rows);
            let ahead = cache.memory.around(&wants);
            (wants, ahead, cache.epoch)
        };
        let snapshot = async |connection: &Connection| snapshot(connection, &mut wants, &mut ahead).await;
        let snapshot = within(&self.readers.by_key, READ_WITHIN, snapshot).await?;
        if !self.absorbed(snapshot.commits).await {
            return Ok(false);
        }
        let cache = self.memory();
        let commits = cache.memory.commits;
        let fits = cache.epoch == epoch && commits >= snapshot.commits && self.is_fit();
        if !fits || (snapshot.is_beside_memory && commits != snapshot.commits) {
            return Ok(false);
        }
        rows.answer_from(&cache.memory.rows);
        rows.answer_from(&wants);
        drop(cache);
        self.learn(&wants, epoch, commits);
        // Which rows there are is known only as of the snapshot.
        self.learn(&ahead, epoch, snapshot.commits);
        Ok(true)
    }

    /// Keeps in memory what was read, if nothing was committed or forgotten since.
    fn learn(&self, read: &Rows, epoch: u64, commits: u64) {
        let mut cache = self.memory_mut();
        if (cache.epoch, cache.memory.commits) == (epoch, commits) {
            cache.memory.learn(read);
        }
    }

    /// Waits until memory has taken over a commit. False if it will not, or not in time.
    async fn absorbed(&self, commits: u64) -> bool {
        let mut absorbed = self.commits.subscribe();
        let waiting = absorbed.wait_for(|absorbed| *absorbed >= commits || !self.is_fit());
        matches!(tokio::time::timeout(ABSORBED_WITHIN, waiting).await, Ok(Ok(absorbed)) if *absorbed >= commits)
    }
}

/// Rows of one moment.
struct Snapshot {
    commits: u64,
    /// Among them are some that memory cannot bring up to date.
    is_beside_memory: bool,
}

/// Loads what is wanted, and what is worth reading along with it, as it stood after one commit, in one round trip.
async fn snapshot(connection: &Connection, wants: &mut Rows, ahead: &mut Rows) -> Result<Snapshot, StoreError> {
    let mut pipeline = Pipeline::new(connection);
    pipeline.send(pipeline::BEGIN_SNAPSHOT, Vec::new());
    let head = pipeline.send(shared::HEAD, Vec::new());
    let mut shared = shared::Asked::default();
    shared.ask_sequences(&mut pipeline, wants);
    shared.ask_receipts(&mut pipeline, wants);
    let asked = records::Asked::ask(&mut pipeline, wants, Of::Everything);
    let asked_ahead = records::Asked::ask(&mut pipeline, ahead, Of::Everything);
    pipeline.send(pipeline::COMMIT, Vec::new());
    let is_beside_memory = shared.is_beside_memory() || asked.is_beside_memory();
    let mut answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
    let commits = Head::read(answers.one(head))?.commits;
    shared.supply(&mut answers, wants)?;
    asked.supply(&mut answers, wants, Of::Everything, &mut Seen::default(), None)?;
    asked_ahead.supply(&mut answers, ahead, Of::Everything, &mut Seen::default(), None)?;
    Ok(Snapshot { commits, is_beside_memory })
}
