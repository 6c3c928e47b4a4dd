//! Read set of a batch, for servers that share the database: versions of rows.
//!
//! No row is locked while a batch is decided (optimistic concurrency control). At the commit the read set is locked,
//! in the order of tables and keys, and validated: any change since is a conflict.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};

use holdfast_core::schema::visit::{self, Visitor};
use holdfast_core::schema::{Record, Value};
use holdfast_core::table::{Key, Scan, Table};
use holdfast_core::working_set::Tables;

use super::load::by_column;
use super::{owned_key, sql};
use crate::codec::Col;
use crate::pipeline::{Param, Pipeline};

/// Version of a row; `None` if it did not exist.
type Version = Option<i64>;

/// Rows read by a batch: a [`TableVersions`] per table.
#[derive(Default)]
pub(crate) struct RowVersions(HashMap<&'static str, Box<dyn Any + Send + Sync>>);

/// Sorted, in the order of locking.
struct TableVersions<K> {
    rows: BTreeMap<K, Version>,
    /// First key, last key, number of rows.
    ranges: Vec<(Vec<Value<'static>>, Vec<Value<'static>>, usize)>,
}

impl<K> Default for TableVersions<K> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), ranges: Vec::new() }
    }
}

impl std::fmt::Debug for RowVersions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl RowVersions {
    /// Records a version. The first one counts: it is that of the working set, also if the row is read again later.
    pub(super) fn row<R: Record>(&mut self, key: R::Key, version: Version) {
        // Immutable rows need no validation.
        if R::IS_IMMUTABLE {
            return;
        }
        self.table::<R>().rows.entry(key).or_insert(version);
    }

    pub(super) fn range<R: Record>(&mut self, first: Vec<Value<'static>>, last: Vec<Value<'static>>, rows: usize) {
        self.table::<R>().ranges.push((first, last, rows));
    }

    fn table<R: Record>(&mut self) -> &mut TableVersions<R::Key> {
        let table = self.0.entry(R::SCHEMA.table).or_insert_with(|| Box::<TableVersions<R::Key>>::default());
        table.downcast_mut().expect("a table has one kind of key")
    }

    /// Locks the read set until the end of the transaction, and fails if a version has changed.
    pub(crate) fn lock(&self, pipeline: &mut Pipeline<'_>, tables: &Tables) {
        let mut lock = Lock { versions: self, pipeline, ranges: Vec::new() };
        visit::durable(tables, &mut lock);
        // Last: a server that adds a row to a counted range has locked a row that the counting one writes.
        for (sql, ends) in lock.ranges {
            pipeline.send(sql, ends);
        }
    }
}

struct Lock<'p, 'a> {
    versions: &'p RowVersions,
    pipeline: &'p mut Pipeline<'a>,
    ranges: Vec<(&'static str, Vec<Param<'a>>)>,
}

impl<'t> Visitor<'t> for Lock<'_, '_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &'t Table<R::Key, R, S>) {
        let Some(versions) = self.versions.0.get(R::SCHEMA.table) else { return };
        let versions: &TableVersions<R::Key> = versions.downcast_ref().expect("a table has one kind of key");
        let sql = sql::of(R::SCHEMA);
        if !versions.rows.is_empty() {
            let rows = with_writes(&versions.rows, table).into_iter().map(|(key, version, written)| {
                let version = version.map_or(Value::Null, Value::Int);
                owned_key::<R>(key).into_iter().chain([version, Value::Bool(written)]).collect()
            });
            self.pipeline.send(&sql.lock, by_column(rows.collect(), R::SCHEMA.key.len() + 2));
        }
        for (first, last, rows) in &versions.ranges {
            let ends = first.iter().chain(last).cloned().chain([Value::Int(*rows as i64)]);
            self.ranges.push((&sql.expect_range, ends.map(|value| Box::new(Col(value)) as Param<'_>).collect()));
        }
    }
}

/// Returns each row with its version, and whether the batch writes it.
fn with_writes<'a, K: Key, R: Record<Key = K>, S: Scan<K>>(
    versions: &'a BTreeMap<K, Version>,
    table: &Table<K, R, S>,
) -> Vec<(&'a K, Version, bool)> {
    let mut written = table.changes().into_iter().map(|change| change.key).peekable();
    // Both are in key order.
    let mut is_written = |key: &K| {
        while written.next_if(|change| *change < key).is_some() {}
        written.peek() == Some(&key)
    };
    versions.iter().map(|(key, version)| (key, *version, is_written(key))).collect()
}
