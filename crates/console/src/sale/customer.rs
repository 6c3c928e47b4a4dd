//! Simulated customer: calls the server, measures latency, waits, draws random numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Client, Error};
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::sync::Semaphore;

use super::progress::{PhaseSignal, Progress};

/// Delay before a call that failed temporarily is repeated; it doubles up to the maximum, after which the call has failed.
const RETRY_DELAY: Duration = Duration::from_millis(100);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(3);

/// Time to wait for a release while all remaining units are held, and the interval of looking.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(10);
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Customer {
    pub(super) client: Client,
    pub(super) progress: Arc<Progress>,
    /// Bounds concurrent calls: browsers are many machines, this is one.
    pub(super) permits: Arc<Semaphore>,
    pub(super) think: Duration,
    pub(super) random: StdRng,
}

impl Customer {
    /// Calls until there is an answer; a rejection is one, an overloaded server's is not. All calls here are safe to
    /// repeat.
    pub(super) async fn call<T, F>(&self, make: impl Fn(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut delay = RETRY_DELAY;
        loop {
            let permit = self.permits.acquire().await;
            let began = Instant::now();
            let answer = make(self.client.clone()).await;
            self.progress.record_call(began.elapsed());
            drop(permit);
            match answer {
                Err(error)
                    if delay < RETRY_DELAY_MAX
                        && is_temporary(&error)
                        && self.progress.signal() != PhaseSignal::Stop => {}
                answer => return answer,
            }
            self.progress.wait(delay, PhaseSignal::Stop).await;
            delay *= 2;
        }
    }

    /// Returns a random number from 0 up to, excluding, `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random.random_range(0..bound.max(1))
    }

    pub(super) fn is_one_of(&mut self, percent: u64) -> bool {
        self.below(100) < percent
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
