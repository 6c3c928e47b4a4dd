//! Rows of declared tables as values.

use std::sync::Arc;

use crate::audit::Audit;
use crate::table::{Key, Row};

use crate::schema::column::Column;
use crate::schema::spec::TableSpec;
use crate::schema::value::{Value, ValueReader, Values};

/// A row of a declared table under a key of type `K`. [`tables!`](crate::tables) implements it from the declaration.
pub trait TableRow<K>: Row + Send + Sync + 'static {
    const SPEC: &'static TableSpec;

    /// Appends the values of the key columns.
    fn put_key<'a>(key: &'a K, values: &mut Values<'a>);

    /// Appends the values of all other columns.
    fn put<'a>(&'a self, values: &mut Values<'a>);

    /// Appends the values of each child row.
    fn put_child_rows<'a>(&'a self, _lines: &mut Vec<Values<'a>>) {}

    /// Reads the key columns. `None` if a value is not valid.
    fn take_key(values: &mut ValueReader<'_>) -> Option<K>;

    /// Reads all other columns. `None` if a value is not valid.
    fn take(key: &K, values: &mut ValueReader<'_>, lines: Vec<ValueReader<'_>>) -> Option<Self>;

    /// Passes the row to the auditor.
    fn show(_key: &K, _row: &Self, _audit: &mut Audit) {}

    /// Appends the key of the row in a key-value store. Rows of the live tier only.
    fn write_name(_key: &K, _name: &mut String) {
        unreachable!("rows of {} have no names", Self::SPEC.table);
    }
}

/// A row that has one table.
pub trait Record: TableRow<Self::Key> {
    type Key: Key + Send + Sync + 'static;
}

/// A line of a row, stored in a child table. The macro `child_row!` implements it.
pub trait ChildRow: Sized {
    const COLUMNS: &'static [Column];

    fn put<'a>(&'a self, values: &mut Values<'a>);

    fn take(values: &mut ValueReader<'_>) -> Option<Self>;
}

/// Appends the values of each line.
pub fn put_lines<'a, L: ChildRow>(lines: &'a [L], out: &mut Vec<Values<'a>>) {
    out.reserve_exact(lines.len());
    for line in lines {
        let mut values = Values::with_capacity(L::COLUMNS.len());
        line.put(&mut values);
        out.push(values);
    }
}

/// Reads each line.
pub fn take_lines<L: ChildRow>(lines: Vec<ValueReader<'_>>) -> Option<Arc<[L]>> {
    lines.into_iter().map(|mut values| L::take(&mut values)).collect()
}

/// A row as read: the values of all columns, key first, and of its child rows.
#[derive(Debug)]
pub struct StoredRow<'a> {
    pub values: Vec<Value<'a>>,
    pub lines: Vec<ValueReader<'a>>,
}

impl StoredRow<'_> {
    /// Parses key and row; `None` if a value is not valid.
    pub fn read<K, V: TableRow<K>>(self) -> Option<(K, V)> {
        let mut values = ValueReader::new(self.values);
        let key = V::take_key(&mut values)?;
        let row = V::take(&key, &mut values, self.lines)?;
        Some((key, row))
    }
}
