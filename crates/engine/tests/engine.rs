//! The engine on a real store, with commands that fail in various ways.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::sync::Arc;
use std::time::Duration;

use holdfast_core::command::writes;
use holdfast_core::schema::List;
use holdfast_core::stay::RoomType;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft, RoomTypeId};
use holdfast_core::{Command, Context, Decision, Limits, Rejection, Timestamp, WorkingSet};
use holdfast_engine::store;
use holdfast_engine::{Answer, Batch, Engine, EngineSettings, ManualClock, NoSink, Refused, Store};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};

fn limits() -> Limits {
    Limits::DEFAULT
}

fn store() -> (tempfile::TempDir, SqliteStore) {
    let directory = tempfile::tempdir().unwrap();
    let options = OpenOptions { durable: false, ..OpenOptions::new(directory.path()) };
    let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
    let store = SqliteStore::open(options, Arc::new(clock)).unwrap();
    (directory, store)
}

fn create(name: &str) -> CreateRoomType {
    CreateRoomType(RoomTypeDraft {
        name: Some(name.into()),
        total_quantity: Some(1),
        base_price: Some(1),
        ..RoomTypeDraft::default()
    })
}

async fn names(store: &SqliteStore) -> Vec<String> {
    let list = List::of::<RoomType>(None, 100);
    store::list::<RoomType>(store, list).await.unwrap().iter().map(|room_type| room_type.name.to_string()).collect()
}

/// Writes a row, then panics.
struct Breaks;

impl Command for Breaks {
    type Outcome = ();
    const NAME: &'static str = "test.breaks";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        create("must not stay").decide(rows, at)?;
        panic!("a broken rule, on purpose");
    }
}

/// Writes a row, then is rejected.
struct Refuses;

impl Command for Refuses {
    type Outcome = ();
    const NAME: &'static str = "test.refuses";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        create("must not stay").decide(rows, at)?;
        Err(Rejection::Forbidden.into())
    }
}

/// Requests another row each time it is decided.
struct AsksInCircles;

impl Command for AsksInCircles {
    type Outcome = ();
    const NAME: &'static str = "test.asks_in_circles";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
        for number in 1.. {
            rows.stay.room_types.get(&RoomTypeId::new(number).unwrap())?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn failing_command_does_not_affect_its_batch() {
    let (_directory, store) = store();
    let mut batch = Batch::default();
    let mut first = batch.add(create("first"), None);
    let mut broken = batch.add(Breaks, None);
    let mut refused = batch.add(Refuses, None);
    let mut circles = batch.add(AsksInCircles, None);
    let mut last = batch.add(create("last"), None);
    batch.run(&store, &NoSink, &limits()).await;
    assert!(matches!(first.try_recv().unwrap(), Ok(Answer::Fresh(_))));
    assert_eq!(broken.try_recv().unwrap(), Err(Refused::Internal));
    assert_eq!(refused.try_recv().unwrap(), Err(Refused::Rejected(Rejection::Forbidden)));
    assert_eq!(circles.try_recv().unwrap(), Err(Refused::Internal));
    let Ok(Answer::Fresh(last)) = last.try_recv().unwrap() else { panic!("the last one succeeds") };
    assert_eq!(last.id.get(), 2, "the refused ones used up no number");
    assert_eq!(names(&store).await, ["first", "last"]);
}

#[tokio::test]
async fn all_commands_are_answered_before_stop() {
    let (_directory, store) = store();
    let settings = EngineSettings { lock_wait: Duration::from_secs(1), queue_max: 1_000, limits: limits() };
    let (engine, thread) = Engine::start(Arc::new(store.clone()), Arc::new(NoSink), settings).unwrap();
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.run(create(&number.to_string()), None).await })
        })
        .collect();
    drop(engine);
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
    assert_eq!(names(&store).await.len(), 100);
}

#[test]
fn joined_engine_has_released_the_store() {
    let (_directory, store) = store();
    let store: Arc<dyn Store> = Arc::new(store);
    for _ in 0..500 {
        let settings = EngineSettings { lock_wait: Duration::from_secs(1), queue_max: 1_000, limits: limits() };
        let (engine, thread) = Engine::start(store.clone(), Arc::new(NoSink), settings).unwrap();
        let dropping = std::thread::spawn(move || drop(engine));
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&store), 1);
        dropping.join().unwrap();
    }
}
