//! Private durable PostgreSQL with enough memory for a million rows of the baseline and their indexes.
//!
//! The test kit creates and removes the cluster. Its server gets little memory, by arguments that no setting overrides;
//! so it is stopped, and another one started in its place.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use holdfast_testkit::{PostgresOptions, PostgresServer};
use rustix::process::{Pid, Signal, kill_process};

use super::databases::connect;

const MEMORY: &str = "shared_buffers=256MB";
const PLACES: &str = "SELECT current_setting('data_directory'), current_setting('port'),
        current_setting('max_connections'), setting
    FROM pg_config WHERE name = 'BINDIR'";
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Postgres {
    pub url: String,
    process: Child,
    /// Owns the port and the folder; dropped after the process has ended.
    _kit: PostgresServer,
}

impl Postgres {
    /// Called on a thread that lives as long as the benchmark: the server ends with it.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let kit = PostgresServer::start(&PostgresOptions { durable: true })?;
        let url = kit.postgres().url();
        let places = connect(&url).await?.query_one(PLACES, &[]).await?;
        let [data, port, connections, programs] = [0, 1, 2, 3].map(|index| places.get::<_, &str>(index));
        kit.stop_immediate();

        let owner = std::fs::metadata(data)?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT", "--"]).arg(Path::new(programs).join("postgres")).args(["-D", data]);
        for setting in [
            MEMORY,
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            &format!("port={port}"),
            &format!("max_connections={connections}"),
        ] {
            command.args(["-c", setting]);
        }
        // A process group of its own: Ctrl-C is for the benchmark, which stops the server in order.
        command.uid(owner.uid()).gid(owner.gid()).current_dir("/").process_group(0);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut postgres = Self { url, process, _kit: kit };
        postgres.wait_until_ready().await?;
        Ok(postgres)
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait()? {
                bail!("PostgreSQL ended with {status} when it was started with {MEMORY}");
            }
            match connect(&self.url).await {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > START_TIMEOUT => return Err(error).context("PostgreSQL did not start"),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Not SIGKILL, which would leave child processes behind.
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::QUIT).ok();
        }
        self.process.wait().ok();
    }
}
