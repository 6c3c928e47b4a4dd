//! Reads beside the batches, for servers of both kinds: lists, outbox, audit; and garbage collection.

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::Object;
use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::hold::ENDED_HOLD_KEPT;
use holdfast_core::schema::{List, Listed};
use holdfast_core::time::Span;
use holdfast_engine::StoreError;
use holdfast_engine::store::{Keep, LIST_TIMEOUT, OutboxRecord, PURGE_ROWS_MAX};

use crate::codec::{Col, get};
use crate::connection::{ConnectionFactory, Purpose};
use crate::error::{explain, sentence};
use crate::pipeline::{self, Pipeline, Transaction};
use crate::pool::{Manager, Pool, within};
use crate::records;
use crate::shared::{self, Head, Purging};

/// Timeout of a read by key.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a garbage-collection step.
const PURGE_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum number of connections for lists and audits.
const LISTS_MAX: usize = 4;
/// Maximum number of connections for the outbox, so that lists never delay the publishing of events.
const OUTBOX_MAX: usize = 2;
/// Retention of decisions on holds after the end of the hold; no attempt can be in doubt longer.
const DECISIONS_KEPT: Span = Span::from_hours(48);

/// Statements of every connection.
pub(crate) const CONTROL: &[&str] = &[pipeline::BEGIN, pipeline::BEGIN_SNAPSHOT, pipeline::COMMIT, pipeline::ROLLBACK];

/// For [`Readers::probe_write`].
const PROBES: &[&str] = &[shared::PROBE_WRITE];

/// For what is divided by month.
const DROPS: &[&str] = &[records::DROP_CLEARED_MONTH];

pub(crate) struct Readers {
    pub(crate) by_key: Pool,
    lists: Pool,
    outbox: Pool,
}

impl Readers {
    pub(crate) fn new(connector: &Arc<ConnectionFactory>, readers_max: usize) -> Self {
        let by_key =
            [CONTROL, shared::READS, shared::PURGES, &records::reads(), &records::purges(), DROPS, PROBES].concat();
        let manager = |purpose, statements| Manager { connector: connector.clone(), purpose, statements, joins: false };
        Self {
            by_key: Pool::new(manager(Purpose::ByKey, by_key), readers_max),
            lists: Pool::new(manager(Purpose::Lists, Vec::new()), LISTS_MAX),
            outbox: Pool::new(manager(Purpose::Lists, Vec::new()), OUTBOX_MAX),
        }
    }

    pub(crate) async fn list(&self, list: &List) -> Result<Vec<Listed>, StoreError> {
        within(&self.lists, LIST_TIMEOUT, async |lists| records::list(lists.client(), list).await).await
    }

    pub(crate) async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        within(&self.outbox, LIST_TIMEOUT, async |reader| shared::outbox_after(reader, id, limit).await).await
    }

    pub(crate) async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        within(&self.outbox, LIST_TIMEOUT, async |reader| shared::outbox_before(reader, id, limit).await).await
    }

    pub(crate) async fn outbox_last(&self) -> Result<u64, StoreError> {
        within(&self.by_key, READ_TIMEOUT, async |connection| {
            let mut pipeline = Pipeline::new(connection);
            let last = shared::ask_outbox_last(&mut pipeline);
            let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            let Col(last) = get(answers.one(last), 0)?;
            Ok(last)
        })
        .await
    }

    pub(crate) async fn installation(&self) -> Result<String, StoreError> {
        within(&self.by_key, READ_TIMEOUT, async |connection| {
            let mut pipeline = Pipeline::new(connection);
            let installation = pipeline.send(shared::INSTALLATION, Vec::new());
            let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            get(answers.one(installation), 0)
        })
        .await
    }

    pub(crate) async fn is_new(&self) -> Result<bool, StoreError> {
        within(&self.by_key, READ_TIMEOUT, async |connection| {
            let mut pipeline = Pipeline::new(connection);
            let is_new = pipeline.send(shared::IS_NEW, Vec::new());
            let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            get(answers.one(is_new), 0)
        })
        .await
    }

    pub(crate) async fn head(&self) -> Result<Head, StoreError> {
        within(&self.by_key, READ_TIMEOUT, async |connection| {
            let mut pipeline = Pipeline::new(connection);
            let head = pipeline.send(shared::HEAD, Vec::new());
            let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            Head::read(answers.one(head))
        })
        .await
    }

    /// Whether the database takes writes. The probe leaves no row behind.
    pub(crate) async fn probe_write(&self) -> Result<(), StoreError> {
        within(&self.by_key, READ_TIMEOUT, async |connection| {
            let mut pipeline = Pipeline::new(connection);
            for statement in [pipeline::BEGIN, shared::PROBE_WRITE, pipeline::ROLLBACK] {
                pipeline.send(statement, Vec::new());
            }
            let answered = pipeline.answers().await.check();
            answered.map(|_| ()).map_err(|error| StoreError::Unavailable(sentence(&error)))
        })
        .await
    }

    /// Deletes expired rows. Caches may still contain deleted rows, and no result depends on their absence.
    pub(crate) async fn purge(&self, now: Timestamp, keep: Keep) -> Result<bool, StoreError> {
        let tidying = Purging {
            now,
            outbox_before: now - keep.outbox,
            holds_ended_before: now - ENDED_HOLD_KEPT,
            decided_before: now - DECISIONS_KEPT,
            limit: PURGE_ROWS_MAX,
        };
        let dropped = self.drop_cleared_month().await?;
        within(&self.by_key, PURGE_TIMEOUT, async |connection| {
            let mut transaction = Transaction::begin(connection);
            let kept = |retention| now - keep.span(retention);
            let mut tickets = records::purge(transaction.pipeline(), kept, PURGE_ROWS_MAX);
            tickets.extend(shared::purge(transaction.pipeline(), tidying));
            let mut answers = transaction.commit(PURGE_TIMEOUT).await?;
            Ok(tickets.into_iter().any(|ticket| answers.take(ticket).len() >= PURGE_ROWS_MAX))
        })
        .await
        .map(|more| more || dropped)
    }

    /// Drops an empty partition of slots, if there is one. A conflict postpones it.
    async fn drop_cleared_month(&self) -> Result<bool, StoreError> {
        let dropped = within(&self.by_key, PURGE_TIMEOUT, async |connection| {
            let mut transaction = Transaction::begin(connection);
            let dropped = transaction.pipeline().send(records::DROP_CLEARED_MONTH, Vec::new());
            let answers = transaction.commit(PURGE_TIMEOUT).await?;
            get(answers.one(dropped), 0)
        });
        match dropped.await {
            Err(StoreError::Conflict) => Ok(false),
            dropped => dropped,
        }
    }

    /// Audits a snapshot of all records; not bounded in time.
    pub(crate) async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        // Taken out of the pool: if this future is dropped, the connection is inside a transaction.
        let connection = Object::take(self.lists.get().await?);
        let client = connection.client();
        let begin = format!("{}; SET LOCAL statement_timeout = 0", pipeline::BEGIN_SNAPSHOT);
        client.batch_execute(&begin).await.map_err(|error| explain(&error))?;
        records::audit(client, audit).await
    }
}
