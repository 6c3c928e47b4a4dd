//! Permissions of files, limits of the process, and SIGHUP.

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use holdfast_client::NewEvent;
use holdfast_connect::jwt::{Algorithm, EncodingKey, Header, encode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::support::{Process, holdfast, without_test_variables};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn modes_of_files(directory: &Path) -> Vec<(String, u32)> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), mode(&entry.path()))).collect()
}

/// Starts a server from a shell that runs `prelude` first, with its log in a file.
fn serve_after(prelude: &str, data: &Path, log: &Path, environment: &[(&str, &str)]) -> Process {
    let program = env!("CARGO_BIN_EXE_holdfast");
    let mut command = Command::new("sh");
    let script = format!("{prelude}; exec {program} serve --listen 127.0.0.1:0 --data {}", data.display());
    command.args(["-c", &script]).env("HOLDFAST_LOG_LEVEL", "info").envs(environment.iter().copied());
    without_test_variables(&mut command);
    Process::spawn_with_log(&mut command, std::fs::File::create(log).unwrap())
}

async fn use_store(process: &Process) {
    let event = process.client().create_event(&NewEvent::with_row("공연", 1, 1)).await.unwrap();
    process.client().as_user(1).join_queue(event.id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn data_is_readable_by_its_owner_only() {
    let parent = tempfile::tempdir().unwrap();
    let (data, log) = (parent.path().join("data"), parent.path().join("log"));
    let process = serve_after("umask 022", &data, &log, &[]);
    use_store(&process).await;
    assert_eq!(mode(&data), 0o700);
    let files = modes_of_files(&data);
    for name in ["holdfast.db", "holdfast.db-wal", "holdfast.lock", "queue.db", "queue.secret"] {
        assert!(files.iter().any(|(file, _)| file == name), "{name} is missing in {files:?}");
    }
    assert!(files.iter().all(|(_, mode)| *mode == 0o600), "{files:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wider_modes_are_tightened_at_start() {
    let parent = tempfile::tempdir().unwrap();
    let (data, log) = (parent.path().join("data"), parent.path().join("log"));
    let mut process = serve_after("umask 022", &data, &log, &[]);
    use_store(&process).await;
    assert!(process.terminate().0.success());
    for (name, _) in modes_of_files(&data) {
        std::fs::set_permissions(data.join(name), Permissions::from_mode(0o644)).unwrap();
    }
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let process = serve_after("umask 022", &data, &log, &[]);
    use_store(&process).await;
    assert_eq!(mode(&data), 0o700);
    let files = modes_of_files(&data);
    assert!(files.iter().all(|(_, mode)| *mode == 0o600), "{files:?}");
}

/// A directory with files of other programs keeps its mode, and is warned of.
#[tokio::test(flavor = "multi_thread")]
async fn shared_directory_is_warned_of() {
    let data = tempfile::tempdir().unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(data.path().join("notes"), "").unwrap();
    std::fs::set_permissions(data.path().join("notes"), Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(data.path(), Permissions::from_mode(0o755)).unwrap();
    let process = serve_after("umask 022", data.path(), log.path(), &[]);
    use_store(&process).await;
    assert_eq!((mode(data.path()), mode(&data.path().join("notes"))), (0o755, 0o644));
    assert_eq!(mode(&data.path().join("holdfast.db")), 0o600);
    until_logged(log.path(), "data directory has files of other programs");
}

/// The soft limit of open files of a process, and the hard one.
fn open_files(child: &Child) -> (String, String) {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    (words.next().unwrap(), words.next().unwrap())
}

#[test]
fn open_file_limit_is_raised_or_warned_of() {
    let parent = tempfile::tempdir().unwrap();
    let (data, log) = (parent.path().join("data"), parent.path().join("log"));
    let warning = "the limit of open files is too low for server.connections_max";
    let process = serve_after("ulimit -Sn 128; ulimit -Hn 2048", &data, &log, &[]);
    assert_eq!(open_files(&process.child), ("2048".to_owned(), "2048".to_owned()));
    until_logged(&log, warning);
    drop(process);
    let fitting = [("HOLDFAST_SERVER_CONNECTIONS_MAX", "1000")];
    let process = serve_after("ulimit -Sn 128; ulimit -Hn 2048", &data, &log, &fitting);
    assert_eq!(open_files(&process.child).0, "2048");
    assert!(!std::fs::read_to_string(&log).unwrap().contains(warning));
}

/// Answer of a health check on a connection of its own; an error if the connection is closed without one.
fn health(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Half-sent heads take more connections than there are file descriptors.
#[test]
fn health_is_answered_with_few_open_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    let parent = tempfile::tempdir().unwrap();
    let (data, log) = (parent.path().join("data"), parent.path().join("log"));
    let process = serve_after("ulimit -Sn 128; ulimit -Hn 512", &data, &log, &[]);
    let address = process.url.strip_prefix("http://").unwrap();
    let mut heads = Vec::new();
    for _ in 0..3_000 {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server may have closed the connection already.
        stream.write_all(b"GET /v1/room-types HTTP/1.1\r\nHost: ").ok();
        heads.push(stream);
    }
    // While more heads arrive than the server accepts, it also closes connections of health checks.
    let flooded = Instant::now();
    while health(address, "/healthz").is_err() {
        assert!(flooded.elapsed() < Duration::from_secs(5), "the server accepts all heads");
    }
    let mut took = Vec::new();
    for path in ["/healthz", "/readyz"].repeat(50) {
        let began = Instant::now();
        let answer = health(address, path).unwrap();
        took.push(began.elapsed());
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    took.sort();
    // Other tests load the machine, too.
    let median = took[took.len() / 2];
    assert!(median < Duration::from_millis(100), "{took:?}");
    assert!(!std::fs::read_to_string(&log).unwrap().contains("cannot accept a connection"));
}

pub(crate) fn hang_up(process: &Process) {
    let sent = Command::new("kill").args(["-HUP", &process.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the log has a line with this text, and returns it.
pub(crate) fn until_logged(log: &Path, text: &str) -> String {
    let began = Instant::now();
    loop {
        let read = std::fs::read_to_string(log).unwrap();
        if let Some(line) = read.lines().find(|line| line.contains(text)) {
            return line.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{text:?} is not logged, only:\n{read}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const FIRST_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKHIMJYGJpTitRL7UENhLjCXcxTydeXoWlphUiMcqyie\n-----END PRIVATE KEY-----\n";
const FIRST_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEApRE6PduHaAoxGVv+9/kayktBZu+x+bVVYGyT03CkV4g=\n-----END PUBLIC KEY-----\n";
const SECOND_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEILoAe9EVDYWbIZVDhJlsXSdOsCkCfHwieIsvr7atPBUD\n-----END PRIVATE KEY-----\n";
const SECOND_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAq7sBqGQuC/VHIcXAcMK8lsVHA4TDm9dq89IGWSGVCrM=\n-----END PUBLIC KEY-----\n";

#[tokio::test(flavor = "multi_thread")]
async fn hangup_reloads_the_public_key() {
    let parent = tempfile::tempdir().unwrap();
    let (data, log, key) = (parent.path().join("data"), parent.path().join("log"), parent.path().join("key.pem"));
    std::fs::write(&key, FIRST_PUBLIC).unwrap();
    let settings = [("HOLDFAST_AUTH_JWT_PUBLIC_KEY_FILE", key.to_str().unwrap())];
    let process = serve_after("umask 022", &data, &log, &settings);
    let status = async |private: &str| {
        let key = EncodingKey::from_ed_pem(private.as_bytes()).unwrap();
        let token = encode(&Header::new(Algorithm::EdDSA), &json!({"sub": "1"}), &key).unwrap();
        let request = process.client().with_token(token).request(reqwest::Method::GET, "/v1/reservations");
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!((status(FIRST_PRIVATE).await, status(SECOND_PRIVATE).await), (200, 401));

    std::fs::write(&key, SECOND_PRIVATE).unwrap();
    hang_up(&process);
    let error = until_logged(&log, "reload failed; the previous keys and certificates stay in use");
    assert!(error.contains("auth.jwt_public_key_file") && error.contains(key.to_str().unwrap()), "{error}");
    assert!(error.contains("is a private key"), "{error}");
    assert_eq!((status(FIRST_PRIVATE).await, status(SECOND_PRIVATE).await), (200, 401));

    std::fs::write(&key, SECOND_PUBLIC).unwrap();
    hang_up(&process);
    until_logged(&log, "reloaded keys and certificates");
    assert_eq!((status(FIRST_PRIVATE).await, status(SECOND_PRIVATE).await), (401, 200));
}

#[test]
fn empty_secret_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = holdfast()
        .args(["serve", "--listen", "127.0.0.1:0", "--data", directory.path().to_str().unwrap()])
        .env("HOLDFAST_AUTH_JWT_SECRET", "")
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("HOLDFAST_AUTH_JWT_SECRET: is empty"), "{said}");
}
