//! Durable tier of servers that share a database and keep live rows elsewhere: no in-memory state, optimistic
//! concurrency control with versions validated at commit.
//!
//! Every connection that writes holds the shared lock that excludes a server with exclusive use.

mod numbers;
mod read_set;
mod session;

use std::sync::Arc;
use std::time::Instant;

use holdfast_core::audit::Audit;
use holdfast_core::hold::{AttemptId, Decided};
use holdfast_core::id::HoldId;
use holdfast_core::schema::{List, Listed};
use holdfast_core::table::TableSet as _;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::StoreError;
use holdfast_engine::store::{COMMIT_TIMEOUT, Keep, OutboxRecord};

use crate::clock::StoreClock;
use crate::codec::{Col, get};
use crate::connection::{Connection, ConnectionFactory, Purpose};
use crate::error::explain;
use crate::open::{self, OpenError, PostgresOptions};
use crate::pipeline::{self, Pipeline, Transaction, params};
use crate::pool::{Manager, Pool, within};
use crate::readers::{CONTROL, READ_TIMEOUT, Readers};
use crate::records::{self, Of, RowCache};
use crate::shared;

pub use numbers::Drawn;
use numbers::Numbers;
pub use read_set::ReadSet;
pub use session::DurableSession;

/// Maximum number of concurrent batches: the engine has few, and so has recovery.
const BATCHES_MAX: usize = 4;

/// Does nothing if there is a decision already, and waits for one that is about to be committed.
const DECIDE_ABORTED: &str = "INSERT INTO hold_decision VALUES ($1, $2, false, clock_timestamp())
    ON CONFLICT (hold_id, attempt) DO NOTHING";
const DECIDED: &str = "SELECT committed FROM hold_decision WHERE hold_id = $1 AND attempt = $2";

pub(crate) fn statements() -> Vec<&'static str> {
    let own = [
        CONTROL,
        open::JOINS,
        &[DECIDE_ABORTED, DECIDED],
        numbers::STATEMENTS,
        read_set::STATEMENTS,
        session::STATEMENTS,
    ];
    let shared = [shared::READS, shared::WRITES];
    [&own.concat()[..], &shared.concat(), &records::reads(), &records::writes(), &records::locks()].concat()
}

/// Cheap to clone.
#[derive(Clone)]
pub struct DurableTier {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Arc<ConnectionFactory>,
    clock: StoreClock,
    readers: Readers,
    batches: Pool,
    numbers: Arc<Numbers>,
    row_cache: RowCache,
}

impl std::fmt::Debug for DurableTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableTier").finish_non_exhaustive()
    }
}

impl DurableTier {
    /// Joins the servers that share the database, and migrates its schema.
    pub async fn open(options: PostgresOptions) -> Result<Self, OpenError> {
        let connector = Arc::new(options.connection_factory()?);
        open::migrate(&connector).await?;
        let manager =
            Manager { connector: connector.clone(), purpose: Purpose::ByKey, statements: statements(), joins: true };
        let shared = Shared {
            readers: Readers::new(&connector, options.readers_max),
            batches: Pool::new(manager, BATCHES_MAX),
            connector,
            clock: StoreClock::new(options.clock),
            numbers: Arc::default(),
            row_cache: RowCache::default(),
        };
        // Joins now, so that a rejection fails the start.
        drop(shared.batches.get().await?);
        let tier = Self { shared: Arc::new(shared) };
        tier.tell_time().await?;
        tier.shared.connector.opened();
        Ok(tier)
    }

    /// Fills requested rows of durable tables, and returns the database's time. Live rows and sequences stay requested.
    pub async fn read(&self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.read_into(rows, &mut ReadSet::default()).await
    }

    /// The same, for a batch whose rows are written elsewhere.
    pub async fn read_into(&self, rows: &mut WorkingSet, read_set: &mut ReadSet) -> Result<Timestamp, StoreError> {
        let Shared { readers, clock, row_cache, .. } = &*self.shared;
        row_cache.fill(rows);
        if !requests_durable(rows) {
            return Ok(clock.now());
        }
        let asked = Instant::now();
        let load = async |connection: &Connection| load(connection, rows, read_set, row_cache).await;
        clock.heard(within(&readers.by_key, READ_TIMEOUT, load).await?, asked);
        Ok(clock.now())
    }

    /// Checks that all rows of a read set were so at one moment, together with the live rows read for the same batch:
    /// [`StoreError::Conflict`] if one has changed.
    pub async fn validate(&self, read_set: &ReadSet) -> Result<(), StoreError> {
        if read_set.is_snapshot() {
            return Ok(());
        }
        let validate = async |connection: &Connection| {
            let mut transaction = Transaction::begin(connection);
            read_set.lock(transaction.pipeline(), &WorkingSet::default());
            match transaction.commit(COMMIT_TIMEOUT).await.map_err(StoreError::from) {
                // A transaction without writes has no unknown outcome.
                Err(StoreError::OutcomeUnknown(why)) => Err(StoreError::Unavailable(why)),
                ended => ended.map(drop),
            }
        };
        within(&self.shared.batches, COMMIT_TIMEOUT + READ_TIMEOUT, validate).await
    }

    /// Begins a batch.
    pub async fn begin(&self) -> Result<DurableSession, StoreError> {
        let connection = self.shared.batches.get().await?;
        Ok(DurableSession::new(self.shared.clone(), connection))
    }

    /// Returns an empty allocation of numbers, for a batch whose rows are written elsewhere.
    pub fn numbers(&self) -> Drawn {
        Drawn::new(&self.shared.numbers)
    }

    /// Fills requested sequences.
    pub async fn draw(&self, rows: &mut WorkingSet, drawn: &mut Drawn) -> Result<(), StoreError> {
        let lacking = drawn.take(rows);
        if lacking.is_empty() {
            return Ok(());
        }
        let draw = async |connection: &Connection| {
            let mut pipeline = Pipeline::new(connection);
            let drawings: Vec<_> = lacking.iter().map(|of| numbers::draw(&mut pipeline, *of)).collect();
            let answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            drawings.into_iter().map(|drawing| drawing.drawn(&answers)).collect::<Result<Vec<_>, _>>()
        };
        for (sequence, range) in within(&self.shared.batches, READ_TIMEOUT, draw).await? {
            drawn.fill(rows, sequence, range);
        }
        Ok(())
    }

    /// Aborts an attempt to confirm a hold, unless it is committed; afterwards it cannot be. Returns whether the hold
    /// is confirmed.
    pub async fn decide_aborted(&self, hold: HoldId, attempt: u32) -> Result<bool, StoreError> {
        let decide = async |connection: &Connection| {
            let mut transaction = Transaction::begin(connection);
            let pipeline = transaction.pipeline();
            pipeline.send(DECIDE_ABORTED, params![Col(hold), Col(attempt)]);
            let decided = pipeline.send(DECIDED, params![Col(hold), Col(attempt)]);
            // The hold may also have been confirmed by another attempt, or the decision was purged.
            let confirmed = records::ask_confirmed(pipeline, &[hold]);
            let mut answers = transaction.commit(COMMIT_TIMEOUT).await?;
            let is_committed = get::<bool>(answers.one(decided), 0)?;
            Ok(is_committed || !records::confirmed(&mut answers, confirmed)?.is_empty())
        };
        within(&self.shared.batches, COMMIT_TIMEOUT + READ_TIMEOUT, decide).await
    }

    /// Returns the outcome of those attempts that are decided.
    pub async fn decided(&self, tries: &[AttemptId]) -> Result<Vec<(AttemptId, Decided)>, StoreError> {
        let ask = async |connection: &Connection| {
            let mut pipeline = Pipeline::new(connection);
            let asked: Vec<_> = tries
                .iter()
                .map(|of| (*of, pipeline.send(DECIDED, params![Col(of.hold), Col(of.attempt.0)])))
                .collect();
            let holds: Vec<HoldId> = tries.iter().map(|of| of.hold).collect();
            let confirmed = records::ask_confirmed(&mut pipeline, &holds);
            let mut answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            let confirmed = records::confirmed(&mut answers, confirmed)?;
            let mut decided = Vec::new();
            for (of, ticket) in asked {
                // A hold is confirmed whichever attempt did it.
                let is_confirmed = confirmed.contains(&of.hold);
                let is_committed = answers.take(ticket).first().map(|row| get::<bool>(row, 0)).transpose()?;
                match is_committed.map(|is_committed| is_committed || is_confirmed) {
                    Some(true) => decided.push((of, Decided::Committed)),
                    Some(false) => decided.push((of, Decided::Aborted)),
                    None if is_confirmed => decided.push((of, Decided::Committed)),
                    None => {}
                }
            }
            Ok(decided)
        };
        within(&self.shared.batches, READ_TIMEOUT, ask).await
    }

    /// Returns the confirmed ones among these holds.
    pub async fn confirmed(&self, holds: &[HoldId]) -> Result<Vec<HoldId>, StoreError> {
        let ask = async |connection: &Connection| {
            let mut pipeline = Pipeline::new(connection);
            let confirmed = records::ask_confirmed(&mut pipeline, holds);
            let mut answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
            records::confirmed(&mut answers, confirmed)
        };
        within(&self.shared.readers.by_key, READ_TIMEOUT, ask).await
    }

    /// The database's time.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Round trips of batches and reads by key, without lists.
    pub fn round_trips(&self) -> u64 {
        self.shared.connector.round_trips()
    }

    /// Durable events after an id, in order.
    pub async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.shared.readers.outbox_after(id, limit).await
    }

    /// Durable events before an id, newest first.
    pub async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.shared.readers.outbox_before(id, limit).await
    }

    /// Id of the last durable event; 0 if there is none.
    pub async fn outbox_last(&self) -> Result<u64, StoreError> {
        self.shared.readers.outbox_last().await
    }

    /// The random id that the database was given when its tables were created.
    pub async fn installation(&self) -> Result<String, StoreError> {
        self.shared.readers.installation().await
    }

    /// Whether it has never had a row.
    pub async fn is_new(&self) -> Result<bool, StoreError> {
        self.shared.readers.is_new().await
    }

    /// Deletes a bounded number of expired rows. Returns whether there may be more.
    pub async fn purge(&self, keep: Keep) -> Result<bool, StoreError> {
        self.tell_time().await?;
        self.shared.readers.purge(self.now(), keep).await
    }

    /// Verifies that batches can be committed.
    pub async fn check(&self) -> Result<(), StoreError> {
        drop(self.shared.batches.get().await?);
        self.tell_time().await?;
        self.shared.readers.probe_write().await
    }

    /// Audits every durable record: all except holds.
    pub async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        self.shared.readers.audit(audit).await
    }

    /// Returns a page of a list.
    pub async fn list(&self, list: &List) -> Result<Vec<Listed>, StoreError> {
        self.shared.readers.list(list).await
    }

    async fn tell_time(&self) -> Result<(), StoreError> {
        let asked = Instant::now();
        let head = self.shared.readers.head().await?;
        self.shared.clock.heard(head.now, asked);
        self.shared.clock.not_before(head.last_at);
        Ok(())
    }
}

fn requests_durable(rows: &WorkingSet) -> bool {
    !rows.idempotency_records.is_loaded() || records::requests_durable(rows)
}

/// Loads what is requested of durable tables, as it stood at one moment, in one round trip. Tells the database's time.
async fn load(
    connection: &Connection,
    rows: &mut WorkingSet,
    read_set: &mut ReadSet,
    row_cache: &RowCache,
) -> Result<Timestamp, StoreError> {
    let mut pipeline = Pipeline::new(connection);
    let asked = PendingLoad::ask(&mut pipeline, rows);
    let mut answers = pipeline.answers().await.check().map_err(|error| explain(&error))?;
    asked.fill(&mut answers, rows, read_set, row_cache)
}

/// Pending snapshot.
struct PendingLoad {
    now: pipeline::Ticket,
    shared: shared::PendingLoad,
    records: records::PendingLoad,
}

impl PendingLoad {
    fn ask(pipeline: &mut Pipeline<'_>, rows: &mut WorkingSet) -> Self {
        pipeline.send(pipeline::BEGIN_SNAPSHOT, Vec::new());
        let now = pipeline.send(shared::NOW, Vec::new());
        let mut shared = shared::PendingLoad::default();
        shared.request_idempotency_records(pipeline, rows);
        let records = records::PendingLoad::ask(pipeline, rows, Of::Durable);
        pipeline.send(pipeline::COMMIT, Vec::new());
        Self { now, shared, records }
    }

    fn fill(
        self,
        answers: &mut pipeline::QueryResults,
        rows: &mut WorkingSet,
        read_set: &mut ReadSet,
        row_cache: &RowCache,
    ) -> Result<Timestamp, StoreError> {
        let idempotency_records = self.shared.idempotency_records().to_vec();
        self.shared.fill(answers, rows)?;
        read_set.snapshot(rows, idempotency_records);
        self.records.fill(answers, rows, Some((&mut read_set.versions, row_cache)))?;
        let Col(now) = get(answers.one(self.now), 0)?;
        Ok(now)
    }
}
