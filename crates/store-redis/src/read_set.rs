//! Read set of a commit, validated when it is written (optimistic concurrency control).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_engine::StoreError;

use crate::epoch::Epoch;
use crate::live::ReadResponse;

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

    /// Records the version of a row. Decisions rest on the first read, so a row that has changed since is a conflict.
    pub(crate) fn record(&mut self, name: String, version: Option<Version>) -> Result<(), StoreError> {
        match self.versions.insert(name, version) {
            Some(before) if before != version => Err(StoreError::Conflict),
            Some(_) | None => Ok(()),
        }
    }
}

/// Splits a value into its version and the encoded row. A deleted row has only a version.
pub(crate) fn split<'v>(
    name: &str,
    value: Option<&'v [u8]>,
) -> Result<(Option<Version>, Option<&'v [u8]>), StoreError> {
    let Some(value) = value else { return Ok((None, None)) };
    let (version, row) = value.split_first_chunk().ok_or_else(|| damaged(name))?;
    Ok((Some(*version), Some(row).filter(|row| !row.is_empty())))
}

pub(crate) fn damaged(name: &str) -> StoreError {
    StoreError::Damaged(format!("Redis: {name} cannot be read"))
}
