//! SQL statements of each table.

use std::collections::HashMap;
use std::sync::LazyLock;

use holdfast_core::schema::table::LINE_NO;
use holdfast_core::schema::{ChildRows, Column, TableSchema, Type, visit};
use holdfast_core::unit::Kind;

pub(super) struct Sql {
    /// Last column is the version.
    pub(super) select: String,
    pub(super) select_range: String,
    /// First column is the key of the owner.
    pub(super) select_child_rows: Option<String>,
    pub(super) insert: String,
    /// For bulk insertion, where no foreign key refers to the rows.
    pub(super) copy: Option<String>,
    pub(super) insert_child_row: Option<String>,
    /// `None` if no column is mutable.
    pub(super) update: Option<String>,
    /// Also writes columns that are otherwise immutable; `None` if there are none.
    pub(super) remake: Option<String>,
    pub(super) delete: String,
    pub(super) lock: String,
    pub(super) expect_range: String,
    pub(super) tidy: String,
}

static DURABLE: LazyLock<Vec<(&'static str, Sql)>> = LazyLock::new(|| all(&visit::durable_schemas()));
static HOLDS: LazyLock<Vec<(&'static str, Sql)>> = LazyLock::new(|| all(&visit::hold_schemas()));
static BY_TABLE: LazyLock<HashMap<&'static str, &'static Sql>> =
    LazyLock::new(|| DURABLE.iter().chain(&*HOLDS).map(|(table, sql)| (*table, sql)).collect());
static CONFIRMED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let each = Kind::ALL.iter().map(|kind| visit::record_of(*kind).table);
    each.map(|table| format!("SELECT hold_id, id FROM {table} WHERE hold_id = ANY ($1::uuid[])")).collect()
});

fn all(schemas: &[&'static TableSchema]) -> Vec<(&'static str, Sql)> {
    schemas.iter().map(|schema| (schema.table, Sql::of(schema))).collect()
}

pub(super) fn of(schema: &TableSchema) -> &'static Sql {
    BY_TABLE[schema.table]
}

/// Statements that find the records of confirmed holds, per kind.
pub(super) fn confirmed() -> &'static [String] {
    &CONFIRMED
}

/// Statements for connections that read.
pub(crate) fn reads() -> Vec<&'static str> {
    let of_table = |sql: &'static Sql| {
        [Some(&*sql.select), Some(&*sql.select_range), sql.select_child_rows.as_deref()].into_iter().flatten()
    };
    let confirmed = CONFIRMED.iter().map(|sql| &**sql);
    BY_TABLE.values().copied().flat_map(of_table).chain(confirmed).collect()
}

/// Tables partitioned by month, and their partitioning column.
const BY_MONTH: &[(&str, &str)] = &[("time_slots", "slot_date")];

/// Creates the partitions for rows about to be written.
pub(super) const MAKE_MONTHS: &str = "SELECT make_months($1, $2::date[])";

/// Drops an empty partition.
pub(crate) const DROP_CLEARED_MONTH: &str = "SELECT drop_cleared_month()";

/// Index of the partitioning column among the values of a row, if the table is partitioned.
pub(super) fn month_at(schema: &TableSchema) -> Option<usize> {
    let (_, column) = BY_MONTH.iter().find(|(table, _)| *table == schema.table)?;
    schema.columns().position(|known| known.name == *column)
}

/// Statements for connections that write.
pub(crate) fn writes() -> Vec<&'static str> {
    let of_table = |sql: &'static Sql| {
        let always = [Some(&*sql.insert), Some(&*sql.delete)];
        let some = [&sql.copy, &sql.update, &sql.remake, &sql.insert_child_row].map(Option::as_deref);
        always.into_iter().chain(some).flatten()
    };
    BY_TABLE.values().copied().flat_map(of_table).chain([MAKE_MONTHS]).collect()
}

/// Statements for connections of servers that share the database.
pub(crate) fn locks() -> Vec<&'static str> {
    DURABLE.iter().flat_map(|(_, sql)| [&*sql.lock, &*sql.expect_range]).collect()
}

/// Statements that delete old holds.
pub(crate) fn purges() -> Vec<&'static str> {
    HOLDS.iter().map(|(_, sql)| &*sql.tidy).collect()
}

impl Sql {
    fn of(schema: &TableSchema) -> Self {
        let TableSchema { table, key, fixed, changing, child_rows } = schema;
        let all: Vec<Column> = schema.columns().collect();
        let (keys, columns) = (names(key), names(&all));
        let same = each(key, " AND ", |name| format!("old.{name} = new.{name}"));
        let found = if key.len() == 1 {
            format!("{table} WHERE {keys} = ANY ($1::{}[])", sql_type(key[0].kind))
        } else {
            format!("unnest({}) AS requested ({keys}) JOIN {table} USING ({keys})", arrays(key, 1))
        };
        // Implied by the key range, but repeated for partition pruning.
        let within_months = month_at(schema).map_or_else(String::new, |at| {
            format!(" AND {name} >= ${} AND {name} <= ${}", at + 1, key.len() + at + 1, name = key[at].name)
        });
        let (first, last) = (marks(key, 1), marks(key, key.len() + 1));
        let range = format!("({keys}) >= ({first}) AND ({keys}) <= ({last}){within_months}");
        let expected = "SELECT expect_rows(count(*), cardinality($1)) FROM written";
        let update = |columns: &[Column]| {
            let given: Vec<Column> = key.iter().chain(columns).copied().collect();
            format!(
                "WITH written AS (UPDATE {table} AS old SET {}, version = old.version + 1
                    FROM unnest({}) AS new ({}) WHERE {same} RETURNING 1) {expected}",
                each(columns, ", ", |name| format!("{name} = new.{name}")),
                arrays(&given, 1),
                names(&given),
            )
        };
        let owned = |ChildRows { table, owner, columns }: &ChildRows| {
            let head = [Column { name: owner, kind: key[0].kind }, Column { name: LINE_NO, kind: Type::Int }];
            let all: Vec<Column> = head.into_iter().chain(columns.iter().copied()).collect();
            format!("INSERT INTO {table} ({}) SELECT * FROM unnest({})", names(&all), arrays(&all, 1))
        };
        let lines = |ChildRows { table, owner, columns }: &ChildRows| {
            let (columns, kind) = (names(columns), sql_type(key[0].kind));
            format!(
                "SELECT {owner}, {columns} FROM {table} WHERE {owner} = ANY ($1::{kind}[]) ORDER BY {owner}, {LINE_NO}"
            )
        };
        Self {
            select: format!("SELECT {columns}, version FROM {found}"),
            select_range: format!("SELECT {columns}, version FROM {table} WHERE {range}"),
            select_child_rows: child_rows.as_ref().map(lines),
            insert: format!("INSERT INTO {table} ({columns}) SELECT * FROM unnest({})", arrays(&all, 1)),
            copy: month_at(schema).map(|_| format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)")),
            insert_child_row: child_rows.as_ref().map(owned),
            update: (!changing.is_empty()).then(|| update(changing)),
            remake: (!fixed.is_empty()).then(|| update(&all[key.len()..])),
            delete: format!(
                "WITH written AS (DELETE FROM {table} AS old USING unnest({}) AS new ({keys}) WHERE {same} RETURNING 1)
                {expected}",
                arrays(key, 1)
            ),
            lock: format!("SELECT lock_{table}({}, ${}, ${})", marks(key, 1), key.len() + 1, key.len() + 2),
            expect_range: format!(
                "SELECT expect_version(count(*), ${}) FROM {table} WHERE {range}",
                2 * key.len() + 1
            ),
            tidy: format!(
                "DELETE FROM {table} WHERE {keys} IN (SELECT {keys} FROM {table} WHERE {keys} < $1 ORDER BY {keys} LIMIT $2)
                 RETURNING 1"
            ),
        }
    }
}

pub(super) fn names(columns: &[Column]) -> String {
    each(columns, ", ", str::to_owned)
}

fn each(columns: &[Column], glue: &str, write: impl Fn(&str) -> String) -> String {
    columns.iter().map(|column| write(column.name)).collect::<Vec<_>>().join(glue)
}

/// `$1, $2, …`
pub(super) fn marks(columns: &[Column], from: usize) -> String {
    (from..).take(columns.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// `$1::bigint[], $2::text[], …`
fn arrays(columns: &[Column], from: usize) -> String {
    let array = |(column, number): (&Column, usize)| format!("${number}::{}[]", sql_type(column.kind));
    columns.iter().zip(from..).map(array).collect::<Vec<_>>().join(", ")
}

fn sql_type(kind: Type) -> &'static str {
    match kind {
        Type::Bool => "boolean",
        Type::Int => "integer",
        Type::Big => "bigint",
        Type::Text => "text",
        Type::Bytes => "bytea",
        Type::Date => "date",
        Type::Moment => "timestamptz",
        Type::Uuid => "uuid",
    }
}
