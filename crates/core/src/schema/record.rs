//! Conversion of a row to and from column values.

use crate::audit::Audit;
use crate::table::{Key, Row};

use crate::schema::table::TableSchema;
use crate::schema::value::{ValueReader, Values};

/// A row that SQL tables can store.
pub trait Record: Row + Send + Sync + 'static {
    type Key: Key + Send + Sync + 'static;

    const SCHEMA: &'static TableSchema;

    /// Whether rows are never updated, so that they may be cached without invalidation.
    const IS_IMMUTABLE: bool = false;

    /// Appends the values of the key columns.
    fn put_key<'a>(key: &'a Self::Key, values: &mut Values<'a>);

    /// Appends the values of all other columns.
    fn put<'a>(&'a self, key: &'a Self::Key, values: &mut Values<'a>);

    /// Appends the values of each child row.
    fn put_child_rows<'a>(&'a self, _lines: &mut Vec<Values<'a>>) {}

    /// Reads the values in the order of columns, key first. `None` if a value is not valid.
    fn take(values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<(Self::Key, Self)>;

    /// Passes the row to the auditor.
    fn show(key: &Self::Key, row: &Self, audit: &mut Audit);
}
