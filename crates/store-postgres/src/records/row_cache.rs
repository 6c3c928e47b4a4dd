//! Cache of immutable rows, for servers that share the database: some are large, and read by every batch.

use std::any::Any;
use std::collections::HashMap;

use holdfast_core::schema::Record;
use holdfast_core::schema::visit::{self, VisitorMut};
use holdfast_core::table::{Scan, Table};
use holdfast_core::working_set::Tables;
use parking_lot::Mutex;

/// Maximum number of rows and child rows of all tables together. Beyond it, the whole cache is evicted.
const CACHED_ROWS_MAX: usize = 1_000_000;

#[derive(Default)]
pub(crate) struct RowCache(Mutex<CachedTables>);

#[derive(Default)]
struct CachedTables {
    /// `HashMap` of rows by key, per table.
    tables: HashMap<&'static str, Box<dyn Any + Send>>,
    lines: usize,
}

impl RowCache {
    /// Fills requested rows from the cache; the rest stays requested.
    pub(crate) fn answer(&self, tables: &mut Tables) {
        visit::durable_mut(tables, &mut Answer(&self.0.lock()));
    }

    /// Caches a row that was read with so many child rows.
    pub(super) fn keep<R: Record>(&self, key: &R::Key, row: &R, lines: usize) {
        if !R::NEVER_CHANGES {
            return;
        }
        let mut kept = self.0.lock();
        if kept.lines + lines >= CACHED_ROWS_MAX {
            *kept = CachedTables::default();
        }
        let table = kept.tables.entry(R::SCHEMA.table).or_insert_with(|| Box::<HashMap<R::Key, R>>::default());
        let table: &mut HashMap<R::Key, R> = table.downcast_mut().expect("a table has one kind of rows");
        if table.insert(key.clone(), row.clone()).is_none() {
            kept.lines += 1 + lines;
        }
    }
}

struct Answer<'a>(&'a CachedTables);

impl VisitorMut for Answer<'_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &mut Table<R::Key, R, S>) {
        if !R::NEVER_CHANGES {
            return;
        }
        let Some(kept) = self.0.tables.get(R::SCHEMA.table) else { return };
        let kept: &HashMap<R::Key, R> = kept.downcast_ref().expect("a table has one kind of rows");
        for key in table.take_requested() {
            match kept.get(&key) {
                Some(row) => table.fill(key, Some(row.clone())),
                None => table.request_elsewhere([key]),
            }
        }
    }
}
