//! Idempotency records: the first successful response under a key is kept for a day and replayed to repeated requests.

use crate::command::{Command, Context, Decision, writes};
use crate::rejection::Rejection;
use crate::table::Row;
use crate::time::{Span, Timestamp};
use crate::working_set::WorkingSet;

/// Lifetime of an idempotency record.
pub const IDEMPOTENCY_TTL: Span = Span::from_hours(24);

/// Idempotency key within the scope of one caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyRecordId {
    pub caller: String,
    pub key: String,
}

/// Idempotency record: the response, and the fingerprint of its request. The response is opaque to the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyRecord {
    pub fingerprint: [u8; 32],
    pub response: Vec<u8>,
    pub expires_at: Timestamp,
}

impl Row for IdempotencyRecord {
    fn kept_until(&self, _now: Timestamp) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

/// Returns the response recorded under this key. Rejects a request with another fingerprint.
pub fn find(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    id: &IdempotencyRecordId,
    fingerprint: &[u8; 32],
) -> Decision<Option<Vec<u8>>> {
    match rows.idempotency_records.get(id)? {
        Some(receipt) if receipt.expires_at > at.now => {
            if receipt.fingerprint == *fingerprint {
                Ok(Some(receipt.response.clone()))
            } else {
                Err(Rejection::IdempotencyKeyReused.into())
            }
        }
        Some(_) | None => Ok(None),
    }
}

/// Records the response of a successful command, in the same commit as its effect.
pub fn keep(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    id: IdempotencyRecordId,
    fingerprint: [u8; 32],
    response: Vec<u8>,
) {
    rows.idempotency_records.put(id, IdempotencyRecord { fingerprint, response, expires_at: at.now + IDEMPOTENCY_TTL });
}

/// A command without effect. Ends a sequence of commands that is idempotent as a whole: the response is recorded with
/// it.
#[derive(Clone, Copy, Debug)]
pub struct KeepAnswer;

impl Command for KeepAnswer {
    type Outcome = ();
    const NAME: &'static str = "idempotency.keep";
    type Writes = writes::Durable;

    fn decide(&self, _rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
        Ok(())
    }
}
