//! Lists and scans of whole tables, page by page in key order.

use holdfast_core::Timestamp;
use holdfast_core::audit::Audit;
use holdfast_core::hold::Hold;
use holdfast_core::id::HoldId;
use holdfast_core::schema::{
    ChildRows, Damaged, Filter, List, Listed, Order, Retention, StoredRow, TableRow as _, TableSpec, ToValue as _,
    Type as Kind, Value, ValueReader, registry,
};
use holdfast_engine::{Memory, StoreError};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::load::{by_owner, damaged, row_values};
use super::sql::{self, names};
use crate::codec::{Col, type_of, value_of};
use crate::error::explain;
use crate::pipeline::{Pipeline, Ticket, params};

/// Rows per page.
const PAGE_ROWS: usize = 10_000;

pub(crate) async fn list(client: &Client, list: &List) -> Result<Vec<Listed>, StoreError> {
    let (sql, values) = list_sql(list);
    let rows = query(client, &sql, &values).await?;
    let owners = if list.spec.child_rows.is_some() { first_cells(list.spec, &rows)? } else { Vec::new() };
    let lines = match &sql::of(list.spec).select_child_rows {
        Some(sql) if !owners.is_empty() => {
            let kind = array_of(list.spec.key[0].kind);
            client.query_typed(sql, &[(&owners, kind)]).await.map_err(|error| explain(&error))?
        }
        _ => Vec::new(),
    };
    let mut lines = child_rows_of(list.spec, &lines)?;
    let listed = rows.iter().map(|row| {
        let values: Vec<_> = row_values(list.spec, row)?.into_iter().map(Value::into_owned).collect();
        let lines = lines.remove(&values[0]).unwrap_or_default();
        Ok(Listed { values, lines })
    });
    listed.collect()
}

fn first_cells<'a>(spec: &TableSpec, rows: &'a [Row]) -> Result<Vec<Col<Value<'a>>>, StoreError> {
    rows.iter().map(|row| value_of(spec.key[0].kind, row, 0).map(Col)).collect()
}

type OwnedChildRows = std::collections::HashMap<Value<'static>, Vec<Vec<Value<'static>>>>;

fn child_rows_of(spec: &TableSpec, rows: &[Row]) -> Result<OwnedChildRows, StoreError> {
    let lines = by_owner(spec, rows)?;
    let owned = |(owner, lines): (Value<'_>, Vec<ValueReader<'_>>)| {
        (owner.into_owned(), lines.into_iter().map(ValueReader::into_owned).collect())
    };
    Ok(lines.into_iter().map(owned).collect())
}

/// Value with the type of its column.
type Typed = (Col<Value<'static>>, Type);

/// Builds a list's statement. A condition with an index is written as a range, not with `=`, so that only this index
/// yields the rows in order. Otherwise the planner may scan the primary key in the hope of an early match.
pub(crate) fn list_sql(list: &List) -> (String, Vec<Typed>) {
    let List { spec, by, filters, order, after, until, limit } = list;
    let columns: Vec<_> = spec.columns().collect();
    let mut values: Vec<Typed> = Vec::new();
    let line_columns = spec.child_rows.as_ref().map_or(&[][..], |child_rows| child_rows.columns);
    let mut placeholder = |column: &str, value: &Value<'static>| {
        let mut known = columns.iter().chain(line_columns);
        let kind = known.find(|known| known.name == column).map(|known| known.kind);
        values.push((Col(value.clone()), type_of(kind.expect("lists are by columns of their table"))));
        format!("${}", values.len())
    };
    let key_names = names(spec.key);
    let mut conditions = Vec::new();
    let (begin_sign, after_sign, until_sign, direction) = match order {
        Order::Ascending => (">=", ">", "<=", ""),
        Order::Descending => ("<=", "<", ">=", " DESC"),
    };
    if let Some((column, value)) = by {
        let placeholder = placeholder(column, value);
        conditions.push(format!("{column} {until_sign} {placeholder}"));
        if after.is_none() {
            conditions.push(format!("{column} {begin_sign} {placeholder}"));
        }
    }
    if let Some(after) = after {
        let placeholders: Vec<_> =
            spec.key.iter().zip(after).map(|(column, value)| placeholder(column.name, value)).collect();
        conditions.push(match by {
            Some((column, _)) => format!("({column}, {key_names}) {after_sign} ($1, {})", placeholders.join(", ")),
            None => format!("({key_names}) {after_sign} ({})", placeholders.join(", ")),
        });
    }
    if let Some(until) = until {
        let placeholders: Vec<_> =
            spec.key.iter().zip(until).map(|(column, value)| placeholder(column.name, value)).collect();
        conditions.push(format!("({key_names}) {until_sign} ({})", placeholders.join(", ")));
    }
    for filter in filters {
        conditions.push(match filter {
            Filter::Is(column, value) => format!("{column} = {}", placeholder(column, value)),
            Filter::IsNot(column, text) => format!("{column} <> '{text}'"),
            Filter::Above(column, value) => format!("{column} > {}", placeholder(column, value)),
            Filter::Below(column, value) => format!("{column} < {}", placeholder(column, value)),
            Filter::IsNull(column) => format!("{column} IS NULL"),
            Filter::IsNotNull(column) => format!("{column} IS NOT NULL"),
            Filter::HasChildRow(column, value) => {
                let ChildRows { table, owner, .. } =
                    spec.child_rows.as_ref().expect("a child-row filter needs a table with child rows");
                format!("{key_names} IN (SELECT {owner} FROM {table} WHERE {column} = {})", placeholder(column, value))
            }
        });
    }
    if conditions.is_empty() {
        conditions.push("true".into());
    }
    let ordered = by.iter().map(|(column, _)| *column).chain(spec.key.iter().map(|column| column.name));
    let ordered = ordered.map(|column| format!("{column}{direction}")).collect::<Vec<_>>().join(", ");
    let (columns, conditions) = (names(&columns), conditions.join(" AND "));
    let sql = format!("SELECT {columns} FROM {} WHERE {conditions} ORDER BY {ordered} LIMIT {limit}", spec.table);
    (sql, values)
}

async fn query(client: &Client, sql: &str, values: &[Typed]) -> Result<Vec<Row>, StoreError> {
    let values: Vec<(&(dyn ToSql + Sync), Type)> =
        values.iter().map(|(value, kind)| (value as &(dyn ToSql + Sync), kind.clone())).collect();
    client.query_typed(sql, &values).await.map_err(|error| explain(&error))
}

/// Visits every row of a list, page by page.
async fn pages(
    client: &Client,
    mut list: List,
    mut each: impl FnMut(Vec<Listed>) -> Result<(), Damaged> + Send,
) -> Result<(), StoreError> {
    list.limit = PAGE_ROWS;
    loop {
        let page = self::list(client, &list).await?;
        let is_last = page.len() < PAGE_ROWS;
        list.after = page.last().map(|last| last.values[..list.spec.key.len()].to_vec());
        each(page).map_err(damaged)?;
        if is_last {
            return Ok(());
        }
    }
}

/// Passes every durable row to the auditor.
pub(crate) async fn audit(client: &Client, audit: &mut Audit) -> Result<(), StoreError> {
    for table in registry::durable() {
        let show = |page: Vec<Listed>| page.into_iter().try_for_each(|row| table.show(row.into_stored(), audit));
        pages(client, List::all(table.spec(), PAGE_ROWS), show).await?;
    }
    Ok(())
}

/// Rebuilds in-memory state from the live holds, page by page in the order of the index by end.
pub(crate) async fn index_holds(client: &Client, memory: &mut Memory, now: Timestamp) -> Result<(), StoreError> {
    let columns: Vec<_> = Hold::SPEC.columns().collect();
    let sql = format!(
        "SELECT {} FROM hold WHERE state <> 'CONFIRMED' AND (ends_at, id) > ($1, $2) ORDER BY ends_at, id LIMIT {PAGE_ROWS}",
        names(&columns)
    );
    let (mut ends_at, mut id) = (now, HoldId(uuid::Uuid::max()));
    loop {
        let after = [(Col(Value::Moment(ends_at)), Type::TIMESTAMPTZ), (Col(id.to_value().into_owned()), Type::UUID)];
        let rows = query(client, &sql, &after).await?;
        let hold = |row| {
            let stored = StoredRow { values: row_values(Hold::SPEC, row)?, lines: Vec::new() };
            let (_, hold) =
                stored.read::<HoldId, Hold>().ok_or(Damaged { table: Hold::SPEC.table }).map_err(damaged)?;
            Ok(hold)
        };
        let page: Vec<Hold> = rows.iter().map(hold).collect::<Result<_, StoreError>>()?;
        let is_last = page.len() < PAGE_ROWS;
        if let Some(last) = page.last() {
            (ends_at, id) = (last.ends_at(), last.id);
        }
        let live: Vec<Hold> = page.into_iter().filter(|hold| hold.is_live(now)).collect();
        memory.index(&live, now);
        if is_last {
            return Ok(());
        }
    }
}

/// Deletes at most `limit` rows of each table whose rows are purged by age. `kept` returns the time before which rows of a
/// retention are purged.
pub(crate) fn purge(pipeline: &mut Pipeline<'_>, kept: impl Fn(Retention) -> Timestamp, limit: usize) -> Vec<Ticket> {
    let purges = sql::purges_by_age();
    purges.map(|(sql, after)| pipeline.send(sql, params![Col(kept(after)), limit as i64])).collect()
}

fn array_of(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::BOOL_ARRAY,
        Kind::Int => Type::INT4_ARRAY,
        Kind::Big => Type::INT8_ARRAY,
        Kind::Text => Type::TEXT_ARRAY,
        Kind::Bytes => Type::BYTEA_ARRAY,
        Kind::Date => Type::DATE_ARRAY,
        Kind::Moment => Type::TIMESTAMPTZ_ARRAY,
        Kind::Uuid => Type::UUID_ARRAY,
    }
}
