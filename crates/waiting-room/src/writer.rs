//! The thread that writes down what happens in the rooms. Whatever has come up since the last write goes into the next one:
//! many calls share one sync, and an idle writer begins at once.
//!
//! If a write fails, rooms and journal may differ. Then nothing more is answered until the rooms have been made anew from the
//! journal, under a new *generation*: what was decided in a room of an older one is void.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use holdfast_engine::panics;
use tokio::sync::{broadcast, oneshot, watch};

use crate::journal::{Journal, Record, Row};
use crate::settings::EventId;
use crate::waiting_room::{Change, Error};

/// Records written at once. More is only there if a great many lose their places together.
const RECORDS_AT_ONCE_MAX: usize = 10_000;
/// Beyond so many unwritten records no more work is taken.
const PENDING_MAX: usize = 500_000;
/// How long a caller waits for the write.
const SAFE_WITHIN: Duration = Duration::from_secs(4);
/// How long to wait before a failed journal is read again.
const RELOAD_AFTER: Duration = Duration::from_millis(200);
/// How far a listener may lag.
const CHANGES_KEPT: usize = 4_096;

/// Makes the rooms of a generation from all rows.
pub(crate) type Rebuild = Box<dyn FnMut(u64, Vec<Row>) + Send>;

#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    safe: watch::Sender<Safe>,
    changes: broadcast::Sender<Change>,
}

#[derive(Debug, Default)]
struct Queue {
    generation: u64,
    /// Why nothing can be written.
    failed: Option<Error>,
    is_closing: bool,
    /// Records taken on so far; the position of the last one.
    submitted: u64,
    records: VecDeque<(EventId, Record)>,
    /// To be told once the records up to that position are safe.
    changes: VecDeque<(u64, Change)>,
}

/// What can no longer be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Safe {
    generation: u64,
    position: u64,
}

impl Writer {
    /// Reads the journal and has the rooms made, on a thread of its own.
    pub(crate) async fn start(journal: Box<dyn Journal>, rebuild: Rebuild) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            safe: watch::Sender::new(Safe { generation: 0, position: 0 }),
            changes: broadcast::Sender::new(CHANGES_KEPT),
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

    /// An error if there is no use in deciding anything now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let queue = self.shared.lock();
        match &queue.failed {
            Some(error) => Err(error.clone()),
            None if queue.records.len() > PENDING_MAX => Err(Error::Overloaded),
            None => Ok(()),
        }
    }

    /// Takes on what happened in a room of that generation; gives the position up to which it has to be safe. Called while the
    /// room is locked, so that records come in the order of what happened.
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
            return Err(begun_anew());
        }
        queue.submitted += records.len() as u64;
        let position = queue.submitted;
        queue.records.extend(records.into_iter().map(|record| (event, record)));
        queue.changes.extend(changes.into_iter().map(|change| (position, change)));
        self.shared.wake.notify_one();
        Ok(position)
    }

    /// Waits until everything up to the position can no longer be lost.
    pub(crate) async fn safe(&self, generation: u64, position: u64) -> Result<(), Error> {
        let is_decided = |safe: &Safe| safe.generation != generation || safe.position >= position;
        let mut safe = *self.shared.safe.borrow();
        if !is_decided(&safe) {
            let mut watching = self.shared.safe.subscribe();
            let waiting = tokio::time::timeout(SAFE_WITHIN, watching.wait_for(is_decided));
            safe = match waiting.await {
                Ok(Ok(safe)) => *safe,
                Ok(Err(_)) => return Err(begun_anew()),
                Err(_) => return Err(Error::Unavailable("writing takes too long".into())),
            };
        }
        if safe.generation == generation { Ok(()) } else { Err(self.check().err().unwrap_or_else(begun_anew)) }
    }

    pub(crate) fn is_safe(&self, position: u64) -> bool {
        self.shared.safe.borrow().position >= position
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }
}

impl Drop for Writer {
    /// What was taken on is still written.
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Worker {
    shared: Arc<Shared>,
    journal: Box<dyn Journal>,
    rebuild: Rebuild,
}

impl Worker {
    fn run(mut self, started: oneshot::Sender<Result<(), Error>>) {
        let loaded = self.begin(0);
        let is_loaded = loaded.is_ok();
        if started.send(loaded).is_err() || !is_loaded {
            return;
        }
        while let Some((records, position)) = self.next() {
            let written = if records.is_empty() { Ok(()) } else { self.journal.append(&records) };
            match written {
                Ok(()) => self.tell(position),
                Err(error) => {
                    tracing::error!(%error, "the waiting room could not be written; reading what is there");
                    if !self.begin_anew(error) {
                        return;
                    }
                }
            }
        }
    }

    /// What is to be written next. `None` when there is nothing more to do for ever.
    fn next(&self) -> Option<(Vec<(EventId, Record)>, u64)> {
        let mut queue = self.shared.lock();
        while queue.records.is_empty() && queue.changes.is_empty() {
            if queue.is_closing {
                return None;
            }
            queue = self.shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let count = queue.records.len().min(RECORDS_AT_ONCE_MAX);
        let records: Vec<_> = queue.records.drain(..count).collect();
        Some((records, queue.submitted - queue.records.len() as u64))
    }

    fn tell(&self, position: u64) {
        self.shared.safe.send_modify(|safe| safe.position = position);
        let mut queue = self.shared.lock();
        while queue.changes.front().is_some_and(|(after, _)| *after <= position) {
            // Nobody may be listening.
            self.shared.changes.send(queue.changes.pop_front().expect("there is a first one").1).ok();
        }
    }

    fn begin(&mut self, generation: u64) -> Result<(), Error> {
        let rows = self.journal.load()?;
        (self.rebuild)(generation, rows);
        Ok(())
    }

    /// After a failure: turns everybody away until the journal can be read again. False if it is to stop.
    fn begin_anew(&mut self, error: Error) -> bool {
        let generation = {
            let mut queue = self.shared.lock();
            queue.failed = Some(error);
            queue.generation += 1;
            queue.records.clear();
            queue.changes.clear();
            self.shared.safe.send_replace(Safe { generation: queue.generation, position: queue.submitted });
            queue.generation
        };
        loop {
            let queue = self.shared.lock();
            let waited = self.shared.wake.wait_timeout_while(queue, RELOAD_AFTER, |queue| !queue.is_closing);
            if waited.unwrap_or_else(PoisonError::into_inner).0.is_closing {
                return false;
            }
            let begun = self.begin(generation);
            let mut queue = self.shared.lock();
            queue.failed = begun.err();
            if queue.failed.is_none() {
                return true;
            }
        }
    }
}

fn begun_anew() -> Error {
    Error::Unavailable("the waiting room had to be read again".into())
}
