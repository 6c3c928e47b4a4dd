//! The store under test: a real one of any profile for one history, with a clock that only the history advances. The
//! process of an embedded store can appear to be killed at any step of a batch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdfast_core::audit::Audit;
use holdfast_core::id::{ID_MAX, IdRange};
use holdfast_core::time::Span;
use holdfast_core::{Command, Event, Limits, Timestamp, WorkingSet};
use holdfast_engine::store::{Keep, OutboxRecord};
use holdfast_engine::{Answer, Batch, Clock, EventSink, ManualClock, OutboxEntry, Published, Store, StoreError};
use holdfast_store_redis::ClusterStore;
use holdfast_store_redis::confirm_attempts::ABANDONED_AFTER;
use holdfast_store_sqlite::open::{FILE_NAME, Step};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use holdfast_testkit::{Place, Profile};
use parking_lot::{Mutex, MutexGuard};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::Finding;
use crate::query::Source;
use crate::stay::call::{Call, CallResult, PendingResult};

/// Upper bound of the durable events of a history.
const OUTBOX_MAX: usize = 1_000_000;

/// Point at which the process appears to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    pub step: Step,
    /// Number of times the step is survived first, because a batch may load more than once.
    pub survived_first: u32,
}

impl Crash {
    /// Chooses a random step; all are equally likely.
    pub fn plan(rng: &mut StdRng) -> Self {
        let steps = [Step::Begun, Step::Loaded, Step::Written, Step::Committed, Step::Applied];
        let step = *steps.choose(rng).expect("the list is not empty");
        // Only loading may happen more than once.
        let survived_first = if step == Step::Loaded { rng.random_range(0..3) } else { 0 };
        Self { step, survived_first }
    }

    /// Whether a batch killed at this step took effect: it did if it was committed, with or without a reply.
    pub fn is_durable(step: Step) -> bool {
        matches!(step, Step::Committed | Step::Applied)
    }
}

pub struct Disk {
    runtime: Runtime,
    limits: Limits,
    clock: Arc<ManualClock>,
    backend: Backend,
    /// `None` only during a restart.
    store: Option<Arc<dyn Store>>,
}

/// Backend of the store.
enum Backend {
    /// A file, whose process can be killed at any step.
    File { directory: TempDir, crash_point: Arc<CrashPoint> },
    /// Private servers.
    Servers(Place),
    /// Private servers used as by several processes: numbers are reserved in blocks, and this process keeps its block.
    Shared { store: ClusterStore, _place: Place },
}

impl Disk {
    pub fn new(profile: Profile, limits: Limits, now: Timestamp) -> Result<Self, Finding> {
        let failed = |error: std::io::Error| Finding(format!("cannot prepare a store: {error}"));
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().map_err(failed)?;
        let clock = Arc::new(ManualClock::at(now));
        let backend = match (profile, Place::new(profile)) {
            (Profile::Embedded, Place::Embedded(directory)) => {
                let crash_point =
                    CrashPoint { directory: directory.path().to_owned(), state: Mutex::new(CrashPointState::Off) };
                Backend::File { directory, crash_point: Arc::new(crash_point) }
            }
            (Profile::Cluster, place) => {
                let store = runtime.block_on(place.open_cluster(clock.clone(), ABANDONED_AFTER));
                Backend::Shared { store, _place: place }
            }
            (_, place) => Backend::Servers(place),
        };
        let mut disk = Self { runtime, limits, clock, backend, store: None };
        disk.open()?;
        Ok(disk)
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    /// Whether the process can be killed. Otherwise no crash is planned.
    pub fn can_crash(&self) -> bool {
        matches!(self.backend, Backend::File { .. })
    }

    /// Whether a starting process counts live holds anew. Otherwise the counts are stored outside of it.
    pub fn recounts_at_start(&self) -> bool {
        !matches!(self.backend, Backend::Shared { .. })
    }

    /// Runs the calls as one batch. Returns the step at which the process was killed, if it was; it must then be
    /// restarted.
    pub fn run(&self, calls: &[Call], crash: Option<Crash>) -> (Vec<CallResult>, Option<Step>) {
        let submit = |batch: &mut Batch| calls.iter().map(|call| call.submit(batch)).collect::<Vec<PendingResult>>();
        let (waiting, crashed) = self.run_batch_until(crash, submit);
        (waiting.into_iter().map(|answer| answer()).collect(), crashed)
    }

    /// Runs a command that must succeed.
    pub fn run_expecting_success<C: Command>(&self, command: C) -> Result<C::Outcome, Finding> {
        let mut pending = self.run_batch(|batch| batch.add(command, None));
        match pending.try_recv() {
            Ok(Ok(Answer::Fresh(outcome))) => Ok(outcome),
            Ok(Err(error)) => Err(Finding(format!("{}: {error}", C::NAME))),
            Ok(Ok(_)) | Err(_) => Err(Finding(format!("{}: no reply", C::NAME))),
        }
    }

    /// Runs a batch without a crash.
    pub fn run_batch<T>(&self, fill: impl FnOnce(&mut Batch) -> T) -> T {
        self.run_batch_until(None, fill).0
    }

    /// Runs a batch. Returns the step at which the process was killed, if it was.
    pub fn run_batch_until<T>(&self, crash: Option<Crash>, fill: impl FnOnce(&mut Batch) -> T) -> (T, Option<Step>) {
        if let Backend::File { crash_point, .. } = &self.backend {
            crash_point.set(crash);
        }
        let mut batch = Batch::default();
        let waiting = fill(&mut batch);
        self.runtime.block_on(batch.run(self.store(), &NumberedEvents, &self.limits));
        let triggered =
            if let Backend::File { crash_point, .. } = &self.backend { crash_point.triggered() } else { None };
        (waiting, triggered)
    }

    /// Stops and starts the process. After a crash it finds the files as they were at that point.
    pub fn restart(&mut self) -> Result<(), Finding> {
        self.store = None;
        if let Backend::File { crash_point, .. } = &self.backend {
            if crash_point.triggered().is_some() {
                let failed = |error| Finding(format!("cannot restore the files: {error}"));
                crash_point.restore_files().map_err(failed)?;
            }
            crash_point.set(None);
        }
        self.open()
    }

    pub fn purge(&self) -> Result<(), Finding> {
        while self.runtime.block_on(self.store().purge(Keep::default())).map_err(|error| store_failed(&error))? {}
        Ok(())
    }

    /// Returns the findings of the store's audit.
    pub fn audit(&self) -> Result<Vec<String>, Finding> {
        let mut audit = Audit::new(self.now());
        self.runtime.block_on(self.store().audit(&mut audit)).map_err(|error| store_failed(&error))?;
        Ok(audit.finish())
    }

    /// Checks the database file, if there is one.
    pub fn check_file(&mut self) -> Result<(), Finding> {
        let Backend::File { directory, .. } = &self.backend else { return Ok(()) };
        self.store = None;
        let opened = SqliteStore::open(OpenOptions::new(directory.path()), self.clock.clone());
        opened.and_then(|store| store.check_file()).map_err(|error| Finding(error.to_string()))
    }

    pub fn outbox(&self) -> Result<Vec<OutboxRecord>, Finding> {
        self.runtime.block_on(self.store().outbox_after(0, OUTBOX_MAX)).map_err(|error| store_failed(&error))
    }

    fn store(&self) -> &dyn Store {
        &**self.store.as_ref().expect("the store is open except during a restart")
    }

    fn open(&mut self) -> Result<(), Finding> {
        self.store = Some(match &self.backend {
            Backend::File { directory, crash_point } => {
                let crash_point = crash_point.clone();
                let options = OpenOptions {
                    durable: false,
                    crash_at: Some(Arc::new(move |step| crash_point.is_triggered_at(step))),
                    ..OpenOptions::new(directory.path())
                };
                let store = SqliteStore::open(options, self.clock.clone());
                Arc::new(store.map_err(|error| Finding(format!("the store does not open: {error}")))?)
            }
            Backend::Servers(place) => self.runtime.block_on(place.open(self.clock.clone())),
            Backend::Shared { store, .. } => Arc::new(store.clone()),
        });
        Ok(())
    }
}

impl Source for Disk {
    fn read(&self, rows: &mut WorkingSet) -> Result<(), Finding> {
        let store_now = self.runtime.block_on(self.store().read(rows)).map_err(|error| store_failed(&error))?;
        // A store shared by several servers reserves no numbers for queries.
        for sequence in rows.ids.take_requested() {
            rows.ids.fill(sequence, Some(IdRange { next: 1, last: ID_MAX }));
        }
        crate::ensure(store_now == self.now(), || {
            format!("the store's time is {store_now:?}, the clock's {:?}", self.now())
        })
    }
}

/// Kills the process at a planned step: copies the files at that point, then lets the store stop.
#[derive(Debug)]
struct CrashPoint {
    directory: PathBuf,
    state: Mutex<CrashPointState>,
}

#[derive(Debug)]
enum CrashPointState {
    Off,
    Set(Crash),
    Triggered { step: Step, files: Vec<(PathBuf, Vec<u8>)> },
}

impl CrashPoint {
    fn set(&self, crash: Option<Crash>) {
        *self.state() = crash.map_or(CrashPointState::Off, CrashPointState::Set);
    }

    fn triggered(&self) -> Option<Step> {
        match *self.state() {
            CrashPointState::Triggered { step, .. } => Some(step),
            CrashPointState::Off | CrashPointState::Set(_) => None,
        }
    }

    fn is_triggered_at(&self, step: Step) -> bool {
        let mut state = self.state();
        let CrashPointState::Set(crash) = &mut *state else { return false };
        if crash.step != step {
            return false;
        }
        if crash.survived_first > 0 {
            crash.survived_first -= 1;
            return false;
        }
        let files = database_files(&self.directory).into_iter().filter_map(|path| {
            let bytes = std::fs::read(&path).ok()?;
            Some((path, bytes))
        });
        *state = CrashPointState::Triggered { step, files: files.collect() };
        true
    }

    /// A dropped store closes its files cleanly, a killed one does not.
    fn restore_files(&self) -> std::io::Result<()> {
        let CrashPointState::Triggered { files, .. } = &*self.state() else { return Ok(()) };
        for path in database_files(&self.directory).iter().filter(|path| path.exists()) {
            std::fs::remove_file(path)?;
        }
        files.iter().try_for_each(|(path, bytes)| std::fs::write(path, bytes))
    }

    fn state(&self) -> MutexGuard<'_, CrashPointState> {
        self.state.lock()
    }
}

/// Database and write-ahead log. The third file, shared memory, is rebuilt when the database is opened.
fn database_files(directory: &Path) -> [PathBuf; 2] {
    [directory.join(FILE_NAME), directory.join(format!("{FILE_NAME}-wal"))]
}

/// Encodes events in a form that can be compared with records.
#[derive(Debug)]
struct NumberedEvents;

impl EventSink for NumberedEvents {
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry {
        let (event_type, number) = match event {
            Event::StayReservationConfirmed(reservation) => (CONFIRMED, reservation.id.get()),
            Event::StayReservationCancelled(reservation) => (CANCELLED, reservation.id.get()),
            Event::OrderPaid(order) => (ORDER_PAID, order.id.get()),
            Event::OrderCancelled(order) => (ORDER_CANCELLED, order.id.get()),
            Event::RoomSlotsReserved(reservation) => (ROOM_RESERVED, reservation.id.get()),
            Event::RoomSlotsCancelled(reservation) => (ROOM_CANCELLED, reservation.id.get()),
            Event::RoomSlotsBlocked { room, .. } => (SLOTS_BLOCKED, room.get()),
            other => panic!("{other:?} is not a durable event"),
        };
        let owner = event.owner().cloned();
        OutboxEntry { event_type, owner, at, data: number.to_string(), trace: None, imported: false }
    }

    fn publish(&self, _events: Vec<Published>) {}
}

/// Event type of a stay reservation.
pub const CONFIRMED: &str = "confirmed";
/// Event type of a cancelled stay reservation.
pub const CANCELLED: &str = "cancelled";
/// Event type of a paid order.
pub const ORDER_PAID: &str = "order paid";
/// Event type of a cancelled order.
pub const ORDER_CANCELLED: &str = "order cancelled";

/// Event type of a reservation of slots.
pub const ROOM_RESERVED: &str = "room reserved";
/// Event type of a cancelled reservation of slots.
pub const ROOM_CANCELLED: &str = "room cancelled";
/// Event type of blocked slots.
pub const SLOTS_BLOCKED: &str = "slots blocked";

fn store_failed(error: &StoreError) -> Finding {
    Finding(format!("the store failed: {error}"))
}
