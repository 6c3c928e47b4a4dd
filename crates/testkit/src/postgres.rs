//! PostgreSQL server with a folder and a port of its own. If this process runs as root, the server runs as another
//! user, since PostgreSQL refuses to run as root.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::certificate;
use crate::database::Postgres;
use crate::port::Port;
use crate::process::{self, User};
use crate::server::{Error, Program, Running, START_TIMEOUT, Server, find, tail};
use crate::temporary_directory::{Folder, fast_parent};

const NAME: &str = "postgres";
/// Directory of the server's programs on Debian-based systems, outside PATH.
const PACKAGED: &str = "/usr/lib/postgresql";

#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    /// Syncs as in production. Without, a commit may be lost when the server is stopped immediately; much faster.
    pub durable: bool,
}

/// Private PostgreSQL server, stopped when dropped.
#[derive(Debug)]
pub struct PostgresServer {
    server: Server,
    postgres: Postgres,
}

impl PostgresServer {
    pub fn start(options: &PostgresOptions) -> Result<Self, Error> {
        Self::start_with(options, &[])
    }

    /// Starts a server that also accepts encrypted connections, as `localhost`.
    pub fn start_encrypted(options: &PostgresOptions) -> Result<Self, Error> {
        Self::start_with(options, &["ssl=on", "ssl_cert_file=../localhost.pem", "ssl_key_file=../localhost.key"])
    }

    fn start_with(options: &PostgresOptions, settings: &[&str]) -> Result<Self, Error> {
        let failed = |source| Error::Io { name: NAME, source };
        let user = User::unprivileged();
        let parent = if options.durable { std::env::temp_dir() } else { fast_parent() };
        let folder = Folder::within(&parent, NAME, user.as_ref()).map_err(failed)?;
        let port = Port::reserve().map_err(failed)?;
        init_cluster(folder.path(), user.as_ref())?;
        certificate::write_into(folder.path(), user.as_ref()).map_err(failed)?;
        let mut args = arguments(options, port.number);
        args.extend(settings.iter().flat_map(|setting| ["-c".into(), setting.into()]));
        let program = Program {
            name: NAME,
            path: program(NAME)?,
            args,
            user,
            // Unlike SIGKILL, this lets the server end its children and free its shared memory.
            death_signal: "QUIT",
            is_ready,
        };
        let server = Server::start(program, folder, port)?;
        let postgres = Postgres::on(server.port());
        Ok(Self { server, postgres })
    }

    /// Handle to create databases.
    pub fn postgres(&self) -> &Postgres {
        &self.postgres
    }

    /// Process id while the server runs.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// Stops the server as a crash would: no checkpoint, every connection cut. Synced data is there after a restart.
    pub fn stop_immediate(&self) {
        self.server.stop(Signal::QUIT);
    }

    /// Starts it again as a standby: it takes reads and refuses writes, until it is promoted.
    pub fn restart_as_standby(&self) -> Result<(), Error> {
        self.stop_immediate();
        let signal = File::create(self.server.folder().join("data/standby.signal"));
        signal.map_err(|source| Error::Io { name: NAME, source })?;
        self.restart()
    }

    /// Starts it again, on the same port and data; one that still runs is stopped immediately first.
    pub fn restart(&self) -> Result<(), Error> {
        self.server.restart(Signal::QUIT)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop_immediate();
    }
}

fn program(name: &'static str) -> Result<PathBuf, Error> {
    let mut places: Vec<_> = std::fs::read_dir(PACKAGED)
        .into_iter()
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    // The newest installed version, the same for every program.
    places.sort_by_key(|place| std::cmp::Reverse(version(place)));
    find(name, &places).ok_or(Error::NotInstalled { name, places: PACKAGED, package: "postgresql" })
}

fn version(place: &Path) -> u32 {
    let name = place.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).unwrap_or_default()
}

fn init_cluster(folder: &Path, user: Option<&User>) -> Result<(), Error> {
    let failed = |source| Error::Io { name: "initdb", source };
    let log_path = folder.join("initdb.log");
    let log = File::create(&log_path).map_err(failed)?;
    let mut command: Command = process::command_with_death_signal(program("initdb")?.as_os_str(), "KILL", user);
    command.args([
        "--pgdata=data",
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
    ]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
    let ended = process::spawn(command).and_then(|mut child| process::wait_or_kill(&mut child, START_TIMEOUT));
    let status = ended.map_err(failed)?;
    if status.success() { Ok(()) } else { Err(Error::Ended { name: "initdb", status, log: tail(&log_path) }) }
}

fn arguments(options: &PostgresOptions, port: u16) -> Vec<OsString> {
    let mut settings = vec![
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        // The length of a socket's path is limited, and a temporary folder may be deep.
        "unix_socket_directories=".to_owned(),
        "max_connections=400".to_owned(),
        "shared_buffers=128MB".to_owned(),
    ];
    if !options.durable {
        settings.extend(["fsync", "synchronous_commit", "full_page_writes"].map(|name| format!("{name}=off")));
        settings.push("max_wal_size=256MB".to_owned());
    }
    let mut arguments = vec!["-D".into(), "data".into()];
    for setting in settings {
        arguments.extend(["-c".into(), setting.into()]);
    }
    arguments
}

/// Parses the lock file as `pg_ctl` does: process id, and the status on line eight.
fn is_ready(running: &Running<'_>) -> bool {
    let Ok(text) = std::fs::read_to_string(running.folder.join("data/postmaster.pid")) else { return false };
    let mut lines = text.lines().map(str::trim);
    lines.next() == Some(&running.pid.to_string()) && matches!(lines.nth(6), Some("ready" | "standby"))
}
