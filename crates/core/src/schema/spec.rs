//! Declaration of a table, as a store sees it.

use std::sync::Arc;

use crate::schema::column::Column;
use crate::schema::row::ChildRow;

/// Tier of a table: where its rows lie if live and durable rows lie in two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableTier {
    /// Holds, and the rows that follow from them.
    Live,
    Durable,
}

/// Declaration of a table. Columns are ordered: key, fixed, changing.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSpec {
    pub table: &'static str,
    /// The rows follow from other rows: kept in memory, or beside the live rows in Redis, and never in SQL tables.
    pub is_index: bool,
    /// Rows are never updated or deleted, so they may be cached without invalidation.
    pub is_immutable: bool,
    /// Primary key, in the sort order of core's keys.
    pub key: &'static [Column],
    /// Columns that are never updated.
    pub fixed: &'static [Column],
    /// Columns that are updated when the row changes.
    pub changing: &'static [Column],
    /// Child table, if rows have lines.
    pub child_rows: Option<ChildRows>,
    /// Column with the date by which a large table is partitioned, one partition per month.
    pub month: Option<&'static str>,
    /// Rows to be purged by age.
    pub purge: Option<Purge>,
}

/// Child rows: written with their parent row, never changed, deleted with it. They refer to its key, which is one
/// column, and are ordered by `line_no`.
#[derive(Debug, PartialEq, Eq)]
pub struct ChildRows {
    pub table: &'static str,
    /// Column with the key of the parent row.
    pub owner: &'static str,
    pub columns: &'static [Column],
}

/// Column with the order of child rows.
pub const LINE_NO: &str = "line_no";

/// Rows are purged when the time in an indexed column is as long ago as the retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purge {
    pub column: &'static str,
    pub after: Retention,
}

/// Retention of rows, which a setting gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Retention of published events.
    Outbox,
    /// Retention of received messages.
    Inbox,
}

impl TableSpec {
    /// Returns all columns: key, fixed, changing.
    pub fn columns(&self) -> impl Iterator<Item = Column> + use<> {
        self.key.iter().chain(self.fixed).chain(self.changing).copied()
    }

    /// Whether stores without a live tier keep the rows in an SQL table.
    pub fn is_stored(&self) -> bool {
        !self.is_index
    }
}

impl ChildRows {
    /// Returns the child rows of a field. The field is given to infer the type of its lines.
    pub const fn of<R, L: ChildRow>(table: &'static str, owner: &'static str, _field: fn(&R) -> &Arc<[L]>) -> Self {
        Self { table, owner, columns: L::COLUMNS }
    }
}
