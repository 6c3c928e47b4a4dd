//! Batch of one server among several: loads without locks, and commits only if its read set is unchanged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool::managed::Object;
use holdfast_core::hold::AttemptId;
use holdfast_core::table::TableSet as _;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::store::COMMIT_TIMEOUT;
use holdfast_engine::{OutboxEntry, StoreError};

use super::{Drawn, PendingLoad, ReadSet, Shared, numbers, requests_durable};
use crate::codec::Col;
use crate::error::{CommitError, UNEXPECTED_ROWS, explain};
use crate::pipeline::{Pipeline, Transaction, column, params};
use crate::pool::Manager;
use crate::readers::READ_TIMEOUT;
use crate::records::{self, Of};
use crate::shared;

/// Maximum age of the rows of a batch at commit. After a longer pause, other servers may have decided on live rows that
/// this one knew.
const LOADED_BEFORE_MAX: Duration = Duration::from_secs(10);

const EXPECT_FRESH: &str = "SELECT expect_fresh($1, $2 * interval '1 millisecond')";
const INSERT_DECISIONS: &str = "INSERT INTO hold_decision
    SELECT hold_id, attempt, true, clock_timestamp()
    FROM unnest($1::uuid[], $2::integer[]) AS decision (hold_id, attempt)
    ORDER BY hold_id, attempt";

pub(super) const STATEMENTS: &[&str] = &[EXPECT_FRESH, INSERT_DECISIONS];

/// SQLSTATE of a duplicate key.
const UNIQUE_VIOLATION: &str = "23505";

/// Batch in progress. Dropped without commit, it has no effect.
pub struct DurableSession {
    shared: Arc<Shared>,
    /// `None` once the connection is unusable.
    connection: Option<Object<Manager>>,
    read_set: ReadSet,
    /// When the first rows were loaded, by the database's clock.
    loaded_at: Option<Timestamp>,
    drawn: Drawn,
}

impl std::fmt::Debug for DurableSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableSession").field("read_set", &self.read_set).finish_non_exhaustive()
    }
}

impl DurableSession {
    pub(super) fn new(shared: Arc<Shared>, connection: Object<Manager>) -> Self {
        let drawn = Drawn::new(&shared.numbers);
        Self { shared, connection: Some(connection), read_set: ReadSet::default(), loaded_at: None, drawn }
    }

    /// Notes that rows of the live tier were read for this batch now.
    pub fn note_live_rows(&mut self) {
        self.read_set.note_live_rows();
    }

    /// Fills requested rows of durable tables, and sequences. Returns the database's time. Live rows stay requested.
    pub async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.shared.row_cache.fill(rows);
        if rows.ids.is_loaded() && !requests_durable(rows) {
            return Ok(self.shared.clock.now());
        }
        // Put back after all responses: an interrupted call must not leave a half-read connection.
        let connection = self.connection.take().ok_or_else(lost)?;
        let asked_at = Instant::now();
        let mut pipeline = Pipeline::new(&connection);
        let lacking = self.drawn.take(rows).into_iter();
        let drawings: Vec<_> = lacking.map(|sequence| numbers::draw(&mut pipeline, sequence)).collect();
        let asked = PendingLoad::ask(&mut pipeline, rows);
        let Ok(answers) = tokio::time::timeout(READ_TIMEOUT, pipeline.answers()).await else {
            drop(Object::take(connection));
            return Err(StoreError::Unavailable("PostgreSQL took too long".into()));
        };
        self.connection = Some(connection);
        let mut answers = answers.check().map_err(|error| explain(&error))?;
        for drawing in drawings {
            let (sequence, range) = drawing.drawn(&answers)?;
            self.drawn.fill(rows, sequence, range);
        }
        let now = asked.fill(&mut answers, rows, &mut self.read_set, &self.shared.row_cache)?;
        self.loaded_at.get_or_insert(now);
        self.shared.clock.heard(now, asked_at);
        Ok(self.shared.clock.now())
    }

    /// Writes all changes of durable tables, the decisions and the outbox, all or nothing; answers with the numbers of
    /// the outbox entries. [`StoreError::Conflict`] if anything that was read has moved, or if one of the attempts was
    /// decided to be aborted: decide again on fresh rows. Without changes it only validates rows that are
    /// not one snapshot after all live rows.
    pub async fn commit(
        &mut self,
        rows: &WorkingSet,
        outbox: &[OutboxEntry],
        committed: &[AttemptId],
    ) -> Result<Vec<u64>, StoreError> {
        self.drawn.used_by(rows);
        let is_empty = outbox.is_empty() && committed.is_empty();
        let is_empty = is_empty && !rows.idempotency_records.has_changes() && !records::has_durable_changes(rows);
        if is_empty && self.read_set.is_snapshot() {
            return Ok(Vec::new());
        }
        let connection = self.connection.take().ok_or_else(lost)?;
        let mut transaction = Transaction::begin(&connection);
        let pipeline = transaction.pipeline();
        if let Some(loaded_at) = self.loaded_at {
            pipeline.send(EXPECT_FRESH, params![Col(loaded_at), LOADED_BEFORE_MAX.as_millis() as f64]);
        }
        self.read_set.lock(pipeline, rows);
        insert_decisions(pipeline, committed);
        shared::write_idempotency_records(pipeline, rows);
        records::write(pipeline, rows, Of::Durable);
        // Last: other servers' events wait from here to the commit.
        let appended = shared::append_outbox(pipeline, outbox);
        let committed = transaction.commit(COMMIT_TIMEOUT).await;
        if let Err(CommitError::Unknown(_)) = committed {
            drop(Object::take(connection));
        } else {
            self.connection = Some(connection);
        }
        let answers = committed.map_err(explain_commit)?;
        shared::outbox_ids(&answers, appended, outbox)
    }
}

fn insert_decisions<'a>(pipeline: &mut Pipeline<'a>, decisions: &'a [AttemptId]) {
    if !decisions.is_empty() {
        let values = vec![column(decisions, |of| Col(of.hold)), column(decisions, |of| Col(of.attempt.0))];
        pipeline.send(INSERT_DECISIONS, values);
    }
}

/// A duplicate or missing row means that another server was first: a conflict.
fn explain_commit(error: CommitError) -> StoreError {
    match error.code() {
        Some(UNIQUE_VIOLATION | UNEXPECTED_ROWS) => StoreError::Conflict,
        _ => error.into(),
    }
}

fn lost() -> StoreError {
    StoreError::Unavailable("the connection to PostgreSQL was lost".into())
}
