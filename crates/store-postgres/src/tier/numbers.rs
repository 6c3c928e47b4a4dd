//! Allocation of ids in blocks per server, so that drawing an id needs no coordination. Unused ids of a block are
//! skipped.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdfast_core::WorkingSet;
use holdfast_core::id::{IdRange, Sequence};
use holdfast_core::schema::sequence;
use holdfast_engine::StoreError;
use parking_lot::Mutex;

use crate::codec::{Col, get};
use crate::pipeline::{self, Pipeline, QueryResults, Ticket, params};

/// Maximum weight of all commands of a batch.
const WEIGHT_MAX: u64 = 16_384;

/// Upper bound of the ids one batch can draw.
fn batch_max(sequence: Sequence) -> u64 {
    WEIGHT_MAX * sequence.numbers_per_weight_max() as u64
}

/// Enough for some batches, and small enough that a restart skips few ids.
fn block(sequence: Sequence) -> u64 {
    2 * batch_max(sequence)
}

const DRAW: &str = "INSERT INTO sequence VALUES ($1, 1 + $2::bigint)
    ON CONFLICT (name) DO UPDATE SET next = sequence.next + $2 RETURNING next - $2";

pub(super) const STATEMENTS: &[&str] = &[DRAW];

/// Allocated and unused ids.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<BTreeMap<Sequence, IdRange>>);

/// Ids allotted to a batch; unused ones are returned when it ends.
#[derive(Debug, Default)]
pub struct Drawn {
    numbers: Arc<Numbers>,
    ranges: BTreeMap<Sequence, IdRange>,
}

impl Drawn {
    pub(super) fn new(numbers: &Arc<Numbers>) -> Self {
        Self { numbers: numbers.clone(), ranges: BTreeMap::new() }
    }

    /// Fills requested sequences from allocated ids. Returns the sequences with too few.
    pub(super) fn take(&mut self, rows: &mut WorkingSet) -> Vec<Sequence> {
        let mut lacking = Vec::new();
        for sequence in rows.ids.take_requested() {
            match self.numbers.take(sequence) {
                Some(range) => self.fill(rows, sequence, range),
                None => lacking.push(sequence),
            }
        }
        lacking
    }

    pub(super) fn fill(&mut self, rows: &mut WorkingSet, sequence: Sequence, range: IdRange) {
        self.ranges.insert(sequence, range);
        rows.ids.fill(sequence, Some(range));
    }

    /// Marks ids drawn by a batch as used, regardless of its outcome.
    pub fn used_by(&mut self, rows: &WorkingSet) {
        for change in rows.ids.changes() {
            self.ranges.insert(*change.key, *change.row.expect("sequences are never deleted"));
        }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        for (sequence, range) in std::mem::take(&mut self.ranges) {
            self.numbers.give_back(sequence, range);
        }
    }
}

/// Pending allocation of a block.
pub(super) struct Drawing {
    sequence: Sequence,
    ticket: Ticket,
}

impl Numbers {
    /// Takes allocated ids, if they suffice for a batch.
    pub(super) fn take(&self, sequence: Sequence) -> Option<IdRange> {
        let mut ranges = self.0.lock();
        ranges.remove(&sequence).filter(|range| range.last + 1 - range.next >= batch_max(sequence))
    }

    /// Returns ids for the next batch. Of two blocks the larger one is kept.
    pub(super) fn give_back(&self, sequence: Sequence, range: IdRange) {
        let left = |range: IdRange| (range.last + 1).saturating_sub(range.next);
        let mut ranges = self.0.lock();
        let kept = ranges.entry(sequence).or_insert(range);
        if left(range) > left(*kept) {
            *kept = range;
        }
    }
}

/// Allocates a block in a transaction of its own: this server keeps it regardless of the outcome of the batch.
pub(super) fn draw(pipeline: &mut Pipeline<'_>, sequence: Sequence) -> Drawing {
    pipeline.send(pipeline::BEGIN, Vec::new());
    let ticket = pipeline.send(DRAW, params![sequence::name(sequence), Col(block(sequence))]);
    pipeline.send(pipeline::COMMIT, Vec::new());
    Drawing { sequence, ticket }
}

impl Drawing {
    pub(super) fn drawn(self, answers: &QueryResults) -> Result<(Sequence, IdRange), StoreError> {
        let Col(next) = get::<Col<u64>>(answers.one(self.ticket), 0)?;
        Ok((self.sequence, IdRange { next, last: next + block(self.sequence) - 1 }))
    }
}
