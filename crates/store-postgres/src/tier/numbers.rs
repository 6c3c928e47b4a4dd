//! Numbers for new records. Each server sets aside a block at a time, so that drawing one is nobody else's business;
//! what it does not use is never used.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use holdfast_core::id::{IdRange, Sequence};
use holdfast_engine::StoreError;

use crate::codec::{Col, get};
use crate::pipeline::{self, Pipeline, Rows, Ticket, params};
use crate::shared::sequence_name;

/// More than one batch can draw.
const BATCH_MAX: u64 = 16_384;
/// Enough for many batches, and little enough that a restart does not make numbers jump far.
const BLOCK: u64 = 2 * BATCH_MAX;

const DRAW: &str = "INSERT INTO sequence VALUES ($1, 1 + $2::bigint)
    ON CONFLICT (name) DO UPDATE SET next = sequence.next + $2 RETURNING next - $2";

pub(super) const STATEMENTS: &[&str] = &[DRAW];

/// What is set aside and in nobody's hands.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<BTreeMap<Sequence, IdRange>>);

/// A block that was asked for.
pub(super) struct Drawing {
    sequence: Sequence,
    ticket: Ticket,
}

impl Numbers {
    /// Enough for a batch, if there is as much.
    pub(super) fn take(&self, sequence: Sequence) -> Option<IdRange> {
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ranges.remove(&sequence).filter(|range| range.last + 1 - range.next >= BATCH_MAX)
    }

    /// For the next batch. Of two blocks the larger one is kept.
    pub(super) fn give_back(&self, sequence: Sequence, range: IdRange) {
        let left = |range: IdRange| (range.last + 1).saturating_sub(range.next);
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = ranges.entry(sequence).or_insert(range);
        if left(range) > left(*kept) {
            *kept = range;
        }
    }
}

/// Sets a block aside, in a transaction of its own: whatever becomes of the batch, nobody else gets it.
pub(super) fn draw(pipeline: &mut Pipeline<'_>, sequence: Sequence) -> Drawing {
    pipeline.send(pipeline::BEGIN, Vec::new());
    let ticket = pipeline.send(DRAW, params![sequence_name(sequence), Col(BLOCK)]);
    pipeline.send(pipeline::COMMIT, Vec::new());
    Drawing { sequence, ticket }
}

impl Drawing {
    pub(super) fn drawn(self, answers: &Rows) -> Result<(Sequence, IdRange), StoreError> {
        let Col(next) = get::<Col<u64>>(answers.one(self.ticket), 0)?;
        Ok((self.sequence, IdRange { next, last: next + BLOCK - 1 }))
    }
}
