//! Simulated customer: calls the server, measures latency, waits, draws random numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Client, Error};
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::sync::Semaphore;

use super::progress::{PhaseSignal, Progress};

/// Delay before the first retry of a call that failed temporarily. It doubles with each retry; the call fails at the
/// maximum.
const RETRY_DELAY: Duration = Duration::from_millis(100);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(3);

/// Maximum wait for a release while all remaining units are held, and the interval of polls meanwhile.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(10);
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Customer {
    pub(super) client: Client,
    pub(super) progress: Arc<Progress>,
    /// Bounds the concurrent calls of all customers, which share one machine.
    pub(super) permits: Arc<Semaphore>,
    pub(super) think: Duration,
    pub(super) random: StdRng,
}

impl Customer {
    /// Makes a call, and repeats it with exponential backoff while it fails temporarily. All calls here are idempotent.
    pub(super) async fn call<T, F>(&self, request: impl Fn(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut delay = RETRY_DELAY;
        loop {
            let permit = self.permits.acquire().await;
            let began = Instant::now();
            let response = request(self.client.clone()).await;
            self.progress.record_call(began.elapsed());
            drop(permit);
            match response {
                Err(error)
                    if delay < RETRY_DELAY_MAX
                        && is_temporary(&error)
                        && self.progress.signal() != PhaseSignal::Stop => {}
                response => return response,
            }
            self.progress.wait(delay, PhaseSignal::Stop).await;
            delay *= 2;
        }
    }

    /// Returns a random number from 0 up to, excluding, `bound`.
    pub(super) fn random_below(&mut self, bound: u64) -> u64 {
        self.random.random_range(0..bound.max(1))
    }

    pub(super) fn is_in_percentage(&mut self, percent: u64) -> bool {
        self.random_below(100) < percent
    }

    /// Waits for a random thinking time: 0.5 to 1.5 times the average.
    pub(super) async fn think(&mut self) {
        let percent = self.random.random_range(50..=150);
        self.progress.wait(self.think * percent / 100, PhaseSignal::Stop).await;
    }
}

fn is_temporary(error: &Error) -> bool {
    error.code().is_none_or(|code| matches!(code, "OVERLOADED" | "LOCK_TIMEOUT" | "STORE_UNAVAILABLE"))
}
