//! Loading of rows by key and by range.

use std::collections::{HashMap, VecDeque};

use holdfast_core::id::HoldId;
use holdfast_core::schema::{
    Column, Damaged, KeySink, StoredRow, TableAccess, TableSpec, TableTier, Value, ValueReader,
};
use holdfast_core::working_set::Tables;
use holdfast_engine::StoreError;
use tokio_postgres::Row;

use super::versions::RowKey;
use super::{RowCache, RowVersions, sql};
use crate::codec::{Col, get, value_of};
use crate::pipeline::{Param, Pipeline, QueryResults, Ticket, column};

/// Pending requests, in the order of tables.
pub(crate) struct PendingLoad {
    of: Of,
    tables: VecDeque<PendingTable>,
    has_ranges: bool,
}

struct PendingTable {
    spec: &'static TableSpec,
    /// Requested keys, if their versions are recorded.
    keys: Vec<RowKey>,
    rows: Option<Ticket>,
    lines: Option<Ticket>,
    ranges: Vec<(RowKey, RowKey, Ticket)>,
}

/// Tables to request from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Durable,
    /// For a server that owns the database.
    Everything,
}

impl Of {
    pub(super) fn includes(self, tier: TableTier, spec: &TableSpec) -> bool {
        spec.is_stored() && (self == Self::Everything || tier == TableTier::Durable)
    }
}

/// Whether a durable row is requested.
pub(crate) fn requests_durable(tables: &Tables) -> bool {
    let mut requests = false;
    tables.visit(&mut |tier, table| requests |= table.has_requests() && Of::Durable.includes(tier, table.spec()));
    requests
}

impl PendingLoad {
    pub(crate) fn ask(pipeline: &mut Pipeline<'_>, tables: &mut Tables, of: Of) -> Self {
        let mut asked = Self { of, tables: VecDeque::new(), has_ranges: false };
        tables.visit_mut(&mut |tier, table| {
            if table.has_requests() && of.includes(tier, table.spec()) {
                asked.has_ranges |= table.has_range_requests();
                asked.tables.push_back(PendingTable::ask(pipeline, table, of));
            }
        });
        asked
    }

    /// Whether ranges were requested: in-memory state cannot tell which rows exist.
    pub(crate) fn has_ranges_requested(&self) -> bool {
        self.has_ranges
    }

    /// Fills found rows. A row not found does not exist. For servers that share the database, records the versions of
    /// rows in the read set, and caches immutable ones.
    pub(crate) fn fill(
        mut self,
        answers: &mut QueryResults,
        tables: &mut Tables,
        mut shared: Option<(&mut RowVersions, &RowCache)>,
    ) -> Result<(), StoreError> {
        let (mut result, mut immutable_count) = (Ok(0), 0);
        tables.visit_mut(&mut |tier, table| {
            if result.is_ok() && table.has_requests() && self.of.includes(tier, table.spec()) {
                let pending = self.tables.pop_front().expect("tables are visited in the same order");
                let versions = shared.as_mut().map(|(versions, _)| &mut **versions);
                result = pending.fill(answers, table, versions);
                immutable_count += result.as_ref().copied().unwrap_or_default();
            }
        });
        result?;
        if let Some((_, row_cache)) = shared
            && immutable_count > 0
        {
            row_cache.insert(tables, immutable_count);
        }
        Ok(())
    }
}

/// Requested keys, by column and by row.
struct Requests {
    columns: Vec<Vec<Col<Value<'static>>>>,
    keys: Option<Vec<RowKey>>,
    ranges: Vec<(RowKey, RowKey)>,
}

fn owned(key: &[Value<'_>]) -> RowKey {
    key.iter().cloned().map(Value::into_owned).collect()
}

impl KeySink for Requests {
    fn key(&mut self, key: &[Value<'_>]) {
        for (column, value) in self.columns.iter_mut().zip(key) {
            column.push(Col(value.clone().into_owned()));
        }
        if let Some(keys) = &mut self.keys {
            keys.push(owned(key));
        }
    }

    fn range(&mut self, first: &[Value<'_>], last: &[Value<'_>]) {
        self.ranges.push((owned(first), owned(last)));
    }
}

impl PendingTable {
    fn ask(pipeline: &mut Pipeline<'_>, table: &mut dyn TableAccess, of: Of) -> Self {
        let spec = table.spec();
        let sql = sql::of(spec);
        let keys = (of == Of::Durable && RowVersions::has(spec)).then(Vec::new);
        let mut requests = Requests { columns: vec![Vec::new(); spec.key.len()], keys, ranges: Vec::new() };
        table.requests(&mut requests);
        let Requests { columns, keys, ranges } = requests;
        let (mut rows, mut lines) = (None, None);
        if !columns[0].is_empty() {
            lines = sql.select_child_rows.as_ref().map(|sql| pipeline.send(sql, vec![Box::new(columns[0].clone())]));
            let columns = columns.into_iter().map(|column| Box::new(column) as Param<'_>).collect();
            rows = Some(pipeline.send(&sql.select, columns));
        }
        let ranges = ranges.into_iter().map(|(first, last)| {
            let ends = first.iter().chain(&last).cloned().map(|end| Box::new(Col(end)) as Param<'_>).collect();
            let ticket = pipeline.send(&sql.select_range, ends);
            (first, last, ticket)
        });
        Self { spec, keys: keys.unwrap_or_default(), rows, lines, ranges: ranges.collect() }
    }

    /// Fills found rows. Returns the number of immutable rows and their child rows.
    fn fill(
        self,
        answers: &mut QueryResults,
        table: &mut dyn TableAccess,
        versions: Option<&mut RowVersions>,
    ) -> Result<usize, StoreError> {
        let spec = self.spec;
        let mut versions = versions.filter(|_| RowVersions::has(spec));
        let rows = self.rows.map(|ticket| answers.take(ticket)).unwrap_or_default();
        let lines = self.lines.map(|ticket| answers.take(ticket)).unwrap_or_default();
        let child_row_count = fill(table, &rows, by_owner(spec, &lines)?, versions.as_deref_mut())?;
        for (first, last, ticket) in self.ranges {
            let rows = answers.take(ticket);
            fill(table, &rows, Lines::new(), versions.as_deref_mut())?;
            if let Some(versions) = &mut versions {
                versions.range(spec, first, last, rows.len());
            }
        }
        if let Some(versions) = versions {
            for key in self.keys {
                versions.row(spec, key, None);
            }
        }
        table.finish();
        Ok(if spec.is_immutable { rows.len() + child_row_count } else { 0 })
    }
}

/// Fills rows in, and records their versions. Returns the number of child rows.
fn fill<'r>(
    table: &mut dyn TableAccess,
    rows: &'r [Row],
    mut lines: Lines<'r>,
    mut versions: Option<&mut RowVersions>,
) -> Result<usize, StoreError> {
    let (spec, mut child_row_count) = (table.spec(), 0);
    let (key_width, version_at) = (spec.key.len(), spec.columns().count());
    for row in rows {
        let values = row_values(spec, row)?;
        if let Some(versions) = &mut versions {
            versions.row(spec, owned(&values[..key_width]), Some(get(row, version_at)?));
        }
        let lines = lines.remove(&values[0]).unwrap_or_default();
        child_row_count += lines.len();
        table.fill(StoredRow { values, lines }).map_err(damaged)?;
    }
    Ok(child_row_count)
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

/// Child rows of several rows.
pub(super) type Lines<'a> = HashMap<Value<'a>, Vec<ValueReader<'a>>>;

/// Groups child rows by their owner.
pub(super) fn by_owner<'a>(spec: &TableSpec, rows: &'a [Row]) -> Result<Lines<'a>, StoreError> {
    let mut lines = Lines::new();
    let Some(child_rows) = &spec.child_rows else { return Ok(lines) };
    for row in rows {
        let owner = value_of(spec.key[0].kind, row, 0)?;
        let values: Result<_, _> =
            child_rows.columns.iter().zip(1..).map(|(column, index)| value_of(column.kind, row, index)).collect();
        lines.entry(owner).or_default().push(ValueReader::new(values?));
    }
    Ok(lines)
}

pub(super) fn row_values<'a>(spec: &TableSpec, row: &'a Row) -> Result<Vec<Value<'a>>, StoreError> {
    let value = |(index, column): (usize, Column)| value_of(column.kind, row, index);
    spec.columns().enumerate().map(value).collect()
}

pub(super) fn damaged(error: Damaged) -> StoreError {
    StoreError::Damaged(error.to_string())
}

/// Requests which of these holds are confirmed.
pub(crate) fn ask_confirmed(pipeline: &mut Pipeline<'_>, holds: &[HoldId]) -> Ticket {
    pipeline.send(sql::CONFIRMED, vec![column(holds, Col)])
}

/// Parses the response to [`ask_confirmed`].
pub(crate) fn confirmed(answers: &mut QueryResults, ticket: Ticket) -> Result<Vec<HoldId>, StoreError> {
    answers.take(ticket).iter().map(|row| Ok(get::<Col<HoldId>>(row, 0)?.0)).collect()
}
