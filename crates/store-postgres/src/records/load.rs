//! Loading of rows by key and by range.

use std::any::Any;
use std::collections::HashMap;

use holdfast_core::id::HoldId;
use holdfast_core::schema::visit::{self, Visitor, VisitorMut};
use holdfast_core::schema::{Column, Record, TableSchema, Value, ValueReader};
use holdfast_core::table::{Scan, Table, TableSet as _};
use holdfast_core::working_set::Tables;
use holdfast_engine::StoreError;
use tokio_postgres::Row;

use super::{RowCache, RowVersions, owned_key, sql};
use crate::codec::{Col, get, value_of};
use crate::pipeline::{Param, Pipeline, QueryResults, Ticket, column};

/// Pending requests: an [`PendingTable`] per table, in visiting order.
#[derive(Default)]
pub(crate) struct PendingLoad {
    tables: Vec<Box<dyn Any + Send>>,
    has_ranges: bool,
}

struct PendingTable<K, S> {
    keys: Vec<K>,
    rows: Option<Ticket>,
    lines: Option<Ticket>,
    ranges: Vec<(S, Ticket)>,
}

/// Tables to request from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Durable,
    /// For a server that owns the database.
    Everything,
}

/// Whether a durable row is requested.
pub(crate) fn requests_durable(tables: &Tables) -> bool {
    struct RequestsDurable(bool);
    impl<'a> Visitor<'a> for RequestsDurable {
        fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &'a Table<R::Key, R, S>) {
            self.0 |= !table.is_loaded();
        }
    }
    let mut requests = RequestsDurable(false);
    visit::durable(tables, &mut requests);
    requests.0
}

impl PendingLoad {
    pub(crate) fn ask(pipeline: &mut Pipeline<'_>, tables: &mut Tables, of: Of) -> Self {
        let mut ask = SendLoads { pipeline, asked: Self::default() };
        visit::durable_mut(tables, &mut ask);
        if of == Of::Everything {
            visit::live_mut(tables, &mut ask);
        }
        ask.asked
    }

    /// Whether ranges were requested: in-memory state cannot tell which rows exist.
    pub(crate) fn has_ranges_requested(&self) -> bool {
        self.has_ranges
    }

    /// Fills found rows, records their versions in the read set, and caches immutable ones. A row not found does not
    /// exist.
    pub(crate) fn fill(
        self,
        answers: &mut QueryResults,
        tables: &mut Tables,
        of: Of,
        versions: &mut RowVersions,
        kept: Option<&RowCache>,
    ) -> Result<(), StoreError> {
        let mut supply = FillLoads { asked: self.tables.into_iter(), answers, versions, kept, result: Ok(()) };
        visit::durable_mut(tables, &mut supply);
        if of == Of::Everything {
            visit::live_mut(tables, &mut supply);
        }
        supply.result
    }
}

struct SendLoads<'p, 'a> {
    pipeline: &'p mut Pipeline<'a>,
    asked: PendingLoad,
}

impl VisitorMut for SendLoads<'_, '_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &mut Table<R::Key, R, S>) {
        let sql = sql::of(R::SCHEMA);
        let keys = table.take_requested();
        let (mut rows, mut lines) = (None, None);
        if !keys.is_empty() {
            let values: Vec<_> = keys.iter().map(owned_key::<R>).collect();
            rows = Some(self.pipeline.send(&sql.select, by_column(values.clone(), R::SCHEMA.key.len())));
            lines = sql.select_child_rows.as_ref().map(|sql| self.pipeline.send(sql, by_column(values, 1)));
        }
        let mut ranges = Vec::new();
        for scan in table.take_scans_requested() {
            let range = scan.range();
            let ends = owned_key::<R>(range.start()).into_iter().chain(owned_key::<R>(range.end()));
            let ends = ends.map(|end| Box::new(Col(end)) as Param<'_>).collect();
            ranges.push((scan, self.pipeline.send(&sql.select_range, ends)));
            self.asked.has_ranges = true;
        }
        self.asked.tables.push(Box::new(PendingTable { keys, rows, lines, ranges }));
    }
}

/// Transposes rows of values into column arrays.
pub(super) fn by_column<'a>(rows: Vec<Vec<Value<'a>>>, width: usize) -> Vec<Param<'a>> {
    let mut columns: Vec<Vec<Col<Value<'a>>>> = (0..width).map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        assert_eq!(row.len(), width, "a row has a value for each column");
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(Col(value));
        }
    }
    columns.into_iter().map(|column| Box::new(column) as Param<'a>).collect()
}

struct FillLoads<'a> {
    asked: std::vec::IntoIter<Box<dyn Any + Send>>,
    answers: &'a mut QueryResults,
    versions: &'a mut RowVersions,
    kept: Option<&'a RowCache>,
    result: Result<(), StoreError>,
}

impl VisitorMut for FillLoads<'_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &mut Table<R::Key, R, S>) {
        let asked = self.asked.next().and_then(|asked| asked.downcast::<PendingTable<R::Key, S>>().ok());
        let asked = asked.expect("tables are walked in the same order");
        if self.result.is_ok() {
            self.result = self.fill::<R, S>(*asked, table);
        }
    }
}

impl FillLoads<'_> {
    fn fill<R: Record, S: Scan<R::Key>>(
        &mut self,
        asked: PendingTable<R::Key, S>,
        table: &mut Table<R::Key, R, S>,
    ) -> Result<(), StoreError> {
        let version_at = R::SCHEMA.columns().count();
        let rows = asked.rows.map(|ticket| self.answers.take(ticket)).unwrap_or_default();
        let lines = asked.lines.map(|ticket| self.answers.take(ticket)).unwrap_or_default();
        let mut lines = by_owner(R::SCHEMA, &lines)?;
        for row in &rows {
            let (key, record, line_count) = read::<R>(row, &mut lines)?;
            self.versions.row::<R>(key.clone(), Some(get(row, version_at)?));
            if let Some(kept) = self.kept {
                kept.insert(&key, &record, line_count);
            }
            table.fill(key, Some(record));
        }
        for key in asked.keys {
            self.versions.row::<R>(key.clone(), None);
            table.fill(key, None);
        }
        for (scan, ticket) in asked.ranges {
            let rows = self.answers.take(ticket);
            for row in &rows {
                let (key, record, _) = read::<R>(row, &mut HashMap::new())?;
                self.versions.row::<R>(key.clone(), Some(get(row, version_at)?));
                table.fill(key, Some(record));
            }
            let range = scan.range();
            self.versions.range::<R>(owned_key::<R>(range.start()), owned_key::<R>(range.end()), rows.len());
            table.fill_scan(scan);
        }
        Ok(())
    }
}

/// Child rows of several rows.
pub(super) type Lines<'a> = HashMap<Value<'a>, Vec<ValueReader<'a>>>;

/// Groups child rows by their owner.
pub(super) fn by_owner<'a>(schema: &TableSchema, rows: &'a [Row]) -> Result<Lines<'a>, StoreError> {
    let mut lines = Lines::new();
    let Some(child_rows) = &schema.child_rows else { return Ok(lines) };
    for row in rows {
        let owner = value_of(schema.key[0].kind, row, 0)?;
        let values: Result<_, _> =
            child_rows.columns.iter().zip(1..).map(|(column, index)| value_of(column.kind, row, index)).collect();
        lines.entry(owner).or_default().push(ValueReader::new(values?));
    }
    Ok(lines)
}

pub(super) fn row_values<'a>(schema: &TableSchema, row: &'a Row) -> Result<Vec<Value<'a>>, StoreError> {
    let value = |(index, column): (usize, Column)| value_of(column.kind, row, index);
    schema.columns().enumerate().map(value).collect()
}

/// Parses key, row, and number of child rows.
fn read<'a, R: Record>(row: &'a Row, lines: &mut Lines<'a>) -> Result<(R::Key, R, usize), StoreError> {
    let values = row_values(R::SCHEMA, row)?;
    let lines = lines.remove(&values[0]).unwrap_or_default();
    let line_count = lines.len();
    let (key, row) = R::take(&mut ValueReader::new(values), lines).ok_or_else(|| damaged(R::SCHEMA))?;
    Ok((key, row, line_count))
}

pub(super) fn damaged(schema: &TableSchema) -> StoreError {
    StoreError::Damaged(format!("{}: a row that cannot be read", schema.table))
}

/// Requests which of these holds are confirmed.
pub(crate) fn ask_confirmed(pipeline: &mut Pipeline<'_>, holds: &[HoldId]) -> Ticket {
    pipeline.send(sql::CONFIRMED, vec![column(holds, Col)])
}

/// Parses the response to [`ask_confirmed`].
pub(crate) fn confirmed(answers: &mut QueryResults, ticket: Ticket) -> Result<Vec<HoldId>, StoreError> {
    answers.take(ticket).iter().map(|row| Ok(get::<Col<HoldId>>(row, 0)?.0)).collect()
}
