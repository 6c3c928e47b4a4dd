//! Tables as stores see them: declarations and values, not types of rows.

use std::ops::ControlFlow;

use crate::audit::Audit;
use crate::schema::row::StoredRow;
use crate::schema::spec::TableSpec;
use crate::schema::value::{Value, Values};
use crate::time::Timestamp;

/// A row contains a value that no rule could have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged {
    pub table: &'static str,
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: a row that cannot be read", self.table)
    }
}

impl std::error::Error for Damaged {}

/// A table of the working set, for a store.
///
/// A store loads a table in three steps: it takes the requests, fills in the rows that it found, and finishes, so that
/// the remaining requested rows are known not to exist.
pub trait TableAccess: Send + Sync {
    fn spec(&self) -> &'static TableSpec;

    /// Whether rows or ranges are requested.
    fn has_requests(&self) -> bool;

    /// Whether ranges are requested.
    fn has_range_requests(&self) -> bool;

    /// Whether any row was written.
    fn is_changed(&self) -> bool;

    /// Passes the requested keys, each once, in order, and then the requested ranges. They stay requested.
    fn requests(&mut self, sink: &mut dyn KeySink);

    /// Appends the names of the requested rows, in the order of keys, each after the prefix. Of a range, these are all
    /// rows that may exist. They stay requested. Live tables only.
    fn requested_names(&mut self, prefix: &str, now: Timestamp, names: &mut Vec<String>);

    /// Fills in a row, requested by its key or in a range.
    fn fill(&mut self, row: StoredRow<'_>) -> Result<(), Damaged>;

    /// Fills in the requested row at this position: the columns that follow the key, or `None` if there is none.
    fn fill_at(&mut self, position: usize, row: Option<StoredRow<'_>>) -> Result<(), Damaged>;

    /// Ends the load: requested rows that were not filled in do not exist, and requested ranges are complete.
    fn finish(&mut self);

    /// Passes the changed rows, each once, in the order of keys.
    fn changes<'a>(&'a self, sink: &mut dyn RowSink<'a>);

    /// Passes the changed rows under their names, each once. Live tables only.
    fn live_changes(&self, sink: &mut dyn FnMut(&dyn LiveChange));

    /// Passes a stored row to the auditor.
    fn show(&self, row: StoredRow<'_>, audit: &mut Audit) -> Result<(), Damaged>;
}

/// Receiver of requests.
pub trait KeySink {
    fn key(&mut self, key: &[Value<'_>]);

    /// Both ends are included.
    fn range(&mut self, first: &[Value<'_>], last: &[Value<'_>]);
}

/// Receiver of changed rows. It ends the iteration with `Break` after an error, which it keeps.
pub trait RowSink<'a> {
    fn change(&mut self, change: RowChange<'_, 'a>) -> ControlFlow<()>;
}

/// A changed row as values.
#[derive(Debug)]
pub struct RowChange<'v, 'a> {
    pub kind: ChangeKind,
    /// Values of all columns; of a deleted row only those of its key. The buffer is reused.
    pub values: &'v mut Vec<Value<'a>>,
    /// Child rows of an inserted or replaced row.
    pub lines: Vec<Values<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The store has no row under this key.
    Insert,
    /// The store has a row under this key, of which no column is kept.
    Replace,
    /// Changing columns only.
    Update,
    Delete,
}

/// A changed live row under its name.
pub trait LiveChange {
    /// Appends the name.
    fn write_name(&self, name: &mut String);

    fn is_deleted(&self) -> bool;

    /// Appends the encoding of the row; nothing if it is deleted.
    fn encode(&self, out: &mut Vec<u8>);

    /// Time until which the row is needed; `None` if it does not expire.
    fn kept_until(&self, now: Timestamp) -> Option<Timestamp>;
}
