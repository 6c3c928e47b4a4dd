//! Schema: tables and columns.

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    /// 32-bit integer.
    Int,
    Big,
    Text,
    Bytes,
    Date,
    Moment,
    Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Type,
}

/// Schema of a table. Columns are ordered: key, fixed, changing.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSchema {
    pub table: &'static str,
    /// Primary key, in the sort order of core's keys.
    pub key: &'static [Column],
    /// Columns that are never updated.
    pub fixed: &'static [Column],
    /// Columns that are updated when the row changes.
    pub changing: &'static [Column],
    /// Child table, if rows have lines.
    pub child_rows: Option<ChildRows>,
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

impl TableSchema {
    /// Returns all columns: key, fixed, changing.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        self.key.iter().chain(self.fixed).chain(self.changing).copied()
    }
}

macro_rules! columns {
    ($($make:ident => $kind:ident),+) => { $(
        pub const fn $make(name: &'static str) -> Column {
            Column { name, kind: Type::$kind }
        }
    )+ };
}
columns!(boolean => Bool, int => Int, big => Big, text => Text, bytes => Bytes, date => Date, moment => Moment, uuid => Uuid);
