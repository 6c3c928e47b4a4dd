//! Records in `SQLite`: one set of statements per table, derived from its schema.

use std::collections::HashMap;
use std::sync::LazyLock;

use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::hold::{Claim, Hold, Remembered};
use holdfast_core::id::HoldId;
use holdfast_core::rows::Tables;
use holdfast_core::table::{Scan, Table};
use holdfast_engine::Memory;
use holdfast_records::layout::LINE_NO;
use holdfast_records::walk::{self, HoldVisitor, Visitor, VisitorMut};
use holdfast_records::{Cells, Filter, Layout, List, Listed, Parts, Record, Taken, ToCell as _, Value};
use rusqlite::types::FromSqlError;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params_from_iter};

use crate::codec::{Bound, value_of};

/// Number of holds that are indexed at a time when a store is opened.
const REBUILD_SLICE: usize = 10_000;

pub(crate) fn load(connection: &Connection, tables: &mut Tables) -> rusqlite::Result<()> {
    let mut load = Load { connection, result: Ok(()) };
    walk::durable_mut(tables, &mut load);
    walk::hold_records_mut(tables, &mut load);
    load.result
}

pub(crate) fn write(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    let mut write = Write { connection, result: Ok(()) };
    walk::durable(tables, &mut write);
    walk::hold_records(tables, &mut write);
    write.result
}

/// Rebuilds in-memory state from the live holds.
pub(crate) fn remember_holds(connection: &Connection, memory: &mut Memory, now: Timestamp) -> rusqlite::Result<()> {
    let tables = Tables::default();
    let mut remember = Remember { connection, memory, now, result: Ok(()) };
    walk::holds(&tables, &mut remember);
    remember.result
}

/// Deletes at most `limit` holds of each kind created before `made_before`. Returns their number.
pub(crate) fn tidy_holds(connection: &Connection, made_before: HoldId, limit: usize) -> rusqlite::Result<usize> {
    let mut deleted = 0;
    for layout in walk::hold_layouts() {
        let table = layout.table;
        let sql =
            format!("DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE id < ?1 ORDER BY id LIMIT ?2)");
        deleted += connection.prepare_cached(&sql)?.execute((Bound(&made_before.to_cell()), limit))?;
    }
    Ok(deleted)
}

/// Passes every record to the auditor.
pub(crate) fn audit(connection: &Connection, audit: &mut Audit) -> rusqlite::Result<()> {
    let tables = Tables::default();
    let mut show = Show { connection, audit, result: Ok(()) };
    walk::durable(&tables, &mut show);
    walk::hold_records(&tables, &mut show);
    show.result
}

pub(crate) fn list(connection: &Connection, list: &List) -> rusqlite::Result<Vec<Listed>> {
    let List { layout, by, filters, after, until, limit } = list;
    let (key, marks) = (names(layout.key), vec!["?"; layout.key.len()].join(", "));
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    if let Some((column, value)) = by {
        conditions.push(format!("{column} = ?"));
        values.push(value);
    }
    for (end, sign) in [(after, ">"), (until, "<=")] {
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
            Filter::HasLine(column, value) => {
                let Parts { table, owner, .. } = layout.parts.as_ref().expect("only what has lines is listed by them");
                conditions.push(format!("{key} IN (SELECT {owner} FROM {table} WHERE {column} = ?)"));
                values.push(value);
            }
        }
    }
    if conditions.is_empty() {
        conditions.push("true".into());
    }
    let sql = format!("{} WHERE {} ORDER BY {key} LIMIT {limit}", select(layout), conditions.join(" AND "));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values.into_iter().map(Bound)))?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        let cells: Vec<Value<'static>> = cells(layout, row)?.into_iter().map(Value::into_owned).collect();
        let lines = lines(connection, layout, &cells[0])?;
        listed.push(Listed { cells, lines });
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
    select_lines: String,
    insert_line: String,
}

static SQL: LazyLock<HashMap<&'static str, Sql>> = LazyLock::new(|| {
    let layouts = walk::durable_layouts().into_iter().chain(walk::hold_layouts());
    layouts.map(|layout| (layout.table, Sql::of(layout))).collect()
});

impl Sql {
    fn of(layout: &Layout) -> Self {
        let table = layout.table;
        let marks = |from: usize, count: usize| {
            (from..from + count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ")
        };
        let numbered = |columns: &[holdfast_records::Column], from: usize, glue: &str| {
            let each = columns.iter().zip(from..).map(|(column, number)| format!("{} = ?{number}", column.name));
            each.collect::<Vec<_>>().join(glue)
        };
        let (keys, columns) = (layout.key.len(), layout.columns().count());
        let by_key = numbered(layout.key, 1, " AND ");
        let all: Vec<_> = layout.columns().collect();
        let (mut select_lines, mut insert_line) = (String::new(), String::new());
        if let Some(Parts { table, owner, columns }) = &layout.parts {
            let (marks, columns) = (marks(1, columns.len() + 2), names(columns));
            select_lines = format!("SELECT {columns} FROM {table} WHERE {owner} = ?1 ORDER BY {LINE_NO}");
            insert_line = format!("INSERT INTO {table} ({owner}, {LINE_NO}, {columns}) VALUES ({marks})");
        }
        Self {
            select: format!("{} WHERE {by_key}", select(layout)),
            select_range: format!(
                "{} WHERE ({key}) >= ({}) AND ({key}) <= ({}) ORDER BY {key}",
                select(layout),
                marks(1, keys),
                marks(keys + 1, keys),
                key = names(layout.key),
            ),
            insert: format!("INSERT INTO {table} ({}) VALUES ({})", names(&all), marks(1, columns)),
            update: format!("UPDATE {table} SET {} WHERE {by_key}", numbered(layout.changing, keys + 1, ", ")),
            delete: format!("DELETE FROM {table} WHERE {by_key}"),
            select_lines,
            insert_line,
        }
    }
}

fn sql<R: Record>() -> &'static Sql {
    &SQL[R::LAYOUT.table]
}

fn names(columns: &[holdfast_records::Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

fn select(layout: &Layout) -> String {
    let columns: Vec<_> = layout.columns().collect();
    format!("SELECT {} FROM {}", names(&columns), layout.table)
}

fn cells<'r>(layout: &Layout, row: &'r Row<'_>) -> rusqlite::Result<Vec<Value<'r>>> {
    layout.columns().enumerate().map(|(index, column)| Ok(value_of(column.kind, row.get_ref(index)?)?)).collect()
}

/// Child rows of a row.
fn lines(connection: &Connection, layout: &Layout, key: &Value<'_>) -> rusqlite::Result<Vec<Vec<Value<'static>>>> {
    let Some(Parts { columns, .. }) = &layout.parts else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(&SQL[layout.table].select_lines)?;
    let read = |row: &Row<'_>| {
        let cell = |(index, column): (usize, &holdfast_records::Column)| {
            Ok(value_of(column.kind, row.get_ref(index)?)?.into_owned())
        };
        columns.iter().enumerate().map(cell).collect()
    };
    select.query_map([Bound(key)], read)?.collect()
}

fn read<R: Record>(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<(R::Key, R)> {
    let cells = cells(R::LAYOUT, row)?;
    let lines = lines(connection, R::LAYOUT, &cells[0])?;
    let damaged = || FromSqlError::Other(format!("{}: a row that cannot be read", R::LAYOUT.table).into());
    let lines = lines.into_iter().map(Taken::new).collect();
    Ok(R::take(&mut Taken::new(cells), lines).ok_or_else(damaged)?)
}

fn key_of<R: Record>(key: &R::Key) -> Cells<'_> {
    let mut cells = Cells::default();
    R::put_key(key, &mut cells);
    cells
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
    let wanted = table.take_wanted();
    if !wanted.is_empty() {
        let mut select = connection.prepare_cached(&sql::<R>().select)?;
        for key in wanted {
            let cells = key_of::<R>(&key);
            let found = select.query_row(params_from_iter(cells.0.iter().map(Bound)), |row| read::<R>(connection, row));
            let row = found.optional()?.map(|(_, row)| row);
            drop(cells);
            table.supply(key, row);
        }
    }
    for scan in table.take_scans_wanted() {
        let mut select = connection.prepare_cached(&sql::<R>().select_range)?;
        let range = scan.range();
        let (first, last) = (key_of::<R>(range.start()), key_of::<R>(range.end()));
        let ends = first.0.iter().chain(&last.0).map(Bound);
        for found in select.query_map(params_from_iter(ends), |row| read::<R>(connection, row))? {
            let (key, row) = found?;
            table.supply(key, Some(row));
        }
        table.supply_scan(scan);
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
    let (sql, layout) = (sql::<R>(), R::LAYOUT);
    let (keys, fixed) = (layout.key.len(), layout.fixed.len());
    let mut statements = Statements::new(connection);
    let mut cells = Cells::default();
    for change in changes {
        cells.0.clear();
        R::put_key(change.key, &mut cells);
        if change.is_remade {
            let delete = statements.get(Change::Delete, &sql.delete)?;
            delete.execute(params_from_iter(cells.0.iter().map(Bound)))?;
        }
        let is_new = change.is_new || change.is_remade;
        let statement = match (is_new, change.row) {
            (true, Some(row)) => {
                row.put(change.key, &mut cells);
                statements.get(Change::Insert, &sql.insert)?
            }
            (false, Some(row)) => {
                row.put(change.key, &mut cells);
                cells.0.drain(keys..keys + fixed);
                statements.get(Change::Update, &sql.update)?
            }
            (false, None) => statements.get(Change::Delete, &sql.delete)?,
            // Created and deleted in the same batch.
            (true, None) => continue,
        };
        let written = statement.execute(params_from_iter(cells.0.iter().map(Bound)))?;
        assert_eq!(written, 1, "a row of {} that was loaded is there to be changed", layout.table);
        if let (true, Some(row)) = (is_new, change.row) {
            write_lines(connection, row, &cells.0[0])?;
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
    if R::LAYOUT.parts.is_none() {
        return Ok(());
    }
    let mut lines = Vec::new();
    row.put_parts(&mut lines);
    let mut insert = connection.prepare_cached(&sql::<R>().insert_line)?;
    for (number, line) in lines.iter().enumerate() {
        let number = Value::Int(number as i64);
        let head = [Bound(key), Bound(&number)].into_iter();
        insert.execute(params_from_iter(head.chain(line.0.iter().map(Bound))))?;
    }
    Ok(())
}

struct Remember<'a> {
    connection: &'a Connection,
    memory: &'a mut Memory,
    now: Timestamp,
    result: rusqlite::Result<()>,
}

impl<'a> HoldVisitor<'a> for Remember<'_> {
    fn visit<C: Claim>(&mut self, _table: &'a Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Remembered,
    {
        if self.result.is_ok() {
            self.result = self.remember::<Hold<C>>();
        }
    }
}

impl Remember<'_> {
    fn remember<H: Record<Key = HoldId> + Remembered>(&mut self) -> rusqlite::Result<()> {
        let held = if H::leaves_something() { "" } else { "AND state = 'HELD'" };
        let sql = format!("{} WHERE id >= ?1 {held} AND expires_at > ?2 ORDER BY id", select(H::LAYOUT));
        let mut select = self.connection.prepare(&sql)?;
        let from = Memory::remembered_from(self.now, H::AFTER_END);
        let (from, ended) = (from.to_cell(), Value::Moment(self.now - H::AFTER_END));
        let mut slice: Vec<H> = Vec::new();
        for hold in select.query_map([Bound(&from), Bound(&ended)], |row| read::<H>(self.connection, row))? {
            slice.push(hold?.1);
            if slice.len() == REBUILD_SLICE {
                self.memory.remember(&slice, self.now);
                slice.clear();
            }
        }
        self.memory.remember(&slice, self.now);
        Ok(())
    }
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
        let mut all = self.connection.prepare(&select(R::LAYOUT))?;
        for record in all.query_map([], |row| read::<R>(self.connection, row))? {
            let (key, row) = record?;
            R::show(&key, &row, self.audit);
        }
        Ok(())
    }
}
