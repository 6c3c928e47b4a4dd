//! A database per test, empty or a copy of a template that is filled once for all test processes.

use std::time::Duration;

use tokio_postgres::{Client, Config, NoTls};

/// No statement and no connection of ours takes longer.
const PATIENCE: Duration = Duration::from_mins(1);
/// Says that the lock is ours ("hold"), among all the advisory locks that tests may take.
const LOCK_CLASS: i32 = 0x686f_6c64;

/// A PostgreSQL that runs, here or under the runner.
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

    /// The database that every PostgreSQL has. Tests leave it alone.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// A new database with nothing in it.
    pub fn database(&self) -> TestDatabase {
        self.copy_of("template1")
    }

    /// A new database with what `fill` put into the template. It runs once per server and name, whoever asks first in
    /// whatever process, and is given the URL of a database to fill. If it panics, the next one to ask tries again.
    pub fn database_from(&self, template: &str, fill: impl AsyncFnOnce(String) + Send) -> TestDatabase {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(template.chars().all(plain) && template.len() < 48, "a template's name is plain: {template}");
        let name = format!("template_{template}");
        apart(async || {
            let client = self.connect().await;
            if !exists(&client, &name).await {
                self.make_template(&client, &name, fill).await;
            }
        });
        self.copy_of(&name)
    }

    async fn make_template(&self, client: &Client, name: &str, fill: impl AsyncFnOnce(String)) {
        // Ends with the connection, whatever becomes of us.
        run(client, &format!("SELECT pg_advisory_lock({LOCK_CLASS}, hashtext('{name}'))")).await;
        if exists(client, name).await {
            return;
        }
        // Filled under another name first: whatever has the template's name is complete.
        let building = format!("building_{name}");
        run(client, &format!("DROP DATABASE IF EXISTS {building} WITH (FORCE)")).await;
        run(client, &format!("CREATE DATABASE {building}")).await;
        fill(self.url_of(&building)).await;
        // Neither renaming nor copying a database is possible while somebody is connected to it.
        run(client, &format!("ALTER DATABASE {building} ALLOW_CONNECTIONS false")).await;
        run(client, &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{building}'"))
            .await;
        run(client, &format!("ALTER DATABASE {building} RENAME TO {name}")).await;
    }

    fn copy_of(&self, template: &str) -> TestDatabase {
        let name = crate::unique_name();
        apart(async || run(&self.connect().await, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await);
        TestDatabase { url: self.url_of(&name), name, postgres: self.clone() }
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    async fn try_connect(&self) -> Result<Client, tokio_postgres::Error> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user("postgres").dbname("postgres").connect_timeout(PATIENCE);
        config.options(format!("-c statement_timeout={}", PATIENCE.as_millis()));
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    async fn connect(&self) -> Client {
        self.try_connect().await.unwrap_or_else(|error| panic!("PostgreSQL on port {}: {error:?}", self.port))
    }
}

/// A database of one's own, dropped with the value, also while somebody is still connected.
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
        apart(async || {
            // A server that was stopped takes its databases along.
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

/// Runs on a thread and a runtime of its own: the caller may be in a runtime, whose clock may stand still, or in none.
fn apart<T: Send>(work: impl AsyncFnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(work())
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
