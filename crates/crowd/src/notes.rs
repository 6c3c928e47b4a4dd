//! Measurements of a sale. Latencies are histograms, one per half second and one per kind of call, so memory is bounded
//! by the time limit.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::TIME_LIMIT_MAX;
use crate::fairness::QueueRecord;

const BUCKET: Duration = Duration::from_millis(500);
/// The time limit, and a margin until all customers have left.
const BUCKETS_MAX: usize = (TIME_LIMIT_MAX.as_millis() / BUCKET.as_millis()) as usize + 120;
/// Calls time out before.
const MICROS_MAX: u64 = 60_000_000;

/// Kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Call {
    Join,
    Poll,
    Enter,
    Look,
    Hold,
    Pay,
    Release,
}

pub(crate) const CALLS: [Call; 7] =
    [Call::Join, Call::Poll, Call::Enter, Call::Look, Call::Hold, Call::Pay, Call::Release];

#[derive(Debug)]
pub(crate) struct Measurements {
    /// Latencies by the time of the response.
    over_time: Vec<Histogram<u64>>,
    by_call: Vec<Histogram<u64>>,
    all: Histogram<u64>,
    pub(crate) admissions: Vec<Admission>,
    /// Course of each customer in the queue.
    pub(crate) line: Vec<QueueRecord>,
    /// (Seconds, seats sold so far).
    pub(crate) seats_sold: Vec<(f64, u64)>,
    /// Ids of reservations that were answered to customers.
    pub(crate) seat_reservations: Vec<u64>,
    pub(crate) stays: Vec<u64>,
    pub(crate) inside_max: u64,
    pub(crate) sales_opened_at: Option<f64>,
}

/// Admission of a customer.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Admission {
    pub at_seconds: f64,
    /// Place in the queue, from 0.
    pub place: u64,
}

/// Latencies in half a second.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LatencyPoint {
    pub at_seconds: f64,
    pub calls: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// Latencies of one kind of call.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTimes {
    pub call: Call,
    pub count: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            over_time: Vec::new(),
            by_call: CALLS.iter().map(|_| histogram()).collect(),
            all: histogram(),
            admissions: Vec::new(),
            line: Vec::new(),
            seats_sold: Vec::new(),
            seat_reservations: Vec::new(),
            stays: Vec::new(),
            inside_max: 0,
            sales_opened_at: None,
        }
    }
}

impl Measurements {
    pub(crate) fn record_call(&mut self, call: Call, at: Duration, took: Duration) {
        let micros = took.as_micros() as u64;
        let bucket = ((at.as_millis() / BUCKET.as_millis()) as usize).min(BUCKETS_MAX - 1);
        while self.over_time.len() <= bucket {
            self.over_time.push(histogram());
        }
        self.over_time[bucket].saturating_record(micros);
        self.by_call[call as usize].saturating_record(micros);
        self.all.saturating_record(micros);
    }

    pub(crate) fn p50_p99_ms(&self) -> (f64, f64) {
        p50_p99_ms(&self.all)
    }

    pub(crate) fn latency(&self) -> Vec<LatencyPoint> {
        let middle = |bucket: usize| (bucket as f64 + 0.5) * BUCKET.as_secs_f64();
        let point = |(bucket, times): (usize, &Histogram<u64>)| {
            let (p50_ms, p99_ms) = p50_p99_ms(times);
            LatencyPoint { at_seconds: middle(bucket), calls: times.len(), p50_ms, p99_ms }
        };
        self.over_time.iter().enumerate().map(point).filter(|point| point.calls > 0).collect()
    }

    pub(crate) fn calls(&self) -> Vec<CallTimes> {
        let times = CALLS.iter().zip(&self.by_call).map(|(call, times)| {
            let (p50_ms, p99_ms) = p50_p99_ms(times);
            CallTimes { call: *call, count: times.len(), p50_ms, p99_ms }
        });
        times.filter(|times| times.count > 0).collect()
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(MICROS_MAX, 2).expect("constant bounds are valid")
}

fn p50_p99_ms(times: &Histogram<u64>) -> (f64, f64) {
    let ms = |quantile| times.value_at_quantile(quantile) as f64 / 1_000.0;
    (ms(0.5), ms(0.99))
}
