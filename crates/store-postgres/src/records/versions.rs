//! Read set of a batch, for servers that share the database: versions of rows.
//!
//! No row is locked while a batch is decided (optimistic concurrency control). At the commit the read set is locked,
//! in the order of tables and keys, and validated: any change since is a conflict.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use holdfast_core::schema::{RowChange, RowSink, TableAccess, TableSpec, TableTier, Value};
use holdfast_core::working_set::Tables;

use super::load::by_column;
use super::sql;
use crate::codec::Col;
use crate::pipeline::{Param, Pipeline};

/// Version of a row; `None` if it did not exist.
type Version = Option<i64>;

/// Values of a key.
pub(super) type RowKey = Vec<Value<'static>>;

/// Rows read by a batch, per table.
#[derive(Default)]
pub(crate) struct RowVersions(HashMap<&'static str, TableVersions>);

#[derive(Default)]
struct TableVersions {
    /// Sorted, in the order of locking.
    rows: BTreeMap<RowKey, Version>,
    /// First key, last key, number of rows.
    ranges: Vec<(RowKey, RowKey, usize)>,
}

impl std::fmt::Debug for RowVersions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl RowVersions {
    /// Whether rows of the table are validated. Immutable rows need no validation.
    pub(super) fn has(spec: &TableSpec) -> bool {
        !spec.is_immutable
    }

    /// Records a version. The first one counts: it is that of the working set, also if the row is read again later.
    pub(super) fn row(&mut self, spec: &'static TableSpec, key: RowKey, version: Version) {
        self.0.entry(spec.table).or_default().rows.entry(key).or_insert(version);
    }

    pub(super) fn range(&mut self, spec: &'static TableSpec, first: RowKey, last: RowKey, rows: usize) {
        self.0.entry(spec.table).or_default().ranges.push((first, last, rows));
    }

    /// Locks the read set until the end of the transaction, and fails if a version has changed.
    pub(crate) fn lock(&self, pipeline: &mut Pipeline<'_>, tables: &Tables) {
        let mut ranges = Vec::new();
        tables.visit(&mut |tier, table| {
            let spec = table.spec();
            let versions = self.0.get(spec.table).filter(|_| tier == TableTier::Durable);
            let Some(versions) = versions else { return };
            let sql = sql::of(spec);
            if !versions.rows.is_empty() {
                let written = written_keys(table);
                let rows = versions.rows.iter().map(|(key, version)| {
                    let version = version.map_or(Value::Null, Value::Int);
                    let is_written = Value::Bool(written.contains(key));
                    key.iter().cloned().chain([version, is_written]).collect()
                });
                pipeline.send(&sql.lock, by_column(rows.collect(), spec.key.len() + 2));
            }
            for (first, last, rows) in &versions.ranges {
                let ends = first.iter().chain(last).cloned().chain([Value::Int(*rows as i64)]);
                let ends: Vec<_> = ends.map(|value| Box::new(Col(value)) as Param<'_>).collect();
                ranges.push((&*sql.expect_range, ends));
            }
        });
        // Last: each insert into a counted range also writes a row that the reader of the range writes.
        for (sql, ends) in ranges {
            pipeline.send(sql, ends);
        }
    }
}

/// Returns the keys of the rows that the batch writes.
fn written_keys(table: &dyn TableAccess) -> HashSet<Vec<Value<'_>>> {
    struct Keys<'a>(usize, HashSet<Vec<Value<'a>>>);
    impl<'a> RowSink<'a> for Keys<'a> {
        fn change(&mut self, change: RowChange<'_, 'a>) -> ControlFlow<()> {
            self.1.insert(change.values.drain(..self.0).collect());
            ControlFlow::Continue(())
        }
    }
    let mut keys = Keys(table.spec().key.len(), HashSet::new());
    if table.is_changed() {
        table.changes(&mut keys);
    }
    keys.1
}
