//! Databases on the PostgreSQL under test: created for the benchmark, copied for each line, dropped at its end.

use anyhow::{Context as _, ensure};
use tokio_postgres::{Client, NoTls};

/// Databases of one server.
pub(crate) struct Databases {
    url: String,
    admin: Client,
}

/// Database that belongs to the benchmark.
pub(crate) struct Database {
    pub url: String,
    name: String,
}

impl Database {
    pub(crate) async fn connect(&self) -> anyhow::Result<Client> {
        connect(&self.url).await
    }
}

impl Databases {
    /// `url` is of any database on the server; it is not written to.
    pub(crate) async fn at(url: String) -> anyhow::Result<Self> {
        let admin = connect(&url).await?;
        Ok(Self { url, admin })
    }

    pub(crate) async fn create(&self, name: &str) -> anyhow::Result<Database> {
        self.create_from("template0", name).await
    }

    pub(crate) async fn copy(&self, of: &Database, name: &str) -> anyhow::Result<Database> {
        // A server that was just killed may still be connected, and then the database cannot be copied.
        let leave = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
        self.admin.execute(leave, &[&of.name]).await?;
        self.create_from(&of.name, name).await
    }

    async fn create_from(&self, template: &str, name: &str) -> anyhow::Result<Database> {
        let name = format!("{}{name}", prefix());
        let url = with_database(&self.url, &name)?;
        // A file copy between two checkpoints: every line starts without dirty pages.
        let statement = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy");
        self.admin.batch_execute(&statement).await.with_context(|| format!("creating database {name}"))?;
        Ok(Database { url, name })
    }

    pub(crate) async fn remove(&self, database: Database) -> anyhow::Result<()> {
        self.drop_database(&database.name).await
    }

    /// Drops all databases of this run, including those of failed lines.
    pub(crate) async fn remove_all(&self) -> anyhow::Result<()> {
        let own_databases = "SELECT datname FROM pg_database WHERE starts_with(datname, $1)";
        for row in self.admin.query(own_databases, &[&prefix()]).await? {
            self.drop_database(row.get(0)).await?;
        }
        Ok(())
    }

    async fn drop_database(&self, name: &str) -> anyhow::Result<()> {
        let dropped = self.admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
        dropped.with_context(|| format!("dropping database {name}"))
    }

    /// Returns the settings that affect performance.
    pub(crate) async fn settings(&self) -> anyhow::Result<String> {
        let names = ["fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"];
        let mut settings = Vec::new();
        for name in names {
            settings.push(format!("{name} {}", self.setting(name).await?));
        }
        Ok(format!("PostgreSQL {}: {}", self.setting("server_version").await?, settings.join(", ")))
    }

    async fn setting(&self, name: &str) -> anyhow::Result<String> {
        Ok(self.admin.query_one("SELECT current_setting($1)", &[&name]).await?.get(0))
    }
}

pub(crate) async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("connecting to PostgreSQL")?;
    tokio::spawn(connection);
    Ok(client)
}

/// Prefix that keeps concurrent runs on one server apart.
fn prefix() -> String {
    format!("holdfast_bench_{}_", std::process::id())
}

/// Replaces the database in a URL.
fn with_database(url: &str, name: &str) -> anyhow::Result<String> {
    let (scheme, rest) = url.split_once("://").context("a database is given as postgres://…")?;
    ensure!(matches!(scheme, "postgres" | "postgresql"), "a database is given as postgres://…");
    let (place, options) = match rest.split_once('?') {
        Some((place, options)) => (place, format!("?{options}")),
        None => (rest, String::new()),
    };
    let host = place.split('/').next().unwrap_or_default();
    Ok(format!("{scheme}://{host}/{name}{options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_rewritten_for_other_database() {
        for (url, expected) in [
            ("postgres://a:b@c:5/d?e=f/g", "postgres://a:b@c:5/x?e=f/g"),
            ("postgresql://c/d", "postgresql://c/x"),
            ("postgres://c", "postgres://c/x"),
            ("postgres://c?e=f", "postgres://c/x?e=f"),
        ] {
            assert_eq!(with_database(url, "x").unwrap(), expected);
        }
        assert!(with_database("host=c dbname=d", "x").is_err());
    }
}
