//! The runner: its command reaches the servers, and they stop with it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use holdfast_testkit::VARIABLES;

use crate::support::{children_of, folder_of, is_running};

/// Runner whose command waits until its input ends.
struct Runner {
    child: Child,
    /// Dropping it ends the command, also one whose runner is gone.
    input: ChildStdin,
    servers: Vec<u32>,
    folders: Vec<PathBuf>,
}

impl Runner {
    fn start() -> Self {
        let mut child = runner("echo up; read -r _").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let servers = children_of(child.id(), &["postgres", "redis-server", "nats-server"]);
        assert_eq!(servers.len(), 3, "{servers:?}");
        let folders = servers.iter().copied().map(folder_of).collect();
        Self { input: child.stdin.take().unwrap(), servers, folders, child }
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Returns how the runner ended, and checks that none of its servers is left.
    fn ended(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        let began = Instant::now();
        while self.servers.iter().any(|pid| is_running(*pid)) || self.folders.iter().any(|folder| folder.exists()) {
            let (servers, folders) = (&self.servers, &self.folders);
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "some are still running or present: {servers:?} or of {folders:?}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(self.input);
        status
    }
}

fn runner(script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast-testkit"));
    command.args(["run", "sh", "-c", script]);
    command
}

#[test]
fn command_reaches_servers_and_sets_exit_code() {
    let print: Vec<_> = VARIABLES.iter().map(|name| format!("echo ${name}")).collect();
    let output = runner(&format!("{}; exit 7", print.join("; "))).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let printed = String::from_utf8(output.stdout).unwrap();
    for (line, scheme) in printed.lines().zip(["postgres://postgres@", "redis://", "nats://"]) {
        assert!(line.starts_with(&format!("{scheme}127.0.0.1:")), "{printed}");
    }
}

#[test]
fn servers_stop_when_command_ends() {
    let mut runner = Runner::start();
    writeln!(runner.input, "go on").unwrap();
    assert!(runner.ended().success());
}

#[test]
fn servers_stop_on_signal() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let runner = Runner::start();
        runner.signal(signal);
        assert_eq!(runner.ended().code(), Some(code), "{signal}");
    }
}

#[test]
fn servers_stop_when_runner_is_killed() {
    let runner = Runner::start();
    runner.signal("-KILL");
    assert_eq!(runner.ended().code(), None);
}

#[test]
fn invalid_command_is_reported() {
    for args in [&[][..], &["run"][..], &["walk", "true"][..], &["run", "there-is-no-such-command"][..]] {
        let output = Command::new(env!("CARGO_BIN_EXE_holdfast-testkit")).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stderr.starts_with(b"holdfast-testkit: "), "{args:?}");
    }
}
