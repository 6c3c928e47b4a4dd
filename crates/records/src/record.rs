//! A row of core as cells.

use holdfast_core::audit::Audit;
use holdfast_core::table::{Key, Row};

use crate::cell::{Cells, Taken};
use crate::layout::Layout;

/// A row that SQL tables can keep.
pub trait Record: Row + Send + Sync + 'static {
    type Key: Key + Send + Sync + 'static;

    const LAYOUT: &'static Layout;

    /// Whether a row, once written, is never written again: whoever has read it may keep it.
    const NEVER_CHANGES: bool = false;

    /// The cells of the key's columns.
    fn put_key<'a>(key: &'a Self::Key, cells: &mut Cells<'a>);

    /// The cells of all columns but the key's.
    fn put<'a>(&'a self, key: &'a Self::Key, cells: &mut Cells<'a>);

    /// The cells of each line, if it has any.
    fn put_parts<'a>(&'a self, _lines: &mut Vec<Cells<'a>>) {}

    /// What was put, key first. `None` if no rule could have written it.
    fn take(cells: &mut Taken<'_>, lines: Vec<Taken<'_>>) -> Option<(Self::Key, Self)>;

    /// Lets the auditor look at it.
    fn show(key: &Self::Key, row: &Self, audit: &mut Audit);
}
