//! Failing journals: only durable changes are answered, and rooms recover from the journal.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_connect::TlsRoots;
use holdfast_testkit::{PostgresOptions, PostgresServer};
use holdfast_waiting_room::journal::{Journal, Record, Row};
use holdfast_waiting_room::{Error, EventId, InProcess, PostgresJournal, Timings, WaitingRoom as _};

use crate::support::{EVENT, clock, options, space, user};

#[derive(Clone, Default)]
struct FailingJournal {
    rows: Arc<Mutex<Vec<Row>>>,
    is_broken: Arc<AtomicBool>,
    appends: Arc<AtomicUsize>,
    slow: bool,
}

impl Journal for FailingJournal {
    fn load(&mut self) -> Result<Vec<Row>, Error> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("still broken".into()));
        }
        Ok(self.rows.lock().unwrap().clone())
    }

    fn append(&mut self, records: &[(EventId, Record)]) -> Result<(), Error> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        if self.slow {
            std::thread::sleep(Duration::from_millis(20));
        }
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("broken".into()));
        }
        let mut rows = self.rows.lock().unwrap();
        for (event, record) in records {
            match record.clone() {
                Record::Joined { number, user, at } => {
                    rows.push(Row { event: *event, number, user, joined_at: at, admission: None });
                }
                Record::Entered { number, admission } => {
                    rows.iter_mut().find(|row| row.number == number).unwrap().admission = Some(admission);
                }
                Record::Ended { number } => rows.retain(|row| row.number != number),
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn failed_write_is_rolled_back() {
    let journal = FailingJournal::default();
    let room = InProcess::open(journal.clone(), options(Timings::default(), clock())).await.unwrap();
    room.join(EVENT, &space(1), &user(1)).await.unwrap();
    journal.is_broken.store(true, Ordering::SeqCst);
    let refused = room.join(EVENT, &space(1), &user(2)).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    let refused = room.poll(EVENT, &space(1), &user(1)).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "also polls: {refused:?}");
    journal.is_broken.store(false, Ordering::SeqCst);
    let result = eventually(async || room.poll(EVENT, &space(1), &user(2)).await).await;
    assert!(result.is_err(), "the second never joined: {result:?}");
    assert_eq!(room.poll(EVENT, &space(1), &user(1)).await.unwrap().unwrap().rank, 0);
    assert_eq!(room.join(EVENT, &space(1), &user(3)).await.unwrap().view.rank, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_share_one_write() {
    let journal = FailingJournal { slow: true, ..FailingJournal::default() };
    let room = Arc::new(InProcess::open(journal.clone(), options(Timings::default(), clock())).await.unwrap());
    let joins: Vec<_> = (1..=500)
        .map(|number| {
            let room = room.clone();
            tokio::spawn(async move { room.join(EVENT, &space(1), &user(number)).await.unwrap() })
        })
        .collect();
    for join in joins {
        join.await.unwrap();
    }
    assert!(journal.appends.load(Ordering::SeqCst) < 50, "{:?}", journal.appends);
    let before = journal.appends.load(Ordering::SeqCst);
    for number in 1..=500 {
        room.poll(EVENT, &space(1), &user(number)).await.unwrap().unwrap();
    }
    assert_eq!(journal.appends.load(Ordering::SeqCst), before, "polls of waiters are not written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answered_calls_survive_database_crash() {
    let server = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
    let database = server.postgres().database();
    let journal = PostgresJournal::new(database.url(), &TlsRoots::default()).unwrap();
    let room = InProcess::open(journal, options(Timings::default(), clock())).await.unwrap();
    for number in 1..=10 {
        room.join(EVENT, &space(2), &user(number)).await.unwrap();
    }
    let entry = room.enter(EVENT, &space(2), &user(1)).await.unwrap().unwrap().entry;
    server.stop_immediate();
    let refused = room.join(EVENT, &space(2), &user(11)).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    server.restart().unwrap();
    let again = eventually(async || room.enter(EVENT, &space(2), &user(1)).await).await.unwrap();
    assert_eq!(again.entry, entry);
    for number in 2..=10 {
        assert_eq!(room.poll(EVENT, &space(2), &user(number)).await.unwrap().unwrap().rank, number - 2);
    }
}

async fn eventually<T>(call: impl AsyncFn() -> Result<T, Error>) -> T {
    for _ in 0..200 {
        match call().await {
            Ok(answer) => return answer,
            Err(error) => assert!(matches!(error, Error::Unavailable(_)), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the waiting room did not recover")
}
