//! Records in `SQLite`: one set of statements per table, derived from its schema.

use std::collections::HashMap;
use std::sync::LazyLock;

use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::hold::Hold;
use holdfast_core::schema::table::LINE_NO;
use holdfast_core::schema::visit::{self, Visitor, VisitorMut};
use holdfast_core::schema::{ChildRows, Filter, List, Listed, Order, Record, TableSchema, Value, ValueReader, Values};
use holdfast_core::table::{Scan, Table};
use holdfast_core::working_set::Tables;
use holdfast_engine::Memory;
use rusqlite::types::FromSqlError;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params_from_iter};

use crate::codec::{Bound, value_of};

/// Number of holds that are indexed at a time when a store is opened.
const REBUILD_SLICE: usize = 10_000;

const PURGE_HOLDS: &str = "DELETE FROM hold WHERE id IN
    (SELECT id FROM hold WHERE state <> 'CONFIRMED' AND ends_at < ?1 ORDER BY ends_at LIMIT ?2)";

pub(crate) fn load(connection: &Connection, tables: &mut Tables) -> rusqlite::Result<()> {
    let mut load = Load { connection, result: Ok(()) };
    visit::durable_mut(tables, &mut load);
    visit::live_mut(tables, &mut load);
    load.result
}

pub(crate) fn write(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    let mut write = Write { connection, result: Ok(()) };
    visit::durable(tables, &mut write);
    visit::live(tables, &mut write);
    write.result
}

/// Rebuilds in-memory state from the live holds, which an index finds by their end.
pub(crate) fn index_holds(connection: &Connection, memory: &mut Memory, now: Timestamp) -> rusqlite::Result<()> {
    let mut select = connection.prepare(&live_holds())?;
    let mut slice: Vec<Hold> = Vec::new();
    for hold in select.query_map([Bound(&Value::Moment(now))], |row| read::<Hold>(connection, row))? {
        slice.extend(Some(hold?.1).filter(|hold| hold.is_live(now)));
        if slice.len() == REBUILD_SLICE {
            memory.index(&slice, now);
            slice.clear();
        }
    }
    memory.index(&slice, now);
    Ok(())
}

fn live_holds() -> String {
    format!("{} WHERE state <> 'CONFIRMED' AND ends_at > ?1", select(Hold::SCHEMA))
}

/// Deletes at most `limit` holds that ended before `ended_before` and have no records. Returns their number.
pub(crate) fn purge_holds(connection: &Connection, ended_before: Timestamp, limit: usize) -> rusqlite::Result<usize> {
    connection.prepare_cached(PURGE_HOLDS)?.execute((Bound(&Value::Moment(ended_before)), limit))
}

/// Passes every record to the auditor.
pub(crate) fn audit(connection: &Connection, audit: &mut Audit) -> rusqlite::Result<()> {
    let tables = Tables::default();
    let mut show = Show { connection, audit, result: Ok(()) };
    visit::durable(&tables, &mut show);
    show.result
}

pub(crate) fn list(connection: &Connection, list: &List) -> rusqlite::Result<Vec<Listed>> {
    let List { schema, by, filters, order, after, until, limit } = list;
    let (key, marks) = (names(schema.key), vec!["?"; schema.key.len()].join(", "));
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
    // The plus keeps a broader index out of the way when a narrower one serves.
    let plus = if by.is_some() { "+" } else { "" };
    for filter in filters {
        match filter {
            Filter::Is(column, value) => {
                conditions.push(format!("{plus}{column} = ?"));
                values.push(value);
            }
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
                    schema.child_rows.as_ref().expect("only what has lines is listed by them");
                conditions.push(format!("{key} IN (SELECT {owner} FROM {table} WHERE {column} = ?)"));
                values.push(value);
            }
        }
    }
    if conditions.is_empty() {
        conditions.push("true".into());
    }
    let ordered: Vec<_> = schema.key.iter().map(|column| format!("{}{direction}", column.name)).collect();
    let (conditions, ordered) = (conditions.join(" AND "), ordered.join(", "));
    let sql = format!("{} WHERE {conditions} ORDER BY {ordered} LIMIT {limit}", select(schema));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values.into_iter().map(Bound)))?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        let values: Vec<Value<'static>> = row_values(schema, row)?.into_iter().map(Value::into_owned).collect();
        let lines = lines(connection, schema, &values[0])?;
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

static SQL: LazyLock<HashMap<&'static str, Sql>> = LazyLock::new(|| {
    let schemas = visit::durable_schemas().into_iter().chain(visit::live_schemas());
    schemas.map(|schema| (schema.table, Sql::of(schema))).collect()
});

impl Sql {
    fn of(schema: &TableSchema) -> Self {
        let table = schema.table;
        let marks = |from: usize, count: usize| {
            (from..from + count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ")
        };
        let numbered = |columns: &[holdfast_core::schema::Column], from: usize, glue: &str| {
            let each = columns.iter().zip(from..).map(|(column, number)| format!("{} = ?{number}", column.name));
            each.collect::<Vec<_>>().join(glue)
        };
        let (keys, columns) = (schema.key.len(), schema.columns().count());
        let by_key = numbered(schema.key, 1, " AND ");
        let all: Vec<_> = schema.columns().collect();
        let (mut select_child_rows, mut insert_child_row) = (String::new(), String::new());
        if let Some(ChildRows { table, owner, columns }) = &schema.child_rows {
            let (marks, columns) = (marks(1, columns.len() + 2), names(columns));
            select_child_rows = format!("SELECT {columns} FROM {table} WHERE {owner} = ?1 ORDER BY {LINE_NO}");
            insert_child_row = format!("INSERT INTO {table} ({owner}, {LINE_NO}, {columns}) VALUES ({marks})");
        }
        Self {
            select: format!("{} WHERE {by_key}", select(schema)),
            select_range: format!(
                "{} WHERE ({key}) >= ({}) AND ({key}) <= ({}) ORDER BY {key}",
                select(schema),
                marks(1, keys),
                marks(keys + 1, keys),
                key = names(schema.key),
            ),
            insert: format!("INSERT INTO {table} ({}) VALUES ({})", names(&all), marks(1, columns)),
            update: format!("UPDATE {table} SET {} WHERE {by_key}", numbered(schema.changing, keys + 1, ", ")),
            delete: format!("DELETE FROM {table} WHERE {by_key}"),
            select_child_rows,
            insert_child_row,
        }
    }
}

fn sql<R: Record>() -> &'static Sql {
    &SQL[R::SCHEMA.table]
}

fn names(columns: &[holdfast_core::schema::Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

fn select(schema: &TableSchema) -> String {
    let columns: Vec<_> = schema.columns().collect();
    format!("SELECT {} FROM {}", names(&columns), schema.table)
}

fn row_values<'r>(schema: &TableSchema, row: &'r Row<'_>) -> rusqlite::Result<Vec<Value<'r>>> {
    schema.columns().enumerate().map(|(index, column)| Ok(value_of(column.kind, row.get_ref(index)?)?)).collect()
}

/// Child rows of a row.
fn lines(connection: &Connection, schema: &TableSchema, key: &Value<'_>) -> rusqlite::Result<Vec<Vec<Value<'static>>>> {
    let Some(ChildRows { columns, .. }) = &schema.child_rows else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(&SQL[schema.table].select_child_rows)?;
    let read = |row: &Row<'_>| {
        let value = |(index, column): (usize, &holdfast_core::schema::Column)| {
            Ok(value_of(column.kind, row.get_ref(index)?)?.into_owned())
        };
        columns.iter().enumerate().map(value).collect()
    };
    select.query_map([Bound(key)], read)?.collect()
}

fn read<R: Record>(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<(R::Key, R)> {
    let values = row_values(R::SCHEMA, row)?;
    let lines = lines(connection, R::SCHEMA, &values[0])?;
    let damaged = || FromSqlError::Other(format!("{}: a row that cannot be read", R::SCHEMA.table).into());
    let lines = lines.into_iter().map(ValueReader::new).collect();
    Ok(R::take(&mut ValueReader::new(values), lines).ok_or_else(damaged)?)
}

fn key_of<R: Record>(key: &R::Key) -> Values<'_> {
    let mut values = Values::default();
    R::put_key(key, &mut values);
    values
}

struct Load<'a> {
    connection: &'a Connection,
    result: rusqlite::Result<()>,
}

impl VisitorMut for Load<'_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &mut Table<R::Key, R, S>) {
        if self.result.is_ok() {
            self.result = load_table(self.connection, table);
        }
    }
}

fn load_table<R: Record, S: Scan<R::Key>>(
    connection: &Connection,
    table: &mut Table<R::Key, R, S>,
) -> rusqlite::Result<()> {
    let requested = table.take_requested();
    if !requested.is_empty() {
        let mut select = connection.prepare_cached(&sql::<R>().select)?;
        for key in requested {
            let values = key_of::<R>(&key);
            let found =
                select.query_row(params_from_iter(values.0.iter().map(Bound)), |row| read::<R>(connection, row));
            let row = found.optional()?.map(|(_, row)| row);
            drop(values);
            table.fill(key, row);
        }
    }
    for scan in table.take_scans_requested() {
        let mut select = connection.prepare_cached(&sql::<R>().select_range)?;
        let range = scan.range();
        let (first, last) = (key_of::<R>(range.start()), key_of::<R>(range.end()));
        let ends = first.0.iter().chain(&last.0).map(Bound);
        for found in select.query_map(params_from_iter(ends), |row| read::<R>(connection, row))? {
            let (key, row) = found?;
            table.fill(key, Some(row));
        }
        table.fill_scan(scan);
    }
    Ok(())
}

struct Write<'a> {
    connection: &'a Connection,
    result: rusqlite::Result<()>,
}

impl<'a> Visitor<'a> for Write<'_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &'a Table<R::Key, R, S>) {
        if self.result.is_ok() {
            self.result = write_table(self.connection, table);
        }
    }
}

fn write_table<R: Record, S: Scan<R::Key>>(
    connection: &Connection,
    table: &Table<R::Key, R, S>,
) -> rusqlite::Result<()> {
    let changes = table.changes();
    if changes.is_empty() {
        return Ok(());
    }
    let (sql, schema) = (sql::<R>(), R::SCHEMA);
    let (keys, fixed) = (schema.key.len(), schema.fixed.len());
    let mut statements = Statements::new(connection);
    let mut values = Values::default();
    for change in changes {
        values.0.clear();
        R::put_key(change.key, &mut values);
        if change.is_remade {
            let delete = statements.get(Change::Delete, &sql.delete)?;
            delete.execute(params_from_iter(values.0.iter().map(Bound)))?;
        }
        let is_new = change.is_new || change.is_remade;
        let statement = match (is_new, change.row) {
            (true, Some(row)) => {
                row.put(change.key, &mut values);
                statements.get(Change::Insert, &sql.insert)?
            }
            (false, Some(row)) => {
                row.put(change.key, &mut values);
                values.0.drain(keys..keys + fixed);
                statements.get(Change::Update, &sql.update)?
            }
            (false, None) => statements.get(Change::Delete, &sql.delete)?,
            // Created and deleted in the same batch.
            (true, None) => continue,
        };
        let written = statement.execute(params_from_iter(values.0.iter().map(Bound)))?;
        assert_eq!(written, 1, "a row of {} that was loaded is there to be changed", schema.table);
        if let (true, Some(row)) = (is_new, change.row) {
            write_lines(connection, row, &values.0[0])?;
        }
    }
    Ok(())
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
    prepared: [Option<CachedStatement<'c>>; 3],
}

impl<'c> Statements<'c> {
    fn new(connection: &'c Connection) -> Self {
        Self { connection, prepared: [None, None, None] }
    }

    fn get(&mut self, change: Change, sql: &str) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let slot = &mut self.prepared[change as usize];
        if slot.is_none() {
            *slot = Some(self.connection.prepare_cached(sql)?);
        }
        Ok(slot.as_mut().expect("the statement was just prepared"))
    }
}

fn write_lines<R: Record>(connection: &Connection, row: &R, key: &Value<'_>) -> rusqlite::Result<()> {
    if R::SCHEMA.child_rows.is_none() {
        return Ok(());
    }
    let mut lines = Vec::new();
    row.put_child_rows(&mut lines);
    let mut insert = connection.prepare_cached(&sql::<R>().insert_child_row)?;
    for (number, line) in lines.iter().enumerate() {
        let number = Value::Int(number as i64);
        let head = [Bound(key), Bound(&number)].into_iter();
        insert.execute(params_from_iter(head.chain(line.0.iter().map(Bound))))?;
    }
    Ok(())
}

struct Show<'a> {
    connection: &'a Connection,
    audit: &'a mut Audit,
    result: rusqlite::Result<()>,
}

impl<'a> Visitor<'a> for Show<'_> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, _table: &'a Table<R::Key, R, S>) {
        if self.result.is_ok() {
            self.result = self.show::<R>();
        }
    }
}

impl Show<'_> {
    fn show<R: Record>(&mut self) -> rusqlite::Result<()> {
        let mut all = self.connection.prepare(&select(R::SCHEMA))?;
        for record in all.query_map([], |row| read::<R>(self.connection, row))? {
            let (key, row) = record?;
            R::show(&key, &row, self.audit);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(connection: &Connection, sql: &str) -> String {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("the statement is valid");
        let step = |row: &Row<'_>| row.get::<_, String>("detail");
        let steps: Vec<_> = explain.query_map([], step).and_then(Iterator::collect).expect("a plan has steps");
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
                n + 9000000 * (n % 100 = 0), iif(n % 2 = 1, 'CONFIRMED', 'HELD'), NULL, 0, 0, 0, x'', NULL, NULL
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
