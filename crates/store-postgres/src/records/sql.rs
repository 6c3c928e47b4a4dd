//! SQL statements of each table.

use std::collections::HashMap;
use std::sync::LazyLock;

use holdfast_core::schema::spec::LINE_NO;
use holdfast_core::schema::{ChildRows, Column, Purge, Retention, TableSpec, Type, registry};

pub(super) struct Sql {
    /// Last column is the version.
    pub(super) select: String,
    pub(super) select_range: String,
    /// First column is the key of the owner.
    pub(super) select_child_rows: Option<String>,
    pub(super) insert: String,
    /// COPY, for a partitioned table.
    pub(super) copy: Option<String>,
    pub(super) insert_child_row: Option<String>,
    /// `None` if no column is mutable.
    pub(super) update: Option<String>,
    /// Also writes columns that are otherwise immutable; `None` if there are none.
    pub(super) remake: Option<String>,
    pub(super) delete: String,
    pub(super) lock: String,
    pub(super) expect_range: String,
}

static BY_TABLE: LazyLock<HashMap<&'static str, Sql>> =
    LazyLock::new(|| registry::stored().map(|spec| (spec.table, Sql::of(spec))).collect());
static PURGES: LazyLock<Vec<(String, Retention)>> = LazyLock::new(|| {
    let delete = |TableSpec { table, key, purge, .. }: &TableSpec| {
        let (Purge { column, after }, key) = ((*purge)?, names(key));
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN
             (SELECT {key} FROM {table} WHERE {column} < $1 ORDER BY {column} LIMIT $2) RETURNING 1"
        );
        Some((sql, after))
    };
    registry::stored().filter_map(delete).collect()
});

/// Finds the confirmed ones among these holds.
pub(super) const CONFIRMED: &str = "SELECT id FROM hold WHERE id = ANY ($1::uuid[]) AND state = 'CONFIRMED'";
/// Deletes holds that ended long ago and have no records.
pub(crate) const PURGE_HOLDS: &str = "DELETE FROM hold WHERE id IN
    (SELECT id FROM hold WHERE state <> 'CONFIRMED' AND ends_at < $1 ORDER BY ends_at LIMIT $2) RETURNING 1";

pub(super) fn of(spec: &TableSpec) -> &'static Sql {
    &BY_TABLE[spec.table]
}

/// Statements for connections that read.
pub(crate) fn reads() -> Vec<&'static str> {
    let of_table = |sql: &'static Sql| {
        [Some(&*sql.select), Some(&*sql.select_range), sql.select_child_rows.as_deref()].into_iter().flatten()
    };
    BY_TABLE.values().flat_map(of_table).chain([CONFIRMED]).collect()
}

/// Creates the partitions for rows about to be written.
pub(super) const MAKE_MONTHS: &str = "SELECT make_months($1, $2::date[])";

/// Drops an empty partition.
pub(crate) const DROP_CLEARED_MONTH: &str = "SELECT drop_cleared_month()";

/// Index of the partitioning column among the values of a row, if the table is partitioned.
pub(super) fn month_at(spec: &TableSpec) -> Option<usize> {
    let column = spec.month?;
    spec.columns().position(|known| known.name == column)
}

/// Statements for connections that write.
pub(crate) fn writes() -> Vec<&'static str> {
    let of_table = |sql: &'static Sql| {
        let always = [Some(&*sql.insert), Some(&*sql.delete)];
        let some = [&sql.copy, &sql.update, &sql.remake, &sql.insert_child_row].map(Option::as_deref);
        always.into_iter().chain(some).flatten()
    };
    BY_TABLE.values().flat_map(of_table).chain([MAKE_MONTHS]).collect()
}

/// Statements for connections of servers that share the database.
pub(crate) fn locks() -> Vec<&'static str> {
    registry::durable().map(|table| of(table.spec())).flat_map(|sql| [&*sql.lock, &*sql.expect_range]).collect()
}

/// Statements that delete old rows.
pub(crate) fn purges() -> Vec<&'static str> {
    purges_by_age().map(|(sql, _)| sql).chain([PURGE_HOLDS]).collect()
}

/// Statements that delete rows by their age, each with the retention of the rows.
pub(super) fn purges_by_age() -> impl Iterator<Item = (&'static str, Retention)> {
    PURGES.iter().map(|(sql, after)| (&**sql, *after))
}

impl Sql {
    fn of(spec: &TableSpec) -> Self {
        let TableSpec { table, key, fixed, changing, child_rows, .. } = spec;
        let all: Vec<Column> = spec.columns().collect();
        let (keys, columns) = (names(key), names(&all));
        let same = each(key, " AND ", |name| format!("old.{name} = new.{name}"));
        let found = if key.len() == 1 {
            format!("{table} WHERE {keys} = ANY ($1::{}[])", sql_type(key[0].kind))
        } else {
            format!("unnest({}) AS requested ({keys}) JOIN {table} USING ({keys})", arrays(key, 1))
        };
        // Implied by the key range, but repeated for partition pruning.
        let within_months = month_at(spec).map_or_else(String::new, |at| {
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
            let number = Column { name: LINE_NO, kind: Type::Int, is_nullable: false };
            let head = [Column { name: owner, ..key[0] }, number];
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
            copy: month_at(spec).map(|_| format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)")),
            insert_child_row: child_rows.as_ref().map(owned),
            update: (!changing.is_empty()).then(|| update(changing)),
            remake: (!fixed.is_empty()).then(|| update(&all[key.len()..])),
            delete: format!(
                "WITH written AS (DELETE FROM {table} AS old USING unnest({}) AS new ({keys}) WHERE {same} RETURNING 1)
                {expected}",
                arrays(key, 1)
            ),
            lock: format!("SELECT lock_{table}({}, ${}, ${})", marks(key, 1), key.len() + 1, key.len() + 2),
            expect_range: format!("SELECT expect_version(count(*), ${}) FROM {table} WHERE {range}", 2 * key.len() + 1),
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
