//! Redis server with a folder and a port of its own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::certificate::{self, CERTIFICATE_FILE, KEY_FILE};
use crate::port::Port;
use crate::server::{Error, Program, Running, Server, find};
use crate::temporary_directory::Folder;

const NAME: &str = "redis-server";

#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    /// Writes and syncs every change to the append-only file before it is answered. Without it, Redis keeps data in memory only.
    pub appendonly: bool,
}

/// Running Redis server, of this process or of the runner.
#[derive(Clone, Debug)]
pub struct Redis {
    url: String,
}

impl Redis {
    pub(crate) fn at(url: String) -> Self {
        Self { url }
    }

    /// `redis://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a prefix for all keys of a test, different each time. Redis has sixteen databases, too few to give each
    /// test one. A test that flushes, or counts all keys, starts a `RedisServer` of its own.
    pub fn prefix(&self) -> String {
        format!("{}:", crate::unique_name())
    }
}

/// Private Redis server, stopped when dropped.
#[derive(Debug)]
pub struct RedisServer {
    server: Server,
    redis: Redis,
    encrypted: Port,
    cluster_bus: Option<Port>,
}

impl RedisServer {
    pub fn start(options: &RedisOptions) -> Result<Self, Error> {
        Self::start_with(options, &[])
    }

    /// A node of a cluster, which has no slots yet and knows no other node.
    pub fn start_cluster_node() -> Result<Self, Error> {
        let bus = Port::reserve().map_err(|source| Error::Io { name: NAME, source })?;
        let number = bus.number.to_string();
        let options = ["--cluster-enabled", "yes", "--cluster-port", &number];
        let server = Self::start_with(&RedisOptions::default(), &options)?;
        Ok(Self { cluster_bus: Some(bus), ..server })
    }

    /// Port on which the nodes of a cluster reach each other.
    pub fn cluster_port(&self) -> Option<u16> {
        self.cluster_bus.as_ref().map(|port| port.number)
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    fn start_with(options: &RedisOptions, more: &[&str]) -> Result<Self, Error> {
        let failed = |source| Error::Io { name: NAME, source };
        let places = "/usr/bin";
        let path = find(NAME, &[PathBuf::from(places)]);
        let path = path.ok_or(Error::NotInstalled { name: NAME, places, package: "redis-server" })?;
        let folder = Folder::new("redis").map_err(failed)?;
        certificate::write_into(folder.path(), None).map_err(failed)?;
        let [port, encrypted] = [Port::reserve().map_err(failed)?, Port::reserve().map_err(failed)?];
        let (number, tls_number) = (port.number.to_string(), encrypted.number.to_string());
        let appendonly = if options.appendonly { "yes" } else { "no" };
        let args = ["--port", &number, "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"];
        let aof = ["--appendonly", appendonly, "--appendfsync", "always"];
        let tls = ["--tls-port", &tls_number, "--tls-cert-file", CERTIFICATE_FILE, "--tls-key-file", KEY_FILE];
        let trusted = ["--tls-ca-cert-file", CERTIFICATE_FILE, "--tls-auth-clients", "no"];
        let program = Program {
            name: NAME,
            path,
            args: args.iter().chain(&aof).chain(&tls).chain(&trusted).chain(more).map(Into::into).collect(),
            user: None,
            death_signal: "KILL",
            is_ready,
        };
        let server = Server::start(program, folder, port)?;
        let redis = Redis::at(format!("redis://127.0.0.1:{}", server.port()));
        Ok(Self { server, redis, encrypted, cluster_bus: None })
    }

    /// `rediss://localhost:PORT`
    pub fn encrypted_url(&self) -> String {
        format!("rediss://localhost:{}", self.encrypted.number)
    }

    pub fn redis(&self) -> &Redis {
        &self.redis
    }

    /// `redis://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        self.redis.url()
    }

    /// Sends a command whose words are separated by spaces; returns the reply as Redis writes it.
    pub fn command(&self, command: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.server.port()))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply.trim_end_matches("+OK\r\n").to_owned())
    }

    /// The process, while there is one.
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

/// While it loads its file, Redis answers, but not with PONG.
fn is_ready(running: &Running<'_>) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", running.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"+PONG")
    };
    ask().unwrap_or(false)
}
