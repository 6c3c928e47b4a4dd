//! Writes of a batch: per table one statement for new rows, one for changed and one for deleted ones.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use holdfast_core::schema::{ChangeKind, RowChange, RowSink, TableAccess, TableSpec, Value};
use holdfast_core::working_set::Tables;
use jiff::civil::Date;

use super::Of;
use super::load::by_column;
use super::sql;
use crate::codec::{Col, type_of};
use crate::pipeline::{Pipeline, params};

/// Minimum number of rows for COPY, which costs two extra round trips but less time per row.
const COPIED_FROM: usize = 200;

/// Writes all changes of these tables.
pub(crate) fn write<'a>(pipeline: &mut Pipeline<'a>, tables: &'a Tables, of: Of) {
    tables.visit(&mut |tier, table| {
        if table.is_changed() && of.includes(tier, table.spec()) {
            write_table(pipeline, table);
        }
    });
}

/// Whether [`write`] would write any durable row.
pub(crate) fn has_durable_changes(tables: &Tables) -> bool {
    let mut changes = false;
    tables.visit(&mut |tier, table| changes |= table.is_changed() && Of::Durable.includes(tier, table.spec()));
    changes
}

/// Changed rows of a table.
struct Changes<'a> {
    spec: &'static TableSpec,
    new: Vec<Vec<Value<'a>>>,
    lines: Vec<Vec<Value<'a>>>,
    replaced: Vec<Vec<Value<'a>>>,
    updated: Vec<Vec<Value<'a>>>,
    deleted: Vec<Vec<Value<'a>>>,
}

impl<'a> RowSink<'a> for Changes<'a> {
    fn change(&mut self, RowChange { kind, values, lines }: RowChange<'_, 'a>) -> ControlFlow<()> {
        let mut values = std::mem::take(values);
        let (keys, fixed) = (self.spec.key.len(), self.spec.fixed.len());
        match kind {
            ChangeKind::Insert => {
                for (number, line) in lines.into_iter().enumerate() {
                    let head = [values[0].clone(), Value::Int(number as i64)];
                    self.lines.push(head.into_iter().chain(line.0).collect());
                }
                self.new.push(values);
            }
            // Replaces a row and increments its version, so that a transaction that has read the old row conflicts.
            ChangeKind::Replace if fixed > 0 => {
                assert!(lines.is_empty(), "rows of {} have lines and are never replaced", self.spec.table);
                self.replaced.push(values);
            }
            ChangeKind::Replace | ChangeKind::Update => {
                values.drain(keys..keys + fixed);
                self.updated.push(values);
            }
            ChangeKind::Delete => self.deleted.push(values),
        }
        ControlFlow::Continue(())
    }
}

fn write_table<'a>(pipeline: &mut Pipeline<'a>, table: &'a dyn TableAccess) {
    let spec = table.spec();
    let (new, lines, replaced, updated, deleted) = Default::default();
    let mut changes = Changes { spec, new, lines, replaced, updated, deleted };
    table.changes(&mut changes);
    let Changes { new, lines, replaced, updated, deleted, .. } = changes;
    let (sql, width) = (sql::of(spec), spec.columns().count());
    // Deletions first: a new row may take the unique value of a deleted one.
    if !deleted.is_empty() {
        pipeline.send(&sql.delete, by_column(deleted, spec.key.len()));
    }
    if let Some(date_at) = sql::month_at(spec).filter(|_| !new.is_empty()) {
        pipeline.send(sql::MAKE_MONTHS, params![spec.table, months(&new, date_at)]);
    }
    match &sql.copy {
        Some(copy) if new.len() >= COPIED_FROM => {
            let types = spec.columns().map(|column| type_of(column.kind)).collect();
            pipeline.copy(copy, types, new);
        }
        _ if new.is_empty() => {}
        _ => {
            pipeline.send(&sql.insert, by_column(new, width));
        }
    }
    if let Some(sql) = sql.insert_child_row.as_ref().filter(|_| !lines.is_empty()) {
        let width = spec.child_rows.as_ref().map_or(0, |child_rows| child_rows.columns.len());
        pipeline.send(sql, by_column(lines, 2 + width));
    }
    if let Some(sql) = sql.remake.as_ref().filter(|_| !replaced.is_empty()) {
        pipeline.send(sql, by_column(replaced, width));
    }
    if let Some(sql) = sql.update.as_ref().filter(|_| !updated.is_empty()) {
        pipeline.send(sql, by_column(updated, width - spec.fixed.len()));
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
