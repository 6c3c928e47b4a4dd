//! The store under test: a real one of any profile that lives as long as the history, with a clock that only the history
//! moves. The process of an embedded one can seem to be killed at any step of a batch.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use holdfast_core::audit::Audit;
use holdfast_core::id::{ID_MAX, IdRange, UserId};
use holdfast_core::time::Span;
use holdfast_core::{Command, Event, Limits, Rows, Timestamp};
use holdfast_engine::store::{Keep, OutboxRecord};
use holdfast_engine::{Answer, Batch, Clock, EventSink, ManualClock, OutboxEntry, Published, Store, StoreError};
use holdfast_store_redis::ClusterStore;
use holdfast_store_redis::tries::ABANDONED_AFTER;
use holdfast_store_sqlite::open::{FILE_NAME, Step};
use holdfast_store_sqlite::{OpenOptions, SqliteStore};
use holdfast_testkit::{Place, Profile};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::Finding;
use crate::call::{Call, Heard, Waiting};
use crate::look::Source;

/// More durable events than any history makes.
const OUTBOX_MAX: usize = 1_000_000;

/// When the process shall seem to be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    pub step: Step,
    /// So many times the step is survived: a batch may load more than once.
    pub spared: u32,
}

impl Crash {
    /// Every step is as likely as any other.
    pub fn plan(rng: &mut StdRng) -> Self {
        let steps = [Step::Begun, Step::Loaded, Step::Written, Step::Committed, Step::Absorbed];
        let step = *steps.choose(rng).expect("there are some");
        // Only loading happens more than once.
        let spared = if step == Step::Loaded { rng.random_range(0..3) } else { 0 };
        Self { step, spared }
    }

    /// Whether a batch that was killed at this step has happened: what is on disk has, whether anybody was told or not.
    pub fn is_on_disk(step: Step) -> bool {
        matches!(step, Step::Committed | Step::Absorbed)
    }
}

pub struct Disk {
    runtime: Runtime,
    limits: Limits,
    clock: Arc<ManualClock>,
    ground: Ground,
    /// `None` only while it is opened anew.
    store: Option<Arc<dyn Store>>,
}

/// What the store lies on.
enum Ground {
    /// A file, whose process can be killed at any step.
    File { directory: TempDir, fuse: Arc<Fuse> },
    /// Servers of their own.
    Servers(Place),
    /// Servers of their own, shared with others: numbers are set aside in blocks, and this process keeps its block.
    Shared { store: ClusterStore, _place: Place },
}

impl Disk {
    pub fn new(profile: Profile, limits: Limits, now: Timestamp) -> Result<Self, Finding> {
        let failed = |error: std::io::Error| Finding(format!("cannot prepare a store: {error}"));
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().map_err(failed)?;
        let clock = Arc::new(ManualClock::at(now));
        let ground = match (profile, Place::new(profile)) {
            (Profile::Embedded, Place::Embedded(directory)) => {
                let fuse = Fuse { directory: directory.path().to_owned(), state: Mutex::new(FuseState::Off) };
                Ground::File { directory, fuse: Arc::new(fuse) }
            }
            (Profile::Cluster, place) => {
                let store = runtime.block_on(place.open_cluster(clock.clone(), ABANDONED_AFTER));
                Ground::Shared { store, _place: place }
            }
            (_, place) => Ground::Servers(place),
        };
        let mut disk = Self { runtime, limits, clock, ground, store: None };
        disk.open()?;
        Ok(disk)
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn pass(&self, span: Span) {
        self.clock.advance(span);
    }

    /// Whether its process can be killed. Where it cannot, it is never planned.
    pub fn can_crash(&self) -> bool {
        matches!(self.ground, Ground::File { .. })
    }

    /// Whether a process that starts counts live holds anew. Otherwise the counts live outside of it.
    pub fn recounts_at_start(&self) -> bool {
        !matches!(self.ground, Ground::Shared { .. })
    }

    /// Runs the calls as one batch. If the process was killed on the way, says at which step; it has to be started
    /// again then.
    pub fn run(&self, calls: &[Call], crash: Option<Crash>) -> (Vec<Heard>, Option<Step>) {
        let join = |batch: &mut Batch| calls.iter().map(|call| call.join(batch)).collect::<Vec<Waiting>>();
        let (waiting, crashed) = self.run_batch_until(crash, join);
        (waiting.into_iter().map(|answer| answer()).collect(), crashed)
    }

    /// Runs a command that must succeed.
    pub fn done<C: Command>(&self, command: C) -> Result<C::Outcome, Finding> {
        let mut pending = self.run_batch(|batch| batch.add(command, None));
        match pending.try_recv() {
            Ok(Ok(Answer::Fresh(outcome))) => Ok(outcome),
            Ok(Err(refused)) => Err(Finding(format!("{}: {refused}", C::NAME))),
            Ok(Ok(_)) | Err(_) => Err(Finding(format!("{}: no answer", C::NAME))),
        }
    }

    /// Runs whatever is put into a batch. Nothing is killed on the way.
    pub fn run_batch<T>(&self, fill: impl FnOnce(&mut Batch) -> T) -> T {
        self.run_batch_until(None, fill).0
    }

    /// Runs whatever is put into a batch. If the process was killed on the way, says at which step.
    pub fn run_batch_until<T>(&self, crash: Option<Crash>, fill: impl FnOnce(&mut Batch) -> T) -> (T, Option<Step>) {
        if let Ground::File { fuse, .. } = &self.ground {
            fuse.set(crash);
        }
        let mut batch = Batch::default();
        let waiting = fill(&mut batch);
        self.runtime.block_on(batch.run(self.store(), &Notes, &self.limits));
        let burnt = if let Ground::File { fuse, .. } = &self.ground { fuse.burnt() } else { None };
        (waiting, burnt)
    }

    /// Stops the process and starts it again. If it was killed, it finds the files as they lay at that moment.
    pub fn restart(&mut self) -> Result<(), Finding> {
        self.store = None;
        if let Ground::File { fuse, .. } = &self.ground {
            if fuse.burnt().is_some() {
                let failed = |error| Finding(format!("cannot put the files back: {error}"));
                fuse.put_files_back().map_err(failed)?;
            }
            fuse.set(None);
        }
        self.open()
    }

    pub fn tidy(&self) -> Result<(), Finding> {
        while self.runtime.block_on(self.store().tidy(Keep::default())).map_err(|error| store_failed(&error))? {}
        Ok(())
    }

    /// What the store's own audit has to say.
    pub fn audit(&self) -> Result<Vec<String>, Finding> {
        let mut audit = Audit::new(self.now());
        self.runtime.block_on(self.store().audit(&mut audit)).map_err(|error| store_failed(&error))?;
        Ok(audit.finish())
    }

    /// Looks at the file itself, if there is one.
    pub fn check_file(&mut self) -> Result<(), Finding> {
        let Ground::File { directory, .. } = &self.ground else { return Ok(()) };
        self.store = None;
        let opened = SqliteStore::open(OpenOptions::new(directory.path()), self.clock.clone());
        opened.and_then(|store| store.check_file()).map_err(|error| Finding(error.to_string()))
    }

    pub fn outbox(&self) -> Result<Vec<OutboxRecord>, Finding> {
        self.runtime.block_on(self.store().outbox_after(0, OUTBOX_MAX)).map_err(|error| store_failed(&error))
    }

    fn store(&self) -> &dyn Store {
        &**self.store.as_ref().expect("the store is only away while it is opened anew")
    }

    fn open(&mut self) -> Result<(), Finding> {
        self.store = Some(match &self.ground {
            Ground::File { directory, fuse } => {
                let fuse = fuse.clone();
                let options = OpenOptions {
                    durable: false,
                    crash_at: Some(Arc::new(move |step| fuse.burns_at(step))),
                    ..OpenOptions::new(directory.path())
                };
                let store = SqliteStore::open(options, self.clock.clone());
                Arc::new(store.map_err(|error| Finding(format!("the store does not open: {error}")))?)
            }
            Ground::Servers(place) => self.runtime.block_on(place.open(self.clock.clone())),
            Ground::Shared { store, .. } => Arc::new(store.clone()),
        });
        Ok(())
    }
}

impl Source for Disk {
    fn read(&self, rows: &mut Rows) -> Result<(), Finding> {
        let told = self.runtime.block_on(self.store().read(rows)).map_err(|error| store_failed(&error))?;
        // A store that many share sets no numbers aside for questions.
        for sequence in rows.ids.take_wanted() {
            rows.ids.supply(sequence, Some(IdRange { next: 1, last: ID_MAX }));
        }
        crate::must(told == self.now(), || format!("the store says it is {told:?}, the clock {:?}", self.now()))
    }
}

/// Kills the process where it was told to: takes the files as they lie there, and lets the store stop.
#[derive(Debug)]
struct Fuse {
    directory: PathBuf,
    state: Mutex<FuseState>,
}

#[derive(Debug)]
enum FuseState {
    Off,
    Set(Crash),
    Burnt { step: Step, files: Vec<(PathBuf, Vec<u8>)> },
}

impl Fuse {
    fn set(&self, crash: Option<Crash>) {
        *self.state() = crash.map_or(FuseState::Off, FuseState::Set);
    }

    fn burnt(&self) -> Option<Step> {
        match *self.state() {
            FuseState::Burnt { step, .. } => Some(step),
            FuseState::Off | FuseState::Set(_) => None,
        }
    }

    fn burns_at(&self, step: Step) -> bool {
        let mut state = self.state();
        let FuseState::Set(crash) = &mut *state else { return false };
        if crash.step != step {
            return false;
        }
        if crash.spared > 0 {
            crash.spared -= 1;
            return false;
        }
        let files = database_files(&self.directory).into_iter().filter_map(|path| {
            let bytes = std::fs::read(&path).ok()?;
            Some((path, bytes))
        });
        *state = FuseState::Burnt { step, files: files.collect() };
        true
    }

    /// A store that is dropped closes its files in good order; one that is killed does not.
    fn put_files_back(&self) -> std::io::Result<()> {
        let FuseState::Burnt { files, .. } = &*self.state() else { return Ok(()) };
        for path in database_files(&self.directory).iter().filter(|path| path.exists()) {
            std::fs::remove_file(path)?;
        }
        files.iter().try_for_each(|(path, bytes)| std::fs::write(path, bytes))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, FuseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The database and its log. The third file, shared memory, is made anew by whoever opens it first.
fn database_files(directory: &Path) -> [PathBuf; 2] {
    [directory.join(FILE_NAME), directory.join(format!("{FILE_NAME}-wal"))]
}

/// Writes events down in a form that can be compared with records.
#[derive(Debug)]
struct Notes;

impl EventSink for Notes {
    fn encode(&self, event: &Event, at: Timestamp) -> OutboxEntry {
        let (event_type, number) = match event {
            Event::StayReservationConfirmed(reservation) => (CONFIRMED, reservation.id.get()),
            Event::StayReservationCancelled(reservation) => (CANCELLED, reservation.id.get()),
            Event::OrderPaid(order) => (ORDER_PAID, order.id.get()),
            Event::OrderCancelled(order) => (ORDER_CANCELLED, order.id.get()),
            Event::RoomSlotsReserved(reservation) => (ROOM_RESERVED, reservation.id.get()),
            Event::RoomSlotsCancelled(reservation) => (ROOM_CANCELLED, reservation.id.get()),
            Event::RoomSlotsBlocked { room, .. } => (SLOTS_BLOCKED, room.get()),
            other => panic!("{other:?} is no durable event"),
        };
        let owner = event.owner().map(UserId::get);
        OutboxEntry { event_type, owner, at, data: number.to_string(), trace: None, imported: false }
    }

    fn publish(&self, _events: Vec<Published>) {}
}

/// What the outbox calls a reservation made.
pub const CONFIRMED: &str = "confirmed";
/// What the outbox calls a reservation given back.
pub const CANCELLED: &str = "cancelled";
/// What the outbox calls an order made.
pub const ORDER_PAID: &str = "order paid";
/// What the outbox calls an order given back.
pub const ORDER_CANCELLED: &str = "order cancelled";

/// What the outbox calls slots reserved.
pub const ROOM_RESERVED: &str = "room reserved";
/// What the outbox calls slots given back.
pub const ROOM_CANCELLED: &str = "room cancelled";
/// What the outbox calls slots taken off sale.
pub const SLOTS_BLOCKED: &str = "slots blocked";

fn store_failed(error: &StoreError) -> Finding {
    Finding(format!("the store failed: {error}"))
}
