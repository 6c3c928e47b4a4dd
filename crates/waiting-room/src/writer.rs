//! Thread that writes the journal. All records since the last write go into the next one: many calls share one sync,
//! and an idle writer starts at once.
//!
//! If a write fails, rooms and journal may differ. No call is answered then until the rooms have been rebuilt from the
//! journal, under a new *generation*. Results from rooms of an older generation are void.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use holdfast_engine::panics;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::{broadcast, oneshot, watch};

use crate::journal::{Journal, Record, Row};
use crate::settings::EventId;
use crate::waiting_room::{Change, Error};

/// Maximum number of records per write; reached only when very many users lose their places together.
const BATCH_RECORDS_MAX: usize = 10_000;
/// Maximum number of unwritten records; beyond it calls are rejected.
const PENDING_MAX: usize = 500_000;
/// Maximum time a caller waits for the write.
const DURABLE_TIMEOUT: Duration = Duration::from_secs(4);
/// Delay before a failed journal is read again.
const RELOAD_AFTER: Duration = Duration::from_millis(200);
/// Capacity of the channel of changes.
const CHANGES_MAX: usize = 4_096;

/// Rebuilds the rooms of a generation from all rows.
pub(crate) type Rebuild = Box<dyn FnMut(u64, Vec<Row>) + Send>;

#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Pending>,
    wake: Condvar,
    durable: watch::Sender<Durable>,
    changes: broadcast::Sender<Change>,
}

#[derive(Debug, Default)]
struct Pending {
    generation: u64,
    /// Reason why the journal takes no writes.
    failed: Option<Error>,
    is_closing: bool,
    /// Position of the last submitted record: their count so far.
    submitted: u64,
    records: VecDeque<(EventId, Record)>,
    /// Changes to publish once the records up to that position are durable.
    changes: VecDeque<(u64, Change)>,
}

/// Journal position up to which records are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Durable {
    generation: u64,
    position: u64,
}

impl Writer {
    /// Reads the journal and rebuilds the rooms, on a thread of its own.
    pub(crate) async fn start(journal: Box<dyn Journal>, rebuild: Rebuild) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            durable: watch::Sender::new(Durable { generation: 0, position: 0 }),
            changes: broadcast::Sender::new(CHANGES_MAX),
        });
        let (started, start) = oneshot::channel();
        let worker = Worker { shared: shared.clone(), journal, rebuild };
        let run = panics::inherit(move || worker.run(started));
        let thread = std::thread::Builder::new().name("waiting room".into()).spawn(run);
        let thread = thread.map_err(|error| Error::Unavailable(error.to_string()))?;
        let writer = Self { shared, thread: Some(thread) };
        start.await.unwrap_or_else(|_| Err(Error::Unavailable("the journal could not be read".into())))?;
        Ok(writer)
    }

    /// Returns an error while the journal takes no writes.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let queue = self.shared.lock();
        match &queue.failed {
            Some(error) => Err(error.clone()),
            None if queue.records.len() > PENDING_MAX => Err(Error::Overloaded),
            None => Ok(()),
        }
    }

    /// Submits records of a room of that generation, and returns the position to wait for. Called while the room is
    /// locked, so that records keep the order of its changes.
    pub(crate) fn submit(
        &self,
        generation: u64,
        event: EventId,
        records: Vec<Record>,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<u64, Error> {
        let mut queue = self.shared.lock();
        if let Some(error) = &queue.failed {
            return Err(error.clone());
        }
        if queue.generation != generation {
            return Err(reloaded());
        }
        queue.submitted += records.len() as u64;
        let position = queue.submitted;
        queue.records.extend(records.into_iter().map(|record| (event, record)));
        queue.changes.extend(changes.into_iter().map(|change| (position, change)));
        self.shared.wake.notify_one();
        Ok(position)
    }

    /// Waits until all records up to the position are durable.
    pub(crate) async fn wait_until_durable(&self, generation: u64, position: u64) -> Result<(), Error> {
        let is_decided = |durable: &Durable| durable.generation != generation || durable.position >= position;
        let mut durable = *self.shared.durable.borrow();
        if !is_decided(&durable) {
            let mut watching = self.shared.durable.subscribe();
            let waiting = tokio::time::timeout(DURABLE_TIMEOUT, watching.wait_for(is_decided));
            durable = match waiting.await {
                Ok(Ok(durable)) => *durable,
                Ok(Err(_)) => return Err(reloaded()),
                Err(_) => return Err(Error::Unavailable("the journal was not written in time".into())),
            };
        }
        if durable.generation == generation { Ok(()) } else { Err(self.check().err().unwrap_or_else(reloaded)) }
    }

    pub(crate) fn is_durable(&self, position: u64) -> bool {
        self.shared.durable.borrow().position >= position
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }
}

impl Drop for Writer {
    /// Writes the submitted records before the thread ends.
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.queue.lock()
    }
}

struct Worker {
    shared: Arc<Shared>,
    journal: Box<dyn Journal>,
    rebuild: Rebuild,
}

impl Worker {
    fn run(mut self, started: oneshot::Sender<Result<(), Error>>) {
        let loaded = self.load_rooms(0);
        let is_loaded = loaded.is_ok();
        if started.send(loaded).is_err() || !is_loaded {
            return;
        }
        while let Some((records, position)) = self.next() {
            let written = if records.is_empty() { Ok(()) } else { self.journal.append(&records) };
            match written {
                Ok(()) => self.publish(position),
                Err(error) => {
                    tracing::error!(%error, "waiting room journal could not be written; reloading it");
                    if !self.reload(error) {
                        return;
                    }
                }
            }
        }
    }

    /// Returns the next records to write, and their last position. `None` once the writer is closed and drained.
    fn next(&self) -> Option<(Vec<(EventId, Record)>, u64)> {
        let mut queue = self.shared.lock();
        while queue.records.is_empty() && queue.changes.is_empty() {
            if queue.is_closing {
                return None;
            }
            self.shared.wake.wait(&mut queue);
        }
        let count = queue.records.len().min(BATCH_RECORDS_MAX);
        let records: Vec<_> = queue.records.drain(..count).collect();
        Some((records, queue.submitted - queue.records.len() as u64))
    }

    fn publish(&self, position: u64) {
        self.shared.durable.send_modify(|durable| durable.position = position);
        let mut queue = self.shared.lock();
        while queue.changes.front().is_some_and(|(after, _)| *after <= position) {
            // There may be no subscriber.
            self.shared.changes.send(queue.changes.pop_front().expect("the queue is not empty").1).ok();
        }
    }

    fn load_rooms(&mut self, generation: u64) -> Result<(), Error> {
        let rows = self.journal.load()?;
        (self.rebuild)(generation, rows);
        Ok(())
    }

    /// Rejects all calls until the journal can be read again. False if the writer is closed.
    fn reload(&mut self, error: Error) -> bool {
        let generation = {
            let mut queue = self.shared.lock();
            queue.failed = Some(error);
            queue.generation += 1;
            queue.records.clear();
            queue.changes.clear();
            self.shared.durable.send_replace(Durable { generation: queue.generation, position: queue.submitted });
            queue.generation
        };
        loop {
            let mut queue = self.shared.lock();
            self.shared.wake.wait_while_for(&mut queue, |queue| !queue.is_closing, RELOAD_AFTER);
            if queue.is_closing {
                return false;
            }
            drop(queue);
            let reloaded = self.load_rooms(generation);
            let mut queue = self.shared.lock();
            queue.failed = reloaded.err();
            if queue.failed.is_none() {
                return true;
            }
        }
    }
}

fn reloaded() -> Error {
    Error::Unavailable("the waiting room was reloaded after a failed write".into())
}
