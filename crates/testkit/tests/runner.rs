//! The runner: its command finds the servers, and they are gone when it is.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use holdfast_testkit::VARIABLES;

/// A runner whose command waits until its input ends.
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
        let servers: Vec<u32> = children_of(child.id()).into_iter().filter(|pid| is_server(*pid)).collect();
        assert_eq!(servers.len(), 3, "{servers:?}");
        let folder = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
        let folders = servers.iter().map(folder).collect();
        Self { input: child.stdin.take().unwrap(), servers, folders, child }
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// How the runner ended; nothing is left of its servers.
    fn ended(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        let began = Instant::now();
        while self.servers.iter().any(|pid| is_server(*pid)) || self.folders.iter().any(|folder| folder.exists()) {
            let (servers, folders) = (&self.servers, &self.folders);
            assert!(began.elapsed() < Duration::from_secs(10), "still there: some of {servers:?} or of {folders:?}");
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

/// What the kernel says of a process: its name, its state and its parent. Of one that has ended, nothing.
fn stat(pid: u32) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let ended = fields.next() == Some("Z");
    if ended { None } else { Some((name.to_owned(), fields.next()?.parse().ok()?)) }
}

fn is_server(pid: u32) -> bool {
    stat(pid).is_some_and(|(name, _)| ["postgres", "redis-server", "nats-server"].contains(&name.as_str()))
}

fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

#[test]
fn the_command_finds_the_servers_and_its_exit_code_is_the_runners() {
    let print: Vec<_> = VARIABLES.iter().map(|name| format!("echo ${name}")).collect();
    let output = runner(&format!("{}; exit 7", print.join("; "))).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let printed = String::from_utf8(output.stdout).unwrap();
    for (line, scheme) in printed.lines().zip(["postgres://postgres@", "redis://", "nats://"]) {
        assert!(line.starts_with(&format!("{scheme}127.0.0.1:")), "{printed}");
    }
}

#[test]
fn the_servers_stop_when_the_command_ends() {
    let mut runner = Runner::start();
    writeln!(runner.input, "go on").unwrap();
    assert!(runner.ended().success());
}

#[test]
fn the_servers_stop_when_the_runner_is_told_to() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let runner = Runner::start();
        runner.signal(signal);
        assert_eq!(runner.ended().code(), Some(code), "{signal}");
    }
}

#[test]
fn kill_9_of_the_runner_leaves_no_server_behind() {
    let runner = Runner::start();
    runner.signal("-KILL");
    assert_eq!(runner.ended().code(), None);
}

#[test]
fn what_is_not_understood_or_not_found_is_said() {
    for args in [&[][..], &["run"][..], &["walk", "true"][..], &["run", "there-is-no-such-command"][..]] {
        let output = Command::new(env!("CARGO_BIN_EXE_holdfast-testkit")).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stderr.starts_with(b"holdfast-testkit: "), "{args:?}");
    }
}
