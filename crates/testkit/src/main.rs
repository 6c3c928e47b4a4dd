//! `holdfast-testkit run COMMAND`: runs a command, usually `cargo test`, with servers that all its processes share.
//! They are stopped when it ends, when the runner gets a signal, and when the runner is killed.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use holdfast_testkit::{NATS_VARIABLE, NatsOptions, NatsServer, POSTGRES_VARIABLE, PostgresOptions, PostgresServer};
use holdfast_testkit::{REDIS_VARIABLE, RedisOptions, RedisServer};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// Grace period after a forwarded signal before the command is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = match args.as_slice() {
        [run, program, args @ ..] if run == "run" => run_with_servers(program, args),
        _ => Err("usage: holdfast-testkit run COMMAND [ARGUMENT]...".into()),
    };
    result.unwrap_or_else(|error| {
        eprintln!("holdfast-testkit: {error}");
        ExitCode::from(2)
    })
}

fn run_with_servers(program: &OsString, args: &[OsString]) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let postgres = PostgresServer::start(&PostgresOptions::default())?;
    let redis = RedisServer::start(&RedisOptions::default())?;
    let nats = NatsServer::start(&NatsOptions { jetstream: true })?;
    let mut command = Command::new(program);
    command.args(args);
    command.env(POSTGRES_VARIABLE, postgres.postgres().url());
    command.env(REDIS_VARIABLE, redis.url());
    command.env(NATS_VARIABLE, nats.url());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The servers are dropped, and so stopped, after this and before the process ends.
    runtime.block_on(run(command)).map_err(|error| format!("{}: {error}", program.display()).into())
}

/// Runs the command to its end and forwards signals to it. Returns the exit code a shell would.
async fn run(mut command: Command) -> std::io::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let send_signal = |signal| pid.map(|pid| kill_process(pid, signal));
    let mut ended = tokio::task::spawn_blocking(move || child.wait());
    let signal_received = tokio::select! {
        status = &mut ended => return Ok(code(status??)),
        _ = interrupt.recv() => Signal::INT,
        _ = terminate.recv() => Signal::TERM,
        _ = hangup.recv() => Signal::HUP,
    };
    send_signal(signal_received);
    if let Ok(status) = tokio::time::timeout(STOP_TIMEOUT, &mut ended).await {
        return Ok(code(status??));
    }
    send_signal(Signal::KILL);
    Ok(code(ended.await??))
}

fn code(status: std::process::ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
