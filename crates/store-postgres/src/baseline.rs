//! The tables of a new database are those that core declares.

use std::collections::BTreeSet;

use holdfast_core::schema::spec::LINE_NO;
use holdfast_core::schema::{Column, Type, registry};
use holdfast_testkit::postgres;
use tokio_postgres::{Client, NoTls};

use crate::{PostgresOptions, PostgresStore};

/// Tables that no row of core is stored in, or in a form of their own.
const OWN: &[&str] = &[
    "commits",
    "hold_decision",
    "holdfast_schema_history",
    "idempotency_key",
    "installation",
    "outbox",
    "secret",
    "sequence",
];

/// Name, type, and whether it may be NULL, of each column.
type Columns = BTreeSet<(String, String, bool)>;

fn declared(columns: impl IntoIterator<Item = Column>) -> Columns {
    let column = |column: Column| {
        let kind = match column.kind {
            Type::Bool => "boolean",
            Type::Int => "integer",
            Type::Big => "bigint",
            Type::Text => "text",
            Type::Bytes => "bytea",
            Type::Date => "date",
            Type::Moment => "timestamp with time zone",
            Type::Uuid => "uuid",
        };
        (column.name.to_owned(), kind.to_owned(), column.is_nullable)
    };
    columns.into_iter().map(column).collect()
}

async fn texts(client: &Client, sql: &str, table: &str) -> Vec<Vec<String>> {
    let rows = client.query(sql, &[&table]).await.unwrap();
    rows.iter().map(|row| (0..row.len()).map(|index| row.get(index)).collect()).collect()
}

/// Columns of a table, and its key in order.
async fn found(client: &Client, table: &str) -> (Columns, Vec<String>) {
    let columns = "SELECT attname::text, format_type(atttypid, atttypmod), (NOT attnotnull)::text FROM pg_attribute
        WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped";
    let key = "SELECT attname::text FROM pg_index JOIN pg_attribute ON attrelid = indrelid
        WHERE indrelid = $1::text::regclass AND indisprimary AND attnum = ANY (indkey)
        ORDER BY array_position(indkey::int2[], attnum)";
    let column = |column: Vec<String>| (column[0].clone(), column[1].clone(), column[2] == "true");
    let columns = texts(client, columns, table).await.into_iter().map(column).collect();
    (columns, texts(client, key, table).await.concat())
}

async fn client_of_new_store(url: &str) -> Client {
    drop(PostgresStore::open(PostgresOptions::new(url)).await.unwrap());
    let (client, connection) = url.parse::<tokio_postgres::Config>().unwrap().connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn baseline_has_declared_tables() {
    let database = postgres().database();
    let client = client_of_new_store(database.url()).await;
    let version = Column { name: "version", kind: Type::Big, is_nullable: false };
    let mut tables: BTreeSet<String> = OWN.iter().map(|table| (*table).to_owned()).collect();
    for spec in registry::stored() {
        let (columns, key) = found(&client, spec.table).await;
        assert_eq!(columns, declared(spec.columns().chain([version])), "columns of {}", spec.table);
        assert_eq!(key, spec.key.iter().map(|column| column.name).collect::<Vec<_>>(), "key of {}", spec.table);
        assert!(tables.insert(spec.table.into()), "{} is declared once", spec.table);
        if let Some(lines) = &spec.child_rows {
            let owner = Column { name: lines.owner, ..spec.key[0] };
            let number = Column { name: LINE_NO, kind: Type::Int, is_nullable: false };
            let (columns, key) = found(&client, lines.table).await;
            assert_eq!(columns, declared([owner, number].into_iter().chain(lines.columns.iter().copied())));
            assert_eq!(key, [lines.owner, LINE_NO], "key of {}", lines.table);
            assert!(tables.insert(lines.table.into()), "{} is declared once", lines.table);
        }
    }
    let names =
        "SELECT relname::text FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind IN ('r', 'p')";
    let names: BTreeSet<String> = texts(&client, names, "public").await.concat().into_iter().collect();
    assert_eq!(names, tables);
}

/// Servers that share the database lock tables in the order of their declaration, and so does the check of a foreign key.
#[tokio::test]
async fn referenced_tables_are_declared_first() {
    let database = postgres().database();
    let client = client_of_new_store(database.url()).await;
    let order: Vec<&str> = registry::stored().map(|spec| spec.table).collect();
    let position = |table: &str| order.iter().position(|known| *known == table);
    let keys = "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
        WHERE contype = 'f' AND connamespace = $1::text::regnamespace";
    for key in texts(&client, keys, "public").await {
        // Child rows are written with their parents.
        if let Some(referring) = position(&key[0]) {
            assert!(position(&key[1]) < Some(referring), "{} refers to {}", key[0], key[1]);
        }
    }
}
