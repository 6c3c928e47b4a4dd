//! Servers under test, each a process of its own that ends with the benchmark.
//!
//! The product's binary is built first, in the profile of this one, so that a benchmark never measures an older build.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

/// The product's binary, built on first use.
static HOLDFAST: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| build().map_err(|error| format!("{error:#}")));

pub(crate) struct Server {
    pub address: SocketAddr,
    /// Time from start to the first line of output.
    pub ready_after: Duration,
    process: Child,
}

impl Server {
    pub(crate) fn holdfast(data: &Path) -> anyhow::Result<Self> {
        let data = data.to_str().context("the temp directory's name is not text")?;
        Self::holdfast_with(&["--data", data], &[])
    }

    /// Starts the product on a database, with live holds in Redis if one is given.
    pub(crate) fn holdfast_on(database_url: &str, redis_url: Option<&str>) -> anyhow::Result<Self> {
        let redis = redis_url.map(|url| ["--redis-url", url]).into_iter().flatten();
        let args: Vec<&str> = ["--database-url", database_url].into_iter().chain(redis).collect();
        Self::holdfast_with(&args, &[])
    }

    /// Starts the product with these arguments and settings.
    pub(crate) fn holdfast_with(args: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Self> {
        let mut command = holdfast()?;
        command.arg("serve").args(args).envs(environment.iter().copied());
        Self::start(command)
    }

    pub(crate) fn baseline() -> anyhow::Result<Self> {
        Self::start(baseline()?)
    }

    /// Starts the baseline with one thread per core, as the product serves.
    pub(crate) fn baseline_per_core() -> anyhow::Result<Self> {
        let mut command = baseline()?;
        command.arg("--thread-per-core");
        Self::start(command)
    }

    fn start(mut command: Command) -> anyhow::Result<Self> {
        // A free port: bound, closed, and bound again by the server at once.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let began = Instant::now();
        let mut process = command
            .args(["--listen", &address.to_string()])
            .env("HOLDFAST_LOG_LEVEL", "warn")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut first_line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut first_line)?;
        if first_line.is_empty() {
            bail!("the server did not start: {}", process.wait()?);
        }
        Ok(Self { address, ready_after: began.elapsed(), process })
    }

    /// Resident memory, in bytes.
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

/// Returns the product's binary as a command without arguments, and without the settings of the caller's environment.
pub(crate) fn holdfast() -> anyhow::Result<Command> {
    let path = HOLDFAST.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut command = Command::new(path);
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(b"HOLDFAST_")) {
        command.env_remove(name);
    }
    Ok(command)
}

fn baseline() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "baseline"]);
    Ok(command)
}

/// Builds the product in the profile of this binary, which is the name of its directory.
fn build() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let directory = this.parent().context("no directory")?;
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["build", "--quiet", "--locked", "--package", "holdfast", "--profile", profile];
    let status = Command::new(cargo).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    if !status.success() {
        bail!("the server could not be built: {status}");
    }
    Ok(directory.join("holdfast"))
}
