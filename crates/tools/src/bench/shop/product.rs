//! The product, on each kind of store.

use std::path::Path;

use anyhow::Context as _;

use super::fixture::{self, Dialect};
use crate::bench::server_process::Server;
use crate::bench::stores::databases::{Database, Databases};

/// Storage that a server is started on.
pub(crate) enum Storage {
    Directory(Directory),
    /// A database, and optionally Redis.
    Database(String, Option<String>),
}

impl Storage {
    pub(crate) fn serve(&self) -> anyhow::Result<Server> {
        match self {
            Self::Directory(directory) => Server::holdfast(directory.0.path()),
            Self::Database(database, redis) => Server::holdfast_on(database, redis.as_deref()),
        }
    }
}

/// Embedded store that no server uses.
pub(crate) struct Directory(tempfile::TempDir);

const FILE: &str = "holdfast.db";

const SQLITE: Dialect = Dialect { hold_id: "unhex(printf('%012x70008%015x', ms, i))", moment: str::to_owned };

const POSTGRES: Dialect = Dialect {
    hold_id: "(lpad(to_hex(ms), 12, '0') || '70008' || lpad(to_hex(i), 15, '0'))::uuid",
    moment: |ms| format!("to_timestamp(({ms}) / 1000.0)"),
};

impl Directory {
    /// Creates a store with goods, users and their carts.
    pub(crate) fn create(users: u32) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        // The server creates its tables.
        drop(Server::holdfast(directory.path())?);
        let directory = Self(directory);
        directory.execute(&fixture::fill(users))?;
        Ok(directory)
    }

    pub(crate) fn with_history(&self, users: u32, reservations: u32) -> anyhow::Result<Self> {
        let directory = self.copy()?;
        directory.execute(&fixture::history(&SQLITE, users, reservations))?;
        Ok(directory)
    }

    pub(crate) fn copy(&self) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::copy(self.file(), directory.path().join(FILE))?;
        Ok(Self(directory))
    }

    fn execute(&self, statements: &[String]) -> anyhow::Result<()> {
        let mut connection = rusqlite::Connection::open(self.file())?;
        let transaction = connection.transaction()?;
        for statement in statements {
            transaction.execute_batch(statement).with_context(|| statement.clone())?;
        }
        transaction.commit()?;
        // Checkpointed, so that one file is all there is to copy.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error.into())
    }

    fn file(&self) -> impl AsRef<Path> + use<> {
        self.0.path().join(FILE)
    }
}

/// Creates a database with goods, users and their carts.
pub(crate) async fn create(databases: &Databases, users: u32) -> anyhow::Result<Database> {
    let database = databases.create("product").await?;
    // The server creates its tables.
    drop(Server::holdfast_on(&database.url, None)?);
    execute(&database, &fixture::fill(users)).await?;
    Ok(database)
}

pub(crate) async fn add_history(database: &Database, users: u32, reservations: u32) -> anyhow::Result<()> {
    execute(database, &fixture::history(&POSTGRES, users, reservations)).await
}

async fn execute(database: &Database, statements: &[String]) -> anyhow::Result<()> {
    let client = database.connect().await?;
    for statement in statements {
        client.batch_execute(statement).await.with_context(|| statement.clone())?;
    }
    Ok(client.batch_execute("VACUUM ANALYZE").await?)
}
