//! Default secret for entry tokens: generated once, and stored with the data.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use holdfast_connect::TlsRoots;
use holdfast_connect::postgres::{Address, Connector};
use holdfast_engine::IdMaker;

const FILE_NAME: &str = "queue.secret";
const LEN: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the secret from a file that only its owner can read, or generates it.
pub(crate) fn in_directory(directory: &Path) -> anyhow::Result<Vec<u8>> {
    let path = directory.join(FILE_NAME);
    let failed = || format!("cannot keep a secret in {}", path.display());
    match std::fs::read(&path) {
        Ok(secret) if secret.len() == LEN => return Ok(secret),
        // A power failure interrupted the write: no token was signed with it yet.
        Ok(_) => std::fs::remove_file(&path).with_context(failed)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(failed),
    }
    let secret = fresh();
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).with_context(failed)?;
    file.write_all(&secret).with_context(failed)?;
    file.sync_all().with_context(failed)?;
    Ok(secret)
}

/// Reads the secret from the database, or generates it; the same for all servers that share the database.
pub(crate) async fn in_database(url: &str, tls_roots: &TlsRoots) -> anyhow::Result<Vec<u8>> {
    let mut address = Address::parse(url)?;
    address.config.connect_timeout(CONNECT_TIMEOUT);
    let connected = Connector::new(&address, tls_roots).connect(&address.config).await;
    let (client, connection) = connected.with_context(|| format!("PostgreSQL at {}", address.host_and_port()))?;
    tokio::spawn(connection);
    let name = "queue.token";
    client
        .execute("INSERT INTO secret VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", &[&name, &fresh()])
        .await
        .context("cannot keep a secret in the database")?;
    let row = client.query_one("SELECT value FROM secret WHERE name = $1", &[&name]).await?;
    Ok(row.get(0))
}

fn fresh() -> Vec<u8> {
    let ids = IdMaker::new();
    (0..LEN / 8).flat_map(|_| ids.number().to_be_bytes()).collect()
}
