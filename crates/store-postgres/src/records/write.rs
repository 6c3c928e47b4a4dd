//! Writes of a batch: per table one statement for new rows, one for changed and one for deleted ones.

use std::collections::BTreeSet;

use holdfast_core::schema::visit::{self, Visitor};
use holdfast_core::schema::{Record, Value, Values};
use holdfast_core::table::{Scan, Table, TableSet as _};
use holdfast_core::working_set::Tables;
use jiff::civil::Date;

use super::load::by_column;
use super::sql;
use crate::codec::{Col, type_of};
use crate::pipeline::{Pipeline, params};

/// Minimum number of rows for COPY, which costs two extra round trips but less time per row.
const COPIED_FROM: usize = 200;

/// Writes all changes except those of holds.
pub(crate) fn write_durable<'a>(pipeline: &mut Pipeline<'a>, tables: &'a Tables) {
    visit::durable(tables, &mut Write { pipeline });
}

/// Writes holds, for a server that owns the database.
pub(crate) fn write_holds<'a>(pipeline: &mut Pipeline<'a>, tables: &'a Tables) {
    visit::live(tables, &mut Write { pipeline });
}

/// Whether [`write_durable`] would write anything.
pub(crate) fn has_durable_changes(tables: &Tables) -> bool {
    struct Changes(bool);
    impl<'a> Visitor<'a> for Changes {
        fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &'a Table<R::Key, R, S>) {
            self.0 |= table.has_changes();
        }
    }
    let mut changes = Changes(false);
    visit::durable(tables, &mut changes);
    changes.0
}

struct Write<'p, 'a> {
    pipeline: &'p mut Pipeline<'a>,
}

impl<'a> Visitor<'a> for Write<'_, 'a> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &'a Table<R::Key, R, S>) {
        let changes = table.changes();
        if changes.is_empty() {
            return;
        }
        let (sql, schema) = (sql::of(R::SCHEMA), R::SCHEMA);
        let (keys, fixed, width) = (schema.key.len(), schema.fixed.len(), schema.columns().count());
        let (mut new, mut lines, mut old, mut gone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut remade = Vec::new();
        for change in changes {
            let mut values = Values::default();
            R::put_key(change.key, &mut values);
            match (change.is_new, change.row) {
                (true, Some(row)) => {
                    row.put(change.key, &mut values);
                    add_lines(row, &values.0[0], &mut lines);
                    new.push(values.0);
                }
                // Replaces a row and increments its version, so that a transaction that has read the old row conflicts.
                (false, Some(row)) if change.is_remade && fixed > 0 => {
                    assert!(schema.child_rows.is_none(), "rows of {} have lines and are never remade", schema.table);
                    row.put(change.key, &mut values);
                    remade.push(values.0);
                }
                (false, Some(row)) => {
                    row.put(change.key, &mut values);
                    values.0.drain(keys..keys + fixed);
                    old.push(values.0);
                }
                (false, None) => gone.push(values.0),
                // Created and deleted in the same batch.
                (true, None) => {}
            }
        }
        // Deletions first: a new row may reuse a deleted key.
        if !gone.is_empty() {
            self.pipeline.send(&sql.delete, by_column(gone, keys));
        }
        if let Some(date_at) = sql::month_at(schema).filter(|_| !new.is_empty()) {
            self.pipeline.send(sql::MAKE_MONTHS, params![schema.table, months(&new, date_at)]);
        }
        match &sql.copy {
            Some(copy) if new.len() >= COPIED_FROM => {
                let types = schema.columns().map(|column| type_of(column.kind)).collect();
                self.pipeline.copy(copy, types, new);
            }
            _ if new.is_empty() => {}
            _ => {
                self.pipeline.send(&sql.insert, by_column(new, width));
            }
        }
        if let Some(sql) = sql.insert_child_row.as_ref().filter(|_| !lines.is_empty()) {
            let width = schema.child_rows.as_ref().map_or(0, |child_rows| child_rows.columns.len());
            self.pipeline.send(sql, by_column(lines, 2 + width));
        }
        if let Some(sql) = sql.remake.as_ref().filter(|_| !remade.is_empty()) {
            self.pipeline.send(sql, by_column(remade, width));
        }
        if let Some(sql) = sql.update.as_ref().filter(|_| !old.is_empty()) {
            self.pipeline.send(sql, by_column(old, width - fixed));
        }
    }
}

/// First day of each month in the rows.
fn months(rows: &[Vec<Value<'_>>], date_at: usize) -> Vec<Col<Value<'static>>> {
    let date = |row: &Vec<Value<'_>>| match row[date_at] {
        Value::Date(date) => date.first_of_month(),
        _ => unreachable!("the column is one of dates"),
    };
    let months: BTreeSet<Date> = rows.iter().map(date).collect();
    months.into_iter().map(|month| Col(Value::Date(month))).collect()
}

fn add_lines<'a, R: Record>(row: &'a R, owner: &Value<'a>, all: &mut Vec<Vec<Value<'a>>>) {
    let mut lines = Vec::new();
    row.put_child_rows(&mut lines);
    for (number, line) in lines.into_iter().enumerate() {
        all.push([owner.clone(), Value::Int(number as i64)].into_iter().chain(line.0).collect());
    }
}
