//! Progress of a sale: counts for observers, and the phase signal for customers.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use super::verification::QueueRecord;

/// Upper bound of a latency; calls time out before.
const MICROS_MAX: u64 = 60_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Selects the event and the room.
    #[default]
    Preparing,
    /// Customers queue before sales open.
    Gathering,
    Selling,
    /// Reads the results back from the server.
    Checking,
    Done,
    Failed,
}

/// Phase signal for waiting customers. It only increases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PhaseSignal {
    /// Sales have not opened.
    Closed,
    Open,
    /// All seats are sold.
    SoldOut,
    /// All customers shall leave.
    Stop,
}

/// Progress of a sale, shared by customers, observers and the caller that may stop it.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    signal: watch::Sender<PhaseSignal>,
    /// Microseconds of calls.
    latency: Mutex<Histogram<u64>>,
    measurements: Mutex<Measurements>,
}

/// Counts of a sale at one moment.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub phase: Phase,
    pub elapsed_seconds: f64,
    pub people: u64,
    /// Event of the seats, once it is selected.
    pub event_id: Option<u64>,
    pub joined: u64,
    pub waiting: u64,
    pub inside: u64,
    /// Customers who left without buying, by choice.
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
    /// Customers without an answer, or with an unexpected one.
    pub failures: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// Measurements, and the ids of reservations that were answered to customers.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measurements {
    #[serde(flatten)]
    pub counts: Counts,
    /// Course of each customer in the queue.
    pub queue: Vec<QueueRecord>,
    /// (Seconds, seats sold so far).
    pub seat_sales: Vec<(f64, u64)>,
    pub seat_reservations: Vec<u64>,
    pub stays: Vec<u64>,
    /// Maximum number of users inside at once.
    pub inside_max: u64,
    pub opened_at_seconds: Option<f64>,
}

impl Default for Progress {
    fn default() -> Self {
        let signal = watch::Sender::new(PhaseSignal::Closed);
        let latency = Histogram::new_with_max(MICROS_MAX, 2).expect("constant bounds are valid");
        Self { began: Instant::now(), signal, latency: Mutex::new(latency), measurements: Mutex::default() }
    }
}

impl Progress {
    /// Makes all customers leave. Sold units stay sold; holds are released.
    pub fn stop(&self) {
        self.send_signal(PhaseSignal::Stop);
    }

    pub fn counts(&self) -> Counts {
        let latency = self.latency.lock();
        let ms = |quantile| latency.value_at_quantile(quantile) as f64 / 1_000.0;
        let (p50_ms, p99_ms, requests) = (ms(0.5), ms(0.99), latency.len());
        let counts = self.measurements.lock().counts.clone();
        Counts { elapsed_seconds: self.elapsed_seconds(), requests, p50_ms, p99_ms, ..counts }
    }

    pub(super) fn record_call(&self, took: Duration) {
        self.latency.lock().saturating_record(took.as_micros() as u64);
    }

    /// Reads or changes the measurements.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Measurements) -> T) -> T {
        work(&mut self.measurements.lock())
    }

    pub(super) fn elapsed_seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub(super) fn send_signal(&self, signal: PhaseSignal) {
        self.signal.send_modify(|now| *now = signal.max(*now));
    }

    pub(super) fn signal(&self) -> PhaseSignal {
        *self.signal.borrow()
    }

    /// Whether there is no more to buy, or all customers shall leave.
    pub(super) fn is_over(&self) -> bool {
        self.signal() >= PhaseSignal::SoldOut
    }

    /// Waits for a duration, or until this signal or a later one.
    pub(super) async fn wait(&self, time: Duration, until: PhaseSignal) {
        let mut signal = self.signal.subscribe();
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = signal.wait_for(|now| *now >= until) => {}
        }
    }
}
