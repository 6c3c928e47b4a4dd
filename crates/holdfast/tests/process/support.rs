//! Server process of a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdfast_client::{Client, NewHold, RoomType};
use jiff::civil::{Date, date};
use uuid::Uuid;

/// Bounds requests on a connection whose server is killed at that moment, which may never get a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Log directive that keeps the lines about panics at any log level.
const PANICS: &str = "holdfast_engine::panics=error";

/// A running server. The test fails if the server panics, at any log level.
pub(crate) struct Process {
    pub(crate) url: String,
    /// Standard output of the process.
    pub(crate) output: BufReader<std::process::ChildStdout>,
    pub(crate) child: Child,
    /// Prints the log, and returns its lines about panics.
    log: Option<JoinHandle<Vec<String>>>,
}

pub(crate) fn holdfast() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.env("HOLDFAST_LOG_LEVEL", "warn").stdout(Stdio::piped()).stderr(Stdio::piped());
    without_test_variables(&mut command);
    command
}

/// Removes the variables of tests, which are no settings of the server.
pub(crate) fn without_test_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"HOLDFAST_TEST_")) {
        command.env_remove(name);
    }
}

impl Process {
    pub(crate) fn start(data: &Path, args: &[&str]) -> Self {
        let data = ["--data", data.to_str().unwrap()];
        Self::start_with(&[&data, args].concat(), &[])
    }

    pub(crate) fn start_with(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = holdfast();
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        command.envs(environment.iter().copied());
        Self::spawn(&mut command)
    }

    /// Starts a server by a command of the test's own, and copies its log to that of the test.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::spawn_with_log(command, std::io::stderr())
    }

    /// Starts a server by a command of the test's own, and copies its log.
    pub(crate) fn spawn_with_log(command: &mut Command, mut copy: impl Write + Send + 'static) -> Self {
        let level = command.get_envs().find(|(name, _)| *name == "HOLDFAST_LOG_LEVEL");
        if let Some(level) = level.and_then(|(_, level)| level?.to_str()).map(|level| format!("{level},{PANICS}")) {
            command.env("HOLDFAST_LOG_LEVEL", level);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let log = std::thread::spawn(move || {
            let lines = log.lines().map_while(Result::ok);
            let copied = lines.inspect(|line| writeln!(copy, "{line}").expect("the copy of the log takes it"));
            copied.filter(|line| line.contains("panicked")).collect()
        });
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let url = line.strip_prefix("Holdfast is ready: ").and_then(|rest| rest.split_whitespace().next());
        let url = url.unwrap_or_else(|| panic!("the server did not start: {line}")).to_owned();
        Self { url, output, child, log: Some(log) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url).with_timeout(RESPONSE_TIMEOUT)
    }

    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn kill_9(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM; returns the exit status, and the time until the exit.
    pub(crate) fn terminate(&mut self) -> (std::process::ExitStatus, Duration) {
        let began = Instant::now();
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        (self.child.wait().unwrap(), began.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        let panics = self.log.take().unwrap().join().unwrap_or_default();
        // A test that fails already says why.
        assert!(panics.is_empty() || std::thread::panicking(), "the server panicked: {panics:#?}");
    }
}

/// Runs a command that ends by itself.
pub(crate) fn run(args: &[&str]) -> (i32, String) {
    let mut child = holdfast().args(args).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let mut text = String::from_utf8(stdout).unwrap();
    stderr.as_slice().read_to_string(&mut text).unwrap();
    assert!(!text.contains("panicked"), "the command panicked: {text}");
    (status.code().expect("the command ended by itself"), text)
}

pub(crate) fn verify(data: &Path) -> (i32, String) {
    run(&["verify", "--data", data.to_str().unwrap()])
}

/// A date far enough ahead for any test.
pub(crate) const NIGHT: Date = date(2_099, 6, 1);

pub(crate) fn new_hold(room_type: &RoomType, night: Date) -> NewHold {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let key = Uuid::from_u64_pair(0x4000, (1 << 63) | NEXT.fetch_add(1, Ordering::Relaxed));
    NewHold::new(room_type.id, night, night.tomorrow().unwrap(), key)
}

/// Decisions panic silently, except for a line in the log.
#[test]
fn panics_are_logged_at_any_level() {
    let (reader, writer) = std::io::pipe().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(format!("off,{PANICS}")))
        .with_writer(move || writer.try_clone().unwrap())
        .finish();
    holdfast_engine::panics::install();
    tracing::subscriber::with_default(subscriber, || {
        tracing::error!("an error that is no panic");
        std::panic::catch_unwind(|| panic!("on purpose")).unwrap_err();
    });
    let log = std::io::read_to_string(reader).unwrap();
    assert!(log.contains("a thread panicked") && !log.contains("no panic"), "{log}");
}

#[test]
fn silent_server_still_logs_panics() {
    // Stands for a server that logs a panic if its log level shows it.
    let script = r#"case $HOLDFAST_LOG_LEVEL in *=error) echo "a thread panicked" >&2;; esac
        echo "Holdfast is ready: http://nowhere"; exec sleep 60"#;
    let mut command = Command::new("sh");
    let process = Process::spawn(command.args(["-c", script]).env("HOLDFAST_LOG_LEVEL", "off"));
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(process))).unwrap_err();
    assert!(failed.downcast_ref::<String>().unwrap().contains("a thread panicked"));
}
