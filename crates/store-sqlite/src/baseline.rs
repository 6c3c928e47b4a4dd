//! The tables of a new store are those that core declares.

use std::collections::BTreeSet;

use holdfast_core::schema::spec::LINE_NO;
use holdfast_core::schema::{Column, Type, registry};
use rusqlite::Connection;

use crate::open::{OpenOptions, open_writer};

/// Tables that no row of core is stored in, or in a form of their own.
const OWN: &[&str] = &["commits", "idempotency_key", "installation", "outbox", "sequence"];

/// Name, type, and whether it may be NULL, of each column.
type Columns = BTreeSet<(String, String, bool)>;

fn declared(columns: impl IntoIterator<Item = Column>) -> Columns {
    let column = |column: Column| {
        let kind = match column.kind {
            Type::Bool | Type::Int | Type::Big | Type::Moment => "INTEGER",
            Type::Text | Type::Date => "TEXT",
            Type::Bytes | Type::Uuid => "BLOB",
        };
        (column.name.to_owned(), kind.to_owned(), column.is_nullable)
    };
    columns.into_iter().map(column).collect()
}

/// Columns of a table, and its key in order.
fn found(connection: &Connection, table: &str) -> (Columns, Vec<String>) {
    let mut columns = connection.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)").unwrap();
    let rows = columns.query_map([table], |row| {
        let (name, key_position): (String, usize) = (row.get(0)?, row.get(3)?);
        let is_nullable = !row.get::<_, bool>(2)? && key_position == 0;
        Ok(((name, row.get(1)?, is_nullable), key_position))
    });
    let rows: Vec<_> = rows.unwrap().collect::<Result<_, _>>().unwrap();
    let mut key: Vec<_> = rows.iter().filter(|(_, position)| *position > 0).collect();
    key.sort_by_key(|(_, position)| *position);
    let key = key.into_iter().map(|((name, _, _), _)| name.clone()).collect();
    (rows.into_iter().map(|(column, _)| column).collect(), key)
}

#[test]
fn baseline_has_declared_tables() {
    let directory = tempfile::tempdir().unwrap();
    let connection = open_writer(&OpenOptions::new(directory.path())).unwrap();
    let mut tables: BTreeSet<String> = OWN.iter().map(|table| (*table).to_owned()).collect();
    for spec in registry::stored() {
        let (columns, key) = found(&connection, spec.table);
        assert_eq!(columns, declared(spec.columns()), "columns of {}", spec.table);
        assert_eq!(key, spec.key.iter().map(|column| column.name).collect::<Vec<_>>(), "key of {}", spec.table);
        assert!(tables.insert(spec.table.into()), "{} is declared once", spec.table);
        if let Some(lines) = &spec.child_rows {
            let owner = Column { name: lines.owner, ..spec.key[0] };
            let number = Column { name: LINE_NO, kind: Type::Int, is_nullable: false };
            let (columns, key) = found(&connection, lines.table);
            assert_eq!(columns, declared([owner, number].into_iter().chain(lines.columns.iter().copied())));
            assert_eq!(key, [lines.owner, LINE_NO], "key of {}", lines.table);
            assert!(tables.insert(lines.table.into()), "{} is declared once", lines.table);
        }
    }
    let mut names = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap().collect::<Result<BTreeSet<_>, _>>();
    assert_eq!(names.unwrap(), tables);
}
