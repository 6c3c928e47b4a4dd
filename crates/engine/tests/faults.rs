//! Panics of decisions and of queries. One test, because panics are counted for the whole process.

use std::sync::Arc;
use std::time::Duration;

use holdfast_core::command::writes;
use holdfast_core::{Command, Context, Decision, Limits, Timestamp, WorkingSet};
use holdfast_engine::{Engine, EngineSettings, ManualClock, NoSink, Refused, panics};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};

struct Breaks;

impl Command for Breaks {
    type Outcome = ();
    const NAME: &'static str = "test.breaks";
    type Writes = writes::Durable;

    fn decide(&self, _rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
        panic!("a broken rule, on purpose");
    }
}

#[tokio::test]
async fn faults_are_counted_and_conflicts_are_not() {
    panics::install();
    let directory = tempfile::tempdir().unwrap();
    let options = OpenOptions { durable: false, ..OpenOptions::new(directory.path()) };
    let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
    let store = SqliteStore::open(options, Arc::new(clock)).unwrap();
    let settings = EngineSettings { lock_wait: Duration::from_secs(5), queue_max: 100, limits: Limits::DEFAULT };
    let (engine, _thread) = Engine::start(Arc::new(store), Arc::new(NoSink), settings).unwrap();

    // The dry run panics too; neither it nor a retry is counted.
    let mut times = 0;
    let answer = engine.query(|_, _| {
        times += 1;
        assert!(times > 3, "inconsistent rows");
        Ok(times)
    });
    assert_eq!((answer.await, panics::count()), (Ok(4), 0));

    let broken: Result<(), _> = engine.query(|_, _| panic!("a broken query, on purpose")).await;
    assert_eq!((broken, panics::count()), (Err(Refused::Internal), 1));

    let refused = engine.run(Breaks, None).await;
    assert_eq!((refused, panics::count()), (Err(Refused::Internal), 2));
    let last = panics::last().unwrap().to_string();
    assert!(last.contains("a broken rule, on purpose") && last.contains("faults.rs"), "{last}");
}
