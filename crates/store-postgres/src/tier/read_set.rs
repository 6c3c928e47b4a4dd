//! Read set of a batch, for servers that share the database: validated by comparing versions.

use std::collections::HashSet;

use holdfast_core::WorkingSet;
use holdfast_core::idempotency::IdempotencyRecordId;

use crate::pipeline::{Pipeline, params};
use crate::records::RowVersions;

const EXPECT_NO_IDEMPOTENCY_RECORDS: &str = "SELECT expect_version(count(*), 0)
    FROM unnest($1::text[], $2::text[]) AS absent (caller, key) JOIN idempotency_key USING (caller, key)";

pub(super) const STATEMENTS: &[&str] = &[EXPECT_NO_IDEMPOTENCY_RECORDS];

/// Rows that were read, with their versions.
#[derive(Debug, Default)]
pub struct ReadSet {
    pub(super) versions: RowVersions,
    /// Idempotency records that did not exist.
    absent_receipts: Vec<IdempotencyRecordId>,
    /// Number of snapshots that the rows come from.
    snapshots: usize,
    /// Whether rows of the live tier were read after the snapshot.
    is_before_live: bool,
}

impl ReadSet {
    /// Whether all rows were read at one moment, and no live row was read after it. Otherwise the rows are consistent with
    /// each other and with the live ones only if none has changed since.
    pub(super) fn is_snapshot(&self) -> bool {
        self.snapshots == 0 || (self.snapshots == 1 && !self.is_before_live)
    }

    /// Notes that rows of the live tier were read now.
    pub fn note_live_rows(&mut self) {
        self.is_before_live |= self.snapshots > 0;
    }

    /// Notes another snapshot, and which of these idempotency records it does not have.
    pub(super) fn snapshot(&mut self, rows: &mut WorkingSet, idempotency_records: Vec<IdempotencyRecordId>) {
        self.snapshots += 1;
        self.absent_receipts
            .extend(idempotency_records.into_iter().filter(|id| rows.idempotency_records.get(id) == Ok(None)));
    }

    /// Locks all rows until the end of the transaction, and refuses if anything has changed.
    pub(super) fn lock(&self, pipeline: &mut Pipeline<'_>, rows: &WorkingSet) {
        self.versions.lock(pipeline, rows);
        // Written records are compared by the write itself.
        let written: HashSet<_> = rows.idempotency_records.changes().iter().map(|change| change.key).collect();
        let unwritten = || self.absent_receipts.iter().filter(|id| !written.contains(id));
        if unwritten().next().is_some() {
            let callers: Vec<_> = unwritten().map(|id| id.caller.clone()).collect();
            let keys: Vec<_> = unwritten().map(|id| id.key.clone()).collect();
            pipeline.send(EXPECT_NO_IDEMPOTENCY_RECORDS, params![callers, keys]);
        }
    }
}
