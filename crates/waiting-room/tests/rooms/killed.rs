//! A process that is killed in the middle of its work: whatever it has answered is there afterwards.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use holdfast_engine::SystemClock;
use holdfast_waiting_room::{InProcess, SqliteJournal, Timings, WaitingRoom as _};

use crate::support::{EVENT, options, space, user};

const DIRECTORY: &str = "WAITING_ROOM_TEST_DIRECTORY";
const ANSWERS: usize = 2_000;

#[tokio::test]
async fn what_was_answered_survives_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::joins_until_it_is_killed", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut answers = lines.filter_map(|line| {
        let mut words = line.strip_prefix("joined ")?.split(' ').map(|word| word.parse::<u64>().unwrap());
        Some((words.next()?, words.next()?))
    });
    let mut told: Vec<(u64, u64)> = answers.by_ref().take(ANSWERS).collect();
    assert_eq!(told.len(), ANSWERS);
    child.kill().unwrap();
    // What it could still say before it died counts too.
    told.extend(answers);
    child.wait().unwrap();

    let room = open(directory.path()).await;
    for (number, rank) in told {
        let view = room.poll(EVENT, &space(0), user(number)).await.unwrap().unwrap();
        assert_eq!(view.rank, rank, "{number}");
    }
}

/// Started, and killed, by the test above; by itself it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_until_it_is_killed() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let room = Arc::new(open(directory.as_ref()).await);
    let callers = (0..16_u64).map(|caller| {
        let room = room.clone();
        tokio::spawn(async move {
            for number in 1..100_000 {
                let number = number * 16 + caller;
                let rank = room.join(EVENT, &space(0), user(number)).await.unwrap().view.rank;
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
