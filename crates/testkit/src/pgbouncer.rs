//! A `PgBouncer` in front of one test database. It refuses to run as root, as PostgreSQL does.

use std::net::TcpStream;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::database::TestDatabase;
use crate::port::Port;
use crate::process::User;
use crate::server::{Error, Program, Running, Server, find};
use crate::temporary_directory::{Folder, fast_parent};

const NAME: &str = "pgbouncer";

/// Duration for which a client keeps a connection to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    Session,
    Transaction,
}

/// Stopped when dropped.
#[derive(Debug)]
pub struct PgBouncer {
    server: Server,
    url: String,
}

impl PgBouncer {
    pub fn start(database: &TestDatabase, mode: PoolMode) -> Result<Self, Error> {
        let failed = |source| Error::Io { name: NAME, source };
        let places = "/usr/sbin";
        let path = find(NAME, &[PathBuf::from(places)]);
        let path = path.ok_or(Error::NotInstalled { name: NAME, places, package: "pgbouncer" })?;
        let user = User::unprivileged();
        let folder = Folder::within(&fast_parent(), NAME, user.as_ref()).map_err(failed)?;
        let port = Port::reserve().map_err(failed)?;
        let mode = match mode {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
        };
        let settings = format!(
            "[databases]\n{} = host=127.0.0.1 port={} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n",
            database.name(),
            database.port(),
            port.number
        );
        std::fs::write(folder.path().join("pgbouncer.ini"), settings).map_err(failed)?;
        let url = format!("postgres://postgres@127.0.0.1:{}/{}", port.number, database.name());
        let args = vec!["pgbouncer.ini".into()];
        let program = Program { name: NAME, path, args, user, death_signal: "KILL", is_ready };
        Ok(Self { server: Server::start(program, folder, port)?, url })
    }

    /// The database, through the pooler.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// kill -9.
    pub fn kill(&self) {
        self.server.stop(Signal::KILL);
    }
}

fn is_ready(running: &Running<'_>) -> bool {
    TcpStream::connect(("127.0.0.1", running.port)).is_ok()
}
