//! Tables in `SQLite`: one set of statements per table, derived from its declaration.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::hold::Hold;
use holdfast_core::id::HoldId;
use holdfast_core::schema::spec::LINE_NO;
use holdfast_core::schema::{
    ChangeKind, ChildRows, Column, Damaged, Filter, KeySink, List, Listed, Order, Purge, Retention, RowChange, RowSink,
    StoredRow, TableAccess, TableRow as _, TableSpec, Value, ValueReader, registry,
};
use holdfast_core::working_set::Tables;
use holdfast_engine::Memory;
use rusqlite::types::FromSqlError;
use rusqlite::{CachedStatement, Connection, Row, params_from_iter};

use crate::codec::{Bound, Moment, value_of};

/// Number of holds that are indexed at a time when a store is opened.
const REBUILD_SLICE: usize = 10_000;

const PURGE_HOLDS: &str = "DELETE FROM hold WHERE id IN
    (SELECT id FROM hold WHERE state <> 'CONFIRMED' AND ends_at < ?1 ORDER BY ends_at LIMIT ?2)";

/// Loads all requested rows.
pub(crate) fn load(connection: &Connection, tables: &mut Tables) -> rusqlite::Result<()> {
    let mut result = Ok(());
    tables.visit_mut(&mut |_, table| {
        if result.is_ok() && table.has_requests() && table.spec().is_stored() {
            result = load_table(connection, table);
        }
    });
    result
}

/// Writes all changed rows.
pub(crate) fn write(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    let mut result = Ok(());
    tables.visit(&mut |_, table| {
        if result.is_ok() && table.is_changed() && table.spec().is_stored() {
            result = write_table(connection, table);
        }
    });
    result
}

/// Rebuilds in-memory state from the live holds, which an index finds by their end.
pub(crate) fn index_holds(connection: &Connection, memory: &mut Memory, now: Timestamp) -> rusqlite::Result<()> {
    let mut select = connection.prepare(&live_holds())?;
    let mut slice: Vec<Hold> = Vec::new();
    let mut rows = select.query([Bound(&Value::Moment(now))])?;
    while let Some(row) = rows.next()? {
        let hold = stored_row(connection, Hold::SPEC, row)?.read::<HoldId, Hold>();
        let (_, hold) = hold.ok_or(Damaged { table: Hold::SPEC.table }).map_err(damaged)?;
        slice.extend(Some(hold).filter(|hold| hold.is_live(now)));
        if slice.len() == REBUILD_SLICE {
            memory.index(&slice, now);
            slice.clear();
        }
    }
    memory.index(&slice, now);
    Ok(())
}

fn live_holds() -> String {
    format!("{} WHERE state <> 'CONFIRMED' AND ends_at > ?1", select(Hold::SPEC))
}

/// Deletes at most `limit` holds that ended before `ended_before` and have no records. Returns their number.
pub(crate) fn purge_holds(connection: &Connection, ended_before: Timestamp, limit: usize) -> rusqlite::Result<usize> {
    connection.prepare_cached(PURGE_HOLDS)?.execute((Bound(&Value::Moment(ended_before)), limit))
}

/// Deletes at most `limit` rows of each table whose rows are purged by age. `kept` returns the time before which rows of a
/// retention are purged. Returns their number.
pub(crate) fn purge(
    connection: &Connection,
    kept: impl Fn(Retention) -> Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    let mut deleted = 0;
    for spec in registry::stored() {
        if let Some(Purge { column, after }) = spec.purge {
            let (table, key) = (spec.table, names(spec.key));
            let sql = format!(
                "DELETE FROM {table} WHERE ({key}) IN
                   (SELECT {key} FROM {table} WHERE {column} < ?1 ORDER BY {column} LIMIT ?2)"
            );
            deleted += connection.prepare_cached(&sql)?.execute((Moment(kept(after)), limit))?;
        }
    }
    Ok(deleted)
}

/// Passes every record to the auditor.
pub(crate) fn audit(connection: &Connection, audit: &mut Audit) -> rusqlite::Result<()> {
    for table in registry::durable() {
        let spec = table.spec();
        let mut all = connection.prepare(&select(spec))?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            table.show(stored_row(connection, spec, row)?, audit).map_err(damaged)?;
        }
    }
    Ok(())
}

pub(crate) fn list(connection: &Connection, list: &List) -> rusqlite::Result<Vec<Listed>> {
    let List { spec, by, filters, order, after, until, limit } = list;
    let (key, marks) = (names(spec.key), vec!["?"; spec.key.len()].join(", "));
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    if let Some((column, value)) = by {
        conditions.push(format!("{column} = ?"));
        values.push(value);
    }
    let (after_sign, until_sign, direction) = match order {
        Order::Ascending => (">", "<=", ""),
        Order::Descending => ("<", ">=", " DESC"),
    };
    for (end, sign) in [(after, after_sign), (until, until_sign)] {
        if let Some(end) = end {
            conditions.push(format!("({key}) {sign} ({marks})"));
            values.extend(end);
        }
    }
    // A unary plus keeps the planner from using an index on the column of a filter instead of the list's.
    let plus = if by.is_some() { "+" } else { "" };
    for filter in filters {
        match filter {
            Filter::Is(column, value) => {
                conditions.push(format!("{plus}{column} = ?"));
                values.push(value);
            }
            Filter::IsNot(column, text) => conditions.push(format!("{column} <> '{text}'")),
            Filter::Above(column, value) => {
                conditions.push(format!("{plus}{column} > ?"));
                values.push(value);
            }
            Filter::Below(column, value) => {
                conditions.push(format!("{plus}{column} < ?"));
                values.push(value);
            }
            Filter::IsNull(column) => conditions.push(format!("{column} IS NULL")),
            Filter::IsNotNull(column) => conditions.push(format!("{column} IS NOT NULL")),
            Filter::HasChildRow(column, value) => {
                let ChildRows { table, owner, .. } =
                    spec.child_rows.as_ref().expect("a child-row filter needs a table with child rows");
                conditions.push(format!("{key} IN (SELECT {owner} FROM {table} WHERE {column} = ?)"));
                values.push(value);
            }
        }
    }
    if conditions.is_empty() {
        conditions.push("true".into());
    }
    let ordered: Vec<_> = spec.key.iter().map(|column| format!("{}{direction}", column.name)).collect();
    let (conditions, ordered) = (conditions.join(" AND "), ordered.join(", "));
    let sql = format!("{} WHERE {conditions} ORDER BY {ordered} LIMIT {limit}", select(spec));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values.into_iter().map(Bound)))?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        let values: Vec<Value<'static>> = row_values(spec, row)?.into_iter().map(Value::into_owned).collect();
        let lines = lines(connection, spec, &values[0])?;
        listed.push(Listed { values, lines });
    }
    Ok(listed)
}

/// Statements of one table.
struct Sql {
    select: String,
    select_range: String,
    insert: String,
    update: String,
    delete: String,
    select_child_rows: String,
    insert_child_row: String,
}

static SQL: LazyLock<HashMap<&'static str, Sql>> =
    LazyLock::new(|| registry::stored().map(|spec| (spec.table, Sql::of(spec))).collect());

impl Sql {
    fn of(spec: &TableSpec) -> Self {
        let table = spec.table;
        let marks = |from: usize, count: usize| {
            (from..from + count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ")
        };
        let numbered = |columns: &[Column], from: usize, glue: &str| {
            let each = columns.iter().zip(from..).map(|(column, number)| format!("{} = ?{number}", column.name));
            each.collect::<Vec<_>>().join(glue)
        };
        let (keys, columns) = (spec.key.len(), spec.columns().count());
        let by_key = numbered(spec.key, 1, " AND ");
        let all: Vec<_> = spec.columns().collect();
        let (mut select_child_rows, mut insert_child_row) = (String::new(), String::new());
        if let Some(ChildRows { table, owner, columns }) = &spec.child_rows {
            let (marks, columns) = (marks(1, columns.len() + 2), names(columns));
            select_child_rows = format!("SELECT {columns} FROM {table} WHERE {owner} = ?1 ORDER BY {LINE_NO}");
            insert_child_row = format!("INSERT INTO {table} ({owner}, {LINE_NO}, {columns}) VALUES ({marks})");
        }
        Self {
            select: format!("{} WHERE {by_key}", select(spec)),
            select_range: format!(
                "{} WHERE ({key}) >= ({}) AND ({key}) <= ({}) ORDER BY {key}",
                select(spec),
                marks(1, keys),
                marks(keys + 1, keys),
                key = names(spec.key),
            ),
            insert: format!("INSERT INTO {table} ({}) VALUES ({})", names(&all), marks(1, columns)),
            update: format!("UPDATE {table} SET {} WHERE {by_key}", numbered(spec.changing, keys + 1, ", ")),
            delete: format!("DELETE FROM {table} WHERE {by_key}"),
            select_child_rows,
            insert_child_row,
        }
    }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

fn select(spec: &TableSpec) -> String {
    let columns: Vec<_> = spec.columns().collect();
    format!("SELECT {} FROM {}", names(&columns), spec.table)
}

fn row_values<'r>(spec: &TableSpec, row: &'r Row<'_>) -> rusqlite::Result<Vec<Value<'r>>> {
    let mut values = Vec::with_capacity(spec.key.len() + spec.fixed.len() + spec.changing.len());
    for (index, column) in spec.columns().enumerate() {
        values.push(value_of(column.kind, row.get_ref(index)?)?);
    }
    Ok(values)
}

/// Child rows of a row.
fn lines(connection: &Connection, spec: &TableSpec, key: &Value<'_>) -> rusqlite::Result<Vec<Vec<Value<'static>>>> {
    let Some(ChildRows { columns, .. }) = &spec.child_rows else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(&SQL[spec.table].select_child_rows)?;
    let read = |row: &Row<'_>| {
        let value = |(index, column): (usize, &Column)| Ok(value_of(column.kind, row.get_ref(index)?)?.into_owned());
        columns.iter().enumerate().map(value).collect()
    };
    select.query_map([Bound(key)], read)?.collect()
}

fn stored_row<'r>(connection: &Connection, spec: &TableSpec, row: &'r Row<'_>) -> rusqlite::Result<StoredRow<'r>> {
    let values = row_values(spec, row)?;
    let lines = lines(connection, spec, &values[0])?.into_iter().map(ValueReader::new).collect();
    Ok(StoredRow { values, lines })
}

fn damaged(error: Damaged) -> rusqlite::Error {
    FromSqlError::Other(Box::new(error)).into()
}

/// Requested keys and ranges, one after another.
#[derive(Default)]
struct Requests {
    keys: Vec<Value<'static>>,
    ranges: Vec<Value<'static>>,
}

impl KeySink for Requests {
    fn key(&mut self, key: &[Value<'_>]) {
        self.keys.extend(key.iter().cloned().map(Value::into_owned));
    }

    fn range(&mut self, first: &[Value<'_>], last: &[Value<'_>]) {
        self.ranges.extend(first.iter().chain(last).cloned().map(Value::into_owned));
    }
}

fn load_table(connection: &Connection, table: &mut dyn TableAccess) -> rusqlite::Result<()> {
    let (spec, mut requests) = (table.spec(), Requests::default());
    let (sql, width) = (&SQL[spec.table], spec.key.len());
    table.requests(&mut requests);
    if !requests.keys.is_empty() {
        let mut select = connection.prepare_cached(&sql.select)?;
        for key in requests.keys.chunks(width) {
            let mut rows = select.query(params_from_iter(key.iter().map(Bound)))?;
            if let Some(row) = rows.next()? {
                table.fill(stored_row(connection, spec, row)?).map_err(damaged)?;
            }
        }
    }
    if !requests.ranges.is_empty() {
        let mut select = connection.prepare_cached(&sql.select_range)?;
        for ends in requests.ranges.chunks(2 * width) {
            let mut rows = select.query(params_from_iter(ends.iter().map(Bound)))?;
            while let Some(row) = rows.next()? {
                table.fill(stored_row(connection, spec, row)?).map_err(damaged)?;
            }
        }
    }
    table.finish();
    Ok(())
}

fn write_table(connection: &Connection, table: &dyn TableAccess) -> rusqlite::Result<()> {
    let spec = table.spec();
    let statements = Statements { connection, sql: &SQL[spec.table], prepared: [None, None, None] };
    let mut write = Write { spec, statements, result: Ok(()) };
    table.changes(&mut write);
    write.result
}

struct Write<'c> {
    spec: &'static TableSpec,
    statements: Statements<'c>,
    result: rusqlite::Result<()>,
}

impl<'a> RowSink<'a> for Write<'_> {
    fn change(&mut self, change: RowChange<'_, 'a>) -> ControlFlow<()> {
        self.result = self.write(change);
        if self.result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Write<'_> {
    fn write(&mut self, RowChange { kind, values, lines }: RowChange<'_, '_>) -> rusqlite::Result<()> {
        let (keys, fixed) = (self.spec.key.len(), self.spec.fixed.len());
        match kind {
            ChangeKind::Insert => {}
            ChangeKind::Replace => {
                self.statements.get(Change::Delete)?.execute(params_from_iter(values[..keys].iter().map(Bound)))?;
            }
            ChangeKind::Update => drop(values.drain(keys..keys + fixed)),
            ChangeKind::Delete => values.truncate(keys),
        }
        let change = match kind {
            ChangeKind::Insert | ChangeKind::Replace => Change::Insert,
            ChangeKind::Update => Change::Update,
            ChangeKind::Delete => Change::Delete,
        };
        let written = self.statements.get(change)?.execute(params_from_iter(values.iter().map(Bound)))?;
        assert_eq!(written, 1, "a row of {} that was loaded is there to be changed", self.spec.table);
        if !lines.is_empty() {
            let Statements { connection, sql, .. } = self.statements;
            let mut insert = connection.prepare_cached(&sql.insert_child_row)?;
            for (number, line) in lines.iter().enumerate() {
                let number = Value::Int(number as i64);
                let head = [Bound(&values[0]), Bound(&number)].into_iter();
                insert.execute(params_from_iter(head.chain(line.0.iter().map(Bound))))?;
            }
        }
        Ok(())
    }
}

/// Change of a row.
#[derive(Clone, Copy)]
enum Change {
    Insert,
    Update,
    Delete,
}

/// Statements prepared once for all rows of a table.
struct Statements<'c> {
    connection: &'c Connection,
    sql: &'static Sql,
    prepared: [Option<CachedStatement<'c>>; 3],
}

impl<'c> Statements<'c> {
    fn get(&mut self, change: Change) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let slot = &mut self.prepared[change as usize];
        if slot.is_none() {
            let sql = match change {
                Change::Insert => &self.sql.insert,
                Change::Update => &self.sql.update,
                Change::Delete => &self.sql.delete,
            };
            *slot = Some(self.connection.prepare_cached(sql)?);
        }
        Ok(slot.as_mut().expect("the statement was just prepared"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(connection: &Connection, sql: &str) -> String {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("the statement is valid");
        // Parameters are not bound: the plan does not depend on their values.
        let mut rows = explain.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().expect("a plan has steps") {
            steps.push(row.get::<_, String>("detail").expect("a step has a detail"));
        }
        steps.join("\n")
    }

    /// One hold in a hundred is live, among ended and confirmed ones.
    #[test]
    fn holds_are_found_by_their_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let options = crate::OpenOptions::new(directory.path());
        let connection = crate::open::open_writer(&options).expect("a new file");
        let fill = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
            INSERT INTO hold SELECT randomblob(16), 'STAY', 0, 'KRW', n, n + 9000000 * (n % 100 = 0), NULL,
                n + 9000000 * (n % 100 = 0), iif(n % 2 = 1, 'CONFIRMED', 'HELD'), NULL, 0, 0, 0, x'', NULL, NULL, NULL
            FROM numbers";
        connection.execute_batch(fill).expect("the rows are valid");
        for analyze in ["", "ANALYZE"] {
            connection.execute_batch(analyze).expect("the table can be analyzed");
            for sql in [&*live_holds(), PURGE_HOLDS] {
                let plan = plan(&connection, sql);
                assert!(plan.contains("INDEX hold_by_end (ends_at"), "{analyze} {sql}\n{plan}");
                assert!(!plan.contains("SCAN hold"), "{analyze} {sql}\n{plan}");
            }
        }
    }
}
