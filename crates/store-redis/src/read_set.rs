//! Read set of a commit, validated when it is written (optimistic concurrency control).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_engine::StoreError;

use crate::codec::Stored;
use crate::epoch::Epoch;
use crate::live::{ReadResponse, unexpected};

/// Maximum age of a read at the commit that rests on it.
pub(crate) const READ_AGE_MAX: Span = Span::from_secs(10);

/// Name of a row, and its value if it exists.
pub(crate) type Lookup = (String, Option<Vec<u8>>);

pub(crate) type Version = [u8; 16];

/// Versions of all rows read, and the time of the first read.
#[derive(Debug, Default)]
pub struct LiveReadSet {
    /// By the name of the row; `None` if it did not exist.
    pub(crate) versions: HashMap<String, Option<Version>, RandomState>,
    /// Time of the first read: by Redis's clock in microseconds, and as it was returned.
    pub(crate) read_at: i64,
    pub(crate) now: Timestamp,
    pub(crate) epoch: Option<Epoch>,
}

impl LiveReadSet {
    pub(crate) fn begin(&mut self, answer: &ReadResponse) -> Result<(), StoreError> {
        if self.epoch.is_none() {
            (self.read_at, self.now) = (answer.read_at, answer.now);
        }
        if self.epoch.get_or_insert_with(|| answer.epoch.clone()) != &answer.epoch {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    pub(crate) fn check_unchanged(&self, name: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        let version = value.and_then(|value| value.first_chunk().copied());
        if self.versions.get(name) == Some(&version) { Ok(()) } else { Err(StoreError::Conflict) }
    }

    /// Records the version of a row, and decodes it. Decisions rest on the first read, so a row that has changed since
    /// is a conflict.
    pub(crate) fn record<V: Stored>(&mut self, found: Option<Lookup>) -> Result<Option<V>, StoreError> {
        let (name, value) = found.ok_or_else(|| unexpected(&"fewer rows than were asked for"))?;
        let damaged = |name: &str| StoreError::Damaged(format!("Redis: {name} cannot be read"));
        let (version, row) = match &value {
            None => (None, None),
            Some(value) => {
                let (version, payload) = value.split_first_chunk().ok_or_else(|| damaged(&name))?;
                let decode = |payload| V::decode(payload).ok_or_else(|| damaged(&name));
                (Some(*version), Some(payload).filter(|payload| !payload.is_empty()).map(decode).transpose()?)
            }
        };
        match self.versions.insert(name, version) {
            Some(before) if before != version => Err(StoreError::Conflict),
            Some(_) | None => Ok(row),
        }
    }
}
