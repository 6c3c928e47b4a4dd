//! Database per test, empty or a copy of a template that is filled once for all test processes.

use std::time::Duration;

use tokio_postgres::{Client, Config, NoTls};

/// Upper bound of each statement and connection.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Class of this kit's advisory locks ("hold"), to keep them apart from the tests' own.
const LOCK_CLASS: i32 = 0x686f_6c64;

/// Running PostgreSQL server, of this process or of the runner.
#[derive(Clone, Debug)]
pub struct Postgres {
    port: u16,
}

impl Postgres {
    pub(crate) fn on(port: u16) -> Self {
        Self { port }
    }

    pub(crate) fn at(url: &str) -> Option<Self> {
        let config: Config = url.parse().ok()?;
        Some(Self::on(*config.get_ports().first()?))
    }

    /// URL of the `postgres` database that every server has. Tests leave it alone.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// Creates an empty database.
    pub fn database(&self) -> TestDatabase {
        self.copy_of("template1")
    }

    /// Creates a copy of a template. `fill` runs once per server and name, in the first process that needs it, with the
    /// URL of a database to fill. If it panics, the next caller runs its own.
    pub fn database_from(&self, template: &str, fill: impl AsyncFnOnce(String) + Send) -> TestDatabase {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(
            template.chars().all(plain) && template.len() < 48,
            "a template's name has lower-case letters, digits and underscores only: {template}"
        );
        let name = format!("template_{template}");
        on_own_runtime(async || {
            let client = self.connect().await;
            if !exists(&client, &name).await {
                self.make_template(&client, &name, fill).await;
            }
        });
        self.copy_of(&name)
    }

    async fn make_template(&self, client: &Client, name: &str, fill: impl AsyncFnOnce(String)) {
        // The lock ends with the connection, even if this process is killed.
        run(client, &format!("SELECT pg_advisory_lock({LOCK_CLASS}, hashtext('{name}'))")).await;
        if exists(client, name).await {
            return;
        }
        // Filled under another name first, so that a database with the template's name is complete.
        let building = format!("building_{name}");
        run(client, &format!("DROP DATABASE IF EXISTS {building} WITH (FORCE)")).await;
        run(client, &format!("CREATE DATABASE {building}")).await;
        fill(self.url_of(&building)).await;
        // A database can be renamed or copied only without connections to it.
        run(client, &format!("ALTER DATABASE {building} ALLOW_CONNECTIONS false")).await;
        run(client, &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{building}'"))
            .await;
        run(client, &format!("ALTER DATABASE {building} RENAME TO {name}")).await;
    }

    fn copy_of(&self, template: &str) -> TestDatabase {
        let name = crate::unique_name();
        on_own_runtime(async || {
            run(&self.connect().await, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        });
        TestDatabase { url: self.url_of(&name), name, postgres: self.clone() }
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    async fn try_connect(&self) -> Result<Client, tokio_postgres::Error> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user("postgres").dbname("postgres").connect_timeout(TIMEOUT);
        config.options(format!("-c statement_timeout={}", TIMEOUT.as_millis()));
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    async fn connect(&self) -> Client {
        self.try_connect().await.unwrap_or_else(|error| panic!("PostgreSQL on port {}: {error:?}", self.port))
    }
}

/// Private database, dropped with the value even while connections to it are open.
#[derive(Debug)]
pub struct TestDatabase {
    url: String,
    name: String,
    postgres: Postgres,
}

impl TestDatabase {
    /// `postgres://postgres@127.0.0.1:PORT/NAME`
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.postgres.port
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        on_own_runtime(async || {
            // A stopped server has no databases to drop.
            if let Ok(client) = self.postgres.try_connect().await {
                client.batch_execute(&statement).await.ok();
            }
        });
    }
}

async fn exists(client: &Client, database: &str) -> bool {
    let found = client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&database]).await;
    found.unwrap_or_else(|error| panic!("looking for database {database}: {error:?}")).is_some()
}

async fn run(client: &Client, statement: &str) {
    client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
}

/// Runs work on a thread and a runtime of its own: the caller may be in a runtime with paused time, or in none.
fn on_own_runtime<T: Send>(work: impl AsyncFnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be created").block_on(work())
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
