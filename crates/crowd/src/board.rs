//! Progress of a sale: counters for observers, and the phase signal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use crate::notes::Measurements;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Selects the event and the room.
    Preparing,
    /// Customers queue before sales open.
    Gathering,
    Selling,
    /// Reads the results back from the server.
    Checking,
    Done,
    Failed,
}

/// Phase signal for waiting customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseSignal {
    /// Sales have not opened.
    Closed,
    Open,
    /// All seats are sold.
    SoldOut,
    /// All customers shall leave.
    Stop,
}

/// Counter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Joined,
    LeftQueue,
    /// Left the queue, or the waiting room's inside, without buying.
    LeftWithoutBuying,
    Entered,
    LeftInside,
    Released,
    LostRace,
    SeatsSold,
    NightsSold,
    Requests,
    Failures,
}

const COUNTS: usize = Count::Failures as usize + 1;

/// Progress of a sale, shared by customers, observers and the caller that may stop it.
#[derive(Debug)]
pub struct Board {
    began: Instant,
    counts: [AtomicU64; COUNTS],
    signal: watch::Sender<PhaseSignal>,
    fixture: Mutex<Fixture>,
    pub(crate) notes: Mutex<Measurements>,
}

#[derive(Debug)]
struct Fixture {
    phase: Phase,
    people: u64,
    event_id: Option<u64>,
    seats: u64,
    nights: u64,
}

/// Snapshot of the progress.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub phase: Phase,
    pub elapsed_seconds: f64,
    pub people: u64,
    /// Event of the seats, once it is selected.
    pub event_id: Option<u64>,
    pub joined: u64,
    pub waiting: u64,
    pub inside: u64,
    /// Left without buying, by choice.
    pub gave_up: u64,
    /// Holds that were released.
    pub let_go: u64,
    /// Holds that another customer placed first.
    pub lost_races: u64,
    pub seats: u64,
    pub seats_sold: u64,
    pub nights: u64,
    pub nights_sold: u64,
    pub requests: u64,
    pub failures: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            counts: [const { AtomicU64::new(0) }; COUNTS],
            signal: watch::Sender::new(PhaseSignal::Closed),
            fixture: Mutex::new(Fixture { phase: Phase::Preparing, people: 0, event_id: None, seats: 0, nights: 0 }),
            notes: Mutex::new(Measurements::default()),
        }
    }
}

impl Board {
    /// Makes all customers leave. Sold units stay sold; holds are released.
    pub fn stop(&self) {
        self.send_signal(PhaseSignal::Stop);
    }

    pub fn progress(&self) -> Progress {
        let fixture = self.fixture.lock();
        let get = |count: Count| self.counts[count as usize].load(Ordering::Relaxed);
        let (joined, came_in, left) = (get(Count::Joined), get(Count::Entered), get(Count::LeftQueue));
        let (p50_ms, p99_ms) = self.notes.lock().p50_p99_ms();
        Progress {
            phase: fixture.phase,
            elapsed_seconds: self.began.elapsed().as_secs_f64(),
            people: fixture.people,
            event_id: fixture.event_id,
            joined,
            // The counters are not read atomically, so a difference may be negative for a moment.
            waiting: joined.saturating_sub(came_in + left),
            inside: came_in.saturating_sub(get(Count::LeftInside)),
            gave_up: get(Count::LeftWithoutBuying),
            let_go: get(Count::Released),
            lost_races: get(Count::LostRace),
            seats: fixture.seats,
            seats_sold: get(Count::SeatsSold),
            nights: fixture.nights,
            nights_sold: get(Count::NightsSold),
            requests: get(Count::Requests),
            failures: get(Count::Failures),
            p50_ms,
            p99_ms,
        }
    }

    pub(crate) fn add(&self, count: Count, by: u64) {
        self.counts[count as usize].fetch_add(by, Ordering::Relaxed);
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.fixture.lock().phase = phase;
    }

    pub(crate) fn set_fixture(&self, people: u64, event_id: u64, seats: u64, nights: u64) {
        let mut fixture = self.fixture.lock();
        (fixture.people, fixture.event_id, fixture.seats, fixture.nights) = (people, Some(event_id), seats, nights);
    }

    /// Sends a signal. `Stop` is final.
    pub(crate) fn send_signal(&self, signal: PhaseSignal) {
        self.signal.send_if_modified(|now| {
            let changes = *now != PhaseSignal::Stop && *now != signal;
            if changes {
                *now = signal;
            }
            changes
        });
    }

    pub(crate) fn signal(&self) -> PhaseSignal {
        *self.signal.borrow()
    }

    /// Time since the sale began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits for a duration, or until one of these signals.
    pub(crate) async fn wait(&self, time: Duration, until: &[PhaseSignal]) {
        let mut signal = self.signal.subscribe();
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = signal.wait_for(|now| until.contains(now)) => {}
        }
    }
}
