//! Idempotency keys: the first success under a key is kept for a day and given again to whoever repeats the request.

use crate::command::{Command, Context, Decision, Writes};
use crate::rejection::Rejection;
use crate::rows::Rows;
use crate::table::Row;
use crate::time::{Span, Timestamp};

/// How long a receipt is kept.
pub const RECEIPT_TTL: Span = Span::from_hours(24);

/// A key, as one caller uses it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiptId {
    pub caller: String,
    pub key: String,
}

/// What was answered, and to which request. The answer is the edge's own bytes; the rules do not look inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub fingerprint: [u8; 32],
    pub response: Vec<u8>,
    pub expires_at: Timestamp,
}

impl Row for Receipt {}

/// The answer given before under this key, if there is one and the request is the same.
pub fn find(rows: &mut Rows, at: &Context<'_>, id: &ReceiptId, fingerprint: &[u8; 32]) -> Decision<Option<Vec<u8>>> {
    match rows.receipts.get(id)? {
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

/// Keeps the answer of a command that succeeded, in the same commit as its effect.
pub fn keep(rows: &mut Rows, at: &Context<'_>, id: ReceiptId, fingerprint: [u8; 32], response: Vec<u8>) {
    rows.receipts.put(id, Receipt { fingerprint, response, expires_at: at.now + RECEIPT_TTL });
}

/// Changes nothing. For what takes several commands and may be repeated: its answer is kept with the last one.
#[derive(Clone, Copy, Debug)]
pub struct KeepAnswer;

impl Command for KeepAnswer {
    type Outcome = ();
    const NAME: &'static str = "receipt.keep";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, _rows: &mut Rows, _at: &Context<'_>) -> Decision<()> {
        Ok(())
    }
}
