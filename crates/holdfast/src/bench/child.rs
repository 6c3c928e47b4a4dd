//! The servers under test, each a process of its own that ends with the benchmark.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

pub(crate) struct Server {
    pub address: SocketAddr,
    /// From start to the first word.
    pub ready_after: Duration,
    process: Child,
}

impl Server {
    pub(crate) fn holdfast(data: &Path) -> anyhow::Result<Self> {
        let data = data.to_str().context("the temp directory's name is not text")?;
        Self::start(|listen| ["serve", "--data", data, "--listen", listen].map(str::to_owned).to_vec())
    }

    /// On a database, with live holds in Redis if one is given.
    pub(crate) fn holdfast_on(database_url: &str, redis_url: Option<&str>) -> anyhow::Result<Self> {
        Self::start(|listen| {
            let redis = redis_url.map(|url| ["--redis-url", url]).into_iter().flatten();
            let args = ["serve", "--database-url", database_url, "--listen", listen].into_iter().chain(redis);
            args.map(str::to_owned).collect()
        })
    }

    /// With these arguments and settings.
    pub(crate) fn holdfast_with(args: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Self> {
        let all =
            |listen: &str| ["serve", "--listen", listen].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        Self::start_in(all, environment)
    }

    pub(crate) fn ceiling() -> anyhow::Result<Self> {
        Self::start(|listen| ["bench", "ceiling", "--listen", listen].map(str::to_owned).to_vec())
    }

    /// The same, served as we serve.
    pub(crate) fn ceiling_per_core() -> anyhow::Result<Self> {
        Self::start(|listen| ["bench", "ceiling", "--listen", listen, "--thread-per-core"].map(str::to_owned).to_vec())
    }

    fn start(args: impl Fn(&str) -> Vec<String>) -> anyhow::Result<Self> {
        Self::start_in(args, &[])
    }

    fn start_in(args: impl Fn(&str) -> Vec<String>, environment: &[(&str, &str)]) -> anyhow::Result<Self> {
        // A free port: asked for, given back, and taken at once.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let began = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        // The settings of whoever measures are for other servers, and lead to other people's databases.
        let theirs = std::env::vars_os().map(|(name, _)| name);
        for name in theirs.filter(|name| name.as_encoded_bytes().starts_with(b"HOLDFAST_")) {
            command.env_remove(name);
        }
        let mut process = command
            .args(args(&address.to_string()))
            .env("HOLDFAST_LOG_LEVEL", "warn")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut first_line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut first_line)?;
        if first_line.is_empty() {
            bail!("the server did not start: {}", process.wait()?);
        }
        Ok(Self { address, ready_after: began.elapsed(), process })
    }

    /// Memory in use, in bytes.
    pub(crate) fn resident_bytes(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        Ok(kilobytes * 1_024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
