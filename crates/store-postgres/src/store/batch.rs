//! Batch: rows from in-memory state or in one round trip, the commit in another.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use holdfast_core::table::TableSet as _;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::store::{COMMIT_TIMEOUT, Committed, Session};
use holdfast_engine::{OutboxEntry, StoreError};
use tokio::sync::OwnedMutexGuard;

use super::{Shared, Writer};
use crate::codec::{Col, get};
use crate::connection::Connection;
use crate::error::{NOT_THE_LAST_COMMIT, UNEXPECTED_ROWS, explain};
use crate::pipeline::{Pipeline, Transaction};
use crate::readers::READ_TIMEOUT;
use crate::records::{self, Of};
use crate::shared;

pub(super) struct Batch {
    pub(super) shared: Arc<Shared>,
    pub(super) writer: OwnedMutexGuard<Writer>,
}

#[async_trait]
impl Session for Batch {
    async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        rows.fill_from(&self.shared.memory().memory.rows);
        if !rows.is_loaded() {
            // Put back after all responses: an interrupted call must not leave a half-read connection.
            let connection = self.take_connection()?;
            let loaded = tokio::time::timeout(READ_TIMEOUT, load(&connection, rows)).await;
            let loaded = loaded.unwrap_or_else(|_| Err(StoreError::Unavailable("PostgreSQL took too long".into())));
            loaded?;
            self.writer.connection = Some(connection);
        }
        Ok(self.shared.clock.now())
    }

    async fn commit(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError> {
        let shared = &self.shared;
        let (expected, now, asked) = (shared.memory().memory.commits, shared.clock.now(), Instant::now());
        // In-memory state is in doubt until the outcome is known.
        let connection = self.writer.connection.take().ok_or_else(lost)?;
        let mut transaction = Transaction::begin(&connection);
        let counted = shared::count_commit(transaction.pipeline(), expected, now);
        shared::write_sequences(transaction.pipeline(), rows);
        shared::write_idempotency_records(transaction.pipeline(), rows);
        records::write(transaction.pipeline(), rows, Of::Everything);
        let appended = shared::append_outbox(transaction.pipeline(), outbox);
        let answers = match transaction.commit(COMMIT_TIMEOUT).await {
            Ok(answers) => answers,
            Err(error) => {
                match error.code() {
                    // The database differs from in-memory state.
                    Some(NOT_THE_LAST_COMMIT | UNEXPECTED_ROWS) => self.writer.must_rebuild = true,
                    // The batch was rejected without effect.
                    Some(_) => self.writer.connection = Some(connection),
                    None => drop(connection),
                }
                // Wakes readers that wait for this commit, to check whether it can still come.
                shared.commits.send_modify(|_| {});
                return Err(error.into());
            }
        };
        let Col(shown) = get(answers.one(counted), 0)?;
        let outbox_ids = shared::outbox_ids(&answers, appended, outbox)?;
        shared.clock.heard(shown, asked);
        let commits = {
            let mut cache = shared.memory_mut();
            cache.apply(rows, shared.clock.now());
            cache.memory.commits
        };
        shared.commits.send_replace(commits);
        self.writer.connection = Some(connection);
        Ok(Committed { outbox_ids, flush: Box::new(|| Ok(())) })
    }
}

impl Batch {
    fn take_connection(&mut self) -> Result<Arc<Connection>, StoreError> {
        self.writer.connection.take().ok_or_else(lost)
    }
}

fn lost() -> StoreError {
    StoreError::Unavailable("the connection to PostgreSQL was lost".into())
}

/// Loads requested rows in one round trip. No other server writes, so no snapshot is needed.
pub(super) async fn load(connection: &Connection, rows: &mut WorkingSet) -> Result<(), StoreError> {
    let mut pipeline = Pipeline::new(connection);
    let mut shared = shared::PendingLoad::default();
    shared.ask_sequences(&mut pipeline, rows);
    shared.request_idempotency_records(&mut pipeline, rows);
    let asked = records::PendingLoad::ask(&mut pipeline, rows, Of::Everything);
    let mut answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
    shared.fill(&mut answers, rows)?;
    asked.fill(&mut answers, rows, None)
}
