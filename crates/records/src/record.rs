//! Conversion of a row to and from column values.

use holdfast_core::audit::Audit;
use holdfast_core::table::{Key, Row};

use crate::cell::{Cells, Taken};
use crate::layout::Layout;

/// A row that SQL tables can store.
pub trait Record: Row + Send + Sync + 'static {
    type Key: Key + Send + Sync + 'static;

    const LAYOUT: &'static Layout;

    /// Whether rows are never updated, so that they may be cached without invalidation.
    const NEVER_CHANGES: bool = false;

    /// Appends the values of the key columns.
    fn put_key<'a>(key: &'a Self::Key, cells: &mut Cells<'a>);

    /// Appends the values of all other columns.
    fn put<'a>(&'a self, key: &'a Self::Key, cells: &mut Cells<'a>);

    /// Appends the values of each child row.
    fn put_parts<'a>(&'a self, _lines: &mut Vec<Cells<'a>>) {}

    /// Reads the values in the order of columns, key first. `None` if a value is not valid.
    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(Self::Key, Self)>;

    /// Passes the row to the auditor.
    fn show(key: &Self::Key, row: &Self, audit: &mut Audit);
}
