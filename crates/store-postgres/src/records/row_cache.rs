//! Cache of immutable rows for servers that share the database. Large rows would otherwise be read again in every batch.

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
    row_count: usize,
}

impl RowCache {
    /// Fills requested rows from the cache; the rest stays requested.
    pub(crate) fn fill(&self, tables: &mut Tables) {
        visit::durable_mut(tables, &mut CacheFiller(&self.0.lock()));
    }

    /// Caches a row if its type is immutable. `child_row_count` counts towards [`CACHED_ROWS_MAX`].
    pub(super) fn insert<R: Record>(&self, key: &R::Key, row: &R, child_row_count: usize) {
        if !R::IS_IMMUTABLE {
            return;
        }
        let mut cached = self.0.lock();
        if cached.row_count + child_row_count >= CACHED_ROWS_MAX {
            *cached = CachedTables::default();
        }
        let table = cached.tables.entry(R::SCHEMA.table).or_insert_with(|| Box::<HashMap<R::Key, R>>::default());
        let table: &mut HashMap<R::Key, R> = table.downcast_mut().expect("a table has one kind of rows");
        if table.insert(key.clone(), row.clone()).is_none() {
            cached.row_count += 1 + child_row_count;
        }
    }
}

struct CacheFiller<'a>(&'a CachedTables);

impl VisitorMut for CacheFiller<'_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &mut Table<R::Key, R, S>) {
        if !R::IS_IMMUTABLE {
            return;
        }
        let Some(cached) = self.0.tables.get(R::SCHEMA.table) else { return };
        let cached: &HashMap<R::Key, R> = cached.downcast_ref().expect("a table has one kind of rows");
        for key in table.take_requested() {
            match cached.get(&key) {
                Some(row) => table.fill(key, Some(row.clone())),
                None => table.request_elsewhere([key]),
            }
        }
    }
}
