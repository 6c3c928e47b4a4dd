//! Starting and stopping.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use holdfast_client::{HoldStatus, NewRoomType};
use holdfast_server::Config;

use crate::support::{NIGHT, Process, holdfast, new_hold, run, verify};

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_finishes_requests_in_flight() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = Process::start(directory.path(), &[]);
    let room_type = process.client().create_room_type(&NewRoomType::new("객실", 1_000_000, 1)).await.unwrap();
    let (client, room_type) = (process.client(), &room_type);
    let calls = join_all((1..=200).map(|user| {
        let guest = client.as_user(user);
        async move { guest.place_hold(&new_hold(room_type, NIGHT)).await }
    }));
    let (answers, (status, took)) = tokio::join!(calls, async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        tokio::task::block_in_place(|| process.terminate())
    });
    assert!(status.success() && took < Duration::from_secs(10), "{status} after {took:?}");
    let answered: Vec<_> =
        answers.into_iter().enumerate().filter_map(|(i, it)| Some((i as u64 + 1, it.ok()?))).collect();

    let again = Process::start(directory.path(), &[]);
    for (user, hold) in &answered {
        assert_eq!(again.client().as_user(*user).hold(hold.hold_id).await.unwrap().status, HoldStatus::Held);
    }
    assert_eq!(verify_after(again, directory.path()), 0);
}

fn verify_after(process: Process, data: &std::path::Path) -> i32 {
    drop(process);
    verify(data).0
}

#[tokio::test(flavor = "multi_thread")]
async fn live_holds_survive_restart_and_expire() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &[]);
    let room_type = process.client().create_room_type(&NewRoomType::new("객실", 2, 1)).await.unwrap();
    let first = process.client().as_user(1).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    let second = process.client().as_user(2).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    process.kill_9();

    let process = Process::start(directory.path(), &[]);
    let full = process.client().as_user(3).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap_err();
    assert_eq!(full.code(), Some("ROOM_NOT_AVAILABLE"), "the holds still count");
    let replaced = process.client().as_user(1).place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    assert_eq!(process.client().as_user(1).hold(first.hold_id).await.unwrap().status, HoldStatus::Replaced);
    process.client().as_user(1).confirm_hold(replaced.hold_id).await.unwrap();
    process.client().as_user(2).cancel_hold(second.hold_id).await.unwrap();
    assert_eq!(
        process.client().availability(room_type.id, NIGHT, NIGHT.tomorrow().unwrap()).await.unwrap().available,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn second_server_on_directory_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let _first = Process::start(directory.path(), &[]);
    let data = directory.path().to_str().unwrap();
    let (code, text) = run(&["serve", "--listen", "127.0.0.1:0", "--data", data]);
    assert_eq!(code, 2);
    assert!(text.contains("is in use by another process"), "{text}");
    let (code, text) = verify(directory.path());
    assert!(code == 2 && text.contains("is in use by another process"), "{text}");
}

#[test]
fn invalid_setting_is_named_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("settings.toml");
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    let cases = [
        ("", "HOLDFAST_STAY_HOLD_TTL", "5 minutes", "stay.hold_ttl"),
        ("", "HOLDFAST_SERVER_PORT", "8080", "HOLDFAST_SERVER_PORT: there is no such setting"),
        ("", "HOLDFAST_STAY_HOLD_TLT", "5s", "did you mean HOLDFAST_STAY_HOLD_TTL?"),
        (
            "\n[stay]\nhold_tlt = \"5s\"",
            "HOLDFAST_LOG_LEVEL",
            "warn",
            "settings.toml:3: stay.hold_tlt: there is no such setting; did you mean stay.hold_ttl?",
        ),
        ("[engine]\nqueue_max = \"many\"", "HOLDFAST_LOG_LEVEL", "warn", "engine.queue_max"),
        ("[server]\nlisten = \"0.0.0.0:0\"", "HOLDFAST_LOG_LEVEL", "warn", "server.listen"),
        ("not toml", "HOLDFAST_LOG_LEVEL", "warn", "settings.toml"),
        ("", "HOLDFAST_LOG_LEVEL", "=5=", "log.level"),
        ("", "HOLDFAST_LOG_LEVEL", "info,loud", "log.level"),
        ("[auth]\njwt_public_key_file = \"/nowhere.pem\"", "HOLDFAST_LOG_LEVEL", "warn", "auth.jwt_public_key_file"),
    ];
    for (text, variable, value, named) in cases {
        std::fs::write(&file, text).unwrap();
        let mut command = holdfast();
        command.args(["serve", "--data", data, "--config", file.to_str().unwrap()]).env(variable, value);
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{named}: {error}");
        assert!(error.contains(named) && error.trim().lines().count() == 1, "{named}: {error}");
    }
    assert!(!std::path::Path::new(data).exists(), "an invalid setting leaves no data directory behind");
}

#[test]
fn misspelt_flag_is_named_with_the_nearest() {
    let (code, text) = run(&["serve", "--lisen", "127.0.0.1:0"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("'--lisen'") && text.contains("'--listen'"), "{text}");
}

#[test]
fn serve_help_shows_defaults_and_two_examples() {
    let (code, help) = run(&["serve", "--help"]);
    assert_eq!(code, 0, "{help}");
    let defaults = Config::defaults().server;
    let (listen, data) = (defaults.listen.to_string(), defaults.data.display().to_string());
    for (flag, default) in [
        ("--config", "none"),
        ("--listen", &*listen),
        ("--data", &*data),
        ("--database-url", "none"),
        ("--redis-url", "none"),
        ("--nats-url", "none"),
        ("--roles", &*defaults.roles),
        ("--log", "text"),
    ] {
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{flag} "))).expect(flag);
        assert!(line.contains(&format!("[default: {default}]")), "{line}");
    }
    let examples: Vec<_> = help.lines().skip_while(|line| *line != "Examples:").collect();
    assert_eq!(examples.iter().filter(|line| line.contains("holdfast serve --")).count(), 2, "{help}");
}

/// A privileged port that no program listens on.
const UNUSED: &str = "127.0.0.1:1";

/// The line names host and port, and has neither a password nor Rust's debug form.
#[test]
fn unreachable_database_is_named_with_port() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let database = format!("postgres://holdfast:secret@{UNUSED}/holdfast");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap(), "--database-url", &database];
    for args in [&serve[..], &["verify", "--database-url", &database]] {
        let (code, text) = run(args);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(&format!("PostgreSQL at {UNUSED}: ")), "{text}");
        assert!(!text.contains("secret") && text.trim().lines().count() == 1, "{text}");
    }
    assert!(!data.exists());
}

#[test]
fn unreachable_redis_is_named_with_port() {
    let database = holdfast_testkit::postgres().database();
    let redis = format!("redis://:secret@{UNUSED}");
    let args = ["serve", "--listen", "127.0.0.1:0", "--database-url", database.url(), "--redis-url", &redis];
    let (code, text) = run(&args);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains(&format!("Redis at {UNUSED}: ")) && !text.contains("secret"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_banner_is_five_lines_that_work() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = Process::start(directory.path(), &["--demo"]);
    let lines: Vec<String> = (0..4).map(|_| process.next_line()).collect();
    let first_hold =
        lines.iter().find_map(|line| line.strip_prefix("First hold:")).expect("a command that holds a room");
    let held = shell(first_hold);
    assert!(held.contains("\"HELD\""), "{held}");
    for name in ["Demo pages:", "Reference:"] {
        let url = lines.iter().find_map(|line| line.strip_prefix(name)).expect(name).trim();
        shell(&format!("curl {url}"));
    }
    assert!(lines.iter().any(|line| line.contains("Ctrl-C")), "{lines:?}");
    process.terminate();
    let mut rest = String::new();
    process.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "the banner has five lines");
}

/// The commands of docs/tour.md work as printed on a fresh demo.
#[tokio::test(flavor = "multi_thread")]
async fn tour_commands_work_as_printed() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &["--demo"]);
    let page = include_str!("../../../../docs/tour.md");
    let blocks = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let script: String = blocks.filter(|block| !block.contains("curl -N")).collect();
    let printed = shell(&script.replace("http://127.0.0.1:8080", &process.url));
    let expected = [
        "스탠다드 더블",
        "\"HELD\"",
        "\"CONFIRMED\"",
        "에티오피아 예가체프 G1",
        "\"paidAmount\":66600",
        "\"balance\":233400",
        "\"AVAILABLE\"",
        "\"RESERVED\"",
        "\"bookingNumber\"",
        "\"percent\":100",
    ];
    for expected in expected {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

/// Runs shell commands whose `curl`s must succeed, and returns what they print.
fn shell(commands: &str) -> String {
    let script = format!("set -e\n{}", commands.replace("curl ", "curl -sS --fail-with-body -w '\\n' "));
    let output = Command::new("bash").args(["-c", &script]).stderr(Stdio::inherit()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{script}\n{printed}");
    printed
}

#[test]
fn busy_port_leaves_no_data_directory() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (code, text) = run(&["serve", "--listen", &address, "--data", data.to_str().unwrap()]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains(&address) && text.contains("server.listen"), "{text}");
    assert!(!data.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn try_narrates_a_hold_and_a_lost_race() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &["--demo"]);
    for _ in 0..2 {
        let (code, text) = tokio::task::block_in_place(|| run(&["try", "--url", &process.url]));
        assert_eq!(code, 0, "{text}");
        for expected in
            ["201 HELD for 600 s", "409 ROOM_NOT_AVAILABLE", "201 reservation", "ALREADY_PROCESSED", "free again: 1"]
        {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
    let url = process.url.clone();
    drop(process);
    let (code, text) = run(&["try", "--url", &url]);
    assert!(code == 2 && text.contains("no server answers at") && text.trim().lines().count() == 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_exits_with_the_state_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &[]);
    for flags in [&[][..], &["--live"]] {
        let (code, text) = tokio::task::block_in_place(|| run(&[&["health", "--url", &process.url], flags].concat()));
        assert!(code == 0 && text.starts_with("200 "), "{text}");
    }
    let url = process.url.clone();
    drop(process);
    let (code, text) = run(&["health", "--url", &url]);
    assert!(code == 1 && text.contains("no server answers"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_token_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let secret = [("HOLDFAST_AUTH_JWT_SECRET", "a secret of at least thirty-two characters")];
    let data = directory.path().to_str().unwrap();
    let process = Process::start_with(&["--data", data], &secret);
    let token = holdfast().args(["token", "--user", "42", "--role", "admin"]).envs(secret).output().unwrap();
    assert!(token.status.success(), "{}", String::from_utf8_lossy(&token.stderr));
    let token = String::from_utf8(token.stdout).unwrap();
    process.client().with_token(token.trim()).create_room_type(&NewRoomType::new("Twin", 2, 1)).await.unwrap();
    let (code, text) = run(&["token", "--user", "42"]);
    assert!(code == 2 && text.contains("auth.jwt_secret"), "{text}");
}

#[test]
fn json_log_has_request_id() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = holdfast()
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "json", "--data"])
        .arg(directory.path())
        .env("HOLDFAST_LOG_LEVEL", "debug")
        .spawn()
        .unwrap();
    let mut first = [0; 80];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let line = String::from_utf8_lossy(&first).into_owned();
    let url = line.split_whitespace().nth(3).unwrap().to_owned();
    let asked =
        Command::new("curl").args(["-sS", "-H", "x-request-id: tell-me", &format!("{url}/v1/room-types")]).output();
    assert!(asked.unwrap().status.success());
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let entries: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(entries.iter().any(|entry| entry["request_id"] == "tell-me" && entry["status"] == 200), "{log}");
}

/// A program that looks like a server which panics: the harness has to fail its test.
#[test]
fn panic_in_the_log_fails_the_test() {
    let mut command = Command::new("sh");
    let script = "echo 'Holdfast is ready: http://127.0.0.1:1 '; echo \"thread 'http' panicked at on purpose\" >&2";
    let mut process = Process::spawn(command.args(["-c", script]));
    process.child.wait().unwrap();
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(process)));
    let message = dropped.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("the server panicked") && message.contains("on purpose"), "{message}");
}
