//! What was read, and has to be the same when something is written because of it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_engine::StoreError;

use crate::codec::Stored;
use crate::incarnation::Incarnation;
use crate::live::{Answer, strange};

/// How old a read may be when something is written because of it.
pub(crate) const READ_AGE_MAX: Span = Span::from_secs(10);

/// A row as it was found under a name.
pub(crate) type Lookup = (String, Option<Vec<u8>>);

pub(crate) type Version = [u8; 16];

/// The versions of all rows that were read, and when that was.
#[derive(Debug, Default)]
pub struct Seen {
    /// By the name of the row; `None` if there was no row.
    pub(crate) versions: HashMap<String, Option<Version>, RandomState>,
    /// When the first row was read: by Redis's clock in microseconds, and as it was told.
    pub(crate) read_at: i64,
    pub(crate) now: Timestamp,
    pub(crate) incarnation: Option<Incarnation>,
}

impl Seen {
    pub(crate) fn begin(&mut self, answer: &Answer) -> Result<(), StoreError> {
        if self.incarnation.is_none() {
            (self.read_at, self.now) = (answer.read_at, answer.now);
        }
        if self.incarnation.get_or_insert_with(|| answer.incarnation.clone()) != &answer.incarnation {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    pub(crate) fn must_be_the_same(&self, name: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        let version = value.and_then(|value| value.first_chunk().copied());
        if self.versions.get(name) == Some(&version) { Ok(()) } else { Err(StoreError::Conflict) }
    }

    /// Notes the version of a row, and reads it. What is decided rests on what was read first, so a row that was read before
    /// must be the same still.
    pub(crate) fn note<V: Stored>(&mut self, found: Option<Lookup>) -> Result<Option<V>, StoreError> {
        let (name, value) = found.ok_or_else(|| strange(&"fewer rows than were asked for"))?;
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
