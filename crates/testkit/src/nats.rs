//! NATS server with a folder and a port of its own.

use std::io::Read as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::certificate::{self, CERTIFICATE_FILE, KEY_FILE};
use crate::port::Port;
use crate::server::{Error, Program, Running, Server, find};
use crate::temporary_directory::Folder;

const NAME: &str = "nats-server";

#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// Enables streams, stored in the server's folder.
    pub jetstream: bool,
}

/// Running NATS server, of this process or of the runner.
#[derive(Clone, Debug)]
pub struct Nats {
    url: String,
}

impl Nats {
    pub(crate) fn at(url: String) -> Self {
        Self { url }
    }

    /// `nats://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a prefix for all subjects and streams of a test, different each time.
    pub fn prefix(&self) -> String {
        crate::unique_name()
    }
}

/// Private NATS server, stopped when dropped.
#[derive(Debug)]
pub struct NatsServer {
    server: Server,
    nats: Nats,
}

impl NatsServer {
    pub fn start(options: &NatsOptions) -> Result<Self, Error> {
        Self::start_with(options, "nats://127.0.0.1", &[])
    }

    /// Starts a server that accepts encrypted connections only: `tls://localhost:PORT`
    pub fn start_encrypted(options: &NatsOptions) -> Result<Self, Error> {
        Self::start_with(options, "tls://localhost", &["--tls", "--tlscert", CERTIFICATE_FILE, "--tlskey", KEY_FILE])
    }

    /// Starts a server with a password, which has characters that an address has to escape.
    pub fn start_guarded(options: &NatsOptions) -> Result<Self, Error> {
        Self::start_with(options, "nats://tester:p%40ss%2Fword@127.0.0.1", &["--user", "tester", "--pass", "p@ss/word"])
    }

    fn start_with(options: &NatsOptions, host: &str, settings: &[&str]) -> Result<Self, Error> {
        let failed = |source| Error::Io { name: NAME, source };
        let places = "/usr/sbin";
        let path = find(NAME, &[PathBuf::from(places)]);
        let path = path.ok_or(Error::NotInstalled { name: NAME, places, package: "nats-server" })?;
        let folder = Folder::new("nats").map_err(failed)?;
        certificate::write_into(folder.path(), None).map_err(failed)?;
        let port = Port::reserve().map_err(failed)?;
        let number = port.number.to_string();
        let mut args = vec!["--addr", "127.0.0.1", "--port", &number];
        if options.jetstream {
            args.extend(["--jetstream", "--store_dir", "data"]);
        }
        args.extend(settings);
        let args = args.into_iter().map(Into::into).collect();
        let program = Program { name: NAME, path, args, user: None, death_signal: "KILL", is_ready };
        let server = Server::start(program, folder, port)?;
        let nats = Nats::at(format!("{host}:{}", server.port()));
        Ok(Self { server, nats })
    }

    pub fn nats(&self) -> &Nats {
        &self.nats
    }

    /// `nats://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        self.nats.url()
    }

    /// Process id while the server runs.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// Sends SIGKILL.
    pub fn kill(&self) {
        self.server.stop(Signal::KILL);
    }

    /// Restarts the server on the same port and folder; a running one is killed first.
    pub fn restart(&self) -> Result<(), Error> {
        self.server.restart(Signal::KILL)
    }
}

/// A ready NATS server sends INFO to each new connection.
fn is_ready(running: &Running<'_>) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", running.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"INFO ")
    };
    ask().unwrap_or(false)
}
