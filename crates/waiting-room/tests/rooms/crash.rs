//! A process that is killed while it works: every answered call is durable.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use holdfast_engine::SystemClock;
use holdfast_waiting_room::{InProcess, SqliteJournal, Timings, WaitingRoom as _};

use crate::support::{EVENT, options, space, user};

const DIRECTORY: &str = "WAITING_ROOM_TEST_DIRECTORY";
const ANSWERS: usize = 2_000;

#[tokio::test]
async fn answered_joins_survive_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_joins_until_killed", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut answers = lines.filter_map(|line| {
        let mut words = line.strip_prefix("joined ")?.split(' ').map(|word| word.parse::<u64>().unwrap());
        Some((words.next()?, words.next()?))
    });
    let mut answered: Vec<(u64, u64)> = answers.by_ref().take(ANSWERS).collect();
    assert_eq!(answered.len(), ANSWERS);
    child.kill().unwrap();
    // Answers printed until the process died count too.
    answered.extend(answers);
    child.wait().unwrap();

    let room = open(directory.path()).await;
    for (number, rank) in answered {
        let view = room.poll(EVENT, &space(0), &user(number)).await.unwrap().unwrap();
        assert_eq!(view.rank, rank, "{number}");
    }
}

/// Child process of the test above; without its variable it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_joins_until_killed() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let room = Arc::new(open(directory.as_ref()).await);
    let callers = (0..16_u64).map(|caller| {
        let room = room.clone();
        tokio::spawn(async move {
            for number in 1..100_000 {
                let number = number * 16 + caller;
                let rank = room.join(EVENT, &space(0), &user(number)).await.unwrap().view.rank;
                // One write, so that lines are whole.
                std::io::stdout().lock().write_all(format!("\njoined {number} {rank}\n").as_bytes()).unwrap();
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}

async fn open(directory: &std::path::Path) -> InProcess {
    let options = options(Timings::default(), Arc::new(SystemClock));
    InProcess::open(SqliteJournal::new(directory), options).await.unwrap()
}
