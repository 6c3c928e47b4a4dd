//! Taking the database, at start and after a lost connection, and rebuilding in-memory state.

use std::sync::Arc;
use std::time::Instant;

use holdfast_core::Timestamp;
use holdfast_engine::{Memory, StoreError};

use super::{Shared, Writer};
use crate::clock::StoreClock;
use crate::connection::{Connection, ConnectionFactory, Purpose};
use crate::error::explain;
use crate::open::{self, Backend, OpenError, Tenancy};
use crate::pipeline::{self, Pipeline};
use crate::readers::CONTROL;
use crate::records;
use crate::shared::{self, Head};

fn statements() -> Vec<&'static str> {
    [CONTROL, shared::READS, shared::WRITES, &records::reads(), &records::writes()].concat()
}

/// Connection that holds the exclusive lock.
pub(super) struct TakenOver {
    pub(super) connection: Connection,
    pub(super) backend: Backend,
    pub(super) commits: u64,
}

pub(super) async fn take(
    connector: &ConnectionFactory,
    clock: &StoreClock,
    previous: Option<&Backend>,
) -> Result<TakenOver, OpenError> {
    let connection = connector.connect(Purpose::ByKey, &statements()).await?;
    let backend = open::lock(&connection, Tenancy::Alone, previous).await?;
    // Read after the lock: before it, another server may have written.
    let asked = Instant::now();
    let mut pipeline = Pipeline::new(&connection);
    let head = pipeline.send(shared::HEAD, Vec::new());
    let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
    let head = Head::read(answers.one(head))?;
    clock.heard(head.now, asked);
    clock.not_before(head.last_at);
    Ok(TakenOver { connection, backend, commits: head.commits })
}

/// Rebuilds in-memory state. The exclusive lock excludes concurrent writes.
pub(super) async fn rebuild(connection: &Connection, now: Timestamp) -> Result<Memory, StoreError> {
    let client = connection.client();
    let begin = format!("{}; SET LOCAL statement_timeout = 0", pipeline::BEGIN_SNAPSHOT);
    client.batch_execute(&begin).await.map_err(|error| explain(&error))?;
    let mut pipeline = Pipeline::new(connection);
    let head = pipeline.send(shared::HEAD, Vec::new());
    let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
    let mut memory = Memory::new(Head::read(answers.one(head))?.commits, now);
    records::index_holds(client, &mut memory, now).await?;
    client.batch_execute(pipeline::COMMIT).await.map_err(|error| explain(&error))?;
    Ok(memory)
}

impl Shared {
    /// Recovers from a lost or dropped connection: takes the database again and compares. The database is
    /// authoritative.
    pub(super) async fn recover(&self, writer: &mut Writer) -> Result<(), StoreError> {
        writer.connection = None;
        let taken = take(&self.connector, &self.clock, writer.backend.as_ref()).await?;
        if writer.must_rebuild || taken.commits != self.memory().memory.commits {
            let memory = rebuild(&taken.connection, self.clock.now()).await?;
            let commits = memory.commits;
            self.memory_mut().replace(memory);
            self.commits.send_replace(commits);
            tracing::warn!("in-memory state was rebuilt: the database had changed");
        }
        let connection = Arc::new(taken.connection);
        *self.connection.write() = Arc::downgrade(&connection);
        *writer =
            Writer { connection: Some(connection), backend: Some(taken.backend), must_rebuild: false, failed: None };
        tracing::info!("reconnected to PostgreSQL");
        Ok(())
    }
}
