//! SQL of tables that all verticals share: sequences, idempotency keys, outbox, commit counter.

use holdfast_core::Timestamp;
use holdfast_core::id::{ID_MAX, IdRange, Sequence, UserId};
use holdfast_core::idempotency::{IDEMPOTENCY_TTL, IdempotencyRecord, IdempotencyRecordId};
use holdfast_core::schema::sequence;
use holdfast_core::working_set::Tables;
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{OutboxEntry, StoreError, Trace};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::codec::{Col, get};
use crate::connection::Connection;
use crate::error::explain;
use crate::pipeline::{Pipeline, QueryResults, Ticket, column, params};
use crate::records;

/// Number of commits, time of the last one, current time.
pub(crate) const HEAD: &str = "SELECT count, last_at, clock_timestamp() FROM commits WHERE only_row";
pub(crate) const NOW: &str = "SELECT clock_timestamp()";
const SELECT_SEQUENCES: &str = "SELECT name, next FROM sequence WHERE name = ANY ($1::text[])";
const SELECT_IDEMPOTENCY_RECORDS: &str = "SELECT caller, key, fingerprint, response, expires_at
    FROM unnest($1::text[], $2::text[]) AS requested (caller, key) JOIN idempotency_key USING (caller, key)";

/// Returns the database's time.
const COUNT_COMMIT: &str = "SELECT count_commit($1, $2)";
const WRITE_SEQUENCES: &str = "INSERT INTO sequence SELECT * FROM unnest($1::text[], $2::bigint[])
    ON CONFLICT (name) DO UPDATE SET next = excluded.next";
/// An idempotency record is replaced only if it has expired, so of two servers with the same request one fails.
const WRITE_IDEMPOTENCY_RECORDS: &str = "WITH written AS (
        INSERT INTO idempotency_key
        SELECT caller, key, fingerprint, response, expires_at
        FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::timestamptz[])
            AS receipt (caller, key, fingerprint, response, expires_at)
        ORDER BY caller, key
        ON CONFLICT (caller, key) DO UPDATE SET
            fingerprint = excluded.fingerprint, response = excluded.response, expires_at = excluded.expires_at
        WHERE idempotency_key.expires_at <= excluded.expires_at - $6 * interval '1 millisecond'
        RETURNING 1)
    SELECT expect_version(count(*), $7) FROM written";
/// Sequence numbers are drawn under a row lock held until the commit: they become visible in order.
const APPEND_OUTBOX: &str = "WITH drawn AS (
        INSERT INTO sequence VALUES ('outbox', 1 + $5::bigint) ON CONFLICT (name) DO UPDATE SET next = sequence.next + $5
        RETURNING next - $5 AS first),
    appended AS (
        INSERT INTO outbox
        SELECT first + position - 1, event_type, user_id, created_at, NULLIF(data, '')::json, trace, imported
        FROM drawn, unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $6::text[], $7::boolean[])
            WITH ORDINALITY AS entry (event_type, user_id, created_at, data, trace, imported, position))
    SELECT first FROM drawn";

const OUTBOX_AFTER: &str = "SELECT id, event_type, user_id, created_at, COALESCE(data::text, ''), trace, imported
    FROM outbox WHERE id > $1 ORDER BY id LIMIT $2";
const OUTBOX_BEFORE: &str = "SELECT id, event_type, user_id, created_at, COALESCE(data::text, ''), trace, imported
    FROM outbox WHERE id < $1 ORDER BY id DESC LIMIT $2";
/// A store with any record has drawn a number.
pub(crate) const IS_NEW: &str = "SELECT NOT EXISTS (SELECT FROM sequence)";
const OUTBOX_LAST: &str = "SELECT COALESCE((SELECT next FROM sequence WHERE name = 'outbox'), 1) - 1";

/// A write that is always rolled back. It waits for no other transaction; a standby refuses it.
pub(crate) const PROBE_WRITE: &str =
    "INSERT INTO idempotency_key VALUES ('probe', txid_current()::text, '', '', clock_timestamp())";
pub(crate) const INSTALLATION: &str = "SELECT id FROM installation";

const PURGE_IDEMPOTENCY_RECORDS: &str = "DELETE FROM idempotency_key WHERE (caller, key) IN
    (SELECT caller, key FROM idempotency_key WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) RETURNING 1";
/// Keeps unpublished entries. Without a publisher, all entries count as published.
const PURGE_OUTBOX: &str = "DELETE FROM outbox WHERE id IN
    (SELECT id FROM outbox WHERE NOT EXISTS (SELECT FROM outbox_trouble WHERE outbox_id = outbox.id)
     ORDER BY id LIMIT $2)
    AND created_at < $1 AND id <= COALESCE((SELECT min(sent_up_to) FROM outbox_relay WHERE partition_no >= 0), id)
    RETURNING 1";
const PURGE_DECISIONS: &str = "DELETE FROM hold_decision WHERE (hold_id, attempt) IN
    (SELECT hold_id, attempt FROM hold_decision WHERE decided_at < $1 ORDER BY decided_at LIMIT $2) RETURNING 1";

pub(crate) const READS: &[&str] =
    &[HEAD, NOW, SELECT_SEQUENCES, SELECT_IDEMPOTENCY_RECORDS, OUTBOX_LAST, IS_NEW, INSTALLATION];
pub(crate) const WRITES: &[&str] = &[COUNT_COMMIT, WRITE_SEQUENCES, WRITE_IDEMPOTENCY_RECORDS, APPEND_OUTBOX];
pub(crate) const PURGES: &[&str] = &[PURGE_IDEMPOTENCY_RECORDS, PURGE_OUTBOX, PURGE_DECISIONS];

/// State of the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) commits: u64,
    pub(crate) last_at: Timestamp,
    pub(crate) now: Timestamp,
}

impl Head {
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        let (Col(commits), Col(last_at), Col(now)) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
        Ok(Self { commits, last_at, now })
    }
}

/// Pending requests.
#[derive(Default)]
pub(crate) struct PendingLoad {
    sequences: Vec<Sequence>,
    idempotency_records: Vec<IdempotencyRecordId>,
    sequences_at: Option<Ticket>,
    receipts_at: Option<Ticket>,
}

impl PendingLoad {
    /// Requests sequences, for a server that owns the database; servers that share it draw blocks of numbers.
    pub(crate) fn ask_sequences(&mut self, pipeline: &mut Pipeline<'_>, tables: &mut Tables) {
        self.sequences = tables.ids.take_requested();
        if !self.sequences.is_empty() {
            let names = column(&self.sequences, sequence::name);
            self.sequences_at = Some(pipeline.send(SELECT_SEQUENCES, vec![names]));
        }
    }

    pub(crate) fn request_idempotency_records(&mut self, pipeline: &mut Pipeline<'_>, tables: &mut Tables) {
        self.idempotency_records = tables.idempotency_records.take_requested();
        if !self.idempotency_records.is_empty() {
            let callers: Vec<_> = self.idempotency_records.iter().map(|id| id.caller.clone()).collect();
            let keys: Vec<_> = self.idempotency_records.iter().map(|id| id.key.clone()).collect();
            self.receipts_at = Some(pipeline.send(SELECT_IDEMPOTENCY_RECORDS, params![callers, keys]));
        }
    }

    pub(crate) fn idempotency_records(&self) -> &[IdempotencyRecordId] {
        &self.idempotency_records
    }

    /// Whether rows were asked for that memory does not keep.
    pub(crate) fn has_ranges_requested(&self) -> bool {
        !self.idempotency_records.is_empty()
    }

    pub(crate) fn fill(self, answers: &mut QueryResults, tables: &mut Tables) -> Result<(), StoreError> {
        if let Some(ticket) = self.sequences_at {
            let rows = answers.take(ticket);
            for sequence in self.sequences {
                let mut next = 1;
                for row in &rows {
                    if get::<&str>(row, 0)? == sequence::name(sequence) {
                        Col(next) = get(row, 1)?;
                    }
                }
                tables.ids.fill(sequence, Some(IdRange { next, last: ID_MAX }));
            }
        }
        if let Some(ticket) = self.receipts_at {
            for row in answers.take(ticket) {
                let id = IdempotencyRecordId { caller: get(&row, 0)?, key: get(&row, 1)? };
                let fingerprint = get::<&[u8]>(&row, 2)?.try_into();
                let fingerprint = fingerprint.map_err(|_| StoreError::Damaged("not a fingerprint".into()))?;
                let Col(expires_at) = get(&row, 4)?;
                tables
                    .idempotency_records
                    .fill(id, Some(IdempotencyRecord { fingerprint, response: get(&row, 3)?, expires_at }));
            }
            for id in self.idempotency_records {
                tables.idempotency_records.fill(id, None);
            }
        }
        Ok(())
    }
}

/// Fails the batch unless the last commit is `expected`. Returns the database's time.
pub(crate) fn count_commit(pipeline: &mut Pipeline<'_>, expected: u64, now: Timestamp) -> Ticket {
    pipeline.send(COUNT_COMMIT, params![Col(expected), Col(now)])
}

pub(crate) fn write_sequences(pipeline: &mut Pipeline<'_>, tables: &Tables) {
    let changes = tables.ids.changes();
    if changes.is_empty() {
        return;
    }
    let names: Vec<_> = changes.iter().map(|change| sequence::name(*change.key)).collect();
    let next: Vec<_> =
        changes.iter().map(|change| Col(change.row.expect("sequences are never deleted").next)).collect();
    pipeline.send(WRITE_SEQUENCES, params![names, next]);
}

pub(crate) fn write_idempotency_records<'a>(pipeline: &mut Pipeline<'a>, tables: &'a Tables) {
    let changes = tables.idempotency_records.changes();
    if changes.is_empty() {
        return;
    }
    let idempotency_records: Vec<(&'a IdempotencyRecordId, &'a IdempotencyRecord)> = changes
        .iter()
        .map(|change| (change.key, change.row.expect("idempotency records expire and are never deleted by commands")))
        .collect();
    pipeline.send(
        WRITE_IDEMPOTENCY_RECORDS,
        vec![
            column(&idempotency_records, |(id, _)| &*id.caller),
            column(&idempotency_records, |(id, _)| &*id.key),
            column(&idempotency_records, |(_, receipt)| &receipt.fingerprint[..]),
            column(&idempotency_records, |(_, receipt)| &*receipt.response),
            column(&idempotency_records, |(_, receipt)| Col(receipt.expires_at)),
            Box::new(IDEMPOTENCY_TTL.as_millis() as f64),
            Box::new(idempotency_records.len() as i64),
        ],
    );
}

/// Appends to the outbox; `None` if there is nothing to append.
pub(crate) fn append_outbox<'a>(pipeline: &mut Pipeline<'a>, outbox: &'a [OutboxEntry]) -> Option<Ticket> {
    if outbox.is_empty() {
        return None;
    }
    let entries: Vec<&'a OutboxEntry> = outbox.iter().collect();
    let values = vec![
        column(&entries, |entry| entry.event_type),
        column(&entries, |entry| entry.owner.clone().map(Col)),
        column(&entries, |entry| Col(entry.at)),
        column(&entries, |entry| &*entry.data),
        Box::new(entries.len() as i64),
        column(&entries, |entry| entry.trace.map(|trace| trace.to_string())),
        column(&entries, |entry| entry.imported),
    ];
    Some(pipeline.send(APPEND_OUTBOX, values))
}

/// Ids assigned by [`append_outbox`].
pub(crate) fn outbox_ids(
    answers: &QueryResults,
    ticket: Option<Ticket>,
    outbox: &[OutboxEntry],
) -> Result<Vec<u64>, StoreError> {
    let Some(ticket) = ticket else { return Ok(Vec::new()) };
    let Col(first) = get::<Col<u64>>(answers.one(ticket), 0)?;
    Ok((first..).take(outbox.len()).collect())
}

pub(crate) async fn outbox_after(lists: &Connection, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
    outbox(lists, OUTBOX_AFTER, id, limit).await
}

pub(crate) async fn outbox_before(lists: &Connection, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
    outbox(lists, OUTBOX_BEFORE, id, limit).await
}

async fn outbox(lists: &Connection, sql: &str, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
    let limit = limit as i64;
    let rows = lists.client().query_typed(sql, &[(&Col(id), Type::INT8), (&limit, Type::INT8)]).await;
    let read = |row: &Row| {
        let (Col(id), Col(at)) = (get(row, 0)?, get(row, 3)?);
        let owner = get::<Option<Col<UserId>>>(row, 2)?.map(|Col(owner)| owner);
        let trace = get::<Option<&str>>(row, 5)?.and_then(Trace::parse);
        let (event_type, data, imported) = (get(row, 1)?, get(row, 4)?, get(row, 6)?);
        Ok(OutboxRecord { id, event_type, owner, at, data, trace, imported })
    };
    rows.map_err(|error| explain(&error))?.iter().map(read).collect()
}

pub(crate) fn ask_outbox_last(pipeline: &mut Pipeline<'_>) -> Ticket {
    pipeline.send(OUTBOX_LAST, Vec::new())
}

/// Bounds of a garbage-collection step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purging {
    pub(crate) now: Timestamp,
    pub(crate) outbox_before: Timestamp,
    pub(crate) holds_ended_before: Timestamp,
    pub(crate) decided_before: Timestamp,
    /// Maximum number of rows to delete per table.
    pub(crate) limit: usize,
}

pub(crate) fn purge(pipeline: &mut Pipeline<'_>, tidying: Purging) -> [Ticket; 4] {
    let limit = tidying.limit as i64;
    [
        pipeline.send(PURGE_IDEMPOTENCY_RECORDS, params![Col(tidying.now), limit]),
        pipeline.send(PURGE_OUTBOX, params![Col(tidying.outbox_before), limit]),
        pipeline.send(records::PURGE_HOLDS, params![Col(tidying.holds_ended_before), limit]),
        pipeline.send(PURGE_DECISIONS, params![Col(tidying.decided_before), limit]),
    ]
}
