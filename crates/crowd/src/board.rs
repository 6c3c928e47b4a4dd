//! How it goes: counters that anybody may look at while the sale is on, and the bell that ends it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::watch;

use crate::notes::Notes;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Looking at what there is to sell.
    Preparing,
    /// The crowd stands in line before closed doors.
    Gathering,
    Selling,
    /// Asking the server what it sold.
    Checking,
    Done,
    Failed,
}

/// What people in line are waiting for, besides their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bell {
    /// The doors are closed.
    Closed,
    Open,
    /// All seats are sold.
    SoldOut,
    /// Everybody is asked to go home.
    Stop,
}

/// Counts of what has happened so far.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    Joined,
    LeftLine,
    /// Left the line, or the hall, of their own will and with nothing.
    GaveUp,
    CameIn,
    WentOut,
    LetGo,
    LostRace,
    SeatsSold,
    NightsSold,
    Requests,
    Failures,
}

const COUNTS: usize = Count::Failures as usize + 1;

/// Shared by the crowd, those who watch, and whoever may stop it.
#[derive(Debug)]
pub struct Board {
    began: Instant,
    counts: [AtomicU64; COUNTS],
    bell: watch::Sender<Bell>,
    stage: Mutex<Stage>,
    pub(crate) notes: Mutex<Notes>,
}

#[derive(Debug)]
struct Stage {
    phase: Phase,
    people: u64,
    event_id: Option<u64>,
    seats: u64,
    nights: u64,
}

/// A look at the board.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub phase: Phase,
    pub elapsed_seconds: f64,
    pub people: u64,
    /// Which event the seats are of, once it is known.
    pub event_id: Option<u64>,
    pub joined: u64,
    pub waiting: u64,
    pub inside: u64,
    /// Left of their own will, with nothing.
    pub gave_up: u64,
    /// Holds that were given back.
    pub let_go: u64,
    /// Somebody else was quicker.
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
            bell: watch::Sender::new(Bell::Closed),
            stage: Mutex::new(Stage { phase: Phase::Preparing, people: 0, event_id: None, seats: 0, nights: 0 }),
            notes: Mutex::new(Notes::default()),
        }
    }
}

impl Board {
    /// Sends everybody home. What was sold stays sold; what is held is given back.
    pub fn stop(&self) {
        self.ring(Bell::Stop);
    }

    pub fn progress(&self) -> Progress {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let get = |count: Count| self.counts[count as usize].load(Ordering::Relaxed);
        let (joined, came_in, left) = (get(Count::Joined), get(Count::CameIn), get(Count::LeftLine));
        let (p50_ms, p99_ms) = self.notes.lock().unwrap_or_else(PoisonError::into_inner).p50_p99_ms();
        Progress {
            phase: stage.phase,
            elapsed_seconds: self.began.elapsed().as_secs_f64(),
            people: stage.people,
            event_id: stage.event_id,
            joined,
            // Each is counted on its own; a look in between two of them must not go below nothing.
            waiting: joined.saturating_sub(came_in + left),
            inside: came_in.saturating_sub(get(Count::WentOut)),
            gave_up: get(Count::GaveUp),
            let_go: get(Count::LetGo),
            lost_races: get(Count::LostRace),
            seats: stage.seats,
            seats_sold: get(Count::SeatsSold),
            nights: stage.nights,
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
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).phase = phase;
    }

    pub(crate) fn set_stage(&self, people: u64, event_id: u64, seats: u64, nights: u64) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        (stage.people, stage.event_id, stage.seats, stage.nights) = (people, Some(event_id), seats, nights);
    }

    /// Whoever has said stop is not overruled.
    pub(crate) fn ring(&self, bell: Bell) {
        self.bell.send_if_modified(|now| {
            let changes = *now != Bell::Stop && *now != bell;
            if changes {
                *now = bell;
            }
            changes
        });
    }

    pub(crate) fn bell(&self) -> Bell {
        *self.bell.borrow()
    }

    /// Since the sale began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits, but no longer than until one of these rings.
    pub(crate) async fn wait(&self, time: Duration, until: &[Bell]) {
        let mut bell = self.bell.subscribe();
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = bell.wait_for(|now| until.contains(now)) => {}
        }
    }
}
